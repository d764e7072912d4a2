// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing from frames of others: one frame is drawn into one surface, scaled, converted,
// rotated. All VA objects but the imported surfaces are made once, and each import has a parameter
// buffer of its own, so that a frame takes three calls (vaBeginPicture, vaRenderPicture,
// vaEndPicture).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <va/va.h>
#include <va/va_vpp.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "va_deinterlace.hpp"
#include "va_device.hpp"
#include "va_objects.hpp"
#include "va_patterns.hpp"
#include "va_vpp.hpp"

namespace gstdrm::va {

// What va_vpp.h defines without saying in which order rotation and mirror are applied; so there are
// no flips at a diagonal.
enum class Orientation { Identity, Right90, Half, Left90, FlipHorizontal, FlipVertical };
[[nodiscard]] constexpr bool swaps_sides(Orientation orientation)
{
  return orientation == Orientation::Right90 || orientation == Orientation::Left90;
}

// RGB is full range, and has the matrix of the YUV that it is made of or becomes.
struct Colours {
  Matrix matrix{};
  bool full_range = false;
};

struct Conversion {
  Orientation orientation{};
  Colours from;
  Colours to;
  Rect area;            // of the target; the rest is black
  bool borders = false; // there is a rest
  // of frames with fields; empty: they stay as they are
  std::optional<DeinterlaceMethod> deinterlacing;
};

// Belongs to one thread.
class Converter {
public:
  // ErrorCode::Unsupported where the driver does not turn pictures this way.
  static Result<std::unique_ptr<Converter>> create(const Device &device,
                                                   const Conversion &conversion);

  // An imported frame, ready to be read from. Outlives no Converter.
  class Source;
  Result<std::shared_ptr<Source>> import(const FrameLayout &layout);
  // Frames before the one at hand, the nearest first.
  using Before = std::span<const std::shared_ptr<Source>>;
  // Draws this part of the source. Returns at once, while the device still draws; source and frames
  // before may be destroyed then, their memory may not be written. With fewer frames before than
  // the method needs, a frame is deinterlaced alone.
  Result<void> draw(Source &source, const Rect &part, const Surface &target,
                    Fields fields = Fields::Progressive, Before before = {});

private:
  Converter(std::shared_ptr<Display> display, ImportBy imports, const Conversion &conversion)
      : display_(std::move(display)), imports_(imports), conversion_(conversion)
  {
  }
  Result<void> check_orientation();
  Result<void> prepare(Source &source, Fields fields, bool alone);

  std::shared_ptr<Display> display_;
  ImportBy imports_;
  Conversion conversion_;
  VARectangle to_{};
  VideoContext context_;
  Deinterlacer deinterlacer_; // destroyed before the context
};

} // namespace gstdrm::va
