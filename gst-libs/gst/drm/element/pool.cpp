// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pool.hpp"

#include <mutex>
#include <string>
#include <utility>

#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmcaps-words.hpp>
#include <gst/video/video.h>

namespace gstdrm {

Result<ConfiguredPool> configure_pool(GstDrmAllocator *allocator, const PoolSetup &setup)
{
  ConfiguredPool made{GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator)), 0};
  GstStructure *config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_set_params(config, setup.caps, setup.least_size, setup.min_buffers,
                                    setup.max_buffers);
  if (setup.video_meta)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (setup.video_meta && setup.stride_align > 1) {
    GstVideoAlignment align;
    gst_video_alignment_reset(&align);
    for (guint &plane : align.stride_align)
      plane = setup.stride_align - 1; // a mask
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment(config, &align);
  }
  if (!gst_buffer_pool_set_config(made.pool.get(), config))
    return Error{ErrorCode::Allocation, "There are no buffers for " + text_of(setup.caps) + ".", 0};
  config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_get_params(config, nullptr, &made.size, nullptr, nullptr);
  gst_structure_free(config);
  return made;
}

void drop_pool(OrderedMutex &lock, GstPtr<GstBufferPool> &kept)
{
  GstPtr<GstBufferPool> pool;
  {
    const std::lock_guard guard(lock);
    pool = std::move(kept);
  }
  if (pool)
    gst_buffer_pool_set_active(pool.get(), FALSE);
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
  const auto pool = get();
  if (!pool)
    return GST_FLOW_FLUSHING;
  GstBuffer *acquired = nullptr;
  const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool.get(), &acquired, nullptr);
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
