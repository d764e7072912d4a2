// SPDX-License-Identifier: LGPL-2.1-or-later
// The two kinds of memory that come from a DRM device: dumb buffers and GBM.
#pragma once

#include <memory>
#include <string>

#include "frame_allocator.hpp"

namespace gstdrm {

// Dumb buffers of a KMS device: linear memory that its display can scan out. A handle lives only
// until it is exported, so that an importer on the same open file gets a handle that is its own.
class DumbAllocator final : public FrameAllocator {
public:
  // `node`: path of a card; empty: the first card that has dumb buffers.
  static Result<std::unique_ptr<FrameAllocator>> open(const std::string &node);
  // Takes a duplicate of the descriptor: the same open file, so a lease or authentication holds
  // here too.
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
  // Opens the device anew (its render node, else the same node): drivers keep GEM handles of their
  // own for the open file they are given, and a handle that the caller imports and closes on the
  // same open file would be the driver's. Where it cannot be opened again, a duplicate serves.
  static Result<std::unique_ptr<FrameAllocator>> open(int borrowed_fd);
};

} // namespace gstdrm
