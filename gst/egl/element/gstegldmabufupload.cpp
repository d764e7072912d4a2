// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-egldmabufupload
 * @title: egldmabufupload
 * @short_description: DMA buffers as OpenGL textures, by EGL
 *
 * Takes DMA buffers of every pair of format and modifier that the EGL display lists, and sends them
 * as `memory:GLMemory`: RGBA that the driver converts to, or one texture for each plane. Each
 * buffer is imported once. Acquire fences are waited for on the GPU, and release fences go back.
 * Where the driver imports nothing, linear frames are copied by the CPU, counted in `drm-stats` and
 * announced on the bus.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! egldmabufupload ! glimagesink
 * ]|
 *
 * Since: 0.1
 */
#include <array>

#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/video/video.h>

#include "gsteglcaps.hpp"
#include "gstegluploader.hpp"
#include "gstglfiltercontext.hpp"

using gstdrm::common_property;
using gstdrm::EglUploader;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::property;
using gstdrm::UploadMode;
using gstdrm::UploadSettings;

GST_DEBUG_CATEGORY(gst_egl_dmabuf_upload_debug);
#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

struct GstEglDmaBufUpload {
  GstGLBaseFilter parent;
  EglUploader *uploader; // made in init, deleted in finalize
};

struct GstEglDmaBufUploadClass {
  GstGLBaseFilterClass parent_class;
};

G_DEFINE_TYPE(GstEglDmaBufUpload, gst_egl_dmabuf_upload, GST_TYPE_GL_BASE_FILTER)
GST_ELEMENT_REGISTER_DEFINE(egldmabufupload, "egldmabufupload", GST_RANK_NONE,
                            gst_egl_dmabuf_upload_get_type())

static GType upload_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(UploadMode::Auto), "Import, and copy what the driver does not import",
       "auto"},
      {static_cast<gint>(UploadMode::Import), "Import alone: an error in place of a copy",
       "import"},
      {static_cast<gint>(UploadMode::Copy), "Copy every frame by the CPU", "copy"},
      {0, nullptr, nullptr},
  };
  static const GType type = g_enum_register_static("GstEglDmaBufUploadMode", values);
  return type;
}

static EglUploader &uploader_of(gpointer object) noexcept
{
  return *reinterpret_cast<GstEglDmaBufUpload *>(object)->uploader;
}

// Without this function GstBaseTransform would take the element for one that works in place, and
// ask downstream nothing about buffers. generate_output() does all.
static GstFlowReturn gst_egl_dmabuf_upload_transform(GstBaseTransform *, GstBuffer *,
                                                     GstBuffer *) noexcept
{
  return GST_FLOW_OK;
}

static GstStateChangeReturn gst_egl_dmabuf_upload_change_state(GstElement *element,
                                                               GstStateChange transition)
{
  return uploader_of(element).change_state(transition, [&] {
    return GST_ELEMENT_CLASS(gst_egl_dmabuf_upload_parent_class)->change_state(element, transition);
  });
}

// The base class may take another GL context.
static void gst_egl_dmabuf_upload_set_context(GstElement *element, GstContext *context)
{
  GST_ELEMENT_CLASS(gst_egl_dmabuf_upload_parent_class)->set_context(element, context);
  uploader_of(element).look_for_context_again();
}

// The messages of GstGLBaseFilter come here too.
static gboolean gst_egl_dmabuf_upload_post_message(GstElement *element, GstMessage *message)
{
  return gstdrm::post_gl_message(element, message, uploader_of(element).no_context(),
                                 gst_egl_dmabuf_upload_parent_class);
}

static const auto &upload_properties()
{
  using S = UploadSettings;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      common_property<&S::implicit_modifier>(),
      property<&S::mode>("mode", "Mode", "How frames become textures", gstdrm::kReadyProperty,
                         {.type = upload_mode_type}),
      property<&S::prove>("prove", "Prove",
                          "Import a frame of the negotiated format and size before the stream "
                          "begins, and stop offering what the driver refuses",
                          gstdrm::kReadyProperty),
  };
  return rows;
}

static void gst_egl_dmabuf_upload_set_property(GObject *object, guint id, const GValue *value,
                                               GParamSpec *pspec)
{
  gstdrm::set_property(object, upload_properties(), id, value, pspec,
                       [object](const auto &set) { uploader_of(object).change_settings(set); });
}

