// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufpools.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include <sys/resource.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>

namespace gstdrm {

// Which messages were posted since the start, each once. Any thread that waits for a buffer posts
// them, as long as the element is there.
struct PoolMessages {
  explicit PoolMessages(GstElement *element) { g_weak_ref_init(&element_, element); }
  ~PoolMessages() { g_weak_ref_clear(&element_); }
  PoolMessages(const PoolMessages &) = delete;
  PoolMessages &operator=(const PoolMessages &) = delete;

  GstPtr<GstElement> element()
  {
    return GstPtr<GstElement>::adopt(static_cast<GstElement *>(g_weak_ref_get(&element_)));
  }

  std::atomic<bool> told_exhausted{false};
  std::atomic<bool> told_notice{false};
  std::atomic<bool> failed{false};

private:
  GWeakRef element_{};
};

namespace {

enum class Use { Copies, Upstream };

// What a handler of a pool's signals knows.
struct Watch {
  std::shared_ptr<PoolMessages> messages;
  Use use;
};

void delete_watch(gpointer watch, GClosure *) noexcept
{
  delete static_cast<Watch *>(watch);
}

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
std::string holders(GstElement *element, Use use)
{
  std::string text = holders_downstream(element);
  if (use == Use::Upstream)
    text += ", and " + peer_name(GST_BASE_TRANSFORM_SINK_PAD(element)) +
            " where it keeps frames to decode others";
  return text;
}

void on_exhausted(GstBufferPool *pool, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || is_normal_wait(element.get()) || watch->messages->told_exhausted.exchange(true))
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

void on_failed(GstBufferPool *pool, const GError *error, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || watch->messages->failed.exchange(true))
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

void watch(GstBufferPool *pool, const std::shared_ptr<PoolMessages> &messages, Use use)
{
  g_signal_connect_data(pool, "exhausted", G_CALLBACK(logging<on_exhausted>),
                        new Watch{messages, use}, delete_watch, static_cast<GConnectFlags>(0));
  g_signal_connect_data(pool, "allocation-failed", G_CALLBACK(logging<on_failed>),
                        new Watch{messages, use}, delete_watch, static_cast<GConnectFlags>(0));
}

// GstBufferPool warns of a flush of an inactive pool.
void flush(GstBufferPool *pool, bool flushing)
{
  if (pool && gst_buffer_pool_is_active(pool))
    gst_buffer_pool_set_flushing(pool, flushing);
}

} // namespace

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

UploadPools::UploadPools(GstElement *owner) : messages_(std::make_shared<PoolMessages>(owner)) {}

void UploadPools::watch_offered(const GstPtr<GstBufferPool> &pool)
{
  watch(pool.get(), messages_, Use::Upstream);
  const std::lock_guard lock(lock_);
  offered_ = pool;
}

bool UploadPools::adopt_copy_pool(const GstPtr<GstBufferPool> &pool)
{
  watch(pool.get(), messages_, Use::Copies);
  if (!gst_buffer_pool_set_active(pool.get(), TRUE))
    return false;
  const std::lock_guard lock(lock_);
  copy_ = pool;
  if (flushing_) // since this thread was sent on its way
    flush(copy_.get(), true);
  return true;
}

GstPtr<GstBufferPool> UploadPools::copy_pool()
{
  const std::lock_guard lock(lock_);
  return copy_;
}

void UploadPools::drop_copy_pool()
{
  drop_pool(lock_, copy_);
}

void UploadPools::leave_offered()
{
  const std::lock_guard lock(lock_);
  if (flushing_)
    flush(offered_.get(), false);
  offered_.reset();
}

void UploadPools::set_flushing(bool flushing)
{
  const std::lock_guard lock(lock_);
  if (flushing_ == flushing)
    return;
  flushing_ = flushing;
  if (!flushing)
    end_failure(); // the application tries again
  flush(copy_.get(), flushing);
  flush(offered_.get(), flushing);
}

void UploadPools::reset_messages() noexcept
{
  messages_->told_exhausted = false;
  messages_->told_notice = false;
  messages_->failed = false;
}

void UploadPools::end_failure() noexcept
{
  messages_->failed = false;
}

void UploadPools::tell_notice(GstDrmAllocator *allocator)
{
  g_autofree gchar *notice = gst_drm_allocator_get_notice(allocator);
  const GstPtr<GstElement> element = messages_->element();
  if (!notice || !element || messages_->told_notice.exchange(true))
    return;
  const std::string text = std::string(GST_OBJECT_NAME(element.get())) + ": " + notice + ".";
  GST_ELEMENT_INFO(element.get(), RESOURCE, SETTINGS, ("%s", text.c_str()), ("%s", text.c_str()));
}

} // namespace gstdrm
