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
#include "gstegldmabufdownload.hpp"

#include <atomic>

#include <gst/drm/element/producer_pad.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>

#include "gstegldownloadcaps.hpp"
#include "gstegldownloader.hpp"
#include "gstglfilterthread.hpp"

using gstdrm::EglDownloader;

GST_DEBUG_CATEGORY(egl_dmabuf_download_debug);
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS };

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
                            GST_TYPE_EGL_DMABUF_DOWNLOAD)

static EglDownloader &downloader_of(gpointer object) noexcept
{
  return *reinterpret_cast<GstEglDmaBufDownload *>(object)->downloader.load(
      std::memory_order_acquire);
}

// --- caps ----------------------------------------------------------------------------------------

static gboolean gst_egl_dmabuf_download_query(GstBaseTransform *trans, GstPadDirection direction,
                                              GstQuery *query) noexcept
try {
  return downloader_of(trans).query(direction, query);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static GstCaps *gst_egl_dmabuf_download_transform_caps(GstBaseTransform *trans,
                                                       GstPadDirection direction, GstCaps *caps,
                                                       GstCaps *filter) noexcept
try {
  return downloader_of(trans).transform_caps(direction, caps, filter);
} catch (...) {
  return gstdrm::caught_in(trans, gst_caps_new_empty(), __func__);
}

static GstCaps *gst_egl_dmabuf_download_fixate_caps(GstBaseTransform *trans,
                                                    GstPadDirection direction, GstCaps *caps,
                                                    GstCaps *othercaps) noexcept
try {
  const auto offered = gstdrm::GstPtr<GstCaps>::adopt(othercaps);
  if (direction == GST_PAD_SRC)
    return gst_caps_fixate(gst_caps_copy(offered.get()));
  return downloader_of(trans).choose_caps(caps).release();
} catch (...) {
  return gstdrm::caught_in(trans, gst_caps_new_empty(), __func__);
}

static gboolean gst_egl_dmabuf_download_set_caps(GstBaseTransform *trans, GstCaps *in_caps,
                                                 GstCaps *out_caps) noexcept
try {
  return downloader_of(trans).set_caps(in_caps, out_caps);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// --- buffers -------------------------------------------------------------------------------------

static gboolean gst_egl_dmabuf_download_decide_allocation(GstBaseTransform *trans,
                                                          GstQuery *query) noexcept
try {
  return downloader_of(trans).decide_allocation(query);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_egl_dmabuf_download_propose_allocation(GstBaseTransform *trans,
                                                           GstQuery *decide_query,
                                                           GstQuery *query) noexcept
try {
  return downloader_of(trans).propose_allocation(decide_query, query);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

static GstFlowReturn gst_egl_dmabuf_download_submit_input_buffer(GstBaseTransform *trans,
                                                                 gboolean discont,
                                                                 GstBuffer *buffer) noexcept
try {
  return downloader_of(trans).submit_input_buffer(discont != FALSE, buffer);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

static GstFlowReturn gst_egl_dmabuf_download_prepare_output_buffer(GstBaseTransform *trans,
                                                                   GstBuffer *in,
                                                                   GstBuffer **out) noexcept
try {
  return downloader_of(trans).prepare_output(in, out);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

static GstFlowReturn gst_egl_dmabuf_download_transform(GstBaseTransform *trans, GstBuffer *in,
                                                       GstBuffer *out) noexcept
try {
  return downloader_of(trans).transform(in, out);
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
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

// --- events and states ---------------------------------------------------------------------------

static gboolean gst_egl_dmabuf_download_sink_event(GstBaseTransform *trans,
                                                   GstEvent *event) noexcept
try {
  return downloader_of(trans).sink_event(event);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_egl_dmabuf_download_start(GstBaseTransform *trans) noexcept
try {
  EglDownloader &downloader = downloader_of(trans);
  const bool started = downloader.start();
  reinterpret_cast<GstEglDmaBufDownload *>(trans)->downloader = &downloader; // what start() wrote
  return started;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_egl_dmabuf_download_stop(GstBaseTransform *trans) noexcept
try {
  return downloader_of(trans).stop();
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// A wait for a buffer must not outlast the way to READY.
static GstStateChangeReturn gst_egl_dmabuf_download_change_state(GstElement *element,
                                                                 GstStateChange transition) noexcept
try {
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    downloader_of(element).set_flushing(true);
  return GST_ELEMENT_CLASS(gst_egl_dmabuf_download_parent_class)->change_state(element, transition);
} catch (...) {
  return gstdrm::caught_in(element, GST_STATE_CHANGE_FAILURE, __func__);
}

// The messages of GstGLBaseFilter come here too.
static gboolean gst_egl_dmabuf_download_post_message(GstElement *element,
                                                     GstMessage *message) noexcept
try {
  if (gstdrm::replace_gl_error(element, message, downloader_of(element).no_context())) {
    gst_message_unref(message);
    return TRUE;
  }
  return GST_ELEMENT_CLASS(gst_egl_dmabuf_download_parent_class)->post_message(element, message);
} catch (...) {
  gst_message_unref(message);
  return gstdrm::caught(FALSE, __func__);
}

// --- GObject -------------------------------------------------------------------------------------

static void gst_egl_dmabuf_download_set_property(GObject *object, guint id, const GValue *value,
                                                 GParamSpec *pspec) noexcept
{
  if (id == PROP_ZERO_COPY)
    downloader_of(object).set_zero_copy(gstdrm::zero_copy_from(value));
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void gst_egl_dmabuf_download_get_property(GObject *object, guint id, GValue *value,
                                                 GParamSpec *pspec) noexcept
try {
  const EglDownloader &downloader = downloader_of(object);
  if (id == PROP_ZERO_COPY)
    gstdrm::set_zero_copy(value, downloader.zero_copy());
  else if (id == PROP_DRM_STATS)
    g_value_take_boxed(value, downloader.stats());
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
} catch (...) {
  gstdrm::caught(__func__);
}

static void gst_egl_dmabuf_download_finalize(GObject *object) noexcept
{
  delete reinterpret_cast<GstEglDmaBufDownload *>(object)->downloader.load();
  G_OBJECT_CLASS(gst_egl_dmabuf_download_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return egl_dmabuf_download_debug;
}

static void add_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                         const gstdrm::GstPtr<GstCaps> &caps)
{
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

static void gst_egl_dmabuf_download_class_init(GstEglDmaBufDownloadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(egl_dmabuf_download_debug, "egldmabufdownload", 0,
                          "OpenGL textures to DMA buffers");
  gstdrm::connect_log<debug_category>(); // of the core and the engine
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_egl_dmabuf_download_set_property;
  object_class->get_property = gst_egl_dmabuf_download_get_property;
  object_class->finalize = gst_egl_dmabuf_download_finalize;
  gstdrm::install_common_properties(
      object_class,
      {PROP_ZERO_COPY, "What to do where OpenGL cannot draw into dma-bufs", PROP_DRM_STATS,
       "Counters since start: frames, imports, import-hits, copies, bytes-copied, "
       "last-copy-reason, waits, draws, hops"});

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "EGL DMA buffer downloader", "Filter/Video/Hardware",
      "Draws OpenGL textures into DMA buffers", "gst-drm contributors");
  add_template(element_class, "sink", GST_PAD_SINK, gstdrm::download_sink_template());
  add_template(element_class, "src", GST_PAD_SRC, gstdrm::download_src_template());
  element_class->change_state = gst_egl_dmabuf_download_change_state;
  element_class->post_message = gst_egl_dmabuf_download_post_message;

  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->query = gst_egl_dmabuf_download_query;
  trans_class->transform_caps = gst_egl_dmabuf_download_transform_caps;
  trans_class->fixate_caps = gst_egl_dmabuf_download_fixate_caps;
  trans_class->set_caps = gst_egl_dmabuf_download_set_caps;
  trans_class->decide_allocation = gst_egl_dmabuf_download_decide_allocation;
  trans_class->propose_allocation = gst_egl_dmabuf_download_propose_allocation;
  trans_class->submit_input_buffer = gst_egl_dmabuf_download_submit_input_buffer;
  trans_class->prepare_output_buffer = gst_egl_dmabuf_download_prepare_output_buffer;
  trans_class->transform = gst_egl_dmabuf_download_transform;
  trans_class->transform_meta = gst_egl_dmabuf_download_transform_meta;
  trans_class->sink_event = gst_egl_dmabuf_download_sink_event;
  trans_class->start = gst_egl_dmabuf_download_start;
  trans_class->stop = gst_egl_dmabuf_download_stop;
}

static GstPadProbeReturn explain_refused_caps(GstPad *, GstPadProbeInfo *info,
                                              gpointer user_data) noexcept
try {
  GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS)
    downloader_of(user_data).explain_refused_caps(event);
  return GST_PAD_PROBE_OK;
} catch (...) {
  return gstdrm::caught(GST_PAD_PROBE_OK, __func__);
}

static void gst_egl_dmabuf_download_init(GstEglDmaBufDownload *self)
{
  // The pool waits for the release fences of a frame before it hands it out again.
  gstdrm::set_up_producer_pad(GST_BASE_TRANSFORM_SRC_PAD(self));
  self->downloader = new EglDownloader(
      GST_GL_BASE_FILTER(self), GST_BASE_TRANSFORM_CLASS(gst_egl_dmabuf_download_parent_class));
  gst_pad_add_probe(GST_BASE_TRANSFORM_SINK_PAD(self), GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
                    explain_refused_caps, self, nullptr);
}
