// SPDX-License-Identifier: LGPL-2.1-or-later
// One EGLDisplay with a GL context: what it can do, and what must not be asked of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <gst/drm/core/frame_layout.hpp>

#include "egl_calls.hpp"
#include "egl_driver.hpp"
#include "egl_formats.hpp"

namespace gstdrm::egl {

// Shared by all that use one GL context. Except where a function says otherwise, everything is for
// the thread on which that context is current.
class Device {
  struct Key {};

public:
  // The context is current on `display`. Error of code Unsupported where no GL can be used at all;
  // a display that cannot import dma-bufs is a device all the same, see import_refusal().
  static Result<std::shared_ptr<Device>> open(const Calls &calls, EGLDisplay display);

  // The device of a context of GLX or CGL, which has no EGL display and imports nothing: `platform`
  // is its name.
  static Result<std::shared_ptr<Device>> open_without_egl(const GlCalls &gl,
                                                          const std::string &platform);

  // These do not change. Any thread.
  [[nodiscard]] const Calls &calls() const noexcept { return calls_; }
  // EGL_NO_DISPLAY where the context is not of EGL.
  [[nodiscard]] EGLDisplay display() const noexcept { return display_; }
  [[nodiscard]] const Driver &driver() const noexcept { return driver_; }
  // Empty where the device imports nothing.
  [[nodiscard]] const DisplayFormats &formats() const noexcept { return formats_; }
  // The pair that the driver is given for frames of `format`: linear frames go without a modifier
  // to a driver that lists none for the fourcc, and frames of the implicit modifier to any driver
  // that lists the fourcc. nullopt if it lists neither.
  [[nodiscard]] std::optional<Format> import_format(Format format) const;
  [[nodiscard]] bool has_external_textures() const noexcept { return has_external_textures_; }
  // EGL_ANDROID_native_fence_sync, with EGL_KHR_wait_sync for the way in
  [[nodiscard]] bool has_native_fences() const noexcept { return has_native_fences_; }
  [[nodiscard]] std::uint32_t max_texture_size() const noexcept { return max_texture_size_; }
  // Why the device imports no dma-buf at all, in a sentence: no extension, or a driver that is
  // known to crash on it (the software renderer of Mesa before 26 maps a foreign buffer with
  // DRM_IOCTL_MODE_MAP_DUMB and follows the null pointer that it gets; measured on 22.3 and 25.0
  // with GBM, see docs/drivers.md). Empty: it imports.
  [[nodiscard]] const std::string &import_refusal() const noexcept { return import_refusal_; }

  // Why this frame must not be given to the driver, though check_layout() has passed it: sizes
  // above the limits of GL, a pair that the display does not list, descriptors too small for stride
  // x rows (26.1 crashes when it draws).
  [[nodiscard]] Result<void> check_frame(const FrameLayout &layout) const;

  // Whether the driver tells when it has reset the GPU: the context was made robust, which
  // GStreamer's own are not. Does not change. Any thread.
  [[nodiscard]] bool reports_resets() const noexcept { return get_reset_status_ != nullptr; }
  // Asks it. Nothing is asked of a context that is told nothing.
  void look_for_reset() const;
  // What EGL or GL said of a call that failed: a context that is lost says so here, also one that
  // is not robust. Any thread.
  void note_error(unsigned error) const noexcept;
  // Whether the context is lost, from that moment on for ever: nothing that it holds can be used.
  // Any thread.
  [[nodiscard]] bool is_lost() const noexcept { return loss_ != 0; }
  // Of code Device: what the driver said, and what to do. Any thread.
  [[nodiscard]] Error loss() const;

  // For open().
  Device(Key, const Calls &calls, EGLDisplay display) : calls_(calls), display_(display) {}

private:
  Result<void> read_driver();
  void read_formats();

  Calls calls_;
  EGLDisplay display_;
  Driver driver_;
  DisplayFormats formats_;
  std::string import_refusal_;
  std::uint32_t max_texture_size_ = 0;
  bool has_external_textures_ = false;
  bool has_native_fences_ = false;
  PFNGLGETGRAPHICSRESETSTATUSKHRPROC get_reset_status_ = nullptr; // of a robust context alone
  mutable std::atomic<unsigned> loss_{0}; // the reset status or the error that told; 0: none
};

} // namespace gstdrm::egl
