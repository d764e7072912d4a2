// SPDX-License-Identifier: LGPL-2.1-or-later
// Which caps of dma-bufs stand for which caps of GL memory: plain functions of a device's formats.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/element/implicit_modifier.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>
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
  // Whether RGBA is drawn of the planes, once for each frame.
  [[nodiscard]] bool draws() const noexcept { return shape == egl::Shape::Drawn; }
  friend bool operator==(const TextureForm &, const TextureForm &) = default;
};

// What an uploader's device and its settings allow.
struct UploadDevice {
  // the pairs that it imports as one image, and those whose planes it imports one by one; less what
  // was refused
  egl::DisplayFormats images;
  FormatSet planes;
  bool has_external_textures = true;
  bool has_rg_textures = true; // without them GStreamer's shaders read other channels
  bool can_copy = true;        // linear frames of formats that GstGLMemory knows, by the CPU
  bool takes_plain = true;     // caps that do not promise DMA buffers
  // For Driver, the sets above have the implicit pairs.
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
  std::uint32_t max_size = kMaxFrameSize; // of a texture, in pixels
};

// The same, sorted by what becomes of a pair, so that a query does no more than intersect sets.
// Immutable.
class UploadFormats {
public:
  // No device yet: everything that the templates have is possible.
  UploadFormats() = default;
  explicit UploadFormats(const UploadDevice &device);

  // Pairs of one way into GL.
  struct Way {
    TextureForm form;
    bool is_copy = false;
    bool keeps_colours = false; // the GL memory has the frame's colorimetry
    FormatSet pairs;            // that go this way
    // Those of frames with fields. Who converts 4:2:0 on the GPU averages chroma over neighbouring
    // rows, and these belong to different fields.
    FormatSet pairs_with_fields;
    [[nodiscard]] const FormatSet &of(bool has_fields) const noexcept
    {
      return has_fields ? pairs_with_fields : pairs;
    }
    friend bool operator==(const Way &, const Way &) = default;
  };
  [[nodiscard]] bool is_known() const noexcept { return is_known_; }
  [[nodiscard]] bool takes_plain() const noexcept { return takes_plain_; }
  [[nodiscard]] std::uint32_t max_size() const noexcept { return max_size_; }
  // In order of preference: import before copy, 2D before external-oes, RGBA before planes, and
  // RGBA that is drawn of the planes last; of more than 8 bits before what the driver converts.
  [[nodiscard]] const std::vector<Way> &ways() const noexcept { return ways_; }
  // Every pair that goes any way.
  [[nodiscard]] const FormatSet &all() const noexcept { return all_; }
  friend bool operator==(const UploadFormats &, const UploadFormats &) = default;

private:
  bool is_known_ = false;
  bool takes_plain_ = true;
  std::uint32_t max_size_ = kMaxFrameSize;
  std::vector<Way> ways_;
  FormatSet all_;
};

// The template of the sink pad: DMA_DRM of every pair, linear frames in plain caps with
// memory:DMABuf and without, and the textures that pass.
GstPtr<GstCaps> upload_sink_template();
// The template of the source pad: memory:GLMemory, RGBA and the YUV formats that go plane by plane,
// 2D and external-oes, and textures that upstream made.
GstPtr<GstCaps> upload_src_template();

// What the other pad can have for caps of the pad in `direction`, in order of preference. A list of
// pairs is intersected as a set: 110 pairs in less than 100 us.
CapsParts upload_parts(GstPadDirection direction, const GstCaps *caps,
                       const UploadFormats &formats);
GstPtr<GstCaps> upload_transform(GstPadDirection direction, const GstCaps *caps,
                                 const UploadFormats &formats);

// How frames of these fixed caps become the textures of these fixed caps; nothing where only a copy
// does that.
std::optional<TextureForm> texture_form(const GstDrmVideoInfo &in, const GstCaps *out,
                                        const UploadFormats &formats);
// Whether a copy by the CPU does that.
bool is_copy_form(const GstDrmVideoInfo &in, const GstCaps *out, const UploadFormats &formats);

// Whether caps of the sink pad promise DMA buffers.
bool promises_dmabuf(const GstCaps *caps);
// Whether they promise textures, which pass as they are.
bool promises_textures(const GstCaps *caps);
// gst_drm_video_info_from_caps_full(), also of formats without a fourcc.
bool read_frame_info(GstDrmVideoInfo &info, const GstCaps *caps, GError **error = nullptr);

// The colour hints of a YUV frame; empty for RGB.
egl::ColorHints color_hints(const GstVideoColorimetry &colorimetry,
                            GstVideoChromaSite chroma_site) noexcept;
// The colorimetry of RGB that such a frame was converted to: the same primaries and transfer
// function, in full range.
GstVideoColorimetry rgb_colorimetry(const GstVideoColorimetry &colorimetry) noexcept;

} // namespace gstdrm
