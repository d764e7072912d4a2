// SPDX-License-Identifier: LGPL-2.1-or-later
#include "limited.hpp"

#include <cerrno>
#include <cinttypes>

#include "../core/log.hpp"

namespace gstdrm {

LimitedAllocator::LimitedAllocator(std::unique_ptr<FrameAllocator> first, Open open_second)
    : ByteAllocator(first->name(), first->device()), first_(std::move(first)),
      open_second_(std::move(open_second))
{
}

// The first allocator is asked each time, because its limit may be raised while a stream runs, and
// a refusal costs two system calls, little beside the allocation of a large frame. The kernel
// answers EINVAL to a size beyond the limit (drivers/dma-buf/udmabuf.c). Any other error is
// returned as it is: without memory, for instance, the second allocator would fail as well.
Result<FrameObject> LimitedAllocator::allocate_bytes(std::uint64_t size_bytes)
{
  auto object = first_->allocate_bytes(size_bytes);
  if (object || object.error().sys_errno != EINVAL)
    return object;
  return allocate_beyond(size_bytes, object.error());
}

Result<FrameObject> LimitedAllocator::allocate_beyond(std::uint64_t size_bytes,
                                                      const Error &refusal)
{
  FrameAllocator *second = nullptr;
  {
    const std::lock_guard lock(lock_);
    if (!second_) {
      auto opened = open_second_();
      if (!opened)
        return Error{refusal.code,
                     refusal.message + ". Nothing takes its place: " + opened.error().message,
                     refusal.sys_errno};
      second_ = std::move(opened).value();
    }
    second = second_.get();
  }
  auto object = second->allocate_bytes(size_bytes);
  if (!object)
    return Error{object.error().code, refusal.message + ". " + object.error().message,
                 object.error().sys_errno};
  GSTDRM_LOG("%" PRIu64 " bytes come from %s, as %s refused them", size_bytes,
             second->name().c_str(), name().c_str());
  const std::lock_guard lock(lock_);
  if (notice_.empty())
    notice_ = refusal.message + ". Such buffers come from " + second->name() + " (" +
              second->device() + ") instead";
  return object;
}

std::string LimitedAllocator::notice() const
{
  const std::lock_guard lock(lock_);
  return notice_;
}

} // namespace gstdrm
