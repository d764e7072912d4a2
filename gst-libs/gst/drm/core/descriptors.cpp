// SPDX-License-Identifier: LGPL-2.1-or-later
#include "descriptors.hpp"

#include <array>
#include <cerrno>
#include <cstddef>

#include <sys/eventfd.h>

#include "errno_text.hpp"
#include "unique_fd.hpp"

namespace gstdrm {

int out_of_descriptors(unsigned count) noexcept
{
  const int before = errno;
  int lack = 0;
  std::array<UniqueFd, kDescriptorsOfFrame> taken;
  for (std::size_t i = 0; i < count && i < taken.size() && lack == 0; ++i) {
    taken[i].reset(::eventfd(0, EFD_CLOEXEC));
    // ENOMEM or ENODEV say nothing of descriptors
    if (!taken[i] && (errno == EMFILE || errno == ENFILE))
      lack = errno;
  }
  errno = before;
  return lack;
}

std::string text_of_lack(int lack)
{
  return lack == 0 ? std::string() : ", with hardly a descriptor left (" + errno_text(lack) + ")";
}

} // namespace gstdrm
