// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that GL cannot import or draw, copied by the CPU.
#pragma once

#include <memory>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/gl/gl.h>

#include "gsteglconverter.hpp"
#include "gstegltexturepool.hpp"

namespace gstdrm {

// Copies linear frames into GL memory of a TexturePool of its own. The textures are filled when
// somebody maps them for GL. Belongs to the streaming thread, except where a function says
// otherwise.
class CopyToGl {
public:
  explicit CopyToGl(GstElement *element) : pool_(element) {}
  CopyToGl(const CopyToGl &) = delete;
  CopyToGl &operator=(const CopyToGl &) = delete;
  ~CopyToGl() { close(); }

  // The frames that follow are of these caps; `out_caps` are those of the GL memory, 2D, of which
  // downstream keeps so many. Nothing is allocated before the first copy.
  void begin(GstGLContext *context, const GstDrmVideoInfo &in, GstCaps *out_caps,
             guint kept_downstream);
  void close();
  // Whether frames of this stream can be copied at all: linear ones, of a GstVideoFormat.
  [[nodiscard]] static bool can_copy(const GstDrmVideoInfo &in);
  // The pixels alone, once no device writes them any more. Error of code Layout where the frame's
  // rows lie outside of its memory, Import where the CPU cannot map it, Allocation, Unsupported;
  // empty where a flush ended the wait for a texture.
  Result<GstPtr<GstBuffer>> copy(GstBuffer *in);
  // What to do about the error of the last copy(), a literal; empty where that goes by its code.
  [[nodiscard]] const char *advice() const noexcept { return advice_; }
  // What copy() copies, for the counters.
  [[nodiscard]] gsize bytes_of_frame() const noexcept { return GST_VIDEO_INFO_SIZE(&in_); }
  // Any thread; see TexturePool::set_flushing().
  void set_flushing(bool flushing) { pool_.set_flushing(flushing); }

private:
  Result<void> make_converter();
  Result<void> fill(GstBuffer *made, GstBuffer *in);

  bool copies_ = false; // see can_copy()
  GstVideoInfo in_{};
  GstVideoInfo out_{};
  const char *advice_ = ""; // see advice()
  TexturePool pool_;
  // none where the format downstream is that of the frame
  std::unique_ptr<FrameConverter> converter_;
};

} // namespace gstdrm
