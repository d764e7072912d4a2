// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmsync
 * @title: GstDrmSyncMeta
 * @short_description: fences of a buffer
 *
 * A producer that returns before its device is done adds an acquire fence; a consumer that reads on
 * after it let the buffer go adds a release fence, which the producer's pool honours before it uses
 * the memory again. Fences are sync_file descriptors (linux/sync_file.h). A buffer without the meta
 * follows the implicit fences of its dma-bufs, which gst_drm_dmabuf_export_fence() and
 * gst_drm_dmabuf_import_fence() convert to and from.
 *
 * Fences belong to memory, so all buffers that share the memory share them: gst_buffer_copy() and
 * gst_buffer_copy_region() take the meta along with the same state. A deep copy has memory of its
 * own and gets no meta.
 *
 * Any thread may call these functions on a meta that lives.
 */
#include "gstdrmsync.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "core/ordered_mutex.hpp"
#include "core/sync_file.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmsync-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::DmaBufAccess;
using gstdrm::FenceState;
using gstdrm::Result;
using gstdrm::UniqueFd;

// What the metas of all buffers on the same memory share. fences_lock_ guards the two descriptors.
class SharedFences {
public:
  enum class Which { Acquire, Release };

  SharedFences *ref() noexcept
  {
    ref_count_.fetch_add(1, std::memory_order_relaxed);
    return this;
  }
  void unref() noexcept
  {
    if (ref_count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      std::default_delete<SharedFences>()(this);
  }

  // Merges `fence` with the fences that are there: all of them have to signal.
  Result<void> add(Which which, UniqueFd fence)
  {
    // Anything but a sync_file is refused here, before it is stored.
    if (const Result<void> checked = gstdrm::check_sync_file(fence.get()); !checked)
      return checked.error();
    const std::lock_guard lock(fences_lock_);
    UniqueFd &slot = slot_of(which);
    if (!slot) {
      slot = std::move(fence);
      return {};
    }
    Result<UniqueFd> merged = gstdrm::fence_merge(slot.get(), fence.get());
    if (!merged)
      return merged.error();
    slot = std::move(*merged);
    return {};
  }
  // -1 with errno, which is 0 where there is no fence.
  [[nodiscard]] int dup(Which which)
  {
    int reason = 0;
    UniqueFd copy;
    {
      const std::lock_guard lock(fences_lock_);
      const UniqueFd &slot = slot_of(which);
      copy = slot.dup();
      if (slot && !copy)
        reason = errno;
    }
    errno = reason;
    return copy.release();
  }
  void clear()
  {
    const std::lock_guard lock(fences_lock_);
    acquire_.reset();
    release_.reset();
  }
  void clear_acquire()
  {
    const std::lock_guard lock(fences_lock_);
    acquire_.reset();
  }
  // Forgets a release fence that has signalled: every later one would be merged with it.
  [[nodiscard]] bool awaits_release()
  {
    const std::lock_guard lock(fences_lock_);
    if (!release_)
      return false;
    if (gstdrm::fence_is_pending(release_.get()))
      return true;
    release_.reset();
    return false;
  }

private:
  UniqueFd &slot_of(Which which) noexcept { return which == Which::Acquire ? acquire_ : release_; }

  std::atomic<int> ref_count_{1};
  gstdrm::OrderedMutex fences_lock_{100, "SharedFences::fences_lock_"};
  UniqueFd acquire_;
  UniqueFd release_;
};

SharedFences *fences_of(const GstDrmSyncMeta *meta)
{
  return static_cast<SharedFences *>(meta->state);
}

const GstMemory *root_of(const GstMemory *memory)
{
  return memory->parent ? memory->parent : memory;
}

bool share_memory(GstBuffer *a, GstBuffer *b)
{
  for (guint i = 0; i < gst_buffer_n_memory(a); ++i) {
    for (guint j = 0; j < gst_buffer_n_memory(b); ++j) {
      if (root_of(gst_buffer_peek_memory(a, i)) == root_of(gst_buffer_peek_memory(b, j)))
        return true;
    }
  }
  return false;
}

gboolean sync_meta_init(GstMeta *meta, gpointer, GstBuffer *)
{
  reinterpret_cast<GstDrmSyncMeta *>(meta)->state = std::make_unique<SharedFences>().release();
  return TRUE;
}

void sync_meta_free(GstMeta *meta, GstBuffer *) noexcept
{
  auto *sync = reinterpret_cast<GstDrmSyncMeta *>(meta);
  if (SharedFences *fences = static_cast<SharedFences *>(std::exchange(sync->state, nullptr)))
    fences->unref();
}

gboolean sync_meta_transform(GstBuffer *dest, GstMeta *meta, GstBuffer *source, GQuark type,
                             gpointer) noexcept
{
  // gst_buffer_copy_into() copies memory before metas, so a shallow copy shares it by now.
  if (!GST_META_TRANSFORM_IS_COPY(type) || !share_memory(dest, source))
    return FALSE;
  GstDrmSyncMeta *copy = gst_buffer_add_drm_sync_meta(dest);
  if (!copy)
    return FALSE;
  fences_of(copy)->unref();
  copy->state = fences_of(reinterpret_cast<GstDrmSyncMeta *>(meta))->ref();
  return TRUE;
}

const GstMetaInfo *sync_meta_info()
{
  static const GstMetaInfo *const info =
      gst_meta_register(GST_DRM_SYNC_META_API_TYPE, "GstDrmSyncMeta", sizeof(GstDrmSyncMeta),
                        gstdrm::logging<sync_meta_init>, sync_meta_free, sync_meta_transform);
  return info;
}

gboolean add_fence(GstDrmSyncMeta *meta, SharedFences::Which which, UniqueFd fence, GError **error)
{
  const Result<void> added = fences_of(meta)->add(which, std::move(fence));
  if (!added) {
    gstdrm::propagate(error, added.error());
    return FALSE;
  }
  return TRUE;
}

static_assert(static_cast<int>(FenceState::Pending) == GST_DRM_FENCE_STATE_PENDING);
static_assert(static_cast<int>(FenceState::Signalled) == GST_DRM_FENCE_STATE_SIGNALLED);
static_assert(static_cast<int>(FenceState::Failed) == GST_DRM_FENCE_STATE_FAILED);
static_assert(static_cast<int>(DmaBufAccess::Read) == GST_DRM_ACCESS_READ);
static_assert(static_cast<int>(DmaBufAccess::Write) == GST_DRM_ACCESS_WRITE);

gboolean return_state(const Result<FenceState> &result, GstDrmFenceState *state, GError **error)
{
  if (!result) {
    gstdrm::propagate(error, result.error());
    return FALSE;
  }
  if (state)
    *state = static_cast<GstDrmFenceState>(*result);
  return TRUE;
}

DmaBufAccess to_access(GstDrmAccess access)
{
  return static_cast<DmaBufAccess>(access);
}

constexpr int kAllAccess = GST_DRM_ACCESS_READ | GST_DRM_ACCESS_WRITE;

} // namespace

