// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-egldmabufdownload
 * @title: egldmabufdownload
 * @short_description: OpenGL textures to DMA buffers
 *
 * Draws the textures of OpenGL elements into DMA buffers that were allocated with a modifier that
 * downstream takes: one pass of the GPU over each plane, no copy by the CPU. A fence goes along
 * with each buffer.
 *
 * ## Example
 * |[
 * gst-launch-1.0 gltestsrc ! egldmabufdownload ! kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <array>
#include <atomic>

#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstegldownloadcaps.hpp"
#include "gstegldownloader.hpp"
#include "gstglfiltercontext.hpp"

using gstdrm::common_property;
using gstdrm::EglDownloader;
using gstdrm::logging;
using gstdrm::posting;

GST_DEBUG_CATEGORY(egl_dmabuf_download_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

struct GstEglDmaBufDownload {
  GstGLBaseFilter parent;
  // Made in init, deleted in finalize. Atomic for TSan alone, which does not know GLib's locks by
  // which GStreamer hands an element from thread to thread.
  std::atomic<EglDownloader *> downloader;
};

struct GstEglDmaBufDownloadClass {
  GstGLBaseFilterClass parent_class;
};

G_DEFINE_TYPE(GstEglDmaBufDownload, gst_egl_dmabuf_download, GST_TYPE_GL_BASE_FILTER)
GST_ELEMENT_REGISTER_DEFINE(egldmabufdownload, "egldmabufdownload", GST_RANK_NONE,
                            gst_egl_dmabuf_download_get_type())

static EglDownloader &downloader_of(gpointer object) noexcept
{
  return *reinterpret_cast<GstEglDmaBufDownload *>(object)->downloader.load(
      std::memory_order_acquire);
}

// Metas that describe the picture are copied. Metas of the texture are not, and neither is a flip,
// which the draw has carried out.
static gboolean gst_egl_dmabuf_download_transform_meta(GstBaseTransform *, GstBuffer *,
                                                       GstMeta *meta, GstBuffer *) noexcept
{
  const GType api = meta->info->api;
  return api != GST_GL_SYNC_META_API_TYPE && api != GST_VIDEO_META_API_TYPE &&
         api != GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE &&
         !gst_meta_api_type_has_tag(api, _gst_meta_tag_memory);
}

static gboolean gst_egl_dmabuf_download_start(GstBaseTransform *trans)
{
  EglDownloader &downloader = downloader_of(trans);
  const bool started = downloader.start();
  reinterpret_cast<GstEglDmaBufDownload *>(trans)->downloader = &downloader; // what start() wrote
  return started;
}

// A wait for a buffer must not outlast the way to READY.
static GstStateChangeReturn gst_egl_dmabuf_download_change_state(GstElement *element,
                                                                 GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    downloader_of(element).set_flushing(true);
  return GST_ELEMENT_CLASS(gst_egl_dmabuf_download_parent_class)->change_state(element, transition);
}

// The messages of GstGLBaseFilter come here too.
static gboolean gst_egl_dmabuf_download_post_message(GstElement *element, GstMessage *message)
{
  return gstdrm::post_gl_message(element, message, downloader_of(element).no_context(),
                                 gst_egl_dmabuf_download_parent_class);
}

static constexpr std::array download_properties{
    common_property<&EglDownloader::zero_copy>(),
    common_property<&EglDownloader::implicit_modifier>(),
};

static void gst_egl_dmabuf_download_set_property(GObject *object, guint id, const GValue *value,
                                                 GParamSpec *pspec)
{
  gstdrm::set_property(object, download_properties, id, value, pspec,
                       [object](const auto &set) { set(downloader_of(object)); });
}

static void gst_egl_dmabuf_download_get_property(GObject *object, guint id, GValue *value,
                                                 GParamSpec *pspec)
{
  const EglDownloader &downloader = downloader_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, downloader.stats());
  else
    gstdrm::get_property(object, download_properties, id, value, pspec, downloader);
}

static void gst_egl_dmabuf_download_finalize(GObject *object) noexcept
{
  delete reinterpret_cast<GstEglDmaBufDownload *>(object)->downloader.load();
  G_OBJECT_CLASS(gst_egl_dmabuf_download_parent_class)->finalize(object);
}

static GstDebugCategory *download_category() noexcept
{
  return egl_dmabuf_download_debug;
}

static void gst_egl_dmabuf_download_class_init(GstEglDmaBufDownloadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(egl_dmabuf_download_debug, "egldmabufdownload", 0,
                          "OpenGL textures to DMA buffers");
  gstdrm::connect_log<download_category>(); // of the core and the engine
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_egl_dmabuf_download_set_property>;
  object_class->get_property = logging<gst_egl_dmabuf_download_get_property>;
  object_class->finalize = gst_egl_dmabuf_download_finalize;
  gstdrm::install_common_properties(
      object_class,
      {gstdrm::row_id<0>, "What to do where OpenGL cannot draw into dma-bufs", gstdrm::kStatsId,
       "Counters since start: frames, imports, import-hits, releases, copies, "
       "bytes-copied, last-copy-reason, waits, draws, hops",
       gstdrm::row_id<1>,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): sent where the driver names "
       "none (auto, driver), never (refuse), or for linear frames too (linear)"});

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "EGL DMA buffer downloader", "Filter/Video/Hardware",
      "Draws OpenGL textures into DMA buffers", "gst-drm contributors");
  gstdrm::add_template(element_class, "sink", GST_PAD_SINK, gstdrm::download_sink_template());
  gstdrm::add_template(element_class, "src", GST_PAD_SRC, gstdrm::download_src_template());
  element_class->change_state = posting<gst_egl_dmabuf_download_change_state>;
  element_class->post_message = logging<gst_egl_dmabuf_download_post_message>;

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = logging<downloader_of, &EglDownloader::query>;
  trans_class->transform_caps = posting<downloader_of, &EglDownloader::transform_caps>;
  trans_class->fixate_caps = posting<downloader_of, &EglDownloader::fixate_caps>;
  trans_class->set_caps = posting<downloader_of, &EglDownloader::set_caps>;
  trans_class->decide_allocation = posting<downloader_of, &EglDownloader::decide_allocation>;
  trans_class->propose_allocation = logging<downloader_of, &EglDownloader::propose_allocation>;
  trans_class->submit_input_buffer = posting<downloader_of, &EglDownloader::submit_input_buffer>;
  trans_class->prepare_output_buffer = posting<downloader_of, &EglDownloader::prepare_output>;
  trans_class->transform = posting<downloader_of, &EglDownloader::transform>;
  trans_class->transform_meta = gst_egl_dmabuf_download_transform_meta;
  trans_class->sink_event = posting<downloader_of, &EglDownloader::sink_event>;
  trans_class->start = posting<gst_egl_dmabuf_download_start>;
  trans_class->stop = logging<downloader_of, &EglDownloader::stop>;
}

static void gst_egl_dmabuf_download_init(GstEglDmaBufDownload *self)
{
  // The pool waits for the release fences of a frame before it hands it out again.
  gstdrm::set_up_producer_pad(GST_BASE_TRANSFORM_SRC_PAD(self));
  self->downloader = new EglDownloader(
      GST_GL_BASE_FILTER(self), GST_BASE_TRANSFORM_CLASS(gst_egl_dmabuf_download_parent_class));
}
