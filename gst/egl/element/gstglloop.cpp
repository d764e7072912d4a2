// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglloop.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

namespace gstdrm {

struct GlLoop::State {
  std::atomic<std::uint64_t> sleep{0}; // 0: awake
  std::uint64_t sleeps = 0;            // so far; the loop's thread alone
  std::atomic<bool> has_jobs{false};
  OrderedMutex lock{kLeafLockRank, "GlLoop::State::lock"};
  std::vector<std::shared_ptr<const Job>> jobs;

  // false: it was run, or is about to be
  bool take_back(const std::shared_ptr<const Job> &job)
  {
    const std::lock_guard guard(lock);
    const bool found = std::erase(jobs, job) > 0;
    has_jobs = !jobs.empty();
    return found;
  }
  void run_jobs(bool runs)
  {
    std::vector<std::shared_ptr<const Job>> taken;
    {
      const std::lock_guard guard(lock);
      taken.swap(jobs);
      has_jobs = false;
    }
    for (const auto &job : taken)
      (*job)(runs);
  }
};

// Of the highest priority. While it is ready, the loop runs no source of a lower one, so that
// nobody gives a command to GL between two sleeps that it alone has ended.
struct GlLoop::Source {
  GSource parent;
  std::shared_ptr<State> *state; // owned
  static State &of(GSource *source) { return **reinterpret_cast<Source *>(source)->state; }
};

// Nested loops do not count.
gboolean GlLoop::prepare(GSource *source, gint *timeout_ms) noexcept
{
  State &state = Source::of(source);
  *timeout_ms = -1;
  if (state.sleep == 0 && g_main_depth() == 0)
    state.sleep = ++state.sleeps;
  return state.has_jobs ? TRUE : FALSE;
}

gboolean GlLoop::check(GSource *source) noexcept
{
  State &state = Source::of(source);
  // Awake first, then a look for jobs: wake_for() adds one first, then looks whether this is awake.
  // So one of the two sees the other, and no job stays behind in a loop that ends here.
  const std::uint64_t sleep = state.sleep.exchange(0);
  // wake_for() may ring for a job that was seen before it rang, and has run
  const bool is_rung_for = g_source_get_ready_time(source) == 0;
  if (!state.has_jobs && !is_rung_for)
    return FALSE;
  state.sleep = sleep;
  return TRUE;
}

gboolean GlLoop::dispatch(GSource *source, GSourceFunc, gpointer) noexcept
try {
  g_source_set_ready_time(source, -1);
  const std::shared_ptr<State> state = *reinterpret_cast<Source *>(source)->state;
  state->run_jobs(true);
  return G_SOURCE_CONTINUE;
} catch (...) {
  return caught(G_SOURCE_CONTINUE, __func__);
}

void GlLoop::finalize(GSource *source) noexcept
{
  const std::unique_ptr<std::shared_ptr<State>> state(reinterpret_cast<Source *>(source)->state);
}

void GlLoop::watch()
{
  GSource *job = g_main_current_source();
  GMainContext *context = job ? g_source_get_context(job) : nullptr;
  if (source_ || !context || g_main_depth() != 1)
    return;
  static GSourceFuncs functions = {prepare, check, dispatch, finalize, nullptr, nullptr};
  state_ = std::make_shared<State>();
  auto shared = std::make_unique<std::shared_ptr<State>>(state_);
  source_ = g_source_new(&functions, sizeof(Source));
  reinterpret_cast<Source *>(source_)->state = shared.release();
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

bool GlLoop::wake_for(Job job)
{
  if (sleep() == 0)
    return false;
  const auto shared = std::make_shared<Job>(std::move(job));
  {
    const std::lock_guard guard(state_->lock);
    state_->jobs.push_back(shared);
    state_->has_jobs = true;
  }
  if (sleep() == 0 && state_->take_back(shared))
    return false;
  g_source_set_ready_time(source_, 0);
  return true;
}

void GlLoop::drop_jobs()
{
  if (state_)
    state_->run_jobs(false);
}

} // namespace gstdrm
