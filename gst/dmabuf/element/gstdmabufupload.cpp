// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufupload
 * @title: dmabufupload
 * @short_description: system-memory video into DMA buffers
 *
 * Takes video in system memory and sends it as linear DMA buffers: `format=DMA_DRM` where
 * downstream takes that, plain `video/x-raw` in dmabuf memory where it knows no DMA_DRM. Upstream
 * is offered a pool of such buffers; frames that upstream writes there are passed on as they are,
 * others are copied once, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstdmabufcrop.hpp"
#include "gstdmabufexplain.hpp"
#include "gstdmabufframe.hpp"
#include "gstdmabufmemory.hpp"
#include "gstdmabufupload-private.hpp"

using gstdrm::GstPtr;

GST_DEBUG_CATEGORY(dmabuf_upload_debug);
#define GST_CAT_DEFAULT dmabuf_upload_debug

enum { PROP_0, PROP_ALLOCATOR, PROP_DEVICE, PROP_MAX_BUFFERS };

G_DEFINE_TYPE(GstDmaBufUpload, gst_dmabuf_upload, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufupload, "dmabufupload", GST_RANK_NONE, GST_TYPE_DMABUF_UPLOAD)

// --- negotiation ---------------------------------------------------------------------------------

static gboolean gst_dmabuf_upload_set_caps(GstBaseTransform *trans, GstCaps *incaps,
                                           GstCaps *outcaps) noexcept
try {
  GstDmaBufUploadState *state = GST_DMABUF_UPLOAD(trans)->state;
  state->pools.drop_copy_pool();
  state->offer = Offer::NotAsked;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&state->info, incaps, &error)) {
    if (gstdrm::claim_error(GST_DMABUF_TRANSFORM(trans)))
      GST_ELEMENT_ERROR(trans, STREAM, FORMAT, ("%s", error->message), (nullptr));
    g_error_free(error);
    return FALSE;
  }
  gst_base_transform_set_passthrough(trans, gstdrm::is_dmabuf_caps(incaps));
  if (gstdrm::is_dmabuf_caps(incaps)) {
    GST_INFO_OBJECT(trans, "passing %" GST_PTR_FORMAT " through", incaps);
    return TRUE;
  }
  state->plain_caps = GstPtr<GstCaps>::share(incaps);
  state->plain_output = !gstdrm::is_dmabuf_caps(outcaps);
  GST_INFO_OBJECT(trans, "%" GST_PTR_FORMAT " from %" GST_PTR_FORMAT, outcaps, incaps);
  return TRUE;
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// --- frames --------------------------------------------------------------------------------------

// GPUs ask for rows of a multiple of this many bytes, and for a picture that begins at one
// (docs/library.md); whoever reads with the CPU asks for nothing.
static gsize alignment_for(const GstDmaBufUploadState *state)
{
  constexpr gsize kDeviceAlign = 256;
  return state->plain_output ? 1 : kDeviceAlign;
}

