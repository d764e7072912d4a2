// SPDX-License-Identifier: LGPL-2.1-or-later
// Start, stop, the context, and what the properties show.
#include "gstegluploader.hpp"

#include <utility>

#include "gstegldmabufupload.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

EglUploader::EglUploader(GstGLBaseFilter *element, GstBaseTransformClass *base)
    : element_(element), base_(base), failed_(),
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
                    hops_->load(), "fallbacks", G_TYPE_UINT64, fallbacks_.load(), nullptr);
  return structure;
}

// --- context -------------------------------------------------------------------------------------

// The GL thread of the pipeline's context; nullptr if there is no context yet, or none that can be
// used, which has its message. It stays the same until the element stops, or the base class may
// have another context (look_for_context_again()). Asks the neighbours: call it without a lock.
std::shared_ptr<GlThread> EglUploader::find_device()
{
  std::shared_ptr<GlThread> thread = offer_.thread();
  if (thread && !context_may_differ_)
    return thread;
  bool changed = false;
  thread = take_context(thread, changed);
  if (!thread)
    context_may_differ_ = true; // the device that is offered, if any, is not the present one
  if (changed)
    offer_changed();
  return thread;
}

std::shared_ptr<GlThread> EglUploader::take_context(const std::shared_ptr<GlThread> &before,
                                                    bool &changed)
{
  // Read before the display: a change to NULL clears the display first and begins another
  // generation afterwards, so that a context that is missing for it is not missing in the next
  // start.
  const std::uint64_t generation = offer_.generation();
  const ContextLock::Reader reader(context_lock_);
  if (!reader || !element_->display)
    return nullptr;
  context_may_differ_ = false;
  const GstPtr<GstGLContext> context = find_context(generation);
  if (!context)
    return nullptr;
  if (before && before->context() == context.get())
    return before;
  const Result<std::shared_ptr<GlThread>> opened = GlThread::open(context.get(), hops_);
  if (!opened) {
    unusable_context_.post(GST_ELEMENT(element_), opened.error());
    return nullptr;
  }
  changed = offer_.take(*opened, generation);
  std::shared_ptr<GlThread> present = offer_.thread();
  if (present != *opened) // another thread was first, or the element was stopped meanwhile
    return present;
  const egl::Device &device = *present->device();
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " is %s%s%s", context.get(),
                  device.driver().describe().c_str(), device.import_refusal().empty() ? "" : ": ",
                  device.import_refusal().c_str());
  return present;
}

// GstGLBaseFilter has an error for a context that it cannot make, each time that it is asked. If
// stop() on another thread takes away the context that was found, none is returned, without an
// error message.
GstPtr<GstGLContext> EglUploader::find_context(std::uint64_t generation)
{
  auto context = GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element_));
  if (context || no_context_in_ == generation)
    return context;
  FoundContext found = find_gl_context(element_);
  const bool is_news = !found.context && offer_.generation() == generation &&
                       no_context_in_.exchange(generation) != generation;
  if (is_news && found.failure && no_context_.claim())
    post_failure(GST_ELEMENT(element_), *found.failure);
  return std::move(found.context);
}

// Waits until the GL thread has done what it was given, so that nothing of this element is left
// there.
void EglUploader::forget_device()
{
  offer_.forget();
  answers_.forget();
  no_context_.reset();
  unusable_context_.reset();
}

// Upstream that has asked before chooses again.
void EglUploader::offer_changed()
{
  if (answered_.exchange(false))
    refusals_.request_choice();
}

// What that thread finds is stale, or belongs to the next start: UploadOffer::take() discards it.
void EglUploader::warn_of_reader() const
{
  GST_WARNING_OBJECT(element_, "the state changes while another thread still looks for an "
                               "OpenGL context: that thread waits for the change, or hangs");
}

// --- states --------------------------------------------------------------------------------------

bool EglUploader::start()
{
  stats_.reset();
  fallbacks_ = 0;
  frames_.reset_draws();
  *hops_ = 0;
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
  answered_ = false;
  return without_readers([this] {
    const bool stopped = base_->stop(GST_BASE_TRANSFORM(element_)) != FALSE;
    forget_device(); // last, or a query could take the base class's context once more
    return stopped;
  });
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
  if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    forget_device();
}

} // namespace gstdrm
