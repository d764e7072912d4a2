// SPDX-License-Identifier: LGPL-2.1-or-later
// What a display shows, and pictures of what it scans out, through its writeback connector.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xf86drmMode.h>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>

#include "engine/card/kms_device.hpp"
#include "engine/commit/kms_flip_queue.hpp"
#include "engine/commit/kms_scanout.hpp"
#include "engine/output/kms_output.hpp"

namespace gstdrm::kms {

struct Snapshot {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint8_t> pixels; // XR24 or AR24; rows without padding
};

// Sizes that an output can show, in pixels.
struct SizeLimits {
  std::uint32_t min_width = 1, min_height = 1;
  std::uint32_t max_width = 0, max_height = 0;
  // The mode that the user names, for pictures that may not be cropped to it. Returns 0 if none is
  // named.
  std::uint32_t mode_width = 0, mode_height = 0;
  // Width and height; the best first. Empty: any within the limits.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> only = {};
};

struct Screen {
  struct Size { // in pixels
    std::uint32_t width = 0;
    std::uint32_t height = 0;
  };
  std::string description; // "plane 31 of /dev/dri/card0 (vkms), Virtual-1, 640x480@59.940"
  // Of the mode on screen; before the first frame, of the one that another program has set, or else
  // of the display's own choice.
  Size size;
  SizeLimits limits;                              // of pictures, before the view turns them
  std::optional<std::uint32_t> writeback_formats; // writeback_formats() of the output
  // On screen, where a writeback connector can be attached; nullopt: nothing can be written back.
  std::optional<drmModeModeInfo> mode;
  View view; // that the application wants
};
// The id of the blob that lists what the writeback connector writes; nullopt if there is none.
std::optional<std::uint32_t> writeback_formats(const Output &output);

// What is shown and what the application wants shown, for any thread.
class SharedScreen {
public:
  [[nodiscard]] Screen get() const
  {
    const std::lock_guard guard(lock_);
    return screen_;
  }
  // What `use` returns for the screen, which is not copied.
  template <typename Use> [[nodiscard]] auto use(const Use &use) const
  {
    const std::lock_guard guard(lock_);
    return use(screen_);
  }
  template <typename Change> auto change(const Change &change)
  {
    const std::lock_guard guard(lock_);
    return change(screen_);
  }

private:
  mutable OrderedMutex lock_{kLeafLockRank, "SharedScreen::lock_"}; // guards screen_
  Screen screen_;
};

// Any thread.
class Snapshots {
public:
  // `queue`, `scanout` and `screen` outlive this.
  Snapshots(std::shared_ptr<Device> device, FlipQueue &queue, Scanout &scanout,
            const SharedScreen &screen)
      : device_(std::move(device)), queue_(queue), scanout_(scanout), screen_(screen)
  {
  }

  // Waits for a snapshot in progress. Let the queue cancel its capture first, and take the mode
  // from the screen: without one, the next ones are refused.
  void await_end() { const std::lock_guard guard(lock_); }
  // Sleeps until the picture is written.
  Result<Snapshot> take();

private:
  [[nodiscard]] Result<std::uint32_t> fourcc() const;
  Result<Snapshot> write_back(std::uint32_t fourcc, const drmModeModeInfo &mode);
  Result<void> write_attached(std::uint32_t framebuffer_id);

  const std::shared_ptr<Device> device_;
  FlipQueue &queue_;
  Scanout &scanout_;
  const SharedScreen &screen_;
  // One snapshot at a time; taken before any other.
  OrderedMutex lock_{30, "Snapshots::lock_"};
};

} // namespace gstdrm::kms
