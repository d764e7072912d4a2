// SPDX-License-Identifier: LGPL-2.1-or-later
// How much later a frame leaves metisdmabufinfer than it came.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gst/gst.h>

namespace gstdrm::metis {

// The task calls note(), the streaming thread set_frame_duration(), any thread add_to().
class InferLatency {
public:
  void reset() noexcept { seen_ns_ = announced_ns_ = 0; }
  void set_frame_duration(std::uint64_t duration_ns) noexcept { frame_ns_ = duration_ns; }

  // Returns true if frames take so much longer than announced that the pipeline has to ask again.
  [[nodiscard]] bool note(std::chrono::nanoseconds inside) noexcept
  {
    const auto now = static_cast<std::uint64_t>(inside.count());
    if (now > seen_ns_)
      seen_ns_ = now;
    return seen_ns_ > announced_ns_ + announced_ns_ / kNotable + kLeast;
  }

  // Adds the longest time of a frame so far to the answer of a latency query, and to its maximum
  // the duration of the frames that the queue holds.
  void add_to(GstQuery *query, unsigned places) noexcept
  {
    gboolean live = FALSE;
    GstClockTime min = 0;
    GstClockTime max = 0;
    gst_query_parse_latency(query, &live, &min, &max);
    const GstClockTime seen = seen_ns_;
    announced_ns_ = seen;
    const GstClockTime held = frame_ns_ * places;
    if (GST_CLOCK_TIME_IS_VALID(max))
      max += held > seen ? held : seen;
    gst_query_set_latency(query, live, min + seen, max);
  }

private:
  static constexpr std::uint64_t kNotable = 8; // divisor of the announced latency
  static constexpr std::uint64_t kLeast = GST_MSECOND;
  std::atomic<std::uint64_t> seen_ns_{0};
  std::atomic<std::uint64_t> announced_ns_{0};
  std::atomic<std::uint64_t> frame_ns_{0}; // 0 if unknown
};

} // namespace gstdrm::metis
