// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axl_names.hpp"

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <system_error>

namespace gstdrm::metis {

namespace {

// Takes a hexadecimal number off the front of `text`.
bool take_number(std::string_view &text, std::uint32_t &number)
{
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

bool take(std::string_view &text, std::string_view prefix)
{
  if (!text.starts_with(prefix))
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::map<DeviceAddress, std::string> devices_in(const std::string &directory)
{
  std::map<DeviceAddress, std::string> devices;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (const auto address = parse_device_name(name))
      devices.emplace(*address, name);
  }
  return devices;
}

} // namespace

std::optional<DeviceAddress> parse_device_name(std::string_view name)
{
  DeviceAddress address;
  if (!take(name, "metis-") || !take_number(name, address.domain) || !take(name, ":") ||
      !take_number(name, address.bus) || !take(name, ":") || !take_number(name, address.slot) ||
      !name.empty())
    return {};
  return address;
}

Result<std::string> find_device(const std::string &name, const std::string &directory)
{
  if (name.find('/') != std::string::npos)
    return name;
  const auto wanted = parse_device_name(name);
  if (!name.empty() && !wanted)
    return Error{ErrorCode::Device,
                 "'" + name +
                     "' is no name of a Metis device. Write it as metis-DOMAIN:BUS:SLOT with "
                     "hexadecimal numbers, such as metis-0:1:0.",
                 EINVAL};
  const auto devices = devices_in(directory);
  const auto found = wanted ? devices.find(*wanted) : devices.begin();
  if (found != devices.end())
    return directory + "/" + found->second;
  std::string there;
  for (const auto &[address, device] : devices)
    there += (there.empty() ? "" : ", ") + device;
  return Error{ErrorCode::Device,
               (name.empty() ? "No Metis device" : "No Metis device " + name) + ": " + directory +
                   " has " + (there.empty() ? "none" : there) +
                   ". Load the driver of the card, or name another device.",
               ENODEV};
}

} // namespace gstdrm::metis
