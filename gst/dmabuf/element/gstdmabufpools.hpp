// SPDX-License-Identifier: LGPL-2.1-or-later
// How many buffers the pools of dmabufupload may make, and which messages are posted when that is
// too few or memory ends.
#pragma once

#include <atomic>
#include <memory>

#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// Buffers of this size that one pool may make where the user names no number: what half of the
// process's descriptors and half of the machine's memory hold, and never so few that a decoder with
// all its reference frames waits for itself. `min` is what downstream keeps, and one.
guint automatic_bound(gsize frame_bytes, guint min);

// The messages of an element's pools, each once after reset(). Any thread that waits for a buffer
// posts them, as long as the element is there: pools may outlive it.
class PoolMessages : public std::enable_shared_from_this<PoolMessages> {
public:
  enum class Use { Copies, Upstream };

  explicit PoolMessages(GstElement *element) { g_weak_ref_init(&element_, element); }
  ~PoolMessages() { g_weak_ref_clear(&element_); }
  PoolMessages(const PoolMessages &) = delete;
  PoolMessages &operator=(const PoolMessages &) = delete;

  // Posts what goes wrong in this pool from now on.
  void watch(GstBufferPool *pool, Use use);
  // A start: every message may be posted again.
  void reset() noexcept;
  // A frame has left: memory that ends after it is another failure.
  void end_failure() noexcept { failed_ = false; }
  // The allocator's notice as an info message.
  void tell_notice(GstDrmAllocator *allocator);

private:
  struct Watch;
  GstPtr<GstElement> element();
  static void on_exhausted(GstBufferPool *pool, gpointer data);
  static void on_failed(GstBufferPool *pool, const GError *error, gpointer data);

  GWeakRef element_{};
  std::atomic<bool> told_exhausted_{false};
  std::atomic<bool> told_notice_{false};
  std::atomic<bool> failed_{false};
};

} // namespace gstdrm