// Rows that upstream wrote into the offered memory the way GStreamer lays them out by default, as
// it knows no GstVideoMeta. In memory of upstream's own, its device knows what it does.
static bool has_tight_rows(const GstDmaBufUploadState *state, GstBuffer *buffer,
                           const GstDrmFrame &frame)
{
  if (gst_buffer_peek_memory(buffer, 0)->allocator != GST_ALLOCATOR_CAST(state->allocator.get()) ||
      GST_OBJECT_FLAG_IS_SET(state->allocator.get(), GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
    return false;
  for (guint i = 0; i < frame.n_planes; i++)
    if (frame.planes[i].stride % alignment_for(state) != 0)
      return true;
  return false;
}

// Why a frame cannot be passed on as it is; nullptr where it can, changed to what downstream reads.
static const char *reason_to_copy(GstDmaBufUpload *self, GstPtr<GstBuffer> &input)
{
  GstDmaBufUploadState *state = self->state;
  const GstVideoInfo &info = state->info.vinfo;
  switch (gstdrm::memory_kind(input.get())) {
  case gstdrm::MemoryKind::Mixed:
    return "some planes are outside dmabuf memory";
  case gstdrm::MemoryKind::NoDmaBuf:
    if (state->offer == Offer::Made)
      return "upstream did not take the offered pool: its frames are in system memory";
    return "upstream asked for no pool: its frames are in system memory";
  case gstdrm::MemoryKind::DmaBuf:
    break;
  }
  GstDrmFrame frame;
  if (const auto checked = gstdrm::check_importable_layout(input.get(), state->info, &frame);
      !checked) {
    GST_DEBUG_OBJECT(self, "%s", checked.error().message.c_str());
    return "upstream's dmabuf has a layout that devices cannot import";
  }
  if (has_tight_rows(state, input.get(), frame))
    return "upstream knows no GstVideoMeta, and devices want rows of a multiple of 256 bytes";
  if (gstdrm::is_padded_frame(input.get(), info) &&
      !gstdrm::crop_in_place(input, info, alignment_for(state)))
    return "the visible picture begins where no plane of a DMA buffer can";
  if (!gstdrm::may_pad_rows(*state) && !gstdrm::has_default_layout(input.get(), info))
    return "downstream reads no GstVideoMeta and upstream's rows are padded";
  if (!gstdrm::share_frame(input, info))
    return "upstream's memory cannot be shared while it is being written";
  if (!state->takes_crop_meta)
    gstdrm::drop_crop(input);
  return nullptr;
}

static GstFlowReturn refuse_copy(GstDmaBufUpload *self, const char *reason)
{
  const std::string upstream = gstdrm::peer_name(GST_BASE_TRANSFORM_SINK_PAD(self));
  GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS,
                    ("%s may not copy (zero-copy=require), but frames of %s would have to be: %s. "
                     "Use an upstream element "
                     "that writes into the pool it is offered (a decoder with direct rendering), "
                     "or zero-copy=prefer.",
                     GST_OBJECT_NAME(self), upstream.c_str(), reason),
                    (nullptr));
  return GST_FLOW_ERROR;
}

static GstFlowReturn fail(GstDmaBufUpload *self, const gstdrm::Error &error)
{
  GST_ELEMENT_ERROR(self, RESOURCE, FAILED,
                    ("%s cannot take a frame of %s. %s.", GST_OBJECT_NAME(self),
                     gstdrm::peer_name(GST_BASE_TRANSFORM_SINK_PAD(self)).c_str(),
                     error.message.c_str()),
                    (nullptr));
  return GST_FLOW_ERROR;
}

// A free buffer of dmabuf memory.
static GstFlowReturn acquire(GstDmaBufUpload *self, GstPtr<GstBuffer> &buffer)
{
  GstDmaBufUploadState *state = self->state;
  GstPtr<GstBufferPool> pool = state->pools.copy_pool();
  if (!pool) {
    guint size = 0;
    pool = gstdrm::new_pool(state->allocator.get(), state->plain_caps.get(),
                            gstdrm::fewest_buffers(*state), gstdrm::most_buffers(*state),
                            gstdrm::may_pad_rows(*state), &size);
    if (!pool || !state->pools.adopt_copy_pool(pool)) {
      GST_ELEMENT_ERROR(
          self, RESOURCE, NO_SPACE_LEFT,
          ("%s cannot allocate dma-bufs of %dx%d %s%s. The log of the category drmallocator says "
           "why; try "
           "another one with the property allocator.",
           GST_OBJECT_NAME(self), state->info.vinfo.width, state->info.vinfo.height,
           gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&state->info.vinfo)),
           gstdrm::may_pad_rows(*state)
               ? ""
               : " without padded rows, as downstream reads no GstVideoMeta"),
          (nullptr));
      return GST_FLOW_ERROR;
    }
    state->pools.tell_notice(state->allocator.get());
  }
  GstBuffer *acquired = nullptr;
  const GstFlowReturn ret = gst_buffer_pool_acquire_buffer(pool.get(), &acquired, nullptr);
  buffer.reset(acquired);
  return ret;
}

