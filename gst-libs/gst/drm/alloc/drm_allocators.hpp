// SPDX-License-Identifier: LGPL-2.1-or-later
// The two kinds of memory that come from a DRM device: dumb buffers and GBM.
#pragma once

#include <memory>
#include <string>

#include "frame_allocator.hpp"

namespace gstdrm {

// Dumb buffers of a KMS device: linear memory that its display can scan out. Each GEM handle is
// closed once it is exported, so that an importer on the same open file gets a handle of its own.
class DumbAllocator final : public FrameAllocator {
public:
  // `node`: path of a card; empty: the first card that has dumb buffers.
  static Result<std::unique_ptr<FrameAllocator>> open(const std::string &node);
  // Works on a duplicate of the descriptor, which is the same open file, so that a lease or an
  // authentication of that file is valid for the allocator too.
  static Result<std::unique_ptr<FrameAllocator>> open(int borrowed_fd);
  Result<AllocatedFrame> allocate(const FrameRequest &request) override;

private:
  struct Surface;
  DumbAllocator(std::string node, UniqueFd device);
  static Result<std::unique_ptr<FrameAllocator>> probe(std::string node, UniqueFd device);
  Result<Surface> create_surface(std::uint32_t pitch_bytes, std::uint32_t rows) const;
  UniqueFd device_;
};

// The GPU driver's own allocator, behind Mesa's (or a vendor's) libgbm.
struct Gbm {
  // `node`: path of a render or card node; empty: the first render node, else card, that libgbm
  // takes.
  static Result<std::unique_ptr<FrameAllocator>> open(const std::string &node);
  // Opens the device anew (its render node, else the same node). A driver keeps GEM handles on the
  // open file that it is given; on the caller's open file, an import by the caller would return one
  // of these handles, and closing it would take the handle from the driver. A device that cannot be
  // opened again is used through a duplicate of the descriptor.
  static Result<std::unique_ptr<FrameAllocator>> open(int borrowed_fd);
};

} // namespace gstdrm
