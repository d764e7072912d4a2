// SPDX-License-Identifier: LGPL-2.1-or-later
// When upstream gets its frames back: after the last read by GL.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/device_wait.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "gstglthread.hpp"

namespace gstdrm {

// Any thread. Lives until the last frame has gone back.
class FrameReleases : public std::enable_shared_from_this<FrameReleases> {
public:
  // What upstream needs before it can write into a frame again.
  enum class Need {
    Nothing,       // the driver keeps the implicit fences of its dma-bufs itself
    ReleaseFence,  // upstream announced that it waits for the fences of GstDrmSyncMeta
    ImplicitFence, // the same, of a driver that has implicit fences alone
    ReadFence,     // a native fence among the implicit ones of the dma-bufs
    Finished,      // GL is done
  };
  // What a stream needs whose producer waits for release fences, or does not.
  static Need need_of(const egl::Device &device, bool takes_release_fences) noexcept;

  // How many frames may wait for the GL thread. A producer's pool is smaller as a rule.
  static constexpr std::size_t kMaxWaiting = 64;

  FrameReleases(std::shared_ptr<GlThread> thread, Need need)
      : thread_(std::move(thread)), need_(need)
  {
  }
  FrameReleases(const FrameReleases &) = delete;
  FrameReleases &operator=(const FrameReleases &) = delete;

  // `out`, and each buffer that shares its memory by a shallow copy, holds `in`. When the last of
  // them is gone, `in` goes back, in one job of the GL thread for all frames that wait for that;
  // without a job where nothing is needed.
  void hold(GstBuffer *out, GstBuffer *in);

  // GL was given every command that reads `in`, which goes back behind them.
  void release(GstBuffer *in);

  // Sleeps while kMaxWaiting frames wait for the GL thread; for those who make more. Error of code
  // Device where that thread does not come to it in time.
  Result<Waited> wait_for_room(std::chrono::milliseconds limit, const Interrupt &interrupt);
  // Ends that sleep, after the interrupt was raised.
  void wake();

private:
  struct HeldFrame; // gives its frame back when it is destroyed
  // `sleep` is GlThread::sleep() when the frame was handed out.
  [[nodiscard]] bool is_unread(std::uint64_t sleep) const noexcept;
  void give_back(GstPtr<GstBuffer> in);
  void release_waiting(bool has_context);
  bool add_implicit_fences(const std::vector<GstPtr<GstBuffer>> &frames);
  bool add_fences(const std::vector<GstPtr<GstBuffer>> &frames);

  const std::shared_ptr<GlThread> thread_;
  const Need need_;
  OrderedMutex lock_{kLeafLockRank, "FrameReleases::lock_"};
  OrderedCondition changed_;
  std::vector<GstPtr<GstBuffer>> waiting_; // for a job that is on its way
};

} // namespace gstdrm