static GstFlowReturn copy(GstDmaBufUpload *self, GstBuffer *input, const char *reason,
                          GstBuffer **outbuf)
{
  GstDmaBufUploadState *state = self->state;
  GstDmaBufTransform *base = GST_DMABUF_TRANSFORM(self);
  if (gstdrm::zero_copy_of(base) == gstdrm::ZeroCopy::Require)
    return refuse_copy(self, reason);
  if (const auto checked = gstdrm::check_mappable_layout(input, state->info.vinfo); !checked)
    return fail(self, checked.error());
  const auto waited =
      gstdrm::wait_for_device(input, gstdrm::stats_of(base), gstdrm::interrupt_of(base));
  if (!waited)
    return fail(self, waited.error());
  if (*waited == gstdrm::Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  GstPtr<GstBuffer> output;
  if (const GstFlowReturn ret = acquire(self, output); ret != GST_FLOW_OK)
    return ret;
  const auto crop = state->takes_crop_meta ? gstdrm::CropMeta::Keep : gstdrm::CropMeta::Drop;
  if (const auto copied =
          gstdrm::copy_buffer(base, output.get(), input, state->info.vinfo, crop, reason);
      !copied)
    return fail(self, copied.error());
  *outbuf = output.release();
  return GST_FLOW_OK;
}

// A frame that upstream says is a DMA buffer goes on as it is, and is one.
static GstFlowReturn pass_through(GstDmaBufUpload *self, GstPtr<GstBuffer> &input)
{
  GstDmaBufUploadState *state = self->state;
  const GstVideoInfo &info = state->info.vinfo;
  GstDrmFrame frame;
  if (const auto checked = gstdrm::check_importable_layout(input.get(), state->info, &frame);
      !checked)
    return fail(
        self,
        gstdrm::Error{checked.error().code,
                      checked.error().message + ". The caps of upstream promise DMA buffers", 0});
  if (gstdrm::is_padded_frame(input.get(), info) && !gstdrm::crop_in_place(input, info, 1))
    return fail(self, gstdrm::Error{gstdrm::ErrorCode::Layout,
                                    "It has to be cropped, and the visible picture begins where "
                                    "no plane of this layout can. Crop it before it gets here",
                                    0});
  return GST_FLOW_OK;
}

static GstFlowReturn gst_dmabuf_upload_generate_output(GstBaseTransform *trans,
                                                       GstBuffer **outbuf) noexcept
try {
  GstDmaBufUpload *self = GST_DMABUF_UPLOAD(trans);
  auto input = GstPtr<GstBuffer>::adopt(std::exchange(trans->queued_buf, nullptr));
  *outbuf = nullptr;
  if (!input)
    return GST_FLOW_OK;
  GstFlowReturn ret = GST_FLOW_OK;
  if (gst_base_transform_is_passthrough(trans)) {
    ret = pass_through(self, input);
  } else if (const char *reason = reason_to_copy(self, input)) {
    GstBuffer *copied = nullptr;
    ret = copy(self, input.get(), reason, &copied);
    input.reset(copied);
  }
  if (ret == GST_FLOW_OK)
    *outbuf = input.release();
  if (ret == GST_FLOW_OK)
    gstdrm::stats_of(GST_DMABUF_TRANSFORM(self)).frames++;
  return ret;
} catch (...) {
  return gstdrm::caught_in(trans, GST_FLOW_ERROR, __func__);
}

// A wait for a buffer ends with these; GstBaseTransform knows nothing of it.
static gboolean gst_dmabuf_upload_sink_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  gstdrm::UploadPools &pools = GST_DMABUF_UPLOAD(trans)->state->pools;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    pools.set_flushing(true);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    pools.set_flushing(false);
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_upload_parent_class)->sink_event(trans, event);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

// Waits end before the pads are deactivated, as that waits for the streaming thread. Upstream has
// stopped too when this is in NULL, or goes on without it.
static GstStateChangeReturn gst_dmabuf_upload_change_state(GstElement *element,
                                                           GstStateChange transition) noexcept
try {
  gstdrm::UploadPools &pools = GST_DMABUF_UPLOAD(element)->state->pools;
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    pools.set_flushing(true);
  else if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    pools.leave_offered();
  return GST_ELEMENT_CLASS(gst_dmabuf_upload_parent_class)->change_state(element, transition);
} catch (...) {
  return gstdrm::caught_in(element, GST_STATE_CHANGE_FAILURE, __func__);
}

static gboolean gst_dmabuf_upload_start(GstBaseTransform *trans) noexcept
try {
  GstDmaBufUploadState *state = GST_DMABUF_UPLOAD(trans)->state;
  state->pools.set_flushing(false);
  state->pools.reset_messages();
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_upload_parent_class)->start(trans);
} catch (...) {
  return gstdrm::caught_in(trans, FALSE, __func__);
}

static gboolean gst_dmabuf_upload_stop(GstBaseTransform *trans) noexcept
try {
  GstDmaBufUploadState *state = GST_DMABUF_UPLOAD(trans)->state;
  state->pools.drop_copy_pool();
  state->allocator.reset();
  state->plain_caps.reset();
  state->memfd_announced = false;
  return GST_BASE_TRANSFORM_CLASS(gst_dmabuf_upload_parent_class)->stop(trans);
} catch (...) {
  return gstdrm::caught(FALSE, __func__);
}

// --- GObject -------------------------------------------------------------------------------------

static void gst_dmabuf_upload_set_property(GObject *object, guint id, const GValue *value,
                                           GParamSpec *pspec) noexcept
