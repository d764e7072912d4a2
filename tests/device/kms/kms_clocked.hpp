// SPDX-License-Identifier: LGPL-2.1-or-later
// A sink that plays against the system clock, fed frame by frame from a few dma-bufs in rotation.
#pragma once

#include <array>
#include <string>

#include "kms_support.hpp"

namespace gstdrm::test {

class ClockedStream {
public:
  // The first frame is due `start` after now.
  ClockedStream(const char *properties, const std::string &caps, const GstVideoInfo &info,
                GstClockTime start)
      : sink(("sync=true " + std::string(properties)).c_str()), start_(start)
  {
    const auto clock = GstPtr<GstClock>::adopt(gst_system_clock_obtain());
    gst_element_set_clock(sink.element(), clock.get());
    gst_element_set_base_time(sink.element(), gst_clock_get_time(clock.get()));
    ck_assert_msg(sink.set_caps(caps), "%s", caps.c_str());
    const GstPtr<GstBuffer> picture = make_noise(info, 1);
    for (GstPtr<GstBuffer> &buffer : buffers_)
      buffer = to_dmabuf(info, picture.get(), Shape::Tight);
  }

  // A new buffer with the memory of the next dma-buf, due `time` after the first frame.
  GstBuffer *next(GstClockTime time, GstClockTime duration)
  {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_copy_into(
        buffer, buffers_[count_++ % buffers_.size()].get(),
        static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_META), 0, -1);
    GST_BUFFER_PTS(buffer) = start_ + time;
    GST_BUFFER_DURATION(buffer) = duration;
    return buffer;
  }
  void push(GstClockTime time, GstClockTime duration)
  {
    ck_assert_int_eq(sink.push(next(time, duration)), GST_FLOW_OK);
  }
  [[nodiscard]] GstClockTime start() const { return start_; }

  Sink sink;

private:
  GstClockTime start_;
  std::array<GstPtr<GstBuffer>, 6> buffers_; // the display holds up to four
  guint count_ = 0;
};

} // namespace gstdrm::test
