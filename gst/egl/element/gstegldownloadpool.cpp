// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloadpool.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include <sys/resource.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmbufferpool.h>

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

// What the handlers of a pool's signals know. The pool may outlive the element in downstream's
// buffers.
class Watch {
public:
  explicit Watch(GstElement *element) { g_weak_ref_init(&element_, element); }
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;
  ~Watch() { g_weak_ref_clear(&element_); }

  // None where the message was posted, or nobody is there to post it.
  GstPtr<GstElement> once()
  {
    if (told_.exchange(true))
      return {};
    return GstPtr<GstElement>::adopt(static_cast<GstElement *>(g_weak_ref_get(&element_)));
  }

private:
  GWeakRef element_{};
  std::atomic<bool> told_{false};
};

void delete_watch(gpointer watch, GClosure *) noexcept
{
  delete static_cast<Watch *>(watch);
}

std::string holders(GstElement *element)
{
  return peer_name(GST_BASE_TRANSFORM_SRC_PAD(element)) + " or what follows it";
}

void on_exhausted(GstBufferPool *, gpointer data) noexcept
try {
  const auto element = static_cast<Watch *>(data)->once();
  if (!element)
    return;
  GST_ELEMENT_WARNING(element.get(), RESOURCE, NO_SPACE_LEFT,
                      ("%s waits for a free buffer: it made as many as it may, and none came back "
                       "for a second. They are held by %s. Let go of frames sooner there (drop old "
                       "samples, shorten queues).",
                       GST_OBJECT_NAME(element.get()), holders(element.get()).c_str()),
                      (nullptr));
} catch (...) {
  caught(__func__);
}

void on_failed(GstBufferPool *pool, const GError *error, gpointer data) noexcept
try {
  const auto element = static_cast<Watch *>(data)->once();
  if (!element)
    return;
  const std::string who = holders(element.get());
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element.get())) + " cannot make another buffer",
                  take_error(g_error_copy(error)));
  failure.advise(
      "Those that there are, are held by " + who +
      ". Let go of frames sooner there, or raise the limit (ulimit -n for descriptors).");
  failure.add("holders", who).add("pool", GST_OBJECT_NAME(pool));
  post_failure(element.get(), failure);
} catch (...) {
  caught(__func__);
}

void watch(GstBufferPool *pool, GstElement *element)
{
  constexpr auto kNoFlags = static_cast<GConnectFlags>(0);
  g_signal_connect_data(pool, "exhausted", G_CALLBACK(on_exhausted), new Watch(element),
                        delete_watch, kNoFlags);
  g_signal_connect_data(pool, "allocation-failed", G_CALLBACK(on_failed), new Watch(element),
                        delete_watch, kNoFlags);
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
  watch(made->pool.get(), element);
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "The pool cannot be activated", 0};
  return std::move(made->pool);
}

} // namespace gstdrm