try {
  GstDmaBufUploadState *state = GST_DMABUF_UPLOAD(object)->state;
  const std::lock_guard lock(state->properties_lock);
  if (id == PROP_ALLOCATOR)
    state->kind = static_cast<GstDrmAllocatorKind>(g_value_get_enum(value));
  else if (id == PROP_DEVICE)
    state->device = g_value_get_string(value) ? g_value_get_string(value) : "";
  else if (id == PROP_MAX_BUFFERS)
    state->max_buffers = g_value_get_uint(value);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
} catch (...) {
  gstdrm::caught(__func__);
}

static void gst_dmabuf_upload_get_property(GObject *object, guint id, GValue *value,
                                           GParamSpec *pspec) noexcept
try {
  GstDmaBufUploadState *state = GST_DMABUF_UPLOAD(object)->state;
  const std::lock_guard lock(state->properties_lock);
  if (id == PROP_ALLOCATOR)
    g_value_set_enum(value, state->kind);
  else if (id == PROP_DEVICE)
    g_value_set_string(value, state->device.empty() ? nullptr : state->device.c_str());
  else if (id == PROP_MAX_BUFFERS)
    g_value_set_uint(value, state->max_buffers);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
} catch (...) {
  gstdrm::caught(__func__);
}

static void gst_dmabuf_upload_finalize(GObject *object) noexcept
{
  delete GST_DMABUF_UPLOAD(object)->state;
  G_OBJECT_CLASS(gst_dmabuf_upload_parent_class)->finalize(object);
}

static void install_properties(GObjectClass *object_class)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  g_object_class_install_property(
      object_class, PROP_ALLOCATOR,
      g_param_spec_enum("allocator", "Allocator",
                        "Where dma-bufs come from; auto prefers downstream's own allocator",
                        GST_TYPE_DRM_ALLOCATOR_KIND, GST_DRM_ALLOCATOR_KIND_AUTO, flags));
  g_object_class_install_property(
      object_class, PROP_DEVICE,
      g_param_spec_string(
          "device", "Device",
          "Name of the dma-heap (\"system\"), or path of the DRM node, for the allocator; "
          "unset: the first that works",
          nullptr, flags));
  g_object_class_install_property(
      object_class, PROP_MAX_BUFFERS,
      g_param_spec_uint("max-buffers", "Most buffers",
                        "Buffers that a pool may make before it waits until one comes back; 0: "
                        "what half of the descriptors and of the memory here hold",
                        0, G_MAXINT, 0, flags));
}

static void gst_dmabuf_upload_class_init(GstDmaBufUploadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_upload_debug, "dmabufupload", 0, "system memory to DMA buffers");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_dmabuf_upload_set_property;
  object_class->get_property = gst_dmabuf_upload_get_property;
  object_class->finalize = gst_dmabuf_upload_finalize;
  install_properties(object_class);

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "DMA buffer uploader", "Filter/Video",
                                        "Puts video from system memory into linear DMA buffers",
                                        "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::plain_template(), gstdrm::any_dmabuf_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC,
                           {gstdrm::any_dmabuf_template(), gstdrm::plain_template()});

  GstDmaBufTransformClass *base_class = GST_DMABUF_TRANSFORM_CLASS(klass);
  base_class->rules = &gstdrm::kUploadRules;
  base_class->suggest = gstdrm::suggest_for_upload;
  GstBaseTransformClass *trans_class = GST_BASE_TRANSFORM_CLASS(klass);
  trans_class->set_caps = gst_dmabuf_upload_set_caps;
  trans_class->decide_allocation = gstdrm::upload_decide_allocation;
  trans_class->propose_allocation = gstdrm::upload_propose_allocation;
  trans_class->generate_output = gst_dmabuf_upload_generate_output;
  trans_class->sink_event = gst_dmabuf_upload_sink_event;
  trans_class->start = gst_dmabuf_upload_start;
  trans_class->stop = gst_dmabuf_upload_stop;
  element_class->change_state = gst_dmabuf_upload_change_state;
}

// Frames that are made here come from pools that wait for release fences; in passthrough the query
// and the frames are upstream's.
static GstPadProbeReturn announce_release_fences(GstPad *, GstPadProbeInfo *info,
                                                 gpointer trans) noexcept
{
  GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION &&
      !gst_base_transform_is_passthrough(GST_BASE_TRANSFORM(trans)))
    gst_drm_query_announce_release_fences(query);
  return GST_PAD_PROBE_OK;
}

static void gst_dmabuf_upload_init(GstDmaBufUpload *self)
{
  self->state = new GstDmaBufUploadState(GST_ELEMENT(self));
  gst_pad_add_probe(
      GST_BASE_TRANSFORM_SRC_PAD(self),
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PUSH),
      announce_release_fences, self, nullptr);
}
