// SPDX-License-Identifier: LGPL-2.1-or-later
// One atomic commit of a frame, as a value: what the planes show after it. FlipQueue keeps a commit
// until the flip of the one that replaces it has completed, and with it every framebuffer that may
// be on screen: the kernel turns off the plane of a framebuffer that goes (drm_framebuffer.c,
// drm_framebuffer_remove()).
#pragma once

#include <cstdint>
#include <memory>

#include <gst/drm/core/unique_fd.hpp>

#include "engine/card/kms_framebuffer.hpp"
#include "kms_fence_wait.hpp"
#include "kms_overlay.hpp"

namespace gstdrm::kms {

// The first pixel that is shown of a framebuffer that is larger than the picture.
struct Origin {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  friend bool operator==(const Origin &, const Origin &) = default;
};

struct Frame {
  // Released when the flip that replaced the frame has completed. Declared first, so released last:
  // after the framebuffer.
  std::shared_ptr<void> owner;
  std::shared_ptr<Framebuffer> framebuffer;
  Origin origin;                // in the framebuffer
  SharedFence acquire_fence;    // what the display waits for; null: nothing, or implicit fences
  std::int64_t due_ns = kNever; // CLOCK_MONOTONIC; kNever: as soon as possible, never late
  std::shared_ptr<const Overlay> overlay; // what lies over the picture; null if there is nothing
  // The overlay as the plane shows it; the display draws it. Null if no plane shows it.
  std::shared_ptr<const OverlayRaster> raster;
  std::uint64_t stamp = 0; // the stream's own time of the frame, for reports
  // Where this is set, the owner is released as soon as the commit that replaces the frame was
  // made. Before that, this function is called with the fence that signals when the flip of that
  // commit has completed. Called without the lock, on any thread.
  void (*replaced)(void *owner, UniqueFd fence) noexcept = nullptr;
};

// What has become of a frame.
enum class Shown {
  Yes,     // it goes to the screen, unless a newer one replaces it before its commit
  Dropped, // left out: nothing is connected, another program is master, or the frame's acquire
           // fence was lost; the stream goes on
  Flushing,
  Failed,
};

struct Commit {
  std::uint64_t serial = 0; // comes back with the flip event
  Frame frame;
  bool repeats = false; // the frame is on screen already
  Cursor cursor;
  std::uint32_t writeback_framebuffer = 0; // id; 0: no writeback
  bool wants_out_fence = false;

  // Of a commit that was made:
  std::int64_t made_at = 0; // CLOCK_MONOTONIC
  UniqueFd out_fence;       // signals with the flip; where it is wanted and the device has one
  UniqueFd writeback_fence; // signals when the picture is written
  SharedFence flip_fence;   // signals with the flip, in place of an event; null: an event tells
};

} // namespace gstdrm::kms
