// SPDX-License-Identifier: LGPL-2.1-or-later
// How a failure gets on the bus: one error message, with details for applications (docs/errors.md).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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

// A failure in parts, for an element that knows more than an Error says. The text of the message is
// "WHAT: REASON. ADVICE", and each part is a field of the details.
class Failure {
public:
  // `what` could not be done; empty where the error's own sentence says it. `why` is the reason.
  Failure(BusError on_bus, std::string what, Error why);
  // The same with the domain and code that GStreamer has for the Error.
  Failure(std::string what, const Error &why);

  // What to do, in whole sentences.
  Failure &advise(std::string advice);
  // A field of the details (docs/errors.md has their names); none where there is no value.
  Failure &add(const char *field, const std::string &value);
  Failure &add(const char *field, std::uint64_t value);
  Failure &add(const char *field, const GstCaps *caps);
  // Which property decides about the failure, and its value.
  Failure &add_property(const char *name, const std::string &value);

private:
  friend void post_failure(GstElement *element, const Failure &failure);
  struct Free {
    void operator()(GstStructure *structure) const { gst_structure_free(structure); }
  };
  BusError on_bus_;
  std::string what_;
  Error why_;
  std::string advice_;
  std::unique_ptr<GstStructure, Free> facts_;
};
void post_failure(GstElement *element, const Failure &failure);

// Posts an Error about which the element knows no more. `what` says what could not be done, where
// the error's own sentence does not; it comes first.
void post_error(GstElement *element, const Error &error, const char *what = nullptr);

// Sets a field of details; a path or a driver's name may be no UTF-8, which a structure does not
// take.
void set_text(GstStructure *details, const char *field, const std::string &text);

// Posts an error message whose details are made elsewhere: `text` is their field `text`, too, and
// they get the fields that the details of every error have. `details` and `debug` are consumed.
void post_with_details(GstElement *element, BusError on_bus, const Error &error,
                       GstStructure *details, gchar *debug);

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
  // Posts for the first caller since reset(). The message is on the bus when any caller returns,
  // unless there is a flush; a handler of the message that calls this returns at once.
  void post(GstElement *element, const Error &error) { post(element, Failure({}, error)); }
  void post(GstElement *element, const Failure &failure);
  // While there is a flush no thread waits for the message of another one: the handler of that
  // message may be what flushes, and wait for the thread.
  void set_flushing(bool flushing);

private:
  OrderedMutex lock_{kLeafLockRank, "OncePerFailure::lock_"}; // guards all below
  OrderedCondition posting_ended_;
  bool posted_ = false;
  bool flushing_ = false;
  std::thread::id poster_; // the thread that posts now; none: nobody does
};

// What GStreamer's base classes post for an element: without details, and often behind a message of
// the element's own about the same failure.
struct BaseError {
  BusError on_bus;
  std::string text;
  std::string debug;
  GstFlowReturn flow =
      GST_FLOW_OK; // why a loop ended; GST_FLOW_OK where the message is no such one
};

// For the post_message() of an element: what a base class says there. None for all other messages,
// those with the details of post_failure() among them.
std::optional<BaseError> base_error_in(GstElement *element, GstMessage *message);

// Whether the message is an error of the element's own, with details.
bool is_own_error(GstElement *element, GstMessage *message);

// What an element says whose pushes on `src` failed with `flow`: GST_ELEMENT_FLOW_ERROR() with
// names.
Failure stopped_stream(GstElement *element, GstPad *src, GstFlowReturn flow);

} // namespace gstdrm

// These post an error without the details that every error of these elements has (docs/errors.md): use post_failure() or
// OncePerFailure.
#undef GST_ELEMENT_ERROR
#undef GST_ELEMENT_FLOW_ERROR
#undef GST_ELEMENT_ERROR_WITH_DETAILS
#pragma GCC poison GST_ELEMENT_ERROR GST_ELEMENT_FLOW_ERROR GST_ELEMENT_ERROR_WITH_DETAILS
