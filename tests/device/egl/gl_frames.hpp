// SPDX-License-Identifier: LGPL-2.1-or-later
// UploadFrames on a GL context of its own, without an element around it: what a frame costs can be
// counted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/gl/gl.h>

#include "element/gstegluploadframes.hpp"
#include "support/dmabuf_elements.hpp"

namespace gstdrm::test {

// A GL context and the thread on which it lives. GST_GL_WINDOW and the like choose the platform.
class Gl {
public:
  // The display outlives every context: EGL ends it with the last reference, also under a new one.
  static GstGLDisplay *&display()
  {
    static GstGLDisplay *display = gst_gl_display_new();
    return display;
  }

  Gl() : display_(GST_GL_DISPLAY(gst_object_ref(display())))
  {
    GError *error = nullptr;
    GstGLContext *made = nullptr;
    GST_OBJECT_LOCK(display_);
    (void)gst_gl_display_create_context(display_, nullptr, &made, &error);
    GST_OBJECT_UNLOCK(display_);
    context_ = GstPtr<GstGLContext>::adopt(made);
    if (error)
      problem = error->message;
    g_clear_error(&error);
    if (!made)
      return;
    auto opened = GlThread::open(made);
    if (opened)
      thread = std::move(*opened);
    else
      problem = opened.error().message;
  }
  Gl(const Gl &) = delete;
  Gl &operator=(const Gl &) = delete;
  ~Gl()
  {
    if (thread)
      (void)thread->run([](egl::Device &) { return Result<void>(); });
    thread.reset();
    context_.reset();
    gst_object_unref(display_);
  }

  // Until the GL thread has done all that it was given.
  void settle() const
  {
    fail_unless(static_cast<bool>(thread->run([](egl::Device &) { return Result<void>(); })));
  }
  // Why no dma-buf is imported here; empty where they are.
  [[nodiscard]] std::string refusal() const
  {
    return thread ? thread->device()->import_refusal() : problem;
  }

  std::shared_ptr<GlThread> thread; // none: there is a `problem`
  std::string problem;

private:
  GstGLDisplay *display_;
  GstPtr<GstGLContext> context_;
};

// Frames of one stream on their way into GL.
class Frames {
public:
  struct Setup {
    std::string plain;              // caps of the frames in system memory
    const char *gl_format = "RGBA"; // of the textures
    egl::Shape shape = egl::Shape::OneImage;
    bool imports = true;
    bool takes_release_fences = false;
  };
  Frames(const Gl &gl, const Setup &setup)
      : frames(element_.get(), stats), info(video_info(setup.plain)), gl_(gl)
  {
    UploadStream stream;
    GstDrmVideoInfo in;
    fail_unless(gst_drm_video_info_from_video_info(&in, &info, GST_DRM_MODIFIER_LINEAR));
    stream.in = in;
    const Format format{gst_drm_video_info_get_fourcc(&in), GST_DRM_MODIFIER_LINEAR};
    if (setup.imports) {
      const auto target = setup.shape == egl::Shape::OneImage
                              ? egl::target_of(*gl.thread->device(), format)
                              : egl::Target::Texture2D;
      fail_unless(target.has_value(), "%s is not imported", setup.plain.c_str());
      stream.form =
          TextureForm{setup.shape, *target, gst_video_format_from_string(setup.gl_format)};
      is_external = *target == egl::Target::External;
    }
    stream.hints = color_hints_of(info);
    stream.copy_reason = "the test says so";
    stream.takes_release_fences = setup.takes_release_fences;
    stream.out_caps = GstPtr<GstCaps>::adopt(gst_caps_new_simple(
        "video/x-raw", "format", G_TYPE_STRING, setup.gl_format, "width", G_TYPE_INT, info.width,
        "height", G_TYPE_INT, info.height, "framerate", GST_TYPE_FRACTION, 30, 1, "texture-target",
        G_TYPE_STRING, is_external ? "external-oes" : "2D", nullptr));
    gst_caps_set_features_simple(stream.out_caps.get(),
                                 gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_GL_MEMORY));
    fail_unless(gst_video_info_from_caps(&gl_info, stream.out_caps.get()));
    const Result<void> begun = frames.begin(gl.thread, stream);
    fail_unless(static_cast<bool>(begun), "%s", begun ? "" : begun.error().message.c_str());
  }

  // nullptr where a wait was ended
  [[nodiscard]] GstPtr<GstBuffer> upload(GstBuffer *in)
  {
    Result<GstPtr<GstBuffer>> out = frames.upload(in);
    fail_unless(static_cast<bool>(out), "%s", out ? "" : out.error().message.c_str());
    return *out;
  }
  [[nodiscard]] GstPtr<GstBuffer> upload(const GstPtr<GstBuffer> &in) { return upload(in.get()); }

private:
  static egl::ColorHints color_hints_of(const GstVideoInfo &info)
  {
    if (!GST_VIDEO_INFO_IS_YUV(&info))
      return {};
    return {info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT709 ? EGL_ITU_REC709_EXT
                                                                    : EGL_ITU_REC601_EXT,
            info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? EGL_YUV_FULL_RANGE_EXT
                                                                  : EGL_YUV_NARROW_RANGE_EXT,
            0, 0};
  }
  GstPtr<GstElement> element_ = [] {
    GstElement *element = gst_element_factory_make("identity", nullptr);
    gst_object_ref_sink(element);
    return GstPtr<GstElement>::adopt(element);
  }();

public:
  Stats stats;
  UploadFrames frames;
  GstVideoInfo info;
  GstVideoInfo gl_info{};
  bool is_external = false;

private:
  const Gl &gl_;
};

inline GstPtr<GstBuffer> dmabuf(const std::string &plain, guint seed)
{
  return GstPtr<GstBuffer>::adopt(new_dmabuf_frame(test_kinds().front(), plain, seed));
}

// The same dma-buf in a GstMemory and a descriptor of its own.
inline GstPtr<GstBuffer> wrapped_anew(const GstPtr<GstBuffer> &frame)
{
  GstMemory *memory = gst_buffer_peek_memory(frame.get(), 0);
  auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  auto fresh = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gst_buffer_append_memory(
      fresh.get(), gst_dmabuf_allocator_alloc(
                       allocator.get(), ::dup(gst_dmabuf_memory_get_fd(memory)), memory->size));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame.get());
  gst_buffer_add_video_meta_full(fresh.get(), GST_VIDEO_FRAME_FLAG_NONE, meta->format, meta->width,
                                 meta->height, meta->n_planes, const_cast<gsize *>(meta->offset),
                                 const_cast<gint *>(meta->stride));
  return fresh;
}

} // namespace gstdrm::test
