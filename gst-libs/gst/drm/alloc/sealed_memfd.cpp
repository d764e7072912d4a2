// SPDX-License-Identifier: LGPL-2.1-or-later
#include "sealed_memfd.hpp"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame_allocator.hpp"

namespace gstdrm {

namespace {

// MFD_NOEXEC_SEAL of linux/memfd.h, since Linux 6.3. With the sysctl vm.memfd_noexec=2,
// memfd_create(2) fails without this flag.
constexpr unsigned kNoExecSeal = 0x0008;

UniqueFd create_memfd()
{
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(::memfd_create("gst-drm", kFlags | kNoExecSeal));
  if (!fd && errno == EINVAL)
    fd.reset(::memfd_create("gst-drm", kFlags));
  return fd;
}

Error memfd_error(const char *step, std::uint64_t size_bytes, int sys_errno)
{
  return Error{ErrorCode::Allocation,
               std::string(step) + " failed for a memfd of " + std::to_string(size_bytes) +
                   " bytes: " + errno_text(sys_errno),
               sys_errno};
}

} // namespace

Result<UniqueFd> create_sealed_memfd(std::uint64_t size_bytes)
{
  UniqueFd fd = create_memfd();
  if (!fd)
    return memfd_error("memfd_create", size_bytes, errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(size_bytes)) != 0)
    return memfd_error("ftruncate", size_bytes, errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return memfd_error("F_ADD_SEALS", size_bytes, errno);
  return fd;
}

} // namespace gstdrm
