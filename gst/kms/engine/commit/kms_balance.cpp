// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_balance.hpp"

#include <algorithm>
#include <limits>

namespace gstdrm::kms {

namespace {

// The kernel has numbers of 64 bits without a sign, and reads them as signed where the range is
// (DRM_MODE_PROP_SIGNED_RANGE): of numbers that fit 32 bits both readings are one.
std::optional<std::int32_t> as_number(std::uint64_t value)
{
  const auto number = static_cast<std::int64_t>(value);
  constexpr std::numeric_limits<std::int32_t> kLimits;
  if (number < kLimits.min() || number > kLimits.max())
    return std::nullopt;
  return static_cast<std::int32_t>(number);
}

// Returns nullopt if the object has no such property, or nobody can set it.
std::optional<BalanceChannel> channel_of(BalanceKind kind, const PropertySet &properties)
{
  const Property *property = find(properties, kBalanceProperties[static_cast<std::size_t>(kind)]);
  if (!property || !property->range || !property->can_be_set())
    return std::nullopt;
  const auto low = as_number(property->range->first), high = as_number(property->range->second);
  const auto found = as_number(property->value);
  if (!low || !high || !found || *low >= *high)
    return std::nullopt;
  return BalanceChannel{kind, *low, *high, *found};
}

// Returns nullopt unless every plane for the picture has it alike.
std::optional<BalanceChannel> on_planes(BalanceKind kind, const Output &output)
{
  std::optional<BalanceChannel> common;
  for (const Plane &plane : output.planes) {
    const std::optional<BalanceChannel> own = channel_of(kind, plane.properties);
    if (!own || (common && (own->low != common->low || own->high != common->high)))
      return std::nullopt;
    if (!common)
      common = own;
  }
  return common;
}

std::optional<BalanceChannel> channel_of(BalanceKind kind, const Output &output)
{
  const std::optional<BalanceChannel> of_planes = on_planes(kind, output);
  if (of_planes || output.joined)
    return of_planes;
  return channel_of(kind, output.crtc.properties);
}

} // namespace

std::vector<BalanceChannel> balance_channels(const Output &output)
{
  std::vector<BalanceChannel> channels;
  for (std::size_t i = 0; i < kBalanceKinds; i++)
    if (const auto channel = channel_of(static_cast<BalanceKind>(i), output))
      channels.push_back(*channel);
  return channels;
}

void set_balance(Request &request, const Output &output, const Plane &plane, const Balance &balance)
{
  for (const BalanceChannel &channel : balance_channels(output)) {
    const auto index = static_cast<std::size_t>(channel.kind);
    if (!balance[index])
      continue;
    const char *name = kBalanceProperties[index];
    const std::int64_t value = std::clamp(*balance[index], channel.low, channel.high);
    const bool of_plane = on_planes(channel.kind, output).has_value();
    request.set(of_plane ? plane.id : output.crtc.id,
                of_plane ? plane.properties : output.crtc.properties, name,
                static_cast<std::uint64_t>(value));
  }
}

} // namespace gstdrm::kms
