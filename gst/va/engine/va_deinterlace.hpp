// SPDX-License-Identifier: LGPL-2.1-or-later
// Deinterlacing by the driver, one frame at a time: a filter of video processing that makes a
// progressive frame of the two fields of an interlaced one.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include <va/va.h>
#include <va/va_vpp.h>

#include <gst/drm/core/result.hpp>

#include "va_objects.hpp"

namespace gstdrm::va {

// Of one frame. The first field in time is the one that is shown.
enum class Fields { Progressive, TopFirst, BottomFirst };

// The algorithms of va_vpp.h, best last.
enum class Deinterlacing { Weave, Bob, Adaptive, Compensated };
// As the property names it: "adaptive".
const char *name_of(Deinterlacing algorithm);

// Those of the driver that need no other frames than the one at hand, best last.
std::vector<Deinterlacing> query_deinterlacing(const std::shared_ptr<Display> &display);

// The filters of one algorithm, for both orders of fields. Belongs to one thread.
class Deinterlacer {
public:
  static Result<Deinterlacer> create(const std::shared_ptr<Display> &display,
                                     const Context &context, Deinterlacing algorithm);
  Deinterlacer() = default;

  // For VAProcPipelineParameterBuffer::filters; nullptr for progressive frames.
  [[nodiscard]] VABufferID *filter(Fields fields)
  {
    return fields == Fields::Progressive ? nullptr : &ids_[fields == Fields::TopFirst ? 0 : 1];
  }

private:
  std::array<Buffer, 2> buffers_; // top field first, bottom field first
  std::array<VABufferID, 2> ids_{VA_INVALID_ID, VA_INVALID_ID};
};

} // namespace gstdrm::va
