// SPDX-License-Identifier: LGPL-2.1-or-later
// A whole element around a function that changes frames in place: GObject, caps, fences, copies,
// counters, messages.
#pragma once

#include <memory>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gst.h>

namespace gstdrm {

// What one element does with its frames. Made and deleted together with the element. An Error is
// posted, once, and ends the stream.
class InPlaceFilter {
public:
  InPlaceFilter() = default;
  InPlaceFilter(const InPlaceFilter &) = delete;
  InPlaceFilter &operator=(const InPlaceFilter &) = delete;
  virtual ~InPlaceFilter() = default;

  // The streaming thread: the frames that follow have these caps, on both pads.
  virtual Result<void> take_caps(const GstDrmVideoInfo &) { return {}; }
  // The streaming thread: a frame whose layout agrees with the caps, whose acquire fence has
  // signalled, and whose memory no other element holds.
  virtual Result<void> process(GstBuffer *frame, const GstDrmVideoInfo &info) = 0;

  // Any thread: the properties of InPlaceFilterClass::install_properties.
  virtual void set_property(guint, const GValue *) {}
  virtual void get_property(guint, GValue *) const {}
};

// One element type. All texts are string literals, and the object lives as long as the process.
struct InPlaceFilterClass {
  const char *type_name;    // of the GType: "DrmMark"
  const char *element_name; // for gst-launch-1.0: "drmmark"
  const char *long_name;    // see gst_element_class_set_metadata() for this and the next three
  const char *classification;
  const char *description;
  const char *author;
  const char *suggestion; // a whole sentence: what to do where downstream takes none of the formats
  GstPtr<GstCaps> (*caps)(); // what both pads take
  std::unique_ptr<InPlaceFilter> (*make)();
  // Installs properties beside `zero-copy` and `drm-stats`, with ids from `first` on. May be
  // nullptr.
  void (*install_properties)(GObjectClass *klass, guint first) = nullptr;
};

// Registers the type, once in a process, and the feature of the plugin.
bool register_in_place_filter(GstPlugin *plugin, const InPlaceFilterClass &klass);

} // namespace gstdrm
