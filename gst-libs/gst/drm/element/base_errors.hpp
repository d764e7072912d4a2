// SPDX-License-Identifier: LGPL-2.1-or-later
// The errors that GStreamer's base classes post for an element: they have no details, and often
// follow a message of the element's own about the same failure.
#pragma once

#include <optional>
#include <string>

#include "errors.hpp"

namespace gstdrm {

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
