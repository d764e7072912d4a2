// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglfilterthread.hpp"

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <gst/drm/element/base_errors.hpp>

namespace gstdrm {

namespace {

// A search for a context that goes on in this thread. GstGLBaseFilter posts its error under a lock
// of its own, within the search: a handler that asks the element for caps would search again,
// without end.
struct Lookup {
  explicit Lookup(GstGLBaseFilter *searching) : element(searching), outer(present)
  {
    present = this;
  }
  Lookup(const Lookup &) = delete;
  Lookup &operator=(const Lookup &) = delete;
  ~Lookup() { present = outer; }

  GstGLBaseFilter *element;
  std::optional<BaseError> error;
  Lookup *outer; // of another element, whose neighbour this one is
  static thread_local Lookup *present;
};
thread_local Lookup *Lookup::present = nullptr;

Failure gl_failure(GstGLBaseFilter *element, const BaseError &base)
{
  Failure failure(base.on_bus, std::string(GST_OBJECT_NAME(element)) + " cannot use OpenGL",
                  Error{ErrorCode::Device, base.text, 0});
  failure.advise(
      "Install an EGL driver (Mesa), let the process open the GPU's node in /dev/dri, or choose "
      "another platform with GST_GL_PLATFORM=egl and GST_GL_WINDOW.");
  failure.add("base-class", base.debug);
  return failure;
}

GstPtr<GstGLContext> context_of(GstGLBaseFilter *element)
{
  return GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element));
}

} // namespace

FilterGlThread::Search FilterGlThread::begin_search() const
{
  const std::lock_guard guard(lock_);
  return {generation_, gave_up_};
}

GlSearch find_gl_context(GstGLBaseFilter *element)
{
  Lookup search(element);
  GlSearch result{gst_gl_base_filter_find_gl_context(element) != FALSE, {}};
  if (!result.found && search.error)
    result.failure = gl_failure(element, *search.error);
  return result;
}

// GstGLBaseFilter has an error for a context that it cannot make, each time that it is asked. If
// the context is gone without one, stop() ran on another thread between the search and here: report
// no context, without an error message.
Result<GstPtr<GstGLContext>> FilterGlThread::present_context(const Search &search)
{
  GstPtr<GstGLContext> context = context_of(element_);
  if (context)
    return context;
  const Error none{ErrorCode::Device, "The pipeline has no OpenGL context", 0};
  if (search.gave_up)
    return none;
  const GlSearch found = find_gl_context(element_);
  if (found.found) {
    context = context_of(element_);
    return context ? Result<GstPtr<GstGLContext>>(std::move(context)) : none;
  }
  if (give_up(search) && found.failure && no_context_.claim())
    post_failure(GST_ELEMENT(element_), *found.failure);
  return none;
}

// false where another thread was first, or a stop came between.
bool FilterGlThread::give_up(const Search &search)
{
  const std::lock_guard guard(lock_);
  return search.generation == generation_ && !std::exchange(gave_up_, true);
}

Result<FilterGlThread::Found> FilterGlThread::find()
{
  // Before the display is looked at: a stop takes the display away first and is counted afterwards,
  // so that a search without a display is never taken for one of the next start.
  const Search search = begin_search();
  const GlSearches::Search going_on(searches_);
  if (!going_on || !element_->display)
    return Found{nullptr, search.generation};
  const Result<GstPtr<GstGLContext>> context = present_context(search);
  if (!context)
    return context.error();
  {
    const std::lock_guard guard(lock_);
    if (thread_ && thread_->context() == context->get() && search.generation == generation_)
      return Found{thread_, search.generation};
  }
  return open(context->get(), search.generation);
}

// Two threads may come here with one context; the first one's thread is kept. Behind a stop none
// is: the context would live on in an element that is in NULL.
Result<FilterGlThread::Found> FilterGlThread::open(GstGLContext *context, std::uint64_t generation)
{
  Result<std::shared_ptr<GlThread>> opened = GlThread::open(context);
  if (!opened) {
    posted_.post(GST_ELEMENT(element_), opened.error());
    return opened.error();
  }
  std::shared_ptr<GlThread> old; // let go of without the lock
  Found found{nullptr, generation};
  {
    const std::lock_guard guard(lock_);
    if (generation == generation_) {
      if (!thread_ || thread_->context() != context)
        old = std::exchange(thread_, *opened);
      found.thread = thread_;
    }
  }
  if (old)
    old->retire();
  if (!found.thread)
    (*opened)->retire();
  return found;
}

std::uint64_t FilterGlThread::forget()
{
  std::uint64_t generation = 0;
  std::shared_ptr<GlThread> thread;
  {
    const std::lock_guard guard(lock_);
    thread = std::exchange(thread_, nullptr);
    gave_up_ = false;
    generation = ++generation_;
  }
  posted_.reset();
  no_context_.reset();
  if (thread)
    thread->retire();
  return generation;
}

bool replace_gl_error(GstElement *element, GstMessage *message, OncePerFailure &told)
{
  const auto base = base_error_in(element, message);
  if (!base)
    return false;
  if (Lookup *search = Lookup::present; search && GST_ELEMENT_CAST(search->element) == element)
    search->error = *base;
  else if (told.claim())
    post_failure(element, gl_failure(GST_GL_BASE_FILTER(element), *base));
  return true;
}

} // namespace gstdrm
