// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>

#include "byte_allocators.hpp"
#include "sealed_memfd.hpp"

namespace gstdrm {

namespace {

constexpr const char *kDevice = "/dev/udmabuf";
constexpr const char *kSizeLimit = "/sys/module/udmabuf/parameters/size_limit_mb";

Error open_error(int sys_errno)
{
  std::string hint;
  if (sys_errno == ENOENT)
    hint = "; load the module (modprobe udmabuf), or use another allocator";
  else if (sys_errno == EACCES || sys_errno == EPERM)
    hint = "; give this user access to it (group kvm on Debian), or use another allocator";
  return Error{ErrorCode::Device,
               std::string("Cannot open ") + kDevice + ": " + errno_text(sys_errno) + hint,
               sys_errno};
}

// The kernel answers EINVAL for a size beyond the module's limit (drivers/dma-buf/udmabuf.c).
Error create_error(std::uint64_t size_bytes, int sys_errno)
{
  std::string text = "udmabuf refused a buffer of " + std::to_string(size_bytes) +
                     " bytes: " + errno_text(sys_errno);
  std::uint64_t limit_mib = 0;
  if (std::ifstream(kSizeLimit) >> limit_mib)
    text += "; its limit is " + std::to_string(limit_mib) + " MiB per buffer (" + kSizeLimit + ")";
  if (limit_mib > 0 && size_bytes > limit_mib << 20)
    text += ": raise that (options udmabuf size_limit_mb=" +
            std::to_string(std::max<std::uint64_t>(2 * limit_mib, (size_bytes >> 20) + 1)) +
            " in /etc/modprobe.d, or write to that file), or use dma-heap";
  return Error{ErrorCode::Allocation, text, sys_errno};
}

} // namespace

UdmabufAllocator::UdmabufAllocator(UniqueFd device)
    : ByteAllocator("udmabuf", kDevice), device_(std::move(device))
{
}

Result<std::unique_ptr<FrameAllocator>> UdmabufAllocator::open()
{
  UniqueFd device(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (!device)
    return open_error(errno);
  std::unique_ptr<FrameAllocator> allocator(new UdmabufAllocator(std::move(device)));
  if (auto probe = allocator->allocate_bytes(1); !probe)
    return probe.error();
  return allocator;
}

Result<FrameObject> UdmabufAllocator::allocate_bytes(std::uint64_t size_bytes)
{
  const std::uint64_t size = round_to_pages(size_bytes);
  auto memfd = create_sealed_memfd(size);
  if (!memfd)
    return memfd.error();
  struct udmabuf_create create = {};
  create.memfd = static_cast<__u32>(memfd->get());
  create.flags = UDMABUF_FLAGS_CLOEXEC;
  create.size = size;
  UniqueFd fd(::ioctl(device_.get(), UDMABUF_CREATE, &create));
  if (!fd)
    return create_error(size, errno);
  // The memfd may be closed here: the dma-buf has references of its own on the pages
  // (drivers/dma-buf/udmabuf.c).
  return FrameObject{std::move(fd), size};
}

} // namespace gstdrm