static void gst_egl_dmabuf_upload_get_property(GObject *object, guint id, GValue *value,
                                               GParamSpec *pspec)
{
  const EglUploader &uploader = uploader_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, uploader.stats());
  else
    gstdrm::get_property(object, upload_properties(), id, value, pspec, uploader.settings());
}

static void install_properties(GObjectClass *object_class)
{
  gstdrm::install_properties(object_class, upload_properties());
  gstdrm::install_common_properties(
      object_class, {gstdrm::row_id<0>, "Whether frames may be copied by the CPU", gstdrm::kStatsId,
                     "Counters since start: frames, imports, import-hits, releases, copies, "
                     "bytes-copied, last-copy-reason, waits, draws, hops, fallbacks",
                     gstdrm::row_id<1>,
                     "Caps that name no modifier (memory:DMABuf without DMA_DRM): taken where the "
                     "driver lists none (auto), never (refuse), as linear frames (linear), or "
                     "imported without a modifier (driver)"});
}

static void gst_egl_dmabuf_upload_finalize(GObject *object) noexcept
{
  delete reinterpret_cast<GstEglDmaBufUpload *>(object)->uploader;
  G_OBJECT_CLASS(gst_egl_dmabuf_upload_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return gst_egl_dmabuf_upload_debug;
}

// Of what downstream takes beside textures, upstream is told of overlays: they go on with the
// frames.
static gboolean gst_egl_dmabuf_upload_filter_meta(GstBaseTransform *, GstQuery *, GType api,
                                                  const GstStructure *) noexcept
{
  return api == GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE;
}

static void set_functions(GstBaseTransformClass *klass)
{
  klass->query = logging<uploader_of, &EglUploader::query>;
  klass->transform_caps = posting<uploader_of, &EglUploader::transform_caps>;
  klass->fixate_caps = posting<uploader_of, &EglUploader::fixate_caps>;
  klass->set_caps = posting<uploader_of, &EglUploader::set_caps>;
  klass->decide_allocation = posting<uploader_of, &EglUploader::decide_allocation>;
  klass->propose_allocation = logging<uploader_of, &EglUploader::propose_allocation>;
  klass->filter_meta = gst_egl_dmabuf_upload_filter_meta;
  klass->submit_input_buffer = posting<uploader_of, &EglUploader::submit_input_buffer>;
  klass->generate_output = posting<uploader_of, &EglUploader::generate_output>;
  klass->transform = gst_egl_dmabuf_upload_transform;
  klass->sink_event = posting<uploader_of, &EglUploader::sink_event>;
  klass->start = posting<uploader_of, &EglUploader::start>;
  klass->stop = logging<uploader_of, &EglUploader::stop>;
}

static void gst_egl_dmabuf_upload_class_init(GstEglDmaBufUploadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_egl_dmabuf_upload_debug, "egldmabufupload", 0,
                          "DMA buffers as OpenGL textures, by EGL");
  gstdrm::connect_log<debug_category>(); // of the core and the engine
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_egl_dmabuf_upload_set_property>;
  object_class->get_property = logging<gst_egl_dmabuf_upload_get_property>;
  object_class->finalize = gst_egl_dmabuf_upload_finalize;
  install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "DMA buffer to OpenGL uploader", "Filter/Video",
      "Makes OpenGL textures of DMA buffers without a copy, by EGL", "gst-drm contributors");
  gstdrm::add_template(element_class, "sink", GST_PAD_SINK, gstdrm::upload_sink_template());
  gstdrm::add_template(element_class, "src", GST_PAD_SRC, gstdrm::upload_src_template());
  element_class->change_state = posting<gst_egl_dmabuf_upload_change_state>;
  element_class->post_message = logging<gst_egl_dmabuf_upload_post_message>;
  element_class->set_context = logging<gst_egl_dmabuf_upload_set_context>;
  set_functions(GST_BASE_TRANSFORM_CLASS(klass));
  GST_GL_BASE_FILTER_CLASS(klass)->supported_gl_api =
      static_cast<GstGLAPI>(GST_GL_API_OPENGL | GST_GL_API_OPENGL3 | GST_GL_API_GLES2);
}

static void gst_egl_dmabuf_upload_init(GstEglDmaBufUpload *self)
{
  self->uploader = new EglUploader(GST_GL_BASE_FILTER(self),
                                   GST_BASE_TRANSFORM_CLASS(gst_egl_dmabuf_upload_parent_class));
  gstdrm::watch_caps_events<uploader_of, &EglUploader::explain_refused_caps>(
      GST_BASE_TRANSFORM_SINK_PAD(self), self);
}
