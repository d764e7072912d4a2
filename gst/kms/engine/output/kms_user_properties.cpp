// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_user_properties.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <drm_mode.h>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// A property that the sink sets, and what the application has in its place.
struct Owned {
  std::string_view name;
  const char *instead;
};

constexpr std::array<Owned, 7> kOfConnector = {{
    {"CRTC_ID", "choose the connector with connector"},
    {"HDR_OUTPUT_METADATA", "it follows the caps"},
    {"Colorspace", "it follows the colorimetry of the caps"},
    {"link-status", "the sink mends a link with a mode set"},
    {"WRITEBACK_FB_ID", "call snapshot"},
    {"WRITEBACK_OUT_FENCE_PTR", "call snapshot"},
    {"WRITEBACK_PIXEL_FORMATS", "call snapshot"},
}};

constexpr std::array<Owned, 16> kOfPlane = {{
    {"FB_ID", "it is the frame"},
    {"CRTC_ID", "choose the connector with connector"},
    {"IN_FENCE_FD", "use sync-mode"},
    {"SRC_X", "use fit"},
    {"SRC_Y", "use fit"},
    {"SRC_W", "use fit"},
    {"SRC_H", "use fit"},
    {"CRTC_X", "use render-rectangle"},
    {"CRTC_Y", "use render-rectangle"},
    {"CRTC_W", "use render-rectangle"},
    {"CRTC_H", "use render-rectangle"},
    {"rotation", "use rotation"},
    {"zpos", "use zpos"},
    {"COLOR_ENCODING", "it follows the colorimetry of the caps"},
    {"COLOR_RANGE", "it follows the colorimetry of the caps"},
    {"FB_DAMAGE_CLIPS", "each frame is a new picture"},
}};

const char *property_of(PropertyTarget target)
{
  return target == PropertyTarget::Connector ? "connector-properties" : "plane-properties";
}

const char *who_sets(PropertyTarget target, std::string_view name)
{
  const auto look = [name](const auto &owned) -> const char * {
    const auto it = std::find_if(owned.begin(), owned.end(),
                                 [name](const Owned &entry) { return entry.name == name; });
    return it == owned.end() ? nullptr : it->instead;
  };
  return target == PropertyTarget::Connector ? look(kOfConnector) : look(kOfPlane);
}

// "max bpc", "max-bpc" and "max_bpc" are one name: a structure's text has no blanks in names.
bool same_name(std::string_view a, std::string_view b)
{
  const auto plain = [](char c) { return c == ' ' || c == '-' ? '_' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [plain](char x, char y) { return plain(x) == plain(y); });
}

PropertySet::const_iterator find_named(const PropertySet &properties, const std::string &name)
{
  const auto exact = properties.find(name);
  return exact != properties.end()
             ? exact
             : std::find_if(properties.begin(), properties.end(),
                            [&](const auto &entry) { return same_name(entry.first, name); });
}

// What an application can give a value.
bool is_plain(const Property &property)
{
  return (property.flags & (DRM_MODE_PROP_RANGE | DRM_MODE_PROP_ENUM | DRM_MODE_PROP_BITMASK)) !=
             0 ||
         property.is_signed();
}

