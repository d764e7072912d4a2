// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglfilterthread.hpp"

#include <mutex>
#include <utility>

namespace gstdrm {

namespace {

GstPtr<GstGLContext> context_of(GstGLBaseFilter *element)
{
  return GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element));
}

} // namespace

FilterGlThread::Search FilterGlThread::begin_search() const
{
  const std::lock_guard guard(lock_);
  return {stops_, gave_up_};
}

// GstGLBaseFilter posts the error of a context that it cannot make, each time that it is asked. A
// context that was found and is gone again was taken away by a stop: whoever asks was a query of
// another thread, and the next start looks anew.
Result<GstPtr<GstGLContext>> FilterGlThread::present_context(const Search &search)
{
  GstPtr<GstGLContext> context = context_of(element_);
  if (context)
    return context;
  const Error none{ErrorCode::Device, "The pipeline has no OpenGL context", 0};
  if (search.gave_up)
    return none;
  if (gst_gl_base_filter_find_gl_context(element_)) {
    context = context_of(element_);
    return context ? Result<GstPtr<GstGLContext>>(std::move(context)) : none;
  }
  const std::lock_guard guard(lock_);
  if (search.stops == stops_)
    gave_up_ = true;
  return none;
}

Result<std::shared_ptr<GlThread>> FilterGlThread::find()
{
  // Before the display is looked at: a stop takes the display away first and is counted afterwards,
  // so that a search without a display is never taken for one of the next start.
  const Search search = begin_search();
  if (!element_->display)
    return std::shared_ptr<GlThread>();
  const Result<GstPtr<GstGLContext>> context = present_context(search);
  if (!context)
    return context.error();
  {
    const std::lock_guard guard(lock_);
    if (thread_ && thread_->context() == context->get())
      return thread_;
  }
  return open(context->get());
}

// Two threads may come here with one context; the first one's thread is kept.
Result<std::shared_ptr<GlThread>> FilterGlThread::open(GstGLContext *context)
{
  Result<std::shared_ptr<GlThread>> opened = GlThread::open(context);
  if (!opened) {
    posted_.post(GST_ELEMENT(element_), opened.error());
    return opened;
  }
  std::shared_ptr<GlThread> old; // let go of without the lock
  std::shared_ptr<GlThread> kept;
  {
    const std::lock_guard guard(lock_);
    if (!thread_ || thread_->context() != context)
      old = std::exchange(thread_, *opened);
    kept = thread_;
  }
  if (old)
    old->finish();
  return kept;
}

void FilterGlThread::forget()
{
  std::shared_ptr<GlThread> thread;
  {
    const std::lock_guard guard(lock_);
    thread = std::exchange(thread_, nullptr);
    gave_up_ = false;
    stops_++;
  }
  posted_.reset();
  if (thread)
    thread->finish();
}

} // namespace gstdrm
