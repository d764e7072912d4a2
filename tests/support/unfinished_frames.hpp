// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that a device of the box still writes, and a device that is done a little later.
#pragma once

#include <atomic>
#include <string>

#include "support/dmabuf_elements.hpp"
#include "support/sw_sync.hpp"

namespace gstdrm::test {

inline int dmabuf_fd(GstBuffer *buffer)
{
  return gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer, 0));
}

// Where the fence of the work is to be found.
enum class Kind { Acquire, Implicit };

// A frame that a device still writes until the timeline reaches 1.
inline GstBuffer *unfinished_frame(Timeline &timeline, const std::string &plain, Kind kind)
{
  GstBuffer *buffer = new_dmabuf_frame("udmabuf", plain, 1);
  UniqueFd fence(timeline.fence(1));
  GError *error = nullptr;
  const bool attached = kind == Kind::Acquire
                            ? gst_drm_sync_meta_add_acquire_fence(
                                  gst_buffer_add_drm_sync_meta(buffer), fence.release(), &error)
                            : gst_drm_dmabuf_import_fence(dmabuf_fd(buffer), fence.get(),
                                                          GST_DRM_ACCESS_WRITE, &error);
  fail_unless(attached, "%s", error ? error->message : "");
  return buffer;
}

// Signals the timeline a little later.
class Device {
public:
  explicit Device(Timeline &timeline)
      : timeline_(timeline), thread_(g_thread_new("device", run, this))
  {
  }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device() { g_thread_join(thread_); }
  [[nodiscard]] bool done() const { return done_; }

private:
  static gpointer run(gpointer self)
  {
    auto *device = static_cast<Device *>(self);
    g_usleep(50000);
    device->done_ = true;
    device->timeline_.advance();
    return nullptr;
  }
  Timeline &timeline_;
  std::atomic<bool> done_{false};
  GThread *thread_;
};

// How a device ends.
enum class End { Done, Failed };

// What is over already, well or badly, costs no wait.
inline void check_finished(const Harness &h, const std::string &plain, Kind kind, End end)
{
  Timeline timeline;
  GstBuffer *buffer = unfinished_frame(timeline, plain, kind);
  if (end == End::Done)
    timeline.advance();
  else
    timeline.destroy(); // signals with an error
  (void)h.push(buffer);
  fail_unless_equals_uint64(h.stat("waits"), 0);
}

// The element waits until the device is done.
inline GstPtr<GstBuffer> check_waits(const Harness &h, const std::string &plain, Kind kind)
{
  Timeline timeline;
  GstBuffer *buffer = unfinished_frame(timeline, plain, kind);
  const Device device(timeline);
  auto out = h.push(buffer);
  fail_unless(device.done());
  fail_unless_equals_uint64(h.stat("waits"), 1);
  return out;
}

} // namespace gstdrm::test
