// SPDX-License-Identifier: LGPL-2.1-or-later
// What to do about frames and caps that fail, for the message on the bus.
#pragma once

#include <string>

#include <gst/drm/core/result.hpp>
#include <gst/drm/element/errors.hpp>

namespace gstdrm {

// About a frame of the element `sender`. Empty for errors of the device, whose own sentence says
// what to do.
[[nodiscard]] std::string advice_on(const Error &error, const std::string &sender);

// Caps that the element behind the sink pad sent and that contradict themselves.
[[nodiscard]] Failure unreadable_caps(GstPad *sink, const Error &error, const GstCaps *caps);

} // namespace gstdrm
