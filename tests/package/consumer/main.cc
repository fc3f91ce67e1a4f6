// Compiled against installed headers alone: what does not stand in include/berth is not there.
#include <cstdio>

#include "berth/status.h"
#include "berth/types.h"

int main() {
  const berth::Status status = berth::NotFoundError("no such unit").Annotate("consumer");
  std::printf("%s; role %s\n", status.ToString().c_str(),
              std::string(berth::TensorRoleName(berth::TensorRole::kGateUp)).c_str());
  return status.ToString() == "NOT_FOUND: consumer: no such unit" ? 0 : 1;
}
