// SPDX-License-Identifier: LGPL-2.1-or-later
// Framebuffers over imported dma-bufs, each made once per dma-buf, the cache that keeps them, and
// what keeps them on screen after their sink.
//
// The kernel takes a framebuffer off the screen when it is removed, and removes it with the open
// file that it was made on (drm_framebuffer.c, drm_fb_release()). CLOSEFB (Linux 6.8) lets go of
// one that stays. Before that, and where the console of the kernel would take over as soon as
// nobody has the card open (drm_file.c, drm_lastclose()), the open file has to stay.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <sys/types.h>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/import_cache.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "kms_device.hpp"
#include "kms_objects.hpp"

namespace gstdrm::kms {

using FramebufferId = OwnedId<drmModeRmFB>;

// ADDFB2 of the GEM handles, one per plane of the layout. 0 or a negative errno.
int add_framebuffer(Device &device, const FrameLayout &layout,
                    const std::array<std::uint32_t, kMaxPlanes> &handles, FramebufferId &made);
// Lets the kernel's framebuffer go without taking it off the screen; there is none from then on.
// `file_stays`: its open file is kept. false: neither can be.
bool leave_on_screen(const Device &device, FramebufferId &framebuffer, bool file_stays);

// Where the rows of a framebuffer's planes begin. Some drivers change these in a mode set alone.
struct FramebufferRows {
  std::array<std::uint32_t, kMaxPlanes> strides_bytes{};
  std::array<std::uint32_t, kMaxPlanes> offsets_bytes{};
  friend bool operator==(const FramebufferRows &, const FramebufferRows &) = default;
};

// One KMS framebuffer. The kernel's framebuffer holds the dma-bufs (through its GEM objects) until
// RMFB. RMFB of a framebuffer that is on screen turns its plane off, so the code that shows a
// framebuffer keeps a reference to it. Any thread may destroy a framebuffer.
class Framebuffer {
public:
  // PRIME_FD_TO_HANDLE for each dma-buf and ADDFB2. `layout` must have passed check_layout().
  static Result<std::shared_ptr<Framebuffer>> import(const std::shared_ptr<Device> &device,
                                                     const FrameLayout &layout);
  Framebuffer(const Framebuffer &) = delete;
  Framebuffer &operator=(const Framebuffer &) = delete;
  ~Framebuffer();

  bool leave_on_screen(bool file_stays) { return kms::leave_on_screen(*device_, id_, file_stays); }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_.get(); }
  [[nodiscard]] const FramebufferRows &rows() const noexcept { return rows_; }

private:
  explicit Framebuffer(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  Result<void> add(const FrameLayout &layout);

  std::shared_ptr<Device> device_;
  std::array<BufferIdentity, kMaxPlanes> identities_{}; // one acquired handle each
  std::size_t n_handles_ = 0;
  FramebufferId id_;
  FramebufferRows rows_;
};

// Framebuffers of one device, looked up by the dma-bufs and the layout that they were made from.
// One thread. `releases` is ImportBounds::releases.
using FramebufferCache = ImportCache<std::shared_ptr<Framebuffer>>;
FramebufferCache framebuffer_cache(std::shared_ptr<Device> device,
                                   std::atomic<std::uint64_t> &releases);

// The open files that keep pictures on screen: one per plane of a picture at most, which is never
// master.
class KeptFiles {
public:
  using Ptr = std::shared_ptr<KeptFiles>;
  // Of the process. Its users share it, since one may live until the process ends.
  static Ptr get();
  // Returns false if the device has no separate file for its buffers: a dup() of the main one would
  // stay DRM master.
  bool keep(const Device &device, std::uint32_t plane_id);
  // Something else is on the plane.
  void forget(const Device &device, std::uint32_t plane_id);

private:
  OrderedMutex lock_{kLeafLockRank, "KeptFiles::lock_"}; // guards files_
  std::map<std::pair<dev_t, std::uint32_t>, UniqueFd> files_;
};

} // namespace gstdrm::kms
