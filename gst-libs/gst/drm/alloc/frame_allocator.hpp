// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of the library's allocators. Each allocates one kind of memory, as whole frames or
// as plain bytes. It uses no GLib; gstdrmallocator.cpp makes a GstAllocator of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../core/allocated_frame.hpp"
#include "../core/errno_text.hpp"
#include "../core/format.hpp"
#include "../core/limits.hpp"
#include "../core/result.hpp"

namespace gstdrm {

// Memory is handed out in whole pages: udmabuf refuses anything else, and a device's IOMMU maps
// pages.
std::uint64_t round_to_pages(std::uint64_t bytes) noexcept;

struct FrameRequest {
  std::uint32_t fourcc = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  // The modifiers that the consumers take, in any order. The allocator chooses one of them.
  std::span<const std::uint64_t> modifiers;
  Padding padding;
  std::uint32_t stride_align = 1; // bytes, a power of two; a linear layout has 256 at least

  [[nodiscard]] bool offers(std::uint64_t modifier) const noexcept;
};

// Makes frames of one kind of memory on one device. Any thread.
class FrameAllocator {
public:
  // `name` is how messages call it ("udmabuf"), `device` what it was opened on; may be empty.
  FrameAllocator(std::string name, std::string device)
      : name_(std::move(name)), device_(std::move(device))
  {
  }
  FrameAllocator(const FrameAllocator &) = delete;
  FrameAllocator &operator=(const FrameAllocator &) = delete;
  virtual ~FrameAllocator() = default;

  virtual Result<AllocatedFrame> allocate(const FrameRequest &request) = 0;
  // Plain memory of at least this size. Error of code Unsupported where the device allocates whole
  // pictures only.
  virtual Result<FrameObject> allocate_bytes(std::uint64_t size_bytes);
  [[nodiscard]] virtual bool can_allocate_bytes() const noexcept { return false; }
  // The pairs that the allocator can make, as far as the driver tells; nullopt: LINEAR of every
  // fourcc that fourcc_info() knows.
  [[nodiscard]] virtual std::optional<std::vector<Format>> formats() { return std::nullopt; }

  // What a user should know about the allocator on this machine, such as a limit that was reached.
  // Empty if there is nothing.
  [[nodiscard]] virtual std::string notice() const { return {}; }

  [[nodiscard]] const std::string &name() const noexcept { return name_; }
  [[nodiscard]] const std::string &device() const noexcept { return device_; }

protected:
  // "dumb (/dev/dri/card0) can allocate NV12 as LINEAR only, and the consumer takes …; offer …"
  [[nodiscard]] Error refuse_modifiers(const FrameRequest &request, const char *can_do) const;
  // "udmabuf", "dumb (/dev/dri/card0)"
  [[nodiscard]] std::string label() const;

private:
  std::string name_;
  std::string device_;
};

// An allocator whose frames are one object of plain bytes each. Its subclasses differ in
// allocate_bytes() alone.
class ByteAllocator : public FrameAllocator {
public:
  using FrameAllocator::FrameAllocator;
  Result<AllocatedFrame> allocate(const FrameRequest &request) final;
  Result<FrameObject> allocate_bytes(std::uint64_t size_bytes) override = 0;
  [[nodiscard]] bool can_allocate_bytes() const noexcept final { return true; }
};

// "LINEAR, INTEL_X_TILED (0x0100000000000001)"; long lists are cut.
std::string describe_modifiers(std::span<const std::uint64_t> modifiers);

} // namespace gstdrm
