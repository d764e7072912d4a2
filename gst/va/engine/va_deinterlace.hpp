// SPDX-License-Identifier: LGPL-2.1-or-later
// Deinterlacing by the driver: a filter of video processing that makes a progressive frame of the
// two fields of an interlaced one, some with the frames before it, which show what has moved.
#pragma once

#include <array>
#include <cstdint>
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

// Frames that an algorithm may look back at: Mesa's needs 2, Intel's need 1.
constexpr std::uint32_t kMostBefore = 2;

// An algorithm and the number of frames before the one at hand that it needs.
struct DeinterlaceMethod {
  Deinterlacing algorithm{};
  std::uint32_t before = 0;
  friend bool operator==(const DeinterlaceMethod &, const DeinterlaceMethod &) = default;
};

// Those of the driver that need no frame behind the one at hand, best last. One that looks back is
// listed only beside Bob, which the first frame is made with.
std::vector<DeinterlaceMethod> query_deinterlacing(const std::shared_ptr<Display> &display);

// The filters of one algorithm, for both orders of fields. Belongs to one thread.
class Deinterlacer {
public:
  static Result<Deinterlacer> create(const std::shared_ptr<Display> &display,
                                     const Context &context, const DeinterlaceMethod &how);
  Deinterlacer() = default;

  // For VAProcPipelineParameterBuffer::filters; nullptr for progressive frames. `alone`: without
  // the frames before that the algorithm needs, so Bob.
  [[nodiscard]] VABufferID *filter(Fields fields, bool alone)
  {
    if (fields == Fields::Progressive)
      return nullptr;
    Pair &pair = alone && before_ > 0 ? alone_ : filters_;
    return &pair.ids[fields == Fields::TopFirst ? 0 : 1];
  }

private:
  // For frames whose first field is the top one, and the bottom one.
  struct Pair {
    std::array<Buffer, 2> buffers;
    std::array<VABufferID, 2> ids{VA_INVALID_ID, VA_INVALID_ID};
  };
  static Result<Pair> make_pair(const std::shared_ptr<Display> &display, const Context &context,
                                Deinterlacing algorithm);

  std::uint32_t before_ = 0;
  Pair filters_;
  Pair alone_; // empty where before_ is 0
};

} // namespace gstdrm::va
