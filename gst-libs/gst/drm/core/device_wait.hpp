// SPDX-License-Identifier: LGPL-2.1-or-later
// Waiting for a device before the CPU reads what it wrote, and how such a wait ends early.
#pragma once

#include <atomic>
#include <chrono>

#include "ordered_mutex.hpp"
#include "result.hpp"
#include "wake_fd.hpp"

namespace gstdrm {

// Ends waits of another thread at once: a flag that poll(2) sees.
class Interrupt {
public:
  Interrupt();
  // Any thread. Raised it stays until it is cleared, for waits that begin later too.
  void raise();
  void clear();
  [[nodiscard]] bool raised() const noexcept { return raised_; }
  [[nodiscard]] int fd() const noexcept { return event_.get(); }

private:
  OrderedMutex lock_{100, "Interrupt::lock_"}; // descriptor and flag change together
  WakeFd event_; // readable while raised; none where there are no more descriptors
  std::atomic<bool> raised_{false};
};

enum class Waited { No, Yes, Interrupted };

// Waits until every device that writes to the dma-buf is done: poll(2) with POLLIN does that, by
// the implicit fences (driver-api/dma-buf.rst, "Implicit Fence Poll Support"). A memfd is always
// ready. Error of code Sync when the limit is over.
Result<Waited> wait_for_writers(int dmabuf_fd, std::chrono::milliseconds limit,
                                const Interrupt &interrupt);

// The same for a fence: a sync_file is readable once it has signalled, with an error or without
// (drivers/dma-buf/sync_file.c, sync_file_poll()).
Result<Waited> wait_for_fence(int fence_fd, std::chrono::milliseconds limit,
                              const Interrupt &interrupt);

} // namespace gstdrm
