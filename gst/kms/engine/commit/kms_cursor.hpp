// SPDX-License-Identifier: LGPL-2.1-or-later
// The cursor plane's picture and position, which become part of the next commit. Any thread may
// change them. apply(), committed() and forget() are called by the thread that commits, one at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_dumb.hpp"
#include "engine/card/kms_lock_ranks.hpp"
#include "engine/output/kms_output.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

// Rows without padding, 4 bytes per pixel: B, G, R, A, the colours multiplied by alpha, as planes
// blend that have no "pixel blend mode" property (drm_blend.c).
struct CursorImage {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels;
};

class Cursor {
public:
  explicit Cursor(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  // The image's top left corner, in the mode's pixels; may lie outside.
  void move(std::int32_t x, std::int32_t y);
  // Without an image the cursor is hidden. Error: the image is larger than the hardware's cursor,
  // or there is no memory; then the old cursor stays.
  Result<void> set_image(const std::optional<CursorImage> &image);
  // Whether the next commit would change the cursor.
  [[nodiscard]] bool changed() const;

  // Whether the last commit shows a cursor.
  [[nodiscard]] bool is_shown() const;
  // Adds the changes since the last commit to a request. Returns whether there were any.
  // `zpos` is over the picture; -1: as the driver has it.
  bool apply(Request &request, const Plane &plane, std::uint32_t crtc_id, int zpos);
  // The commit with the changes that apply() added was made.
  void committed();
  // That commit failed, but not because of the cursor: the next one gets the same changes.
  void postponed();
  // That commit was refused because of the cursor, which stays as it is until it is changed again.
  void refused();
  // The plane was turned off by another commit than those with apply().
  void forget();

private:
  struct Look {
    std::shared_ptr<DumbBuffer> buffer; // null: hidden
    std::int32_t x = 0;
    std::int32_t y = 0;
  };
  std::shared_ptr<Device> device_;
  // Guards everything below. A cursor's buffer may be released under it.
  mutable OrderedMutex lock_{kCursorLockRank, "Cursor::lock_"};
  Look wanted_;
  bool changed_ = false;
  Look asked_; // by the commit that is being made
  Look shown_; // by the last commit
  // The cursor of the commit before the last. Its framebuffer is on screen until the flip, and
  // removing the framebuffer earlier would turn the plane off.
  std::shared_ptr<DumbBuffer> replaced_;
};

} // namespace gstdrm::kms
