// SPDX-License-Identifier: LGPL-2.1-or-later
// Video processing from frames of others: one frame is drawn into one surface, scaled, converted,
// rotated. All VA objects but the imported surfaces are made once, and each import has a parameter
// buffer of its own, so that a frame takes three calls (vaBeginPicture, vaRenderPicture,
// vaEndPicture); with borders that the driver does not draw, three more.
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

// What va_vpp.h defines without saying in which order rotation and mirror are applied; so there are
// no flips at a diagonal.
enum class Orientation { Identity, Right90, Half, Left90, FlipHorizontal, FlipVertical };
[[nodiscard]] constexpr bool swaps_sides(Orientation orientation)
{
  return orientation == Orientation::Right90 || orientation == Orientation::Left90;
}

struct Conversion {
  Orientation orientation{};
  ColourConversion colours;
  std::uint32_t target_fourcc = 0;
  Rect target;          // all of it
  Rect area;            // of the target; the rest is black
  bool borders = false; // there is a rest
  // of frames with fields; empty if they stay as they are
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
  std::unique_ptr<Renderer> borders_; // draws all of the target black; nullptr: nobody has to
};

} // namespace gstdrm::va
