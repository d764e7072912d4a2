// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufwaits.hpp"

#include <mutex>
#include <utility>

namespace gstdrm {

void StreamWaits::end()
{
  interrupt_.raise();
  const std::lock_guard lock(lock_);
  if (awaited_) {
    woken_ = true;
    gst_buffer_pool_set_flushing(awaited_.get(), TRUE);
  }
}

GstFlowReturn StreamWaits::acquire(GstBufferPool *pool, GstPtr<GstBuffer> &buffer)
{
  {
    const std::lock_guard lock(lock_);
    if (interrupt_.raised())
      return GST_FLOW_FLUSHING;
    awaited_ = GstPtr<GstBufferPool>::share(pool);
  }
  GstBuffer *acquired = nullptr;
  GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool, &acquired, nullptr);
  buffer.reset(acquired);
  const std::lock_guard lock(lock_);
  awaited_.reset();
  if (std::exchange(woken_, false)) {
    gst_buffer_pool_set_flushing(pool, FALSE);
    flow = GST_FLOW_FLUSHING;
  }
  return flow;
}

} // namespace gstdrm
