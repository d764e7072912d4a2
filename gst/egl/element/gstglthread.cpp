// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglthread.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

namespace gstdrm {

// --- the main loop of the GL thread --------------------------------------------------------------

struct GlLoop::State {
  std::atomic<std::uint64_t> sleep{0};
  std::uint64_t sleeps = 0; // so far; the loop's thread alone
  OrderedMutex lock{kLeafLockRank, "GlLoop::State::lock"};
  std::vector<Job> jobs;

  void run_jobs(bool runs)
  {
    std::vector<Job> taken;
    {
      const std::lock_guard guard(lock);
      taken.swap(jobs);
    }
    for (const Job &job : taken)
      job(runs);
  }
};

// Of the highest priority: GLib asks it before and after each poll(), and while it is ready it
// dispatches no other source.
struct GlLoop::Source {
  GSource parent;
  std::shared_ptr<State> state;
  static State &of(GSource *source) { return *reinterpret_cast<Source *>(source)->state; }
};

// Nested loops do not count.
gboolean GlLoop::prepare(GSource *source, gint *timeout_ms) noexcept
{
  State &state = Source::of(source);
  *timeout_ms = -1;
  if (state.sleep == 0 && g_main_depth() == 0)
    state.sleep = ++state.sleeps;
  return FALSE;
}

// A ready time of 0, which run() sets, makes the source ready. GLib asks again before it dispatches
// another one.
gboolean GlLoop::check(GSource *source) noexcept
{
  if (g_source_get_ready_time(source) != 0)
    Source::of(source).sleep = 0;
  return FALSE;
}

gboolean GlLoop::dispatch(GSource *source, GSourceFunc, gpointer) noexcept
try {
  g_source_set_ready_time(source, -1); // first: a job that comes now sets it again
  Source::of(source).run_jobs(true);
  return G_SOURCE_CONTINUE;
} catch (...) {
  return caught(G_SOURCE_CONTINUE, __func__);
}

void GlLoop::finalize(GSource *source) noexcept
{
  std::destroy_at(&reinterpret_cast<Source *>(source)->state);
}

void GlLoop::watch()
{
  GSource *job = g_main_current_source();
  GMainContext *context = job ? g_source_get_context(job) : nullptr;
  if (source_ || !context || g_main_depth() != 1)
    return;
  static GSourceFuncs functions = {prepare, check, dispatch, finalize, nullptr, nullptr};
  state_ = std::make_shared<State>();
  source_ = g_source_new(&functions, sizeof(Source));
  std::construct_at(&reinterpret_cast<Source *>(source_)->state, state_);
  g_source_set_static_name(source_, "gst-drm-gl-loop");
  g_source_set_priority(source_, G_MININT);
  g_source_attach(source_, context);
}

GlLoop::~GlLoop()
{
  if (!source_)
    return;
  g_source_destroy(source_);
  g_source_unref(source_);
}

std::uint64_t GlLoop::sleep() const noexcept
{
  return state_ ? state_->sleep.load() : 0;
}

bool GlLoop::run(Job job)
{
  if (!state_)
    return false;
  {
    const std::lock_guard guard(state_->lock);
    state_->jobs.push_back(std::move(job));
  }
  g_source_set_ready_time(source_, 0);
  return true;
}

void GlLoop::drop_jobs()
{
  if (state_)
    state_->run_jobs(false);
}

// --- jobs ----------------------------------------------------------------------------------------

namespace {

std::string platform_name(GstGLPlatform platform)
{
  gchar *text = gst_gl_platform_to_string(platform);
  std::string name = text && *text ? text : "an unknown platform";
  g_free(text);
  return name;
}

egl::Loader loader_of(GstGLContext *context)
{
  return [context](const char *name) { return gst_gl_context_get_proc_address(context, name); };
}

Result<std::shared_ptr<egl::Device>> open_device(GstGLContext *context)
{
  // one loader for both: GStreamer asks the libraries of GL first, then eglGetProcAddress(), which
  // knows the functions of EGL itself (EGL 1.5, section 3.12)
  const egl::Loader loader = loader_of(context);
  const GstGLPlatform platform = gst_gl_context_get_gl_platform(context);
  if ((platform & GST_GL_PLATFORM_EGL) == 0) {
    Result<egl::GlCalls> gl = egl::load_gl_calls(loader);
    if (!gl)
      return gl.error();
    return egl::Device::open_without_egl(*gl, platform_name(platform));
  }
  Result<egl::Calls> calls = egl::load_calls(loader, loader);
  if (!calls)
    return calls.error();
  const EGLDisplay display = calls->egl.get_current_display();
  if (display == EGL_NO_DISPLAY)
    return Error{ErrorCode::Device,
                 "The pipeline's OpenGL context is not current on any EGL display, so nothing can "
                 "be imported with it. Another context that the application shares with the "
                 "pipeline has to be one of EGL",
                 0};
  return egl::Device::open(*calls, display);
}

// A job of run() or open() on its way to the GL thread. GLib's locks hand it over; the one here
// tells TSan so, which does not know them.
struct Hop {
  const std::function<Result<void>()> &job;
  std::mutex handed_over; // held while either thread uses the rest
  std::optional<Result<void>> done;
};

void take_hop(GstGLContext *, gpointer data) noexcept
{
  auto &hop = *static_cast<Hop *>(data);
  const std::lock_guard guard(hop.handed_over);
  try {
    hop.done = hop.job();
  } catch (const std::exception &exception) {
    hop.done = Error{ErrorCode::Device,
                     std::string("The GL thread failed: ") + exception.what() +
                         ". Set the pipeline to NULL and play it again",
                     0};
  }
}

// No limit: `job` uses what lies on this thread's stack, so that nobody may leave before it is
// done, and GStreamer's wait, in which every GL element of the pipeline sleeps, has none. A limit
// for a job that has not begun would help nobody: to stop, GstGLBaseFilter waits for the same
// thread, and so does the context's last owner. A job ends as soon as the calls of GL in it do; the
// driver resets a GPU that hangs, and they return. A thread that is blocked by somebody else is
// named after a while, where frames come without a hop (FrameReleases::wait_for_room()).
Result<void> run_on(GstGLContext *context, const std::function<Result<void>()> &job)
{
  Hop hop{job, {}, std::nullopt};
  { // what this thread has written is there for the other one
    const std::lock_guard guard(hop.handed_over);
  }
  gst_gl_context_thread_add(context, take_hop, &hop);
  const std::lock_guard guard(hop.handed_over);
  if (!hop.done)
    return Error{ErrorCode::Device,
                 "The thread of the pipeline's OpenGL context does not run. Its window was closed, "
                 "or the context was never made: set the pipeline to NULL and play it again",
                 0};
  return *hop.done;
}

// A job of run_later(). It keeps the thread, so that the job has a context.
struct Later {
  Later(std::shared_ptr<GlThread> on, std::function<void(bool)> what) : thread(std::move(on))
  {
    const std::lock_guard guard(handed_over);
    job = std::move(what);
  }
  std::shared_ptr<GlThread> thread;
  std::mutex handed_over; // as in Hop
  std::function<void(bool)> job;
  void run(bool has_context) noexcept
  try {
    const std::lock_guard guard(handed_over);
    if (std::function<void(bool)> once = std::exchange(job, nullptr))
      once(has_context);
  } catch (...) {
    caught(__func__);
  }
};

void run_job(gpointer data) noexcept
{
  static_cast<Later *>(data)->run(true);
}

void free_later(gpointer data) noexcept
{
  const std::unique_ptr<Later> later(static_cast<Later *>(data));
  later->run(false); // nothing is left of a job that was run
}

gpointer unref_context(gpointer context) noexcept
{
  gst_object_unref(context);
  return nullptr;
}

} // namespace

Result<std::shared_ptr<GlThread>> GlThread::open(GstGLContext *context, Count hops)
{
  struct Made : GlThread {}; // make_shared() cannot call the private constructor
  const auto thread = std::make_shared<Made>();
  thread->context_ = GstPtr<GstGLContext>::share(context);
  thread->hops_ = std::move(hops);
  const Result<void> opened = run_on(context, [&]() -> Result<void> {
    Result<std::shared_ptr<egl::Device>> device = open_device(context);
    if (!device)
      return device.error();
    thread->device_ = std::move(*device);
    thread->loop_.watch();
    return {};
  });
  if (!opened)
    return opened.error();
  if (!thread->is_current())
    thread->hops_->fetch_add(1, std::memory_order_relaxed);
  return std::shared_ptr<GlThread>(thread);
}

// GStreamer ends a context with a wait for its thread, which would last for ever on that thread.
// Where no other one can be made, the context stays until the process ends.
GlThread::~GlThread()
{
  if (!context_ || !is_current())
    return;
  GstGLContext *context = context_.release();
  if (GThread *end = g_thread_try_new("gl-context-end", unref_context, context, nullptr))
    g_thread_unref(end);
  else
    GST_WARNING_OBJECT(context, "no thread to end it on (ulimit -u, -v)");
}

// Other contexts draw on threads of their own. Those that GStreamer does not know of cannot be seen
// here: gst_gl_context_set_shared_with() makes one known.
std::uint64_t GlThread::sleep() const noexcept
{
  return gst_gl_context_is_shared(context_.get()) ? 0 : loop_.sleep();
}

bool GlThread::is_current() const noexcept
{
  GThread *thread = gst_gl_context_get_thread(context_.get());
  const bool current = thread == g_thread_self();
  if (thread)
    g_thread_unref(thread);
  return current;
}

Result<void> GlThread::run(const std::function<Result<void>(egl::Device &device)> &job)
{
  if (!is_current())
    hops_->fetch_add(1, std::memory_order_relaxed);
  return run_on(context_.get(), [&]() -> Result<void> {
    Result<void> done = job(*device_);
    device_->look_for_reset();
    return device_->is_lost() ? Result<void>(device_->loss()) : done;
  });
}

void GlThread::run_later(std::function<void(bool has_context)> job)
{
  auto later = std::make_unique<Later>(shared_from_this(), std::move(job));
  if (is_current()) {
    later->run(true);
    return;
  }
  if (is_retired_) {
    const Result<void> ran = run_on(context_.get(), [&]() -> Result<void> {
      later->run(true);
      return {};
    });
    if (!ran)
      later->run(false);
    return;
  }
  GstGLWindow *window = gst_gl_context_get_window(context_.get());
  if (!window) {
    later->run(false);
    return;
  }
  gst_gl_window_send_message_async(window, run_job, later.release(), free_later);
  gst_object_unref(window);
}

void GlThread::run_soon(std::function<void(bool has_context)> job)
{
  if (is_retired_ || is_current() || !loop_.run(job))
    run_later(std::move(job));
}

void GlThread::retire() noexcept
{
  is_retired_ = true;
  finish();
}

void GlThread::finish() noexcept
try {
  // an error says that the thread has ended, and with it all that it was given
  (void)run([](egl::Device &) { return Result<void>(); });
  loop_.drop_jobs();
} catch (...) {
  caught(__func__);
}

} // namespace gstdrm
