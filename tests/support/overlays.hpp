// SPDX-License-Identifier: LGPL-2.1-or-later
// Overlays beside a frame (GstVideoOverlayComposition, as textoverlay and subtitleoverlay attach them): caps say that they
// may be there, the allocation answer that downstream reads them, and each frame carries its own.
#pragma once

#include <string>

#include <gst/check/check.h>
#include <gst/video/video.h>

#include "support/dmabuf_elements.hpp"

namespace gstdrm::test {

inline std::string with_overlays(const std::string &caps)
{
  const auto added = caps_of(caps);
  gst_caps_features_add(gst_caps_get_features(added.get(), 0), GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION);
  return text_of(added.get());
}

inline bool have_overlays(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_META_GST_VIDEO_OVERLAY_COMPOSITION) != FALSE;
}

// A subtitle of 16x8 at 4, 2.
inline void add_overlay(GstBuffer *frame)
{
  GstBuffer *pixels = gst_buffer_new_allocate(nullptr, 16 * 8 * 4, nullptr);
  gst_buffer_memset(pixels, 0, 0xff, 16 * 8 * 4);
  gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 16, 8);
  GstVideoOverlayRectangle *rectangle = gst_video_overlay_rectangle_new_raw(pixels, 4, 2, 16, 8, GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE);
  GstVideoOverlayComposition *composition = gst_video_overlay_composition_new(rectangle);
  gst_buffer_add_video_overlay_composition_meta(frame, composition);
  gst_video_overlay_composition_unref(composition);
  gst_video_overlay_rectangle_unref(rectangle);
  gst_buffer_unref(pixels);
}

// `in` without the overlays' feature goes in, with it where downstream takes that: the element sends `out_memory`.
inline void check_overlays_pass(const Harness &h, const std::string &in, const std::string &out_caps, const char *out_memory)
{
  gst_harness_set_sink_caps_str(h.get(), (with_overlays(out_caps) + "; " + out_caps).c_str());
  gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  const std::string caps = with_overlays(in);
  fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
  const auto out = h.output_caps();
  fail_unless(have_overlays(out.get()), "%s", text_of(out.get()).c_str());
  fail_unless(gst_caps_features_contains(gst_caps_get_features(out.get(), 0), out_memory), "%s", text_of(out.get()).c_str());

  GstQuery *query = gst_query_new_allocation(caps_of(caps).get(), TRUE);
  fail_unless(gst_pad_peer_query(h.get()->srcpad, query));
  fail_unless(gst_query_find_allocation_meta(query, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr));
  gst_query_unref(query);

  for (guint i = 0; i < 2; i++) {
    GstBuffer *frame = new_frame(in, i);
    add_overlay(frame);
    fail_unless_equals_int(gst_harness_push(h.get(), frame), GST_FLOW_OK);
    const auto made = h.pull();
    fail_unless(static_cast<bool>(made));
    const auto *meta = gst_buffer_get_video_overlay_composition_meta(made.get());
    fail_unless(meta && gst_video_overlay_composition_n_rectangles(meta->overlay) == 1);
    fail_unless(gst_buffer_get_n_meta(made.get(), GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE) == 1);
  }

  // a source that has none goes on without
  fail_unless(h.negotiate(in), "%s", h.last_error().c_str());
  fail_if(have_overlays(h.output_caps().get()));
}

} // namespace gstdrm::test
