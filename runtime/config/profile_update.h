// Puts what was measured into the file of a machine profile, and leaves the rest as it is.
#ifndef BERTH_RUNTIME_CONFIG_PROFILE_UPDATE_H_
#define BERTH_RUNTIME_CONFIG_PROFILE_UPDATE_H_

#include <optional>
#include <string>
#include <string_view>

#include "berth/status.h"
#include "runtime/config/machine_profile.h"

namespace berth {

// What was measured; a figure that is 0, absent or empty was not.
struct ProfileUpdate {
  std::optional<LinkProfile> link;
  std::optional<CardProfile> card;
  std::optional<HostProfile> host;
};

// The text of a profile (empty: none yet, it gets `name`) with these figures in it. Entries of
// other cards, sections and fields that were not measured, known or not, stay; so do a card's
// memory_bytes and choices for other calls, unless the entry is of a card of other properties.
// InvalidArgument, "<where>: ...", for text that is no JSON object or has another shape where
// figures go.
Result<std::string> MergeProfile(std::string_view text, std::string_view where,
                                 const std::string& name, const ProfileUpdate& update);

// Whether the file can be updated: it is a profile, or there is none and it can be made. Before the
// work, which may take long.
Status CheckProfileUpdate(const std::string& path);
// Replaces the file, whole or not at all. A new one is named after the file.
Status UpdateMachineProfile(const std::string& path, const ProfileUpdate& update);

}  // namespace berth

#endif  // BERTH_RUNTIME_CONFIG_PROFILE_UPDATE_H_