namespace gstdrm {

void drop_acquire_fences(GstDrmSyncMeta *meta)
{
  fences_of(meta)->clear_acquire();
}

bool awaits_release(GstDrmSyncMeta *meta)
{
  return fences_of(meta)->awaits_release();
}

} // namespace gstdrm

GType gst_drm_sync_meta_api_get_type(void) noexcept
{
  // Elements that put out other memory do not take it along, and deep copies neither. Not
  // GST_META_TAG_MEMORY_STR: gst_buffer_copy_region() would lose it, though the memory is the same.
  static const gchar *tags[] = {GST_META_TAG_MEMORY_REFERENCE_STR, nullptr};
  static const GType type = gst_meta_api_type_register("GstDrmSyncMetaAPI", tags);
  return type;
}

/**
 * gst_buffer_add_drm_sync_meta:
 * @buffer: (transfer none): a writable #GstBuffer
 *
 * Adds a #GstDrmSyncMeta without fences, or finds the one that @buffer has.
 *
 * Returns: (transfer none): the meta
 *
 * Since: 0.1
 */
GstDrmSyncMeta *gst_buffer_add_drm_sync_meta(GstBuffer *buffer) noexcept
{
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);

  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer))
    return meta;
  g_return_val_if_fail(gst_buffer_is_writable(buffer), nullptr);
  return reinterpret_cast<GstDrmSyncMeta *>(gst_buffer_add_meta(buffer, sync_meta_info(), nullptr));
}

