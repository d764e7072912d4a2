// SPDX-License-Identifier: LGPL-2.1-or-later
// The three kinds of memory that know only bytes: udmabuf, dma-heap and memfd.
#pragma once

#include <memory>
#include <string>

#include "frame_allocator.hpp"

namespace gstdrm {

// Pages of a sealed memfd, exported through /dev/udmabuf.
class UdmabufAllocator final : public ByteAllocator {
public:
  static Result<std::unique_ptr<FrameAllocator>> open();
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override;

private:
  explicit UdmabufAllocator(UniqueFd device);
  UniqueFd device_;
};

// A heap under /dev/dma_heap.
class DmaHeapAllocator final : public ByteAllocator {
public:
  // `heap`: "system", "linux,cma", or the whole path. Empty: system, else the first one that works.
  static Result<std::unique_ptr<FrameAllocator>> open(const std::string &heap);
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override;

private:
  DmaHeapAllocator(std::string heap, UniqueFd device);
  UniqueFd device_;
};

// Shared memory that is no dma-buf: any process can map it, no device can import it.
class MemfdAllocator final : public ByteAllocator {
public:
  static Result<std::unique_ptr<FrameAllocator>> open();
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override;

private:
  MemfdAllocator();
};

} // namespace gstdrm
