// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing of imported frames: scales, converts and rotates one frame into one surface. All
// VA objects but the imported surfaces are made once, and each import has its own parameter buffer,
// so that a frame takes three calls (vaBeginPicture, vaRenderPicture, vaEndPicture); three more if
// the driver does not draw borders.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <va/va.h>
#include <va/va_vpp.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "va_colours.hpp"
#include "va_deinterlace.hpp"
#include "va_device.hpp"
#include "va_objects.hpp"
#include "va_patterns.hpp"
#include "va_renderer.hpp"
#include "va_vpp.hpp"

namespace gstdrm::va {

// The orientations that do not depend on the order of rotation and mirror, which va_vpp.h leaves
// open: so no flips at a diagonal.
enum class Orientation { Identity, Right90, Half, Left90, FlipHorizontal, FlipVertical };
[[nodiscard]] constexpr bool swaps_sides(Orientation orientation)
{
  return orientation == Orientation::Right90 || orientation == Orientation::Left90;
}

struct Conversion {
  Orientation orientation{};
  ColourConversion colours;
  std::uint32_t target_fourcc = 0;
  Rect target;          // the whole target
  Rect area;            // of the picture in the target; the rest is black
  bool borders = false; // `area` is smaller than `target`
  // of interlaced frames; nullopt to keep both fields
  std::optional<DeinterlaceMethod> deinterlacing;
};

// Used by one thread.
class Converter {
public:
  // ErrorCode::Unsupported if the driver does not support the orientation.
  static Result<std::unique_ptr<Converter>> create(const Device &device,
                                                   const Conversion &conversion);

  // An imported frame. Destroyed before its Converter.
  class Source;
  Result<std::shared_ptr<Source>> import(const FrameLayout &layout);
  // Frames before the current one, the newest first.
  using Before = std::span<const std::shared_ptr<Source>>;
  // Draws `part` of the source. Returns while the device still draws: source and `before` may then
  // be destroyed, but their memory may not be written. If `before` has fewer frames than the method
  // needs, the frame is deinterlaced without them.
  Result<void> draw(Source &source, const Rect &part, const Surface &target,
                    Fields fields = Fields::Progressive, Before before = {});

private:
  Converter(const Device &device, const Conversion &conversion)
      : display_(device.display), imports_(device.capabilities.imports),
        colours_(device.capabilities.colours), conversion_(conversion)
  {
  }
  Result<void> check_orientation();
  Result<void> prepare_borders(const Device &device);
  Result<void> prepare(Source &source, Fields fields, bool alone);

  std::shared_ptr<Display> display_;
  ImportBy imports_;
  ColourRules colours_;
  Conversion conversion_;
  VARectangle to_{};
  VideoContext context_;
  Deinterlacer deinterlacer_;         // destroyed before the context
  std::unique_ptr<Renderer> borders_; // draws the target black; nullptr if the driver draws borders
};

} // namespace gstdrm::va