std::string list_settable(const PropertySet &properties, PropertyTarget target)
{
  std::string text;
  for (const auto &[name, property] : properties)
    if (is_plain(property) && property.can_be_set() && !who_sets(target, name))
      text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::string list_values(const Property &property)
{
  if (property.range) {
    const auto [low, high] = *property.range;
    if (property.is_signed())
      return std::to_string(static_cast<std::int64_t>(low)) + " to " +
             std::to_string(static_cast<std::int64_t>(high));
    return std::to_string(low) + " to " + std::to_string(high);
  }
  std::string text;
  for (const auto &[name, number] : property.enums)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// nullopt if the value is no number, or out of Integer's range.
template <typename Integer> std::optional<Integer> number_of(const UserProperty &wanted)
{
  return std::visit(
      [](const auto &value) -> std::optional<Integer> {
        if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>)
          if (std::in_range<Integer>(value))
            return static_cast<Integer>(value);
        return std::nullopt;
      },
      wanted.value);
}

// The kernel has numbers of 64 bits without a sign, and reads them as signed where the range is.
template <typename Integer>
std::optional<std::uint64_t> in_range(const Property &property, const UserProperty &wanted)
{
  const auto low = static_cast<Integer>(property.range->first);
  const auto high = static_cast<Integer>(property.range->second);
  const std::optional<Integer> value = number_of<Integer>(wanted);
  return value && *value >= low && *value <= high
             ? std::optional(static_cast<std::uint64_t>(*value))
             : std::nullopt;
}

// One of the names, or the number of one of them.
std::optional<std::uint64_t> of_enum(const Property &property, const UserProperty &wanted)
{
  if (const auto *name = std::get_if<std::string>(&wanted.value))
    return property.enum_value(*name);
  const std::optional<std::uint64_t> number = number_of<std::uint64_t>(wanted);
  const bool known = std::any_of(property.enums.begin(), property.enums.end(),
                                 [number](const auto &entry) { return entry.second == number; });
  return known ? number : std::nullopt;
}

// Names with + between them. The kernel lists the number of each bit (drm_property_add_enum()).
std::optional<std::uint64_t> of_bits(const Property &property, const UserProperty &wanted)
{
  const auto *names = std::get_if<std::string>(&wanted.value);
  if (!names)
    return std::nullopt;
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at <= names->size();) {
    const std::size_t end = std::min(names->find('+', at), names->size());
    const auto bit = property.enum_value(std::string_view(*names).substr(at, end - at));
    if (!bit || *bit >= 64)
      return std::nullopt;
    bits |= std::uint64_t{1} << *bit;
    at = end + 1;
  }
  return bits;
}

std::optional<std::uint64_t> value_of(const Property &property, const UserProperty &wanted)
{
  if (property.range)
    return property.is_signed() ? in_range<std::int64_t>(property, wanted)
                                : in_range<std::uint64_t>(property, wanted);
  if (property.flags & DRM_MODE_PROP_BITMASK)
    return of_bits(property, wanted);
  return of_enum(property, wanted);
}

std::string text_of(const UserProperty &wanted)
{
  if (const auto *text = std::get_if<std::string>(&wanted.value))
    return *text;
  if (const auto *number = std::get_if<std::int64_t>(&wanted.value))
    return std::to_string(*number);
  return std::to_string(std::get<std::uint64_t>(wanted.value));
}

Result<PropertySetting> check_user_property(const UserProperty &wanted, PropertyTarget target,
                                            const PropertySet &properties,
                                            const std::string &object)
{
  const std::string begin = std::string(property_of(target)) + ": ";
  const auto it = find_named(properties, wanted.name);
  const char *instead = who_sets(target, it == properties.end() ? wanted.name : it->first);
  if (instead)
    return device_error(begin + wanted.name + " is set by the sink itself: " + instead + ".",
                        EINVAL);
  if (it == properties.end())
    return device_error(begin + object + " has no property " + wanted.name +
                            ". It has: " + list_settable(properties, target) + ".",
                        EINVAL);
  const auto &[name, property] = *it;
  if (!property.can_be_set())
    return device_error(begin + name + " of " + object + " can be read only.", EINVAL);
  if (!is_plain(property))
    return device_error(begin + name + " of " + object +
                            " takes no number and no name, but a blob or an object.",
                        EINVAL);
  const std::optional<std::uint64_t> value = value_of(property, wanted);
  if (!value)
    return device_error(begin + name + " of " + object + " cannot be " + text_of(wanted) +
                            ". Its values: " + list_values(property) + ".",
                        EINVAL);
  return PropertySetting{property.id, name, *value};
}

} // namespace

Result<std::vector<PropertySetting>> check_user_properties(const std::vector<UserProperty> &wanted,
                                                           PropertyTarget target,
                                                           const PropertySet &properties,
                                                           const std::string &object)
{
  std::vector<PropertySetting> settings;
  for (const UserProperty &wanted : wanted) {
    Result<PropertySetting> setting = check_user_property(wanted, target, properties, object);
    if (!setting)
      return setting.error();
    settings.push_back(std::move(*setting));
  }
  return settings;
}

} // namespace gstdrm::kms
