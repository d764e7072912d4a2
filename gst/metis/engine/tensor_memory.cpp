// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tensor_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include <sys/mman.h>

#include <gst/drm/alloc/open_allocator.hpp>
#include <gst/drm/core/errno_text.hpp>

namespace gstdrm::metis {

namespace {

Error map_error(std::size_t size_bytes, int sys_errno)
{
  return Error{ErrorCode::Allocation,
               "A tensor of " + std::to_string(size_bytes) +
                   " bytes cannot be mapped: " + errno_text(sys_errno) + ".",
               sys_errno};
}

Result<std::byte *> map_shared(int fd, std::size_t size_bytes)
{
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void *data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  const int sys_errno = errno;
  if (data == MAP_FAILED)
    return map_error(size_bytes, sys_errno);
  return static_cast<std::byte *>(data);
}

} // namespace

Result<std::unique_ptr<TensorBlock>> TensorBlock::map(UniqueFd fd, std::size_t size_bytes)
{
  auto data = map_shared(fd.get(), size_bytes);
  if (!data)
    return data.error();
  return std::unique_ptr<TensorBlock>(new TensorBlock(std::move(fd), *data, size_bytes));
}

Result<std::unique_ptr<TensorBlock>> TensorBlock::allocate(std::size_t size_bytes)
{
  return map(UniqueFd(), size_bytes);
}

TensorBlock::~TensorBlock()
{
  ::munmap(data_, size_bytes_);
}

Result<std::optional<CpuAccess>> TensorBlock::begin_access(DmaBufAccess access) const
{
  if (!fd_)
    return std::optional<CpuAccess>();
  Result<CpuAccess> begun = CpuAccess::begin(fd_.get(), access);
  if (begun)
    return std::optional<CpuAccess>(std::move(*begun));
  if (begun.error().code == ErrorCode::Unsupported) // a memfd
    return std::optional<CpuAccess>();
  return begun.error();
}

Result<std::shared_ptr<TensorPool>> TensorPool::open(TensorMemory kind)
{
  if (kind == TensorMemory::System)
    return std::shared_ptr<TensorPool>(new TensorPool("system memory", nullptr));
  std::string refusals;
  for (const AllocatorKind tried :
       {AllocatorKind::Udmabuf, AllocatorKind::DmaHeap, AllocatorKind::Memfd}) {
    auto opened = open_allocator(tried, "");
    if (opened) {
      std::string name = opened->allocator->name();
      return std::shared_ptr<TensorPool>(
          new TensorPool(std::move(name), std::move(opened->allocator)));
    }
    refusals += (refusals.empty() ? "" : " ") + opened.error().message;
  }
  return Error{ErrorCode::Allocation, "No memory for tensors: " + refusals, 0};
}

Result<std::unique_ptr<TensorBlock>> TensorPool::make(std::size_t size_bytes)
{
  if (!allocator_)
    return TensorBlock::allocate(size_bytes);
  Result<FrameObject> object = allocator_->allocate_bytes(size_bytes);
  if (!object)
    return object.error();
  return TensorBlock::map(std::move(object->fd), object->size_bytes);
}

Result<std::shared_ptr<const TensorBlock>> TensorPool::take(std::size_t size_bytes)
{
  if (size_bytes == 0)
    return Error{ErrorCode::Allocation, "A tensor of 0 bytes has no memory.", 0};
  const std::size_t wanted = round_to_pages(size_bytes);
  std::unique_ptr<TensorBlock> block;
  {
    const std::lock_guard guard(lock_);
    const auto found = std::find_if(unused_.begin(), unused_.end(), [wanted](const auto &unused) {
      return unused->size_bytes() == wanted;
    });
    if (found != unused_.end()) {
      block = std::move(*found);
      unused_.erase(found);
    }
  }
  if (!block) {
    auto made = make(wanted);
    if (!made)
      return made.error();
    block = std::move(*made);
  }
  return std::shared_ptr<const TensorBlock>(
      block.release(), [pool = weak_from_this()](const TensorBlock *used) {
        std::unique_ptr<TensorBlock> owned(const_cast<TensorBlock *>(used));
        if (const auto alive = pool.lock())
          alive->give_back(std::move(owned));
      });
}

// Frees the block if the vector cannot grow.
void TensorPool::give_back(std::unique_ptr<TensorBlock> block) noexcept
try {
  const std::lock_guard guard(lock_);
  if (unused_.size() < kKept)
    unused_.push_back(std::move(block));
} catch (...) {
}

std::size_t TensorPool::n_unused() const
{
  const std::lock_guard guard(lock_);
  return unused_.size();
}

} // namespace gstdrm::metis
