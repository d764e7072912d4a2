// SPDX-License-Identifier: LGPL-2.1-or-later
// Looks on at a kmsdmabufsink in a pipeline: the caps and buffers that reach it, the RECONFIGUREs that leave it, and
// how the stream ends.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support/check_main.hpp"
#include <gst/drm/drm.h>
#include <gst/gst.h>

namespace gstdrm::test {

class Watch {
public:
  explicit Watch(GstElement *sink);
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;
  ~Watch();

  // Before buffer `index` (from 0) reaches the sink.
  void at_buffer(guint index, std::function<void()> what);
  void at_every_buffer(std::function<void()> what) { each_ = std::move(what); }
  // true: the end of the stream; false: an error, whose text is in `error`.
  bool wait_for_end();
  [[nodiscard]] guint64 stat(const char *name) const;
  [[nodiscard]] std::string query_caps() const;
  [[nodiscard]] GstSample *snapshot() const; // transfer full
  [[nodiscard]] GstPad *pad() const { return pad_; }

  std::vector<std::string> caps; // each CAPS event; look after the end
  std::atomic<guint> reconfigures{0};
  std::atomic<guint> buffers{0};
  bool in_order = true; // timestamps rise
  bool swallow_reconfigure = false;
  std::string error;

private:
  static GstPadProbeReturn on_probe(GstPad *pad, GstPadProbeInfo *info, gpointer self);
  void on_buffer(GstBuffer *buffer);

  GstElement *sink_; // borrowed
  GstPad *pad_ = nullptr;
  gulong probe_ = 0;
  guint index_ = G_MAXUINT;
  std::function<void()> at_, each_;
  GstClockTime last_ = GST_CLOCK_TIME_NONE;
};

// R, G, B of one pixel of a BGRx sample
guint32 pixel(GstSample *sample, int x, int y);
bool write_file(const char *path, const char *text);
// Framebuffers that all clients of all cards have, as debugfs says.
unsigned count_framebuffers();
// The kernel lets go of the last ones when its own work on the last commit is done.
bool framebuffers_settle_at(unsigned count);

} // namespace gstdrm::test
