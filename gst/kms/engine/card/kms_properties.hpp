// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties of KMS objects by name, as they were when they were read. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/result.hpp>

namespace gstdrm::kms {

struct Property {
  std::uint32_t id = 0;
  std::uint32_t flags = 0; // DRM_MODE_PROP_* of drm_mode.h
  std::uint64_t value = 0;
  // the names of the values; of DRM_MODE_PROP_BITMASK the numbers of the bits
  std::vector<std::pair<std::string, std::uint64_t>> enums;
  // the limits of the value, for DRM_MODE_PROP_RANGE and, signed, DRM_MODE_PROP_SIGNED_RANGE
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range;

  [[nodiscard]] std::optional<std::uint64_t> enum_value(std::string_view name) const;
  [[nodiscard]] bool can_be_set() const noexcept { return !(flags & DRM_MODE_PROP_IMMUTABLE); }
  [[nodiscard]] bool is_signed() const noexcept
  {
    return (flags & DRM_MODE_PROP_EXTENDED_TYPE) == DRM_MODE_PROP_SIGNED_RANGE;
  }
};

using PropertySet = std::map<std::string, Property, std::less<>>;

inline const Property *find(const PropertySet &set, std::string_view name)
{
  const auto it = set.find(name);
  return it == set.end() ? nullptr : &it->second;
}
// 0, which is no valid id of a property or an object, where the object has no property of that name
inline std::uint32_t property_id(const PropertySet &set, std::string_view name)
{
  const Property *property = find(set, name);
  return property ? property->id : 0;
}
inline std::uint64_t property_value(const PropertySet &set, std::string_view name)
{
  const Property *property = find(set, name);
  return property ? property->value : 0;
}

// Reads properties; the description of one property id, which many objects share, is read once.
class PropertyReader {
public:
  explicit PropertyReader(int drm_fd) noexcept : drm_fd_(drm_fd) {}
  // `type` is a DRM_MODE_OBJECT_*
  Result<PropertySet> read(std::uint32_t object_id, std::uint32_t type);

private:
  struct Description {
    std::string name;
    Property property;
  };
  int drm_fd_; // borrowed
  std::map<std::uint32_t, Description> known_;
};

// Contents of a blob; Error when there is none of that id.
Result<std::vector<std::uint8_t>> read_blob(int drm_fd, std::uint32_t blob_id);

} // namespace gstdrm::kms
