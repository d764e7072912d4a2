// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufuploader.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/element/crop.hpp>

#include "gstdmabufframe.hpp"
#include "gstdmabufsuggest.hpp"
#include "gstdmabuftransform.hpp"

GST_DEBUG_CATEGORY_EXTERN(dmabuf_upload_debug);
#define GST_CAT_DEFAULT dmabuf_upload_debug

namespace gstdrm {

Uploader::Uploader(GstBaseTransform *element)
    : Transformer(element, kUploadRules, suggest_for_upload), allocation_(element, failures())
{
}

// --- negotiation ---------------------------------------------------------------------------------

bool Uploader::set_caps(GstCaps *incaps, GstCaps *outcaps)
{
  allocation_.forget_copies();
  g_autoptr(GError) error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info_, incaps, &error)) {
    failures().post(error, incaps);
    return false;
  }
  gst_base_transform_set_passthrough(element(), is_dmabuf_caps(incaps));
  if (is_dmabuf_caps(incaps)) {
    GST_INFO_OBJECT(element(), "passing %" GST_PTR_FORMAT " through", incaps);
    return true;
  }
  allocation_.begin(info_, incaps, !is_dmabuf_caps(outcaps));
  GST_INFO_OBJECT(element(), "%" GST_PTR_FORMAT " from %" GST_PTR_FORMAT, outcaps, incaps);
  return true;
}

bool Uploader::decide_allocation(GstQuery *query)
{
  return allocation_.decide(query);
}

bool Uploader::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  if (!base_transform_class()->propose_allocation(element(), decide_query, query))
    return false;
  return gst_base_transform_is_passthrough(element()) || allocation_.propose(query);
}

// --- frames --------------------------------------------------------------------------------------

// Rows that upstream wrote into the offered memory the way GStreamer lays them out by default, as
// it knows no GstVideoMeta. In memory of upstream's own, its device knows what it does.
bool Uploader::has_tight_rows(GstBuffer *buffer, const FrameLayout &layout) const
{
  if (!allocation_.made_as_bytes(gst_buffer_peek_memory(buffer, 0)))
    return false;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    if (layout.planes[i].stride_bytes % allocation_.alignment() != 0)
      return true;
  return false;
}

// Why a frame cannot be passed on as it is; nullptr where it can, changed to what downstream reads.
const char *Uploader::reason_to_copy(GstPtr<GstBuffer> &frame)
{
  const GstVideoInfo &info = info_.vinfo;
  switch (memory_kind(frame.get())) {
  case MemoryKind::Mixed:
    return "some planes are outside dmabuf memory";
  case MemoryKind::NoDmaBuf:
    if (allocation_.offered_a_pool())
      return "upstream did not take the offered pool: its frames are in system memory";
    return "upstream asked for no pool: its frames are in system memory";
  case MemoryKind::DmaBuf:
    break;
  }
  const Result<FrameLayout> layout = importable_layout(frame.get(), info_);
  if (!layout) {
    GST_DEBUG_OBJECT(element(), "%s", layout.error().message.c_str());
    return "upstream's dmabuf has a layout that devices cannot import";
  }
  if (has_tight_rows(frame.get(), *layout))
    return "upstream knows no GstVideoMeta, and devices want rows of a multiple of 256 bytes";
  if (is_padded_frame(frame.get(), info) && !crop_in_place(frame, info, allocation_.alignment()))
    return "the visible picture begins where no plane of a DMA buffer can";
  if (!allocation_.may_pad_rows() && !has_default_layout(frame.get(), info))
    return "downstream reads no GstVideoMeta and upstream's rows are padded";
  if (!allocation_.suits_consumers(frame.get()))
    return "a consumer downstream asks for other rows or other memory";
  if (!share_frame(frame, info))
    return "upstream's memory cannot be shared while it is being written";
  if (!allocation_.takes_crop_meta())
    drop_crop(frame);
  return nullptr;
}

GstFlowReturn Uploader::refuse_copy(const char *reason)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS},
                  std::string(GST_OBJECT_NAME(element())) +
                      " may not copy (zero-copy=require), but frames of " + upstream_name() +
                      " would have to be",
                  Error{ErrorCode::Unsupported, reason, 0});
  failure.advise("Use an upstream element that writes into the pool it is offered (a decoder with "
                 "direct rendering), or zero-copy=prefer.");
  failure.add_property("zero-copy", "require").add("sender", upstream_name());
  post_failure(GST_ELEMENT(element()), failure);
  return GST_FLOW_ERROR;
}

GstFlowReturn Uploader::fail(const Error &error)
{
  post_frame_failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED}, "cannot take a frame of",
                     error, "");
  return GST_FLOW_ERROR;
}

Transformer::CopyRules Uploader::copy_rules() const
{
  return {info_.vinfo, allocation_.takes_crop_meta()};
}

GstFlowReturn Uploader::copy(GstPtr<GstBuffer> &frame, const char *reason)
{
  if (zero_copy() == ZeroCopy::Require)
    return refuse_copy(reason);
  if (const auto checked = check_mappable_layout(frame.get(), info_.vinfo); !checked)
    return fail(checked.error());
  const auto waited =
      wait_for_device(GST_ELEMENT(element()), frame.get(), stats(), waits().interrupt());
  if (!waited)
    return fail(waited.error());
  if (*waited == Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  GstPtr<GstBuffer> output;
  if (const GstFlowReturn ret = allocation_.acquire(output); ret != GST_FLOW_OK)
    return ret;
  set_copy_reason(reason);
  const GstFlowReturn ret = transform(frame.get(), output.get());
  frame = std::move(output);
  return ret;
}

// A frame that upstream says is a DMA buffer goes on as it is, and is one.
GstFlowReturn Uploader::pass_through(GstPtr<GstBuffer> &frame)
{
  const GstVideoInfo &info = info_.vinfo;
  if (const auto layout = importable_layout(frame.get(), info_); !layout)
    return fail(Error{layout.error().code,
                      layout.error().message + ". The caps of upstream promise DMA buffers", 0});
  if (is_padded_frame(frame.get(), info) && !crop_in_place(frame, info, 1))
    return fail(Error{ErrorCode::Layout,
                      "It has to be cropped, and the visible picture begins where "
                      "no plane of this layout can. Crop it before it gets here",
                      0});
  return GST_FLOW_OK;
}

GstFlowReturn Uploader::process(GstPtr<GstBuffer> &frame)
{
  if (gst_base_transform_is_passthrough(element()))
    return pass_through(frame);
  const char *reason = reason_to_copy(frame);
  const GstFlowReturn flow = reason ? copy(frame, reason) : GST_FLOW_OK;
  if (flow == GST_FLOW_OK)
    allocation_.end_failure();
  return flow;
}

// --- waits and states ----------------------------------------------------------------------------

// A wait for a buffer of a pool here ends with a flush; GstBaseTransform knows nothing of it.
bool Uploader::sink_event(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    allocation_.set_flushing(true);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    allocation_.set_flushing(false);
  return Transformer::sink_event(event);
}

// Waits end before the pads are deactivated, as that waits for the streaming thread. Upstream has
// stopped as well when this element is in NULL, or goes on without it.
void Uploader::prepare_state_change(GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    allocation_.set_flushing(true);
  else if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    allocation_.leave_upstream();
}

bool Uploader::start()
{
  allocation_.start();
  return Transformer::start();
}

bool Uploader::stop()
{
  allocation_.stop();
  return Transformer::stop();
}

} // namespace gstdrm
