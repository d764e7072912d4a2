// SPDX-License-Identifier: LGPL-2.1-or-later
// How much later a frame leaves metisdmabufinfer than it came.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <gst/gst.h>

namespace gstdrm::metis {

// The task notes what it sees, any thread asks.
class InferLatency {
public:
  void reset() noexcept { seen_ns_ = announced_ns_ = 0; }
  void set_frame_duration(std::uint64_t duration_ns) noexcept { frame_ns_ = duration_ns; }

  // True: frames take notably longer than was announced, so the pipeline has to ask again.
  [[nodiscard]] bool note(std::chrono::nanoseconds inside) noexcept
  {
    const auto now = static_cast<std::uint64_t>(inside.count());
    if (now > seen_ns_)
      seen_ns_ = now;
    return seen_ns_ > announced_ns_ + announced_ns_ / kNotable + kLeast;
  }

  // Adds to the answer of a latency query: the longest time that a frame took until now, and, where
  // upstream may run ahead, as many frames as have a place.
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
  static constexpr std::uint64_t kNotable = 8; // a part of what was announced
  static constexpr std::uint64_t kLeast = GST_MSECOND;
  std::atomic<std::uint64_t> seen_ns_{0};
  std::atomic<std::uint64_t> announced_ns_{0};
  std::atomic<std::uint64_t> frame_ns_{0}; // 0: not known
};

} // namespace gstdrm::metis
