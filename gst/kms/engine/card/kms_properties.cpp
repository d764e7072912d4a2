// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_properties.hpp"

#include "kms_objects.hpp"

namespace gstdrm::kms {

std::optional<std::uint64_t> Property::enum_value(std::string_view name) const
{
  for (const auto &[text, number] : enums)
    if (text == name)
      return number;
  return std::nullopt;
}

Result<PropertySet> PropertyReader::read(std::uint32_t object_id, std::uint32_t type)
{
  const ObjectPropertiesPtr list(drmModeObjectGetProperties(drm_fd_, object_id, type));
  const int list_error = errno;
  if (!list)
    return device_error("The properties of KMS object " + std::to_string(object_id) +
                            " cannot be read: " + errno_text(list_error) +
                            ". Was the device removed?",
                        list_error);
  PropertySet set;
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    auto it = known_.find(list->props[i]);
    if (it == known_.end()) {
      const PropertyPtr raw(drmModeGetProperty(drm_fd_, list->props[i]));
      const int error = errno;
      if (!raw)
        return device_error("KMS property " + std::to_string(list->props[i]) + " cannot be read: " +
                                errno_text(error) + ". Was the device removed?",
                            error);
      Description description{raw->name, Property{raw->prop_id, raw->flags, 0, {}, {}}};
      if (raw->flags & (DRM_MODE_PROP_ENUM | DRM_MODE_PROP_BITMASK))
        for (int e = 0; e < raw->count_enums; e++)
          description.property.enums.emplace_back(raw->enums[e].name, raw->enums[e].value);
      const bool is_range = (raw->flags & DRM_MODE_PROP_RANGE) || description.property.is_signed();
      if (is_range && raw->count_values == 2)
        description.property.range = {raw->values[0], raw->values[1]};
      it = known_.emplace(list->props[i], std::move(description)).first;
    }
    Property property = it->second.property;
    property.value = list->prop_values[i];
    set.insert_or_assign(it->second.name, std::move(property));
  }
  return set;
}

Result<std::vector<std::uint8_t>> read_blob(int drm_fd, std::uint32_t blob_id)
{
  const BlobPtr blob(drmModeGetPropertyBlob(drm_fd, blob_id));
  const int error = errno;
  if (!blob)
    return device_error("Property blob " + std::to_string(blob_id) +
                            " cannot be read: " + errno_text(error) + ".",
                        error);
  const auto *bytes = static_cast<const std::uint8_t *>(blob->data);
  return std::vector<std::uint8_t>(bytes, bytes + blob->length);
}

} // namespace gstdrm::kms
