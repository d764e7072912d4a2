// SPDX-License-Identifier: LGPL-2.1-or-later
// The sink's connector-properties and plane-properties: values of KMS properties that the
// application sets. They are checked by what the driver says of them, so that no commit fails
// because of one. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "engine/card/kms_properties.hpp"

namespace gstdrm::kms {

struct UserProperty {
  std::string name; // a blank may be written as - or _
  // of an enum by name; of a bitmask names with + between them
  std::variant<std::int64_t, std::uint64_t, std::string> value;
};

// A UserProperty that was checked: what a commit sets.
struct PropertySetting {
  std::uint32_t id = 0;
  std::string name;
  std::uint64_t value = 0;
};

enum class PropertyTarget { Connector, Plane };

// Error: the object has no such property, nobody can set it, the sink sets it itself, or the value
// is none of its. `object` names it for a person: "connector HDMI-A-1".
Result<std::vector<PropertySetting>> check_user_properties(const std::vector<UserProperty> &wanted,
                                                           PropertyTarget target,
                                                           const PropertySet &properties,
                                                           const std::string &object);

} // namespace gstdrm::kms