/**
 * gst_buffer_get_drm_sync_meta:
 * @buffer: (transfer none): a #GstBuffer
 *
 * Finds the meta of a buffer.
 *
 * Returns: (transfer none) (nullable): the meta, or %NULL
 *
 * Since: 0.1
 */
GstDrmSyncMeta *gst_buffer_get_drm_sync_meta(GstBuffer *buffer) noexcept
{
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);

  return reinterpret_cast<GstDrmSyncMeta *>(
      gst_buffer_get_meta(buffer, gst_drm_sync_meta_api_get_type()));
}

/**
 * gst_drm_sync_meta_add_acquire_fence:
 * @meta: a #GstDrmSyncMeta
 * @fence_fd: a sync_file; it is the meta's from now on, and closed also on failure
 * @error: location for a #GError, or %NULL
 *
 * Whoever uses the buffer has to wait for @fence_fd first, and for all acquire fences before it.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file or cannot be merged; the
 *   fences are then as they were
 *
 * Since: 0.1
 */
gboolean gst_drm_sync_meta_add_acquire_fence(GstDrmSyncMeta *meta, gint fence_fd,
                                             GError **error) noexcept
try {
  UniqueFd fence(fence_fd);
  g_return_val_if_fail(meta != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  return add_fence(meta, SharedFences::Which::Acquire, std::move(fence), error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_sync_meta_add_release_fence:
 * @meta: a #GstDrmSyncMeta
 * @fence_fd: a sync_file; it is the meta's from now on, and closed also on failure
 * @error: location for a #GError, or %NULL
 *
 * Whoever writes into the buffer's memory next has to wait for @fence_fd first, and for all release
 * fences before it.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file or cannot be merged; the
 *   fences are then as they were
 *
 * Since: 0.1
 */
gboolean gst_drm_sync_meta_add_release_fence(GstDrmSyncMeta *meta, gint fence_fd,
                                             GError **error) noexcept
try {
  UniqueFd fence(fence_fd);
  g_return_val_if_fail(meta != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  return add_fence(meta, SharedFences::Which::Release, std::move(fence), error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_sync_meta_dup_acquire_fence:
 * @meta: a #GstDrmSyncMeta
 *
 * Hands out what has to be waited for before the buffer is used.
 *
 * Returns: a sync_file of all acquire fences, which the caller closes; -1 with `errno` 0 where
 * there is none to wait for, and -1 with another `errno` (EMFILE) where the process has no file
 * descriptor left for it: then the device may still write
 *
 * Since: 0.1
 */
gint gst_drm_sync_meta_dup_acquire_fence(GstDrmSyncMeta *meta) noexcept
try {
  g_return_val_if_fail(meta != nullptr, -1);

  return fences_of(meta)->dup(SharedFences::Which::Acquire);
} catch (...) {
  return gstdrm::caught(-1, __func__);
}

/**
 * gst_drm_sync_meta_dup_release_fence:
 * @meta: a #GstDrmSyncMeta
 *
 * Hands out what has to be waited for before the memory is written again.
 *
 * Returns: a sync_file of all release fences, which the caller closes; -1 with `errno` 0 where
 * there is none to wait for, and -1 with another `errno` (EMFILE) where the process has no file
 * descriptor left for it: then the memory may still be read
 *
 * Since: 0.1
 */
gint gst_drm_sync_meta_dup_release_fence(GstDrmSyncMeta *meta) noexcept
try {
  g_return_val_if_fail(meta != nullptr, -1);

  return fences_of(meta)->dup(SharedFences::Which::Release);
} catch (...) {
  return gstdrm::caught(-1, __func__);
}

/**
 * gst_drm_sync_meta_clear:
 * @meta: a #GstDrmSyncMeta
 *
 * Forgets all fences, for every buffer that shares them: the pool's part, before the memory is used
 * again.
 *
 * Since: 0.1
 */
void gst_drm_sync_meta_clear(GstDrmSyncMeta *meta) noexcept
try {
  g_return_if_fail(meta != nullptr);

  fences_of(meta)->clear();
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_drm_fence_get_state:
 * @fence_fd: a sync_file
 * @state: (out) (optional): its state
 * @error: location for a #GError, or %NULL
 *
 * Looks whether a fence has signalled; does not wait.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file
 *
 * Since: 0.1
 */
gboolean gst_drm_fence_get_state(gint fence_fd, GstDrmFenceState *state, GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  return return_state(gstdrm::fence_state(fence_fd), state, error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_fence_wait:
 * @fence_fd: a sync_file
 * @timeout: nanoseconds to wait at most, or %GST_CLOCK_TIME_NONE
 * @state: (out) (optional): its state then; %GST_DRM_FENCE_STATE_PENDING when the time is over
 * @error: location for a #GError, or %NULL
 *
 * Sleeps until the fence signals. Not for a streaming thread where a device can wait instead.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file or cannot be waited for
 *
 * Since: 0.1
 */
gboolean gst_drm_fence_wait(gint fence_fd, GstClockTime timeout, GstDrmFenceState *state,
                            GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  constexpr GstClockTime kLongest = G_MAXINT64 / 2;
  const std::chrono::nanoseconds limit(
      GST_CLOCK_TIME_IS_VALID(timeout) ? static_cast<gint64>(MIN(timeout, kLongest)) : -1);
  return return_state(gstdrm::fence_wait(fence_fd, limit), state, error);
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_dmabuf_export_fence:
 * @dmabuf_fd: a dma-buf
 * @access: what the caller is about to do with it
 * @error: location for a #GError, or %NULL
 *
 * The implicit fences that this access has to wait for (DMA_BUF_IOCTL_EXPORT_SYNC_FILE): of writers
 * for %GST_DRM_ACCESS_READ, of all users for %GST_DRM_ACCESS_WRITE.
 *
 * Returns: a sync_file, which the caller closes; -1 with %GST_DRM_ERROR_UNSUPPORTED before
 * Linux 6.0 and for what is no dma-buf, else %GST_DRM_ERROR_SYNC
 *
 * Since: 0.1
 */
gint gst_drm_dmabuf_export_fence(gint dmabuf_fd, GstDrmAccess access, GError **error) noexcept
try {
  g_return_val_if_fail((access & kAllAccess) != 0 && (access & ~kAllAccess) == 0, -1);
  g_return_val_if_fail(error == nullptr || *error == nullptr, -1);

  Result<UniqueFd> fence = gstdrm::dmabuf_export_fence(dmabuf_fd, to_access(access));
  if (!fence) {
    gstdrm::propagate(error, fence.error());
    return -1;
  }
  return fence->release();
} catch (...) {
  return gstdrm::caught(-1, __func__, error);
}

/**
 * gst_drm_dmabuf_import_fence:
 * @dmabuf_fd: a dma-buf
 * @fence_fd: a sync_file; it stays the caller's
 * @access: what the work behind @fence_fd does with the dma-buf
 * @error: location for a #GError, or %NULL
 *
 * Makes a fence one of the dma-buf's implicit fences (DMA_BUF_IOCTL_IMPORT_SYNC_FILE).
 *
 * Returns: %FALSE with %GST_DRM_ERROR_UNSUPPORTED before Linux 6.0 and for what is no dma-buf, else
 *   %GST_DRM_ERROR_SYNC
 *
 * Since: 0.1
 */
gboolean gst_drm_dmabuf_import_fence(gint dmabuf_fd, gint fence_fd, GstDrmAccess access,
                                     GError **error) noexcept
try {
  g_return_val_if_fail((access & kAllAccess) != 0 && (access & ~kAllAccess) == 0, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const Result<void> imported = gstdrm::dmabuf_import_fence(dmabuf_fd, fence_fd, to_access(access));
  if (!imported) {
    gstdrm::propagate(error, imported.error());
    return FALSE;
  }
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}
