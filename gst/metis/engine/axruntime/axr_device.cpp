// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_device.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "axr_objects.hpp"

namespace gstdrm::metis::axr {

namespace {

constexpr std::size_t kNameBytes = 256;
// Size of an axrDeviceInfo: up to firmware_version, and with the board controller's fields, which
// are newer. Tried in this order, all reads stay within the runtime's array: an array of the larger
// ones has, 792 bytes after each name, the start of flashed_firmware_version and no device's name.
constexpr std::array<std::size_t, 2> kRecordBytes = {792, 1568};

const char *name_at(const Device *devices, std::size_t offset_bytes)
{
  return reinterpret_cast<const char *>(devices) + offset_bytes;
}

std::string name_of(const char *name)
{
  return {name, strnlen(name, kNameBytes)};
}

std::optional<std::array<unsigned, 3>> address_of(const std::string &name)
{
  std::array<unsigned, 3> parts{};
  char more = 0;
  if (std::sscanf(name.c_str(), "metis-%x:%x:%x%c", &parts[0], &parts[1], &parts[2], &more) != 3)
    return std::nullopt;
  return parts;
}

// Empty: the second record begins at none of the sizes that are known.
std::optional<std::size_t> record_bytes(const Device *devices)
{
  for (const std::size_t size : kRecordBytes)
    if (address_of(name_of(name_at(devices, size))))
      return size;
  return std::nullopt;
}

} // namespace

bool same_device(const std::string &a, const std::string &b)
{
  const auto address = address_of(a);
  return a == b || (address && address == address_of(b));
}

Result<const Device *> find_device(const Api &api, Context *context, const std::string &name)
{
  if (name.empty())
    return static_cast<const Device *>(nullptr);
  const Device *devices = nullptr;
  const std::size_t count = api.list_devices(context, &devices);
  if (count == 0 || !devices) {
    const std::string why = last_error(api, as_object(context));
    return Error{ErrorCode::Device,
                 "No device \"" + name + "\": the runtime finds no device at all (" + why +
                     "). Look whether the card is in lspci and its driver is loaded.",
                 ENODEV};
  }
  const std::size_t stride = count > 1 ? record_bytes(devices).value_or(0) : 0;
  std::string found;
  for (std::size_t n = 0; n < (stride > 0 ? count : 1); n++) {
    const char *record = name_at(devices, n * stride);
    if (same_device(name, name_of(record)))
      return reinterpret_cast<const Device *>(record);
    found += (found.empty() ? "" : ", ") + name_of(record);
  }
  if (stride == 0 && count > 1)
    found += " and " + std::to_string(count - 1) + " more that cannot be told apart";
  return Error{ErrorCode::Device,
               "No device \"" + name + "\": the runtime finds " + found +
                   ". Set the property device to one of these, or leave it empty.",
               ENODEV};
}

} // namespace gstdrm::metis::axr
