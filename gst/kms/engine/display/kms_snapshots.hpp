// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes pictures of what a display scans out, through its writeback connector. take() is for any thread; the streaming
// thread says what is shown; start() and stop() are called by whoever starts and stops the display.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"
#include "engine/card/kms_lock_ranks.hpp"
#include "engine/commit/kms_flip_queue.hpp"
#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

struct Snapshot {
  std::uint32_t fourcc = 0; // XR24 or AR24
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels; // rows without padding
};

class Snapshots {
public:
  // Attaches the writeback connector to the CRTC that shows the picture, or detaches it. 0 or a
  // negative errno.
  using Attach = std::function<int(bool attached)>;
  // `queue` outlives this.
  Snapshots(std::shared_ptr<Device> device, FlipQueue &queue, const Output &output, Attach attach);

  // The queue makes commits from now on, so snapshots can be taken.
  void start();
  // Waits for a snapshot in progress; the next ones are refused until start(). Let the queue cancel its capture first.
  void stop();

  // The output was read anew: it may have another writeback connector.
  void set_output(const Output &output);
  // A picture is on screen in that mode, and a writeback connector can be attached to its CRTC.
  void set_shown(const drmModeModeInfo &mode);
  // No picture is on screen, so nothing can be written back.
  void set_nothing_shown();

  // Sleeps until the picture is written. `description` is the display's, for the error.
  Result<Snapshot> take(const std::string &description);

private:
  [[nodiscard]] Result<std::uint32_t> fourcc() const;
  [[nodiscard]] std::optional<drmModeModeInfo> shown_mode() const;
  Result<Snapshot> write_back(std::uint32_t fourcc, const drmModeModeInfo &mode);
  Result<void> write_attached(std::uint32_t framebuffer_id);

  const std::shared_ptr<Device> device_;
  FlipQueue &queue_;
  const Attach attach_;
  // One snapshot at a time; taken before any other.
  OrderedMutex lock_{kSnapshotLockRank, "Snapshots::lock_"};
  bool started_ = false; // guarded by lock_
  mutable OrderedMutex shown_lock_{kLeafLockRank, "Snapshots::shown_lock_"}; // guards the two below
  std::optional<drmModeModeInfo> shown_mode_;
  std::optional<std::uint32_t> formats_blob_; // of the writeback connector, if there is one
};

} // namespace gstdrm::kms
