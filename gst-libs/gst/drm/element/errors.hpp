// SPDX-License-Identifier: LGPL-2.1-or-later
// How an Error of an engine or of the library gets on the bus.
#pragma once

#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

namespace gstdrm {

// The error domain and code of GStreamer that an application sees for an Error.
struct BusError {
  GQuark domain;
  gint code;
};
[[nodiscard]] BusError bus_error_of(const Error &error) noexcept;

// Posts an error message. `what` says what could not be done, where the error's own sentence does
// not; it comes first.
void post_error(GstElement *element, const Error &error, const char *what = nullptr);

// The error of a C call of the library as a value; frees `error`. Its code is `code` where the
// caller knows better what failed than the call does.
[[nodiscard]] Error take_error(GError *error, std::optional<ErrorCode> code = std::nullopt);

// One message for one failure, whichever thread notices the failure first. Any thread, a
// synchronous bus handler of that message included.
class OncePerFailure {
public:
  // The next failure is another one.
  void reset()
  {
    const std::lock_guard guard(lock_);
    posted_ = false;
  }
  // True for the first caller since reset(), which posts the message.
  [[nodiscard]] bool claim()
  {
    const std::lock_guard guard(lock_);
    return !std::exchange(posted_, true);
  }
  // Posts for the first caller since reset(). The message is on the bus when any caller returns;
  // a handler of the message that calls this returns at once.
  void post(GstElement *element, const Error &error);

private:
  OrderedMutex lock_{kLeafLockRank, "OncePerFailure::lock_"}; // guards all below
  OrderedCondition posting_ended_;
  bool posted_ = false;
  std::thread::id poster_; // the thread that posts now; none: nobody does
};

} // namespace gstdrm
