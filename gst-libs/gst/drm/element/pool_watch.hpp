// SPDX-License-Identifier: LGPL-2.1-or-later
// What an element tells the application when nobody gives the buffers of its pool back, and when
// the pool can make no more.
#pragma once

#include <atomic>
#include <string>

#include <gst/drm/gstdrm-private.hpp>

namespace gstdrm {

// "queue0 (queue) or what follows it": who has the buffers that `element` has pushed.
std::string holders_downstream(GstElement *element);

// Whether a wait of more than a second for a buffer is nothing to be told: the pipeline does not
// play, or a frame is shown for about as long.
bool is_normal_wait(GstElement *element);

// The messages of one pool, each once. Any thread; a pool may outlive its element in downstream's
// buffers, and nothing is posted then.
class PoolNotices {
public:
  // `remedy`, a literal: what else than "let go of frames sooner" helps, such as
  // ", or raise num-surfaces".
  explicit PoolNotices(GstElement *element, const char *remedy = "");
  PoolNotices(const PoolNotices &) = delete;
  PoolNotices &operator=(const PoolNotices &) = delete;
  ~PoolNotices();

  // A thread has waited for a second for one of all buffers that the pool may make: a warning,
  // unless that is_normal_wait().
  void post_exhausted();
  // Another buffer cannot be made: an error, of which the stream ends.
  void post_failed(GstBufferPool *pool, const GError *error);

private:
  GstPtr<GstElement> owner();

  GWeakRef element_{};
  const char *remedy_;
  std::atomic<bool> told_exhausted_{false};
  std::atomic<bool> told_failed_{false};
};

// Which signals of a GstDrmBufferPool are posted.
enum class PoolSignals { Exhausted, All };
void watch_pool(GstBufferPool *pool, GstElement *element, PoolSignals signals,
                const char *remedy = "");

} // namespace gstdrm
