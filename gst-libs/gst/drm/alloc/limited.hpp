// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "../core/ordered_mutex.hpp"
#include "frame_allocator.hpp"

namespace gstdrm {

// Takes plain bytes from one allocator, and sizes beyond that allocator's limit (udmabuf's
// size_limit_mb) from a second one. The second allocator is opened when it is first needed, because
// most streams need none.
class LimitedAllocator final : public ByteAllocator {
public:
  using Open = std::function<Result<std::unique_ptr<FrameAllocator>>()>;
  LimitedAllocator(std::unique_ptr<FrameAllocator> first, Open open_second);

  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override;
  [[nodiscard]] std::string notice() const override;

private:
  Result<FrameObject> allocate_beyond(std::uint64_t size_bytes, const Error &refusal);

  const std::unique_ptr<FrameAllocator> first_;
  const Open open_second_;
  mutable OrderedMutex lock_{80, "LimitedAllocator::lock_"}; // guards all below
  std::unique_ptr<FrameAllocator> second_;
  std::string notice_;
};

} // namespace gstdrm
