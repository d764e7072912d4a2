// SPDX-License-Identifier: LGPL-2.1-or-later
// Sleeps in vaSyncSurface on a thread of its own, for drivers that leave no fence in the DMA
// buffers.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include <gst/drm/core/result.hpp>

#include "va_objects.hpp"

namespace gstdrm::va {

class SyncWorker {
public:
  SyncWorker();
  SyncWorker(const SyncWorker &) = delete;
  SyncWorker &operator=(const SyncWorker &) = delete;
  ~SyncWorker();

  // Surfaces are done in the order in which they come; a ticket says which. At most kDepth are on
  // their way.
  static constexpr std::size_t kDepth = 4;
  std::uint64_t submit(std::shared_ptr<Surface> surface);

  enum class Outcome { Done, Cancelled };
  // Sleeps until the surface of that ticket is done, or cancel() is called.
  Result<Outcome> wait(std::uint64_t ticket);
  void set_cancelled(bool cancelled);

private:
  void work() noexcept;

  std::mutex lock_; // guards all below
  std::condition_variable changed_;
  std::array<std::shared_ptr<Surface>, kDepth> ring_;
  std::uint64_t submitted_ = 0;
  std::uint64_t done_ = 0;
  Result<void> failed_;
  bool cancelled_ = false;
  bool quit_ = false;
  std::thread thread_;
};

} // namespace gstdrm::va
