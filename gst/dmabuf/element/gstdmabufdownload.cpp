// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufdownload
 * @title: dmabufdownload
 * @short_description: linear DMA buffers to video in system memory
 *
 * Takes linear DMA buffers and sends them as plain `video/x-raw`, for elements that read with the
 * CPU. The memory stays the same and is mapped by whoever reads it; only where downstream knows no
 * GstVideoMeta and the rows are padded is a frame copied, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! dmabufdownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */
#include "gstdmabufdownload.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdmabufcrop.hpp"
#include "gstdmabufexplain.hpp"
#include "gstdmabufframe.hpp"

using gstdrm::GstPtr;

GST_DEBUG_CATEGORY_STATIC(dmabuf_download_debug);
#define GST_CAT_DEFAULT dmabuf_download_debug

struct GstDmaBufDownloadState {
  // streaming thread, from set_caps() and the allocation query on
  GstDrmVideoInfo info{}; // of the input
  bool dmabuf_input = false;
  GstPtr<GstCaps> plain_caps;
  bool takes_video_meta = false;
  bool takes_crop_meta = false;
  GstPtr<GstBufferPool> downstream_pool; // not configured before the first copy
  guint min_buffers = 0;
  guint max_buffers = 0;
  GstPtr<GstBufferPool> copy_pool;
  bool proved_mappable = false; // since set_caps(): the CPU could map a frame

  void drop_pool()
  {
    if (copy_pool)
      gst_buffer_pool_set_active(copy_pool.get(), FALSE);
    copy_pool.reset();
    downstream_pool.reset();
  }
};

G_DEFINE_TYPE(GstDmaBufDownload, gst_dmabuf_download, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufdownload, "dmabufdownload", GST_RANK_NONE,
                            GST_TYPE_DMABUF_DOWNLOAD)

// --- negotiation ---------------------------------------------------------------------------------

static gboolean gst_dmabuf_download_set_caps(GstBaseTransform *trans, GstCaps *incaps,
                                             GstCaps *outcaps) noexcept
try {
  GstDmaBufDownloadState *state = GST_DMABUF_DOWNLOAD(trans)->state;
  state->drop_pool();
  state->proved_mappable = false;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&state->info, incaps, &error)) {
    if (gstdrm::claim_error(GST_DMABUF_TRANSFORM(trans)))
      GST_ELEMENT_ERROR(trans, STREAM, FORMAT, ("%s", error->message), (nullptr));
    g_error_free(error);
    return FALSE;
  }
  state->dmabuf_input = gst_drm_is_dma_drm_caps(incaps);
  state->plain_caps = GstPtr<GstCaps>::share(outcaps);
  GST_INFO_OBJECT(trans, "%" GST_PTR_FORMAT " from %" GST_PTR_FORMAT, outcaps, incaps);
  return TRUE;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_download_decide_allocation(GstBaseTransform *trans,
                                                      GstQuery *query) noexcept
try {
  GstDmaBufDownloadState *state = GST_DMABUF_DOWNLOAD(trans)->state;
  state->drop_pool();
  state->takes_video_meta = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  state->takes_crop_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  state->min_buffers = state->max_buffers = 0;
  if (gst_query_get_n_allocation_pools(query) > 0) {
    GstBufferPool *pool = nullptr;
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, &state->min_buffers,
                                        &state->max_buffers);
    state->downstream_pool.reset(pool);
  }
  // Frames are passed on as they come, so a pool is made when a first one cannot be; the base class
  // would activate one that is left here.
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  return TRUE;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// What upstream should know: strides may be any, and downstream keeps so many buffers.
static gboolean gst_dmabuf_download_propose_allocation(GstBaseTransform *trans,
                                                       GstQuery *decide_query,
                                                       GstQuery *query) noexcept
