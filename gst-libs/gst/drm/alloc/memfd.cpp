// SPDX-License-Identifier: LGPL-2.1-or-later
#include <cerrno>

#include <fcntl.h>

#include "byte_allocators.hpp"
#include "sealed_memfd.hpp"

namespace gstdrm {

MemfdAllocator::MemfdAllocator() : ByteAllocator("memfd", "") {}

Result<std::unique_ptr<FrameAllocator>> MemfdAllocator::open()
{
  // A sandbox may forbid the call: find out now rather than at the first frame.
  if (auto probe = create_sealed_memfd(round_to_pages(1)); !probe)
    return probe.error();
  return std::unique_ptr<FrameAllocator>(new MemfdAllocator());
}

Result<FrameObject> MemfdAllocator::allocate_bytes(std::uint64_t size_bytes)
{
  const std::uint64_t size = round_to_pages(size_bytes);
  auto fd = create_sealed_memfd(size);
  if (!fd)
    return fd.error();
  // Take the pages now: without memory this is an error here, not SIGBUS at the first write.
  if (::fallocate(fd->get(), 0, 0, static_cast<off_t>(size)) != 0) {
    const int sys_errno = errno;
    return Error{ErrorCode::Allocation,
                 "memfd has no room for " + std::to_string(size) +
                     " bytes: " + errno_text(sys_errno),
                 sys_errno};
  }
  return FrameObject{std::move(fd).value(), size};
}

} // namespace gstdrm
