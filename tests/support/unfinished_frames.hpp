// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that a device of the box still writes, and a device that is done when somebody sleeps.
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "support/dmabuf_elements.hpp"
#include "support/held_frames.hpp"
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

// In which sleep a thread of this process is: how often it has given up the CPU of its own accord.
// Empty while it runs, or waits for a CPU.
inline std::string sleep_of(pid_t thread)
{
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string line;
  bool sleeps = false;
  while (std::getline(file, line))
    if (line.rfind("State:", 0) == 0)
      sleeps = line.find("S (sleeping)") != std::string::npos;
    else if (line.rfind("voluntary_ctxt_switches:", 0) == 0)
      return sleeps ? line : std::string();
  return {};
}

// Signals the timeline while the thread that made it sleeps: it has looked at the fence then, and
// not gone on, however busy the machine is. Short sleeps, as for a lock, do not count.
class Device {
public:
  // `write` ends the frame, before the fence signals.
  explicit Device(Timeline &timeline, std::function<void()> write = {})
      : work_(std::make_shared<Work>(timeline.share(), std::move(write), ::gettid())),
        thread_(
            g_thread_new("device", run, std::make_unique<std::shared_ptr<Work>>(work_).release()))
  {
  }
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device() { g_thread_join(thread_); }
  [[nodiscard]] bool done() const { return work_->done; }

private:
  // The thread's own as well: a case that fails leaves its stack, without ~Device(), to the next
  // one where cases share a process.
  struct Work {
    Timeline timeline;
    const std::function<void()> write;
    const pid_t waiting;
    std::atomic<bool> done{false};
    Work(Timeline on, std::function<void()> last, pid_t thread)
        : timeline(std::move(on)), write(std::move(last)), waiting(thread)
    {
    }
  };
  static gpointer run(gpointer data)
  {
    const std::unique_ptr<std::shared_ptr<Work>> owner(static_cast<std::shared_ptr<Work> *>(data));
    Work &work = **owner;
    std::string sleep;
    do {
      sleep = sleep_of(work.waiting);
      g_usleep(kShortSleepUs);
    } while (sleep.empty() || sleep_of(work.waiting) != sleep);
    if (work.write)
      work.write();
    work.done = true;
    work.timeline.advance();
    return nullptr;
  }
  static constexpr gulong kShortSleepUs = 50000;
  const std::shared_ptr<Work> work_;
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

// What ends a wait before the device is done.
enum class Interruption { Flush, Null };

// The wait ends at once and without an error. After a flush the element goes on: the next frame is
// waited for again.
inline void check_interrupted(const Harness &h, const std::string &plain, Kind kind,
                              Interruption interruption)
{
  Timeline timeline;
  Pusher pusher(h, unfinished_frame(timeline, plain, kind));
  pusher.wait_until_stuck();
  if (interruption == Interruption::Flush)
    fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_start()));
  else
    gst_element_set_state(h.element(), GST_STATE_NULL);
  fail_unless_equals_int(pusher.join(), GST_FLOW_FLUSHING);
  fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
  if (interruption == Interruption::Null)
    return;
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE)));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  fail_unless(gst_harness_push_event(h.get(), gst_event_new_segment(&segment)));
  GstBuffer *next = unfinished_frame(timeline, plain, kind);
  const Device device(timeline);
  (void)h.push(next);
  fail_unless(device.done());
}

} // namespace gstdrm::test
