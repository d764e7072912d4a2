// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of tensors, which is allocated and mapped once and then reused.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/alloc/frame_allocator.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "tensor.hpp"

namespace gstdrm::metis {

// Memory of one tensor, mapped for the CPU. Any thread; the owners synchronise access to the bytes.
class TensorBlock {
public:
  // Maps the memory behind `fd`, a dma-buf or a memfd.
  static Result<std::unique_ptr<TensorBlock>> map(UniqueFd fd, std::size_t size_bytes);
  // Allocates memory without a descriptor.
  static Result<std::unique_ptr<TensorBlock>> allocate(std::size_t size_bytes);
  TensorBlock(const TensorBlock &) = delete;
  TensorBlock &operator=(const TensorBlock &) = delete;
  ~TensorBlock();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); } // -1 for host memory
  [[nodiscard]] std::byte *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; } // whole pages
  // The tensor of that size at the start of the memory.
  [[nodiscard]] TensorView view(std::size_t tensor_bytes) const noexcept
  {
    return {fd_.get(), data_, tensor_bytes};
  }
  // DMA_BUF_IOCTL_SYNC around CPU access; nullopt for memory that is no dma-buf.
  [[nodiscard]] Result<std::optional<CpuAccess>> begin_access(DmaBufAccess access) const;

private:
  TensorBlock(UniqueFd fd, std::byte *data, std::size_t size_bytes) noexcept
      : fd_(std::move(fd)), data_(data), size_bytes_(size_bytes)
  {
  }
  const UniqueFd fd_;
  std::byte *const data_;
  const std::size_t size_bytes_;
};

enum class TensorMemory { DmaBuf, System };

// A block returns to its pool with the last reference to it; blocks may outlive the pool. Any
// thread.
class TensorPool : public std::enable_shared_from_this<TensorPool> {
public:
  // Limit for unused blocks.
  static constexpr std::size_t kKept = 32;

  // DmaBuf memory is from udmabuf, else from the first dma-heap, else memfds, which no device can
  // read.
  static Result<std::shared_ptr<TensorPool>> open(TensorMemory kind);

  // Returns at least that many bytes, with the content of an earlier use.
  Result<std::shared_ptr<const TensorBlock>> take(std::size_t size_bytes);
  // "udmabuf", "dma-heap", "memfd" or "system memory".
  [[nodiscard]] const std::string &kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t n_unused() const;

private:
  TensorPool(std::string kind, std::unique_ptr<FrameAllocator> allocator)
      : kind_(std::move(kind)), allocator_(std::move(allocator))
  {
  }
  Result<std::unique_ptr<TensorBlock>> make(std::size_t size_bytes);
  void give_back(std::unique_ptr<TensorBlock> block) noexcept;

  const std::string kind_;
  const std::unique_ptr<FrameAllocator> allocator_;               // nullptr for system memory
  mutable OrderedMutex lock_{kLeafLockRank, "TensorPool::lock_"}; // guards unused_
  std::vector<std::unique_ptr<TensorBlock>> unused_;
};

} // namespace gstdrm::metis
