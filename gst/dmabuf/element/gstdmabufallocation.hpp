// SPDX-License-Identifier: LGPL-2.1-or-later
// Which allocator makes the buffers of dmabufupload, what upstream is offered, and where a copy
// goes.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/pool.hpp>

namespace gstdrm {

class PoolMessages;

// The properties of dmabufupload that say where buffers come from; read when an allocation is
// decided.
struct AllocationSettings {
  GstDrmAllocatorKind kind = GST_DRM_ALLOCATOR_KIND_AUTO;
  std::string device; // empty: the first that works
  guint max_buffers = 0;
};

// The buffers of one dmabufupload. Owned by the element. Settings and set_flushing() are any
// thread's, all else is the streaming thread's.
class UploadAllocation {
public:
  // Both outlive this.
  UploadAllocation(GstBaseTransform *element, FailedNegotiation &negotiation);

  // Calls `change` with the settings, while the lock of the settings is held.
  template <typename Change> void change_settings(Change &&change)
  {
    const std::lock_guard lock(settings_lock_);
    change(settings_);
  }
  [[nodiscard]] AllocationSettings settings() const;

  // New caps: nothing of the old stream is left but the pool that upstream has. Frames are of
  // `info`, and leave in plain caps where `plain_output` says so.
  void forget_copies();
  void begin(const GstDrmVideoInfo &info, GstCaps *plain_caps, bool plain_output);
  void start();
  void stop();

  bool decide(GstQuery *query);
  bool propose(GstQuery *query);
  // A free buffer of dmabuf memory; a failure is on the bus when it returns.
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer);

  // For FLUSH_START and on the way to NULL: ends every wait for a buffer, upstream's as well, and
  // refuses new ones until set_flushing(false).
  //
  // Unlike StreamWaits::acquire(), which wakes one thread from one wait: this element made both
  // pools, and any thread of upstream may wait in the offered pool at any time, unseen by this
  // element. So the pools stay flushing for as long as the flush lasts.
  void set_flushing(bool flushing);
  // A frame has left the element.
  void end_failure() noexcept;
  // Upstream goes on without this element, or has stopped: its pool stays usable, and is no longer
  // watched.
  void leave_upstream();

  // Downstream says that it reads GstVideoMeta, and reads GStreamer's own rows alone.
  [[nodiscard]] bool wants_own_rows() const noexcept { return has_own_rows_; }
  // DMA_DRM always goes with a GstVideoMeta; a reader of plain video may know the default layout
  // alone.
  [[nodiscard]] bool may_pad_rows() const noexcept
  {
    return !has_own_rows_ && (!plain_output_ || takes_video_meta_);
  }
  [[nodiscard]] bool takes_crop_meta() const noexcept { return takes_crop_meta_; }
  // A multiple of this many bytes is what devices want of rows, and of the place where the picture
  // begins.
  [[nodiscard]] gsize alignment() const noexcept;
  // The memory came from the allocator that is in use, which makes it in bytes, not in frames.
  [[nodiscard]] bool made_as_bytes(const GstMemory *memory) const;
  // A frame of upstream's is as every consumer asks.
  [[nodiscard]] bool suits_consumers(GstBuffer *frame) const;
  // Upstream asked for a pool and has one.
  [[nodiscard]] bool offered_a_pool() const noexcept { return offer_ == Offer::Made; }

private:
  enum class Offer { NotAsked, Declined, Made }; // what upstream did about the pool

  bool choose_allocator(GstQuery *query);
  [[nodiscard]] Needs own_needs() const;
  void announce_memfd();
  Result<void> make_copy_pool();
  [[nodiscard]] PoolSetup pool_setup(GstCaps *caps) const;
  [[nodiscard]] std::string allocator_name() const;
  bool check(const Unmet &unmet); // posts it
  [[nodiscard]] std::string reason_without_pool() const;
  GstFlowReturn fail_without_pool(const Error &why);
  // Buffers of one pool: what downstream keeps, and one for the frame that is being written; and
  // what max-buffers allows.
  [[nodiscard]] guint fewest_buffers() const noexcept;
  [[nodiscard]] guint most_buffers() const;

  GstBaseTransform *const element_;
  FailedNegotiation &negotiation_;
  mutable OrderedMutex settings_lock_{100, "UploadAllocation::settings_lock_"};
  AllocationSettings settings_; // under settings_lock_
  const std::shared_ptr<PoolMessages> messages_;
  ActivePool copies_; // the element's own
  // Guards the two below. GstBufferPool's own locks are taken under it.
  OrderedMutex offered_lock_{10, "UploadAllocation::offered_lock_"};
  GstPtr<GstBufferPool> offered_; // the last pool that upstream was offered
  bool flushing_ = false;
  GstDrmVideoInfo info_{}; // of the linear layout of the plain input
  GstPtr<GstCaps> plain_caps_;
  bool plain_output_ = false;
  bool takes_video_meta_ = false; // downstream reads GstVideoMeta
  bool has_own_rows_ = false;     // see wants_own_rows()
  bool takes_crop_meta_ = false;  // downstream crops
  guint held_downstream_ = 0;     // buffers that downstream keeps
  AgreedNeeds needs_;             // what downstream asks for beyond its caps
  GstPtr<GstDrmAllocator> allocator_;
  Offer offer_ = Offer::NotAsked;
  bool memfd_announced_ = false;
};

} // namespace gstdrm
