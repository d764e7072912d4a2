// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_fences.hpp"

#include <array>
#include <string>

#include <gst/drm/core/log.hpp>

#include "egl_error.hpp"

namespace gstdrm::egl {
namespace {

Error without_fences(const Device &device)
{
  return Error{ErrorCode::Unsupported,
               device.driver().describe() + ", has no EGL_ANDROID_native_fence_sync", 0};
}

Error failed(const Device &device, const char *call)
{
  const EGLint error = device.calls().egl.get_error();
  device.note_error(static_cast<unsigned>(error));
  return Error{ErrorCode::Sync,
               std::string(call) + "() of " + device.driver().describe() + ", says " +
                   egl_error_name(error),
               0};
}

// One EGLSyncKHR of the native kind.
class Sync {
public:
  Sync(const Device &device, int fd) : egl_(device.calls().egl), display_(device.display())
  {
    const std::array<EGLint, 3> attributes = {EGL_SYNC_NATIVE_FENCE_FD_ANDROID, fd, EGL_NONE};
    sync_ = egl_.create_sync(display_, EGL_SYNC_NATIVE_FENCE_ANDROID, attributes.data());
  }
  Sync(const Sync &) = delete;
  Sync &operator=(const Sync &) = delete;
  // A wait that was begun goes on (EGL_KHR_fence_sync, "eglDestroySyncKHR").
  ~Sync()
  {
    if (sync_ != EGL_NO_SYNC_KHR)
      egl_.destroy_sync(display_, sync_);
  }
  explicit operator bool() const noexcept { return sync_ != EGL_NO_SYNC_KHR; }
  [[nodiscard]] bool wait() const { return egl_.wait_sync(display_, sync_, 0) == EGL_TRUE; }
  [[nodiscard]] UniqueFd dup() const { return UniqueFd(egl_.dup_native_fence_fd(display_, sync_)); }

private:
  const EglCalls &egl_;
  EGLDisplay display_;
  EGLSyncKHR sync_ = EGL_NO_SYNC_KHR;
};

} // namespace

Result<void> wait_on_gpu(const Device &device, UniqueFd fence)
{
  if (!device.has_native_fences())
    return without_fences(device);
  if (!fence)
    return Error{ErrorCode::Sync, "There is no fence to wait for", 0};
  // EGL does not say what it does with a descriptor that is no sync_file: Mesa checks it in debug
  // builds alone (sync_valid_fd() in egl_dri2.c).
  const Result<FenceState> state = fence_state(fence.get());
  if (!state)
    return state.error();
  if (*state != FenceState::Pending) {
    GSTDRM_TRACE("fence %d has signalled already", fence.get());
    return {};
  }
  const Sync sync(device, fence.get());
  if (!sync)
    return failed(device, "eglCreateSyncKHR");
  // The descriptor belongs to EGL from here on, and only because the call succeeded
  // (EGL_ANDROID_native_fence_sync, section 3.8.1.1).
  const int given = fence.release();
  GSTDRM_TRACE("GL waits for fence %d", given);
  // No limit, as eglWaitSync() takes none (EGL_KHR_wait_sync). A fence of a driver signals in
  // finite time (Documentation/driver-api/dma-buf.rst); behind one of a program that does not, the
  // GPU's job is ended by its driver.
  if (!sync.wait())
    return failed(device, "eglWaitSyncKHR");
  return {};
}

Result<UniqueFd> fence_of_commands(const Device &device)
{
  if (!device.has_native_fences())
    return without_fences(device);
  const Sync sync(device, EGL_NO_NATIVE_FENCE_FD_ANDROID);
  if (!sync)
    return failed(device, "eglCreateSyncKHR");
  // There is no descriptor before the commands have been handed to the kernel.
  device.calls().gl.flush();
  UniqueFd fence = sync.dup();
  if (!fence)
    return failed(device, "eglDupNativeFenceFDANDROID");
  return fence;
}

Result<UniqueFd> implicit_fence(const Device &device, int dmabuf_fd, DmaBufAccess access)
{
  if (!device.driver().keeps_implicit_fences())
    return Error{ErrorCode::Unsupported,
                 device.driver().describe() + ", is not known to keep implicit fences", 0};
  device.calls().gl.flush();
  return dmabuf_export_fence(dmabuf_fd, access);
}

} // namespace gstdrm::egl
