// SPDX-License-Identifier: LGPL-2.1-or-later
// The names of Metis devices: metis-DOMAIN:BUS:SLOT, as the node in /dev and the `device` property
// have it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gst/drm/core/result.hpp>

namespace gstdrm::metis {

// Where a device is on the PCI bus. The name has hexadecimal numbers, with or without leading
// zeros.
struct DeviceAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t slot = 0;
  friend auto operator<=>(const DeviceAddress &, const DeviceAddress &) = default;
};

std::optional<DeviceAddress> parse_device_name(std::string_view name);

// The path of the node: of the device with that name, whatever its zeros; of the device with the
// lowest address where `name` is empty; `name` itself where it is a path. Error, with all names
// that `directory` has: no such device.
Result<std::string> find_device(const std::string &name, const std::string &directory = "/dev");

} // namespace gstdrm::metis
