// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers on their way through, and what becomes of a stream whose frames the driver refuses.
#include <string>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/advice.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/frame_import.hpp>

#include "gstegldmabufupload.hpp"
#include "gsteglformats.hpp"
#include "gstegluploader.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

// Plain caps do not say where a frame is, and what downstream gets of it may depend on that: the
// negotiation is done again where another kind of memory comes than before. A frame in system
// memory among DMA buffers is copied to textures of the present caps where that is possible.
// Returns whether the way into GL has to be chosen again.
bool EglUploader::notice_memory(GstBuffer *buffer)
{
  if (!in_caps_ || promises_dmabuf(in_caps_.get()))
    return false;
  const bool dmabuf = memory_kind(buffer) == MemoryKind::DmaBuf;
  if (dmabuf == plain_is_dmabuf_ ||
      (!dmabuf && is_copy_form(info_, out_caps_.get(), *offer_.formats())))
    return false;
  plain_is_dmabuf_ = dmabuf;
  gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  return true;
}

GstFlowReturn EglUploader::submit_input_buffer(bool discont, GstBuffer *buffer)
{
  if (refusals_.refuses()) {
    gst_buffer_unref(buffer);
    const bool is_new = std::exchange(refusal_is_new_, false);
    return is_new ? refusals_.refuse(std::string(refusal_)) : refusals_.drop();
  }
  const bool other_memory = notice_memory(buffer);
  // a context that took the place of another one has formats of its own
  if (const auto thread = find_device(); thread && thread_ && thread != thread_)
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  const GstFlowReturn ret = submit(discont, buffer);
  // GstBaseTransform does not call set_caps() where the new caps equal the old ones
  if (ret == GST_FLOW_OK && other_memory) {
    form_ = choose_form(info_, in_caps_.get(), out_caps_.get());
    stream_is_old_ = true;
  }
  if (ret != GST_FLOW_NOT_NEGOTIATED)
    return ret;
  const auto caps =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)));
  if (caps && ends_in_refusal(caps.get())) {
    refusal_is_new_ = false;
    return refusals_.refuse(std::string(refusal_));
  }
  // downstream changed its mind; a source that has other caps chooses anew when it is told so
  if (caps && upstream_may_choose_again())
    GST_INFO_OBJECT(element_, "no longer taken: %" GST_PTR_FORMAT, caps.get());
  else if (caps && find_device() && !is_flushing(GST_ELEMENT(element_)) && failed_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps.get()));
  return ret;
}

Result<void> EglUploader::begin_stream(std::shared_ptr<GlThread> thread)
{
  UploadStream stream;
  stream.in = info_;
  stream.out_caps = out_caps_;
  stream.form = form_;
  if (form_)
    stream.hints = hints_of(info_, *form_);
  stream.colours = yuv_colours(info_.vinfo.colorimetry, info_.vinfo.chroma_site);
  stream.is_plain = !promises_dmabuf(in_caps_.get());
  stream.copies_system_memory =
      stream.is_plain && is_copy_form(info_, out_caps_.get(), *offer_.formats());
  stream.may_copy = settings().may_copy();
  stream.copy_reason = copy_reason(info_, in_caps_.get());
  if (settings().mode != UploadMode::Copy)
    stream.import_refusal = refusal_.empty() ? thread->device()->import_refusal() : refusal_;
  stream.kept_downstream = held_;
  stream.takes_release_fences = takes_release_fences_;
  thread_ = thread;
  Result<void> begun = frames_.begin(std::move(thread), std::move(stream));
  stream_is_old_ = !begun;
  return begun;
}

GstFlowReturn EglUploader::generate_output(GstBuffer **out)
{
  auto in =
      GstPtr<GstBuffer>::adopt(std::exchange(GST_BASE_TRANSFORM(element_)->queued_buf, nullptr));
  *out = nullptr;
  if (!in)
    return GST_FLOW_OK;
  std::shared_ptr<GlThread> thread = offer_.thread();
  if (!thread)
    return GST_FLOW_NOT_NEGOTIATED; // what is wrong with the context is on the bus
  if (stream_is_old_ || thread != thread_)
    if (const Result<void> begun = begin_stream(std::move(thread)); !begun)
      return fail(begun.error());
  frames_.set_release_fences(takes_release_fences_);
  Result<GstPtr<GstBuffer>> made = frames_.upload(in.get());
  if (const std::optional<Error> refusal = frames_.take_refusal())
    note_refusal(*refusal);
  if (!made)
    return made.error().code == ErrorCode::Import && !frames_.tried_copy()
               ? give_up_import(made.error())
               : fail(made.error());
  if (!*made)
    return GST_FLOW_FLUSHING;
  *out = made->release();
  return GST_FLOW_OK;
}

GstFlowReturn EglUploader::fail(const Error &error)
{
  if (thread_ && thread_->device()->is_lost()) { // its textures and what was learnt of it are gone
    frames_.end();
    proofs_.clear();
    stream_is_old_ = true;
  }
  const std::string sender = peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot take a frame of " + sender,
                  error);
  const std::string advice = frames_.advice();
  failure.advise(advice.empty() ? advice_on(error, sender) : advice);
  failure.add("sender", sender).add("caps", in_caps_.get());
  post_failure(GST_ELEMENT(element_), failure);
  return GST_FLOW_ERROR;
}

// The driver refuses a frame of a pair that it lists, and that passed the proof. The pair leaves
// the offer, and upstream may choose again.
void EglUploader::note_refusal(const Error &error)
{
  fallbacks_++;
  const Refusal refusal{{info_.drm_fourcc, info_.drm_modifier},
                        static_cast<std::uint32_t>(info_.vinfo.width),
                        static_cast<std::uint32_t>(info_.vinfo.height),
                        error.message};
  answered_ = true; // upstream has chosen this pair, also where it did not ask again
  if (offer_.refuse(form_->shape, refusal))
    offer_changed();
}

// The frame is lost, because other caps have to go downstream first; another way into GL is taken
// where there is one, and upstream chooses again where there is none.
GstFlowReturn EglUploader::give_up_import(const Error &error)
{
  if (!form_)
    return fail(error);
  note_refusal(error);
  const GstPtr<GstCaps> left = upload_transform(GST_PAD_SINK, in_caps_.get(), *offer_.formats());
  const auto taken = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), nullptr));
  if (!caps_meet(left.get(), taken.get()))
    return refusals_.refuse(error.message + ".");
  GST_WARNING_OBJECT(element_, "another way into OpenGL is taken: %s", error.message.c_str());
  gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  return GST_FLOW_OK;
}

} // namespace gstdrm
