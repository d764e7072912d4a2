// SPDX-License-Identifier: LGPL-2.1-or-later
// Which caps of dma-bufs stand for which caps of GL memory on the way out of GL, and what the caps
// say about colours. Plain functions. Any thread.
#pragma once

#include <cstdint>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gl/gl.h>
#include <gst/video/video.h>

#include "engine/gl_draw.hpp"

namespace gstdrm {

// memory:GLMemory, RGB in every order that has 8 bits for each component, 2D and external-oes.
GstPtr<GstCaps> download_sink_template();
// DMA_DRM of every pair, linear frames in plain caps, and memory:DMABuf that names no modifier.
GstPtr<GstCaps> download_src_template();

// What the CPU can make of an RGBA picture where GL draws into no dma-buf: LINEAR of the fourccs
// that GStreamer's converter writes.
const FormatSet &copy_formats();

// What the other pad can have for caps of one pad. `formats` are the pairs that can leave, in two
// sets of which the first is preferred; nullptr: no context is known yet, and everything may.
struct DownloadFormats {
  const FormatSet *drawn = nullptr;
  const FormatSet *copied = nullptr;
  std::uint32_t max_size = 0; // of a texture, in pixels; 0: not known
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
};
GstPtr<GstCaps> download_transform(GstPadDirection direction, const GstCaps *caps,
                                   const DownloadFormats &formats);

// Whether these are caps of pictures with fields. A draw averages chroma over neighbouring rows,
// and these belong to different fields: such pictures become 4:2:0 by a copy alone.
bool has_fields(const GstCaps *caps);

// Fixed caps of the src pad with the colorimetry and the chroma siting that GStreamer takes for
// granted, where the caps are YUV and say nothing.
GstPtr<GstCaps> with_colours(const GstCaps *caps);
// How RGB becomes the YUV of these caps, which with_colours() has completed.
egl::YuvConversion conversion_of(const GstCaps *caps);

// The order of the components in textures of this format, which GStreamer fills byte by byte.
egl::Picture picture_of(GstVideoFormat format, egl::Target target) noexcept;

} // namespace gstdrm
