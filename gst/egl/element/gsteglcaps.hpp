// SPDX-License-Identifier: LGPL-2.1-or-later
// Which caps of dma-bufs stand for which caps of GL memory: plain functions of a device's formats.
// Any thread.
#pragma once

#include <optional>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gl/gl.h>

#include "engine/egl_image.hpp"

namespace gstdrm {

// How a pair becomes textures.
struct TextureForm {
  egl::Shape shape = egl::Shape::OneImage;
  egl::Target target = egl::Target::Texture2D;
  GstVideoFormat format =
      GST_VIDEO_FORMAT_RGBA; // of the GL memory: RGBA, or the frame's own for one texture per plane
};

// What an uploader knows of its device. Without formats (no context yet) everything that the
// template has is possible.
struct UploadFormats {
  const egl::DisplayFormats *import = nullptr; // nullptr: no context yet. Less what was refused.
  bool has_external_textures = true;
  bool can_copy = true; // linear frames of formats that GstGLMemory knows, by the CPU
};

// The template of the sink pad: DMA_DRM of every pair, linear frames in plain caps with
// memory:DMABuf and without.
GstPtr<GstCaps> upload_sink_template();
// The template of the source pad: memory:GLMemory, RGBA and the YUV formats that go plane by plane,
// 2D and external-oes.
GstPtr<GstCaps> upload_src_template();

// What the other pad can have for caps of one pad, in order of preference: import before copy, 2D
// before external-oes, RGBA before planes. A list of pairs is intersected as a set: 110 pairs in
// less than 100 us.
GstPtr<GstCaps> upload_transform(GstPadDirection direction, const GstCaps *caps,
                                 const UploadFormats &formats);

// How frames of these fixed caps become the textures of these fixed caps; nothing where only a copy
// does that.
std::optional<TextureForm> texture_form(const GstDrmVideoInfo &in, const GstCaps *out,
                                        const UploadFormats &formats);

// The colour hints of a YUV frame; empty for RGB.
egl::ColorHints color_hints(const GstVideoColorimetry &colorimetry,
                            GstVideoChromaSite chroma_site) noexcept;

} // namespace gstdrm
