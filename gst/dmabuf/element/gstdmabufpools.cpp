// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufpools.hpp"

#include <algorithm>
#include <string>

#include <sys/resource.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

namespace gstdrm {

namespace {

struct PoolNumbers {
  guint64 frames = 0;
  guint64 bytes = 0;
  guint64 out = 0;
};

PoolNumbers numbers_of(GstBufferPool *pool)
{
  PoolNumbers numbers;
  GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(pool));
  if (!stats) // out of memory, which is what the message is about
    return numbers;
  gst_structure_get(stats, "frames", G_TYPE_UINT64, &numbers.frames, "bytes", G_TYPE_UINT64,
                    &numbers.bytes, "out", G_TYPE_UINT64, &numbers.out, nullptr);
  gst_structure_free(stats);
  return numbers;
}

// "24.9 MiB"
std::string mebibytes(guint64 bytes)
{
  const guint64 tenths = (bytes * 10 + (1U << 19)) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

// "queue0 (queue) or what follows it": who holds buffers of a pool. Upstream holds those that it
// writes into as well.
std::string holders(GstElement *element, PoolMessages::Use use)
{
  std::string text = holders_downstream(element);
  if (use == PoolMessages::Use::Upstream)
    text += ", and " + peer_name(GST_BASE_TRANSFORM_SINK_PAD(element)) +
            " where it keeps frames to decode others";
  return text;
}

} // namespace

// What a handler of a pool's signals knows.
struct PoolMessages::Watch {
  std::shared_ptr<PoolMessages> messages;
  Use use;
};

GstPtr<GstElement> PoolMessages::element()
{
  return GstPtr<GstElement>::adopt(static_cast<GstElement *>(g_weak_ref_get(&element_)));
}

void PoolMessages::on_exhausted(GstBufferPool *pool, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || is_normal_wait(element.get()) || watch->messages->told_exhausted_.exchange(true))
    return;
  const PoolNumbers numbers = numbers_of(pool);
  const std::string who = holders(element.get(), watch->use);
  GST_ELEMENT_WARNING(element.get(), RESOURCE, NO_SPACE_LEFT,
                      ("%s waits for a free buffer: it made %" G_GUINT64_FORMAT
                       " (%s), as many as it may, %" G_GUINT64_FORMAT
                       " are in use, and none came back for a second. They are held by %s. Let go "
                       "of frames sooner there (drop old samples, shorten queues), or raise "
                       "max-buffers.",
                       GST_OBJECT_NAME(element.get()), numbers.frames,
                       mebibytes(numbers.bytes).c_str(), numbers.out, who.c_str()),
                      ("pool %s", GST_OBJECT_NAME(pool)));
}

void PoolMessages::on_failed(GstBufferPool *pool, const GError *error, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || watch->messages->failed_.exchange(true))
    return;
  const PoolNumbers numbers = numbers_of(pool);
  const std::string who = holders(element.get(), watch->use);
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element.get())) + " cannot make another buffer",
                  take_error(g_error_copy(error)));
  failure.advise("It has made " + std::to_string(numbers.frames) + " (" + mebibytes(numbers.bytes) +
                 "), " + std::to_string(numbers.out) + " are in use, held by " + who +
                 ". Let go of frames sooner there, set max-buffers to what there is room for, or "
                 "raise the limit (ulimit -n for descriptors).");
  failure.add("buffers", numbers.frames).add("bytes", numbers.bytes).add("in-use", numbers.out);
  failure.add("holders", who).add("pool", GST_OBJECT_NAME(pool));
  post_failure(element.get(), failure);
}

void PoolMessages::watch(GstBufferPool *pool, Use use)
{
  constexpr GClosureNotify free_watch = [](gpointer watch, GClosure *) noexcept {
    delete static_cast<Watch *>(watch);
  };
  g_signal_connect_data(pool, "exhausted", G_CALLBACK(logging<on_exhausted>),
                        new Watch{shared_from_this(), use}, free_watch,
                        static_cast<GConnectFlags>(0));
  g_signal_connect_data(pool, "allocation-failed", G_CALLBACK(logging<on_failed>),
                        new Watch{shared_from_this(), use}, free_watch,
                        static_cast<GConnectFlags>(0));
}

guint automatic_bound(gsize frame_bytes, guint min)
{
  // H.264 and H.265 keep 16 reference frames at most (ITU-T H.264 A.3.1, H.265 A.4.2); the rest is
  // for a decoder's threads.
  constexpr guint kFewest = 16 + 4;
  constexpr guint64 kMost = 1U << 16;
  guint64 bound = kMost;
  struct rlimit descriptors = {};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY)
    bound = std::min<guint64>(bound, descriptors.rlim_cur / 2); // one for each buffer
  bound = std::min(bound, frames_in_half_of_memory(frame_bytes));
  return static_cast<guint>(std::max<guint64>(bound, min + kFewest));
}

void PoolMessages::reset() noexcept
{
  told_exhausted_ = false;
  told_notice_ = false;
  failed_ = false;
}

void PoolMessages::tell_notice(GstDrmAllocator *allocator)
{
  g_autofree gchar *notice = gst_drm_allocator_get_notice(allocator);
  const GstPtr<GstElement> element = this->element();
  if (!notice || !element || told_notice_.exchange(true))
    return;
  const std::string text = std::string(GST_OBJECT_NAME(element.get())) + ": " + notice + ".";
  GST_ELEMENT_INFO(element.get(), RESOURCE, SETTINGS, ("%s", text.c_str()), ("%s", text.c_str()));
}

} // namespace gstdrm
