// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of Metis devices.
#pragma once

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace gstdrm::metis {

// Address on the PCI bus. A name, metis-DOMAIN:BUS:SLOT, has it in hexadecimal numbers, with or
// without leading zeros.
struct DeviceAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t slot = 0;
  friend auto operator<=>(const DeviceAddress &, const DeviceAddress &) = default;
};

inline std::optional<DeviceAddress> parse_device_name(std::string_view name)
{
  DeviceAddress address;
  std::string_view prefix = "metis-";
  for (std::uint32_t *number : {&address.domain, &address.bus, &address.slot}) {
    if (!name.starts_with(prefix))
      return std::nullopt;
    name.remove_prefix(prefix.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *number, 16);
    if (error != std::errc{})
      return std::nullopt;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    prefix = ":";
  }
  return name.empty() ? std::optional(address) : std::nullopt;
}

} // namespace gstdrm::metis
