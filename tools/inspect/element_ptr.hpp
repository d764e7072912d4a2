// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of GStreamer's objects.
#pragma once

#include <memory>

#include <gst/gst.h>

namespace inspect {

struct UnrefObject {
  void operator()(gpointer object) const noexcept { gst_object_unref(object); }
};
using Element = std::unique_ptr<GstElement, UnrefObject>;
using PadPtr = std::unique_ptr<GstPad, UnrefObject>;
struct UnrefCaps {
  void operator()(GstCaps *caps) const noexcept { gst_caps_unref(caps); }
};
using Caps = std::unique_ptr<GstCaps, UnrefCaps>;

} // namespace inspect
