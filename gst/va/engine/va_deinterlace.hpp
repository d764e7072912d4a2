// SPDX-License-Identifier: LGPL-2.1-or-later
// Deinterlacing by a filter of the driver's video processing. Some algorithms also read earlier
// frames, to detect motion.
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

// The fields of a frame. The earlier field is shown.
enum class Fields { Progressive, TopFirst, BottomFirst };

// The algorithms of va_vpp.h, best last.
enum class Deinterlacing { Weave, Bob, Adaptive, Compensated };

// Number of earlier frames that an algorithm may read: Mesa's needs 2, Intel's need 1.
constexpr std::uint32_t kMostBefore = 2;

// An algorithm and the number of earlier frames that it needs.
struct DeinterlaceMethod {
  Deinterlacing algorithm{};
  std::uint32_t before = 0;
  friend bool operator==(const DeinterlaceMethod &, const DeinterlaceMethod &) = default;
};

// The driver's algorithms that need no later frame, best last. Those that need earlier frames are
// listed only if the driver has Bob, for the first frame.
std::vector<DeinterlaceMethod> query_deinterlacing(const std::shared_ptr<Display> &display);

// The filters of one algorithm, for both orders of fields. Used by one thread.
class Deinterlacer {
public:
  static Result<Deinterlacer> create(const std::shared_ptr<Display> &display,
                                     const Context &context, const DeinterlaceMethod &how);
  Deinterlacer() = default;

  // For VAProcPipelineParameterBuffer::filters; nullptr for progressive frames. `alone`: the
  // earlier frames are missing, so use Bob.
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
  Pair alone_; // empty if before_ is 0
};

} // namespace gstdrm::va
