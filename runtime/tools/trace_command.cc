// berth trace: what is done with routing traces themselves, one subcommand each.
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/tools/commands.h"
#include "runtime/tools/trace_commands.h"

namespace berth::tools {
namespace {

class TraceCommand final : public Command {
 public:
  TraceCommand() {
#define BERTH_ADD_COMMAND(Name) commands_.push_back({MakeTrace##Name##Command(), nullptr});
    BERTH_TRACE_COMMANDS(BERTH_ADD_COMMAND)
#undef BERTH_ADD_COMMAND
  }

  std::string name() const override { return "trace"; }
  std::string label() const override {
    const Command* command = Chosen();
    return command == nullptr ? name() : name() + " " + command->name();
  }
  std::string summary() const override {
    return "Make, import, examine, cut and export routing traces";
  }

  void AddOptions(CLI::App* app) override {
    app->require_subcommand(1);
    for (auto& [command, parsed] : commands_) {
      parsed = app->add_subcommand(command->name(), command->summary());
      command->AddOptions(parsed);
    }
  }

  Status Run() override {
    Command* command = Chosen();
    BERTH_CHECK(command != nullptr);
    return command->Run();
  }

 private:
  Command* Chosen() const {
    for (const auto& [command, parsed] : commands_) {
      if (parsed != nullptr && parsed->parsed()) return command.get();
    }
    return nullptr;
  }

  std::vector<std::pair<std::unique_ptr<Command>, CLI::App*>> commands_;
};

}  // namespace

std::unique_ptr<Command> MakeTraceCommand() { return std::make_unique<TraceCommand>(); }

}  // namespace berth::tools
