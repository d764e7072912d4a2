// SPDX-License-Identifier: LGPL-2.1-or-later
// How much later a frame leaves metisdmabufinfer than it came.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include <gst/gst.h>

namespace gstdrm::metis {

// The longest time that a frame took of late: of at least the last kFirstWindow frames, at most of
// twice as many, so that a single slow answer of the device does not delay the pipeline for ever.
// Each time that the latency falls, the number of frames doubles: a device that is slow now and
// then makes the pipeline change its latency ever more rarely.
//
// The task calls note(), the streaming thread set_frame_duration(), any thread add_to().
class InferLatency {
public:
  static constexpr unsigned kFirstWindow = 256; // frames

  // While no other thread calls anything.
  void reset() noexcept
  {
    seen_ns_ = announced_ns_ = 0;
    window_ = Window{};
  }
  void set_frame_duration(std::uint64_t duration_ns) noexcept { frame_ns_ = duration_ns; }

  // Returns true if frames take so much longer than announced, or less than half of it, that the
  // pipeline has to ask again.
  [[nodiscard]] bool note(std::chrono::nanoseconds inside) noexcept
  {
    const auto now = static_cast<std::uint64_t>(inside.count());
    window_.longest_ns = std::max(window_.longest_ns, now);
    const bool is_full = ++window_.frames == window_.most_frames;
    if (is_full) {
      window_.frames = 0;
      window_.longest_before_ns = std::exchange(window_.longest_ns, 0);
    }
    const std::uint64_t seen = std::max(window_.longest_ns, window_.longest_before_ns);
    const std::uint64_t announced = announced_ns_;
    seen_ns_ = seen;
    if (is_full && announced > 2 * seen + kLeast) {
      window_.most_frames = std::min(2 * window_.most_frames, kMostWindow);
      return true;
    }
    return seen > announced + announced / kNotable + kLeast;
  }

  // Adds the longest time of a frame of late to the answer of a latency query, and to its maximum
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
  static constexpr unsigned kMostWindow = kFirstWindow << 8; // frames: 36 minutes of 30 per second
  // The frames that are counted now, and the longest time of those that were counted before.
  struct Window {
    unsigned frames = 0;
    unsigned most_frames = kFirstWindow;
    std::uint64_t longest_ns = 0;
    std::uint64_t longest_before_ns = 0;
  };

  static constexpr std::uint64_t kNotable = 8; // divisor of the announced latency
  static constexpr std::uint64_t kLeast = GST_MSECOND;
  std::atomic<std::uint64_t> seen_ns_{0};
  std::atomic<std::uint64_t> announced_ns_{0};
  std::atomic<std::uint64_t> frame_ns_{0}; // 0 if unknown
  Window window_;                          // the task's
};

} // namespace gstdrm::metis