try {
  GstDmaBufDownloadState *state = GST_DMABUF_DOWNLOAD(trans)->state;
  if (!GST_BASE_TRANSFORM_CLASS(gst_dmabuf_download_parent_class)
           ->propose_allocation(trans, decide_query, query))
    return FALSE;
  if (!gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_pool(query, nullptr,
                                static_cast<guint>(GST_VIDEO_INFO_SIZE(&state->info.vinfo)),
                                state->min_buffers, 0);
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// --- frames --------------------------------------------------------------------------------------

static GstFlowReturn fail(GstDmaBufDownload *self, const std::string &why, const char *advice)
{
  GST_ELEMENT_ERROR(self, RESOURCE, FAILED,
                    ("%s cannot read a frame of %s. %s. %s", GST_OBJECT_NAME(self),
                     gstdrm::peer_name(GST_BASE_TRANSFORM_SINK_PAD(self)).c_str(), why.c_str(),
                     advice),
                    (nullptr));
  return GST_FLOW_ERROR;
}

constexpr const char *kBreaksCaps = "Upstream breaks its own caps.";

// The frame is what the caps say, and its device is done with it.
static GstFlowReturn check_input(GstDmaBufDownload *self, GstPtr<GstBuffer> &buffer)
{
  GstDmaBufDownloadState *state = self->state;
  GstDmaBufTransform *base = GST_DMABUF_TRANSFORM(self);
  if (state->dmabuf_input) {
    GstDrmFrame frame;
    if (const auto checked = gstdrm::check_importable_layout(buffer.get(), state->info, &frame);
        !checked)
      return fail(self, checked.error().message, kBreaksCaps);
    // Nobody who reads plain video knows the pseudo-format that a GstVideoMeta may name.
    gstdrm::share_frame(buffer, state->info.vinfo);
  }
  if (const auto checked = gstdrm::check_mappable_layout(buffer.get(), state->info.vinfo); !checked)
    return fail(self, checked.error().message, kBreaksCaps);
  const auto waited =
      gstdrm::wait_for_device(buffer.get(), gstdrm::stats_of(base), gstdrm::interrupt_of(base));
  if (!waited)
    return fail(self, waited.error().message, "The device may hang; see the kernel log.");
  return *waited == gstdrm::Waited::Interrupted ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

// Not every exporter lets the CPU map its memory, and the reader's own message would not say which
// one.
static GstFlowReturn prove_mappable(GstDmaBufDownload *self, GstBuffer *buffer)
{
  if (self->state->proved_mappable)
    return GST_FLOW_OK;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++) {
    GstMapInfo map;
    if (!gst_memory_map(gst_buffer_peek_memory(buffer, i), &map, GST_MAP_READ))
      return fail(self, "Its memory " + std::to_string(i) + " cannot be mapped by the CPU",
                  "Download with the device that wrote it (glupload ! gldownload for OpenGL).");
    gst_memory_unmap(gst_buffer_peek_memory(buffer, i), &map);
  }
  self->state->proved_mappable = true;
  return GST_FLOW_OK;
}

static bool configure_pool(GstBufferPool *pool, GstDmaBufDownloadState *state)
{
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, state->plain_caps.get(),
                                    static_cast<guint>(GST_VIDEO_INFO_SIZE(&state->info.vinfo)),
                                    state->min_buffers, state->max_buffers);
  if (state->takes_video_meta)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  return gst_buffer_pool_set_config(pool, config) && gst_buffer_pool_set_active(pool, TRUE);
}

static GstFlowReturn acquire(GstDmaBufDownload *self, GstPtr<GstBuffer> &buffer)
{
  GstDmaBufDownloadState *state = self->state;
  if (!state->copy_pool) {
    auto pool = std::move(state->downstream_pool);
    if (!pool || !configure_pool(pool.get(), state)) {
      pool.reset(gst_video_buffer_pool_new());
      state->max_buffers = 0;
      if (!configure_pool(pool.get(), state))
        return fail(self, "No memory for the copy", "");
    }
    state->copy_pool = std::move(pool);
  }
  return gstdrm::acquire_from(GST_DMABUF_TRANSFORM(self), state->copy_pool.get(), buffer);
}

static GstFlowReturn copy(GstDmaBufDownload *self, GstBuffer *input, const char *reason,
                          GstBuffer **outbuf)
{
  GstDmaBufDownloadState *state = self->state;
  GstDmaBufTransform *base = GST_DMABUF_TRANSFORM(self);
  if (gstdrm::zero_copy_of(base) == gstdrm::ZeroCopy::Require)
    return fail(
        self, std::string("zero-copy=require forbids the copy it needs: ") + reason,
        "Put an element that reads GstVideoMeta after it (videoconvert), or set zero-copy=prefer.");
  GstPtr<GstBuffer> output;
  if (const GstFlowReturn ret = acquire(self, output); ret != GST_FLOW_OK)
    return ret;
  if (const auto checked = gstdrm::check_mappable_layout(output.get(), state->info.vinfo); !checked)
    return fail(self, "Downstream's pool: " + checked.error().message, "");
  const auto crop = state->takes_crop_meta ? gstdrm::CropMeta::Keep : gstdrm::CropMeta::Drop;
  if (const auto copied =
          gstdrm::copy_buffer(base, output.get(), input, state->info.vinfo, crop, reason);
      !copied)
    return fail(self, copied.error().message, "");
  *outbuf = output.release();
  return GST_FLOW_OK;
}

// Why a checked frame cannot be passed on as it is; nullptr where it can, changed to what
// downstream reads.
static const char *reason_to_copy(const GstDmaBufDownloadState *state, GstPtr<GstBuffer> &buffer)
{
  const GstVideoInfo &info = state->info.vinfo;
  if (state->dmabuf_input && !gst_buffer_get_video_meta(buffer.get()))
    return "the memory cannot be shared while it is being written";
  const bool padded = gstdrm::is_padded_frame(buffer.get(), info);
  const bool crops = state->takes_video_meta && state->takes_crop_meta &&
                     gst_buffer_get_video_crop_meta(buffer.get());
  if (padded && !crops && !gstdrm::crop_in_place(buffer, info, 1))
    return "the visible picture begins inside a block of pixels, or the memory cannot be shared";
  if (!state->takes_video_meta && !gstdrm::has_default_layout(buffer.get(), info))
    return "downstream reads no GstVideoMeta and the rows are padded";
  if (!padded && !crops)
    gstdrm::drop_crop(buffer);
  return nullptr;
}

static GstFlowReturn gst_dmabuf_download_generate_output(GstBaseTransform *trans,
                                                         GstBuffer **outbuf) noexcept
try {
  GstDmaBufDownload *self = GST_DMABUF_DOWNLOAD(trans);
  auto input = GstPtr<GstBuffer>::adopt(std::exchange(trans->queued_buf, nullptr));
  *outbuf = nullptr;
  if (!input)
    return GST_FLOW_OK;
  GstFlowReturn ret = check_input(self, input);
  if (ret == GST_FLOW_OK)
    ret = prove_mappable(self, input.get());
  if (ret != GST_FLOW_OK)
    return ret;
  if (const char *reason = reason_to_copy(self->state, input))
    ret = copy(self, input.get(), reason, outbuf);
  else
    *outbuf = input.release();
  if (ret == GST_FLOW_OK)
    gstdrm::stats_of(GST_DMABUF_TRANSFORM(self)).frames++;
  return ret;
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

static gboolean gst_dmabuf_download_stop(GstBaseTransform *trans) noexcept
try {
  GstDmaBufDownloadState *state = GST_DMABUF_DOWNLOAD(trans)->state;
  state->drop_pool();
  state->plain_caps.reset();
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_download_parent_class)->stop(trans);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// --- GObject -------------------------------------------------------------------------------------

static void gst_dmabuf_download_finalize(GObject *object) noexcept
{
  delete GST_DMABUF_DOWNLOAD(object)->state;
  G_OBJECT_CLASS(gst_dmabuf_download_parent_class)->finalize(object);
}

static void gst_dmabuf_download_class_init(GstDmaBufDownloadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_download_debug, "dmabufdownload", 0,
                          "DMA buffers to system memory");
  G_OBJECT_CLASS(klass)->finalize = gst_dmabuf_download_finalize;

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "DMA buffer downloader", "Filter/Video",
      "Gives linear DMA buffers to elements that read with the CPU", "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::linear_dmabuf_template(), gstdrm::plain_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC, {gstdrm::plain_template()});

  GstDmaBufTransformClass *base_class = GST_DMABUF_TRANSFORM_CLASS(klass);
  base_class->rules = &gstdrm::kDownloadRules;
  base_class->suggest = gstdrm::suggest_for_download;
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->set_caps = gst_dmabuf_download_set_caps;
  trans_class->decide_allocation = gst_dmabuf_download_decide_allocation;
  trans_class->propose_allocation = gst_dmabuf_download_propose_allocation;
  trans_class->generate_output = gst_dmabuf_download_generate_output;
  trans_class->stop = gst_dmabuf_download_stop;
}

static void gst_dmabuf_download_init(GstDmaBufDownload *self)
{
  self->state = new GstDmaBufDownloadState;
}
