// Engine: the kernels that a machine profile chose for the layers of this model.
#include <string>

#include "runtime/config/machine_profile.h"
#include "runtime/engine/engine.h"

namespace berth {

void Engine::ChooseKernels() {
  if (options_.profile.empty() || !options_.compute) return;
  for (size_t c = 0; c < cards_.size(); ++c) {
    const std::string& name = options_.cards[c].device;
    const std::string& properties = cards_[c].device->info().properties;
    if (properties.empty()) continue;  // nothing to choose from
    const CardProfile* const measured = FindChoices(profile_, name, properties);
    if (measured == nullptr) {
      const CardProfile* const other = FindCard(profile_, name);
      if (other == nullptr || other->choices.empty()) continue;
      info_.notes.push_back(name + ": the kernels that " + options_.profile +
                            " chose are not used: measured on " +
                            (other->properties.empty() ? "a card that it does not name"
                                                       : "'" + other->properties + "'") +
                            ", this card is '" + properties + "'; berth probe measures it");
      continue;
    }
    uint32_t layers = 0;
    for (uint32_t l = 0; l < catalog_->layers(); ++l) {
      cards_[c].kernels.emplace_back(*measured, catalog_->layer(l).spec, catalog_->top_k());
      layers += cards_[c].kernels.back().empty() ? 0 : 1;
    }
    info_.notes.push_back(name + ": " + options_.profile + " chose the kernels of " +
                          std::to_string(layers) + " of " + std::to_string(catalog_->layers()) +
                          " layers");
  }
}

}  // namespace berth
