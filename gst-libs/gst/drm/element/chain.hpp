// SPDX-License-Identifier: LGPL-2.1-or-later
// What a pad is linked to, seen through bins and through elements that pass every frame on as it
// is: for messages that name who wants what.
#pragma once

#include <string>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// The pad on the other end, also through the pads of bins; none where nothing is linked.
GstPtr<GstPad> linked_pad(GstPad *pad);

// "vpxdec0 (vp8dec)": the element on the other end; "nothing" for none.
std::string peer_name(GstPad *pad);

// "videotestsrc0 (videotestsrc), through capsfilter0 (capsfilter)": the first element upstream that
// makes or changes frames, and the capsfilters on the way.
std::string origin_name(GstPad *sink);

// "out (appsink)": the first element downstream that may keep what it is given.
std::string holder_name(GstPad *src);

// An element that limits what may flow: a capsfilter, or the first element on the way that makes
// something of the frames.
struct Restriction {
  std::string name;
  const char *verb; // between the name and what the caps say: "takes", "allows"
  GstPtr<GstCaps> caps;
  bool is_filter;
  std::string reason = {}; // of its own for what it does not take, see add_reason()
};

// All elements that limit what `src` may send, in the order of the stream, on every branch of a
// tee.
std::vector<Restriction> restrictions_after(GstPad *src);

// Whether the calling thread is the streaming thread of something upstream of `sink`: it runs the
// task of one of the pads that come before it.
bool is_streaming_into(GstPad *sink);

// Answers a CAPS query with a sentence, too, on why the device takes no more: without a full stop.
void add_reason(GstQuery *query, const std::string &reason);

// Says that the pad's element posts itself why its stream cannot begin.
void mark_as_explaining(GstPad *pad);

// Whether the calling thread is that of a source such as v4l2src, and neither it nor an element
// between it and `sink` explains itself. Each of those between passes caps queries on in the same
// thread.
bool is_source_streaming_into(GstPad *sink);

// What a transform upstream that has the caps of its sink pad, and is choosing those of its source
// pad, may send to `sink`: it may ask about one choice after the other. nullptr if there is none.
GstPtr<GstCaps> caps_of_choosing_transform(GstPad *sink);

// Whether frames come to `sink` through an element of a GStreamer before 1.24 (videocrop,
// videobalance, textoverlay, …) that passes DMA_DRM on in caps queries, and fails when such caps
// come.
bool comes_through_filter_without_dma_drm(GstPad *sink);

// Whether what `src` sends leads through such an element, on any branch of a tee.
bool leads_through_filter_without_dma_drm(GstPad *src);

// Whether what `src` sends leads, on any branch, through a videocrop into something that takes no
// GstVideoCropMeta, as waylandsink and whatever takes ANY. From GStreamer 1.24 on it crops DMA_DRM
// with a GstVideoCropMeta, and ends the stream where the allocation query behind it does not have
// that meta (gstvideocrop.c, gst_video_crop_decide_allocation()). Plain video it crops by the CPU.
bool leads_to_refused_crop(GstPad *src);

// Whether `src` sends to a `v4l2sink io-mode=dmabuf-import`. It says that it reads GstVideoMeta,
// and imports each frame as one with GStreamer's own rows (gstv4l2sink.c,
// gst_v4l2sink_show_frame()).
bool leads_to_import_without_meta(GstPad *src);

// Whether a flush or a state change has reached the element, its neighbour upstream, or anything
// downstream: every event fails then, whatever it says.
bool is_flushing(GstElement *element);

} // namespace gstdrm
