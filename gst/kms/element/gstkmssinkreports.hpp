// SPDX-License-Identifier: LGPL-2.1-or-later
// What the display reports to kmsdmabufsink, on threads of its own, and what the application hears
// of it.
#pragma once

#include <atomic>
#include <string>

#include <gst/drm/element/errors.hpp>
#include <gst/gst.h>

#include "engine/display/kms_display.hpp"

namespace gstdrm {

class KmsSink;

class SinkReports final : public kms::DisplayListener {
public:
  SinkReports(KmsSink &sink, GstElement *element) noexcept : sink_(sink), element_(element) {}

  // The display starts: what fails from now on is another failure.
  void restart();
  // Posts why the display failed, once for each failure. The message is on the bus when this
  // returns, before upstream hears of the failure and posts a message that says less. Any thread.
  void post_failure(const Error &error) { failure_.post(element_, error); }
  // Nobody waits for a message that another thread posts.
  void set_flushing(bool flushing) { failure_.set_flushing(flushing); }

  void ref() noexcept override { gst_object_ref(element_); }
  void unref() noexcept override { gst_object_unref(element_); } // which may end this
  void report(const kms::Report &report) noexcept override;

private:
  void connector_changed(const std::string &connector, bool connected);

  KmsSink &sink_;       // owns this
  GstElement *element_; // borrowed: it owns the sink
  OncePerFailure failure_;
  std::atomic<bool> lost_announced_{false}; // a warning for a lost frame is on the bus
  std::atomic<bool> stall_announced_{false};
};

} // namespace gstdrm
