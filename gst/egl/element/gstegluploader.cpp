// SPDX-License-Identifier: LGPL-2.1-or-later
// Start, stop, the context, and what the properties show.
#include "gstegluploader.hpp"

#include <utility>

#include "gstegldmabufupload.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

EglUploader::EglUploader(GstGLBaseFilter *element, GstBaseTransformClass *base)
    : element_(element), base_(base), gl_(element), failed_(),
      refusals_(GST_ELEMENT(element), GST_BASE_TRANSFORM_SINK_PAD(element), GST_CAT_DEFAULT,
                {"The OpenGL driver",
                 "Choose a size or format that both can do, or set mode=auto and "
                 "zero-copy=prefer, so that linear frames are copied."}),
      frames_(GST_ELEMENT(element), stats_)
{
  failed_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                [this](const GstCaps *filter) { return mismatch(filter); });
}

// --- properties ----------------------------------------------------------------------------------

void EglUploader::change_settings(const std::function<void(UploadSettings &)> &change)
{
  if (offer_.change_settings(change))
    offer_changed();
}

GstStructure *EglUploader::stats() const
{
  GstStructure *structure = stats_.to_structure();
  gst_structure_set(structure, "draws", G_TYPE_UINT64, frames_.draws(), "hops", G_TYPE_UINT64,
                    offer_.hops(), "fallbacks", G_TYPE_UINT64, fallbacks_.load(), nullptr);
  return structure;
}

// --- context -------------------------------------------------------------------------------------

// nullptr: there is no context yet, or none that can be used, which has its message.
std::shared_ptr<GlThread> EglUploader::find_device()
{
  const Result<FilterGlThread::Found> found = gl_.find();
  if (!found || !found->thread)
    return nullptr;
  const std::shared_ptr<GlThread> before = offer_.thread();
  if (before == found->thread)
    return before;
  const bool changed = offer_.take(found->thread, found->generation);
  if (offer_.thread() != found->thread)
    return nullptr; // the element was stopped meanwhile
  const egl::Device &device = *found->thread->device();
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " is %s%s%s", found->thread->context(),
                  device.driver().describe().c_str(), device.import_refusal().empty() ? "" : ": ",
                  device.import_refusal().c_str());
  if (changed)
    offer_changed();
  return found->thread;
}

// Upstream that has asked before chooses again.
void EglUploader::offer_changed()
{
  if (answered_.exchange(false))
    refusals_.request_choice();
}

// Contexts found after this point are stale, or belong to the next start(): they are discarded.
void EglUploader::warn_of_searches(const GlSearches::Change &change) const
{
  if (!change.is_alone())
    GST_WARNING_OBJECT(element_, "the state changes while another thread still looks for an "
                                 "OpenGL context: that thread waits for the change, or hangs");
}

// --- states --------------------------------------------------------------------------------------

bool EglUploader::start()
{
  stats_.reset();
  fallbacks_ = 0;
  frames_.reset_draws();
  offer_.reset_hops();
  failed_.reset();
  refusals_.restart();
  refusal_.clear();
  plain_is_dmabuf_ = false;
  stride_align_ = 1;
  takes_release_fences_ = false;
  return base_->start(GST_BASE_TRANSFORM(element_)) != FALSE;
}

bool EglUploader::stop()
{
  frames_.end();
  form_.reset();
  in_caps_.reset();
  out_caps_.reset();
  held_segment_.reset();
  stream_is_old_ = true;
  proofs_.clear();
  proved_thread_.reset();
  thread_.reset();
  offer_.forget(gl_.forget());
  answers_.forget();
  answered_ = false;
  return without_searches([this] { return base_->stop(GST_BASE_TRANSFORM(element_)) != FALSE; });
}

// A wait of the streaming thread ends before the pads are deactivated, as that waits for the
// thread.
void EglUploader::leave(GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    frames_.set_flushing(true);
  else if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    frames_.set_flushing(false);
}

// A caps query in READY may have found a context, and no stop() comes then.
void EglUploader::settle(GstStateChange transition)
{
  if (transition != GST_STATE_CHANGE_READY_TO_NULL)
    return;
  offer_.forget(gl_.forget());
  answers_.forget();
}

} // namespace gstdrm
