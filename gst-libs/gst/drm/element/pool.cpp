// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pool.hpp"

#include <mutex>
#include <string>
#include <utility>

#include <unistd.h>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/gstdrmallocation.h>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmcaps-words.hpp>

namespace gstdrm {

namespace {

// gstpoll.c: a socket pair or an eventfd
constexpr unsigned kDescriptorsOfPool = 2;

} // namespace

Result<void> room_for_pool()
{
  const int lack = out_of_descriptors(kDescriptorsOfPool);
  if (lack == 0)
    return {};
  return Error{ErrorCode::Allocation,
               "the process has no descriptor left for a buffer pool (" + errno_text(lack) + ")",
               lack};
}

guint64 frames_in_half_of_memory(gsize frame_bytes)
{
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0 || frame_bytes == 0)
    return G_MAXUINT64;
  return static_cast<guint64>(pages) / 2 * static_cast<guint64>(page_bytes) / frame_bytes;
}

Result<ConfiguredPool> configure_pool(GstDrmAllocator *allocator, const PoolSetup &setup)
{
  if (auto room = room_for_pool(); !room)
    return room.error();
  ConfiguredPool made{GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator)), 0};
  GstStructure *config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_set_params(config, setup.caps, setup.least_size, setup.min_buffers,
                                    setup.max_buffers);
  if (setup.video_meta)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (setup.video_meta && setup.constraints)
    gst_buffer_pool_config_set_drm_constraints(config, setup.constraints);
  if (!gst_buffer_pool_set_config(made.pool.get(), config)) {
    const int lack = out_of_descriptors(kDescriptorsOfFrame);
    return Error{ErrorCode::Allocation,
                 "There are no buffers for " + text_of(setup.caps) + text_of_lack(lack) + ".",
                 lack};
  }
  config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_get_params(config, nullptr, &made.size, nullptr, nullptr);
  gst_structure_free(config);
  return made;
}

void close_pool(GstPtr<GstBufferPool> &pool)
{
  if (!pool)
    return;
  gst_buffer_pool_set_active(pool.get(), FALSE);
  // a stopped pool has nothing to free, one with buffers in use stops again with the last of them
  (void)GST_BUFFER_POOL_GET_CLASS(pool.get())->stop(pool.get());
  pool.reset();
}

void drop_pool(OrderedMutex &lock, GstPtr<GstBufferPool> &kept)
{
  GstPtr<GstBufferPool> pool;
  {
    const std::lock_guard guard(lock);
    pool = std::move(kept);
  }
  close_pool(pool);
}

void ActivePool::keep(GstPtr<GstBufferPool> active)
{
  drop();
  const std::lock_guard guard(lock_);
  pool_ = std::move(active);
  if (flushing_ && pool_)
    gst_buffer_pool_set_flushing(pool_.get(), TRUE);
}

void ActivePool::drop()
{
  drop_pool(lock_, pool_);
}

GstPtr<GstBufferPool> ActivePool::get() const
{
  const std::lock_guard guard(lock_);
  return pool_;
}

GstFlowReturn ActivePool::acquire(GstPtr<GstBuffer> &buffer)
{
  return acquire(buffer, nullptr);
}

GstFlowReturn ActivePool::acquire_now(GstPtr<GstBuffer> &buffer)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  return acquire(buffer, &params);
}

GstFlowReturn ActivePool::acquire(GstPtr<GstBuffer> &buffer, GstBufferPoolAcquireParams *params)
{
  const auto pool = get();
  if (!pool)
    return GST_FLOW_FLUSHING;
  GstBuffer *acquired = nullptr;
  const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool.get(), &acquired, params);
  buffer.reset(acquired);
  return flow;
}

void ActivePool::set_flushing(bool flushing)
{
  const std::lock_guard guard(lock_);
  if (flushing_ == flushing)
    return;
  flushing_ = flushing;
  if (pool_)
    gst_buffer_pool_set_flushing(pool_.get(), flushing);
}

} // namespace gstdrm
