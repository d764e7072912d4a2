// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer: when the source pad's task runs, sleeps and runs again.
#include <gst/drm/gstdrm-guard-private.hpp>

#include "gstmetisinferer.hpp"

namespace gstdrm::metis {

void Inferer::set_flushing(bool flushing)
{
  flow_ = flushing ? GST_FLOW_FLUSHING : GST_FLOW_OK;
  failed_ = false;
  if (flushing)
    frames_.waits.raise();
  else
    frames_.waits.clear();
  if (const auto queue = queue_of_any_thread())
    queue->set_flushing(flushing);
}

bool Inferer::activate_src(GstPadMode mode, bool active)
{
  if (mode != GST_PAD_MODE_PUSH)
    return false;
  if (active && !queue_of_any_thread()) // opened by hand, on an element that was not started
    return false;
  set_flushing(!active);
  if (active)
    return gst_pad_start_task(src_, run_task, this, nullptr) != FALSE;
  return gst_pad_stop_task(src_) != FALSE;
}

bool Inferer::flush_start(GstEvent *event)
{
  const bool passed = gst_pad_push_event(src_, event) != FALSE;
  set_flushing(true);
  gst_pad_pause_task(src_); // until the task sleeps
  return passed;
}

bool Inferer::flush_stop(GstEvent *event)
{
  const bool passed = gst_pad_push_event(src_, event) != FALSE;
  frame_number_ = 0;
  eos_ = false;
  return resume() && passed;
}

bool Inferer::activate_sink(GstPadMode mode, bool active)
{
  if (mode != GST_PAD_MODE_PUSH)
    return false;
  if (active)
    return resume();
  set_flushing(true);
  return true;
}

// The sink pad takes buffers again; does nothing while the source pad is inactive.
bool Inferer::resume()
{
  if (GST_PAD_MODE(src_) != GST_PAD_MODE_PUSH)
    return true;
  set_flushing(false);
  return start_task_again();
}

// Under the pad's lock, for a pad that is closed has no task any more.
bool Inferer::start_task_again()
{
  GST_OBJECT_LOCK(src_);
  GstTask *task = GST_PAD_TASK(src_);
  const bool started = task && gst_task_start(task);
  GST_OBJECT_UNLOCK(src_);
  return started;
}

// Called by the task. Whoever flushes and goes on at once may have started it before it paused.
void Inferer::pause_task()
{
  gst_pad_pause_task(src_);
  if (flow_ == GST_FLOW_OK)
    start_task_again();
}

// Nothing is popped any more, so upstream must not wait for a place.
void Inferer::run_task(gpointer inferer) noexcept
{
  auto &self = *static_cast<Inferer *>(inferer);
  try {
    self.loop();
  } catch (...) {
    post_exception(self.element_, "Inferer::loop");
    self.flow_ = GST_FLOW_ERROR;
    self.queue_->set_flushing(true);
    gst_pad_pause_task(self.src_);
  }
}

} // namespace gstdrm::metis
