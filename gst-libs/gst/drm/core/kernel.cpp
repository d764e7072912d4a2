// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernel.hpp"

#include <charconv>
#include <utility>

namespace gstdrm {

KernelLack kernel_lack(std::string_view release) noexcept
{
  std::pair<unsigned, unsigned> version{};
  const char *const end = release.data() + release.size();
  const auto [dot, problem] = std::from_chars(release.data(), end, version.first);
  if (problem != std::errc() || dot == end || *dot != '.' ||
      std::from_chars(dot + 1, end, version.second).ec != std::errc())
    return KernelLack::Nothing;
  return version < std::pair(5U, 3U)   ? KernelLack::Inodes
         : version < std::pair(6U, 0U) ? KernelLack::SyncFiles
                                       : KernelLack::Nothing;
}

const char *describe(KernelLack lack) noexcept
{
  switch (lack) {
  case KernelLack::Inodes:
    return "cannot tell one dma-buf from another (since Linux 5.3): those of other elements are "
           "imported anew in each frame";
  case KernelLack::SyncFiles:
    return "cannot hand a dma-buf's fence from one device to another (since Linux 6.0): the CPU "
           "waits for it";
  case KernelLack::Nothing:
    break;
  }
  return "";
}

} // namespace gstdrm
