// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloadpool.hpp"

#include <algorithm>
#include <utility>

#include <sys/resource.h>

#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>

namespace gstdrm {
namespace {

// More than any decoder or muxer downstream holds. A frame takes a descriptor, and the driver that
// draws into it another one: with a quarter of the process's as the bound, half are left to others.
guint most_buffers(guint kept_downstream)
{
  constexpr rlim_t kMost = 64;
  rlim_t most = kMost;
  struct rlimit descriptors = {};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY)
    most = std::min(most, descriptors.rlim_cur / 4);
  return std::max<guint>(static_cast<guint>(most), kept_downstream + 2);
}

} // namespace

Result<GstPtr<GstBufferPool>> open_download_pool(GstElement *element, GstDrmAllocator *allocator,
                                                 const DownloadPoolSetup &setup)
{
  const guint most = most_buffers(setup.kept_downstream);
  auto made = configure_pool(
      allocator, {setup.caps, 0, setup.most > 0 ? MIN(most, setup.most) : most, setup.video_meta, 0,
                  setup.stride_align, setup.offset_align, setup.least_stride});
  if (!made)
    return made.error();
  watch_pool(made->pool.get(), element, PoolSignals::All);
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "The pool cannot be activated", 0};
  return std::move(made->pool);
}

} // namespace gstdrm
