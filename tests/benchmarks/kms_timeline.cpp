// SPDX-License-Identifier: LGPL-2.1-or-later
// Records what happens to each frame of a short stream in kmsdmabufsink, for the picture in
// docs/elements (./run timeline). Runs in the box, on virtual time. One line per event: name, frame
// or vblank, CLOCK_MONOTONIC in ns.
//   push, pushed   the frame was handed to the sink; the sink returned
//   fence          its acquire fence signalled
//   commit         DRM_IOCTL_MODE_ATOMIC with its framebuffer
//   flip           the vblank event that the kernel delivered for a commit, from its trace
//   back           the sink let the buffer go
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include "support/replace_ioctl.hpp"

namespace {

constexpr int kFrames = 12;
constexpr int kWidth = 640, kHeight = 480;                           // 59.94 Hz
constexpr guint64 kFrame_ns = guint64{420'000} * 1'000'000 / 25'175; // the mode's own: 25.175 MHz
constexpr guint64 kStart_ns = 300 * GST_MSECOND;

// When the device has drawn a frame, after it was due; frames without a row have no fence.
struct Slow {
  int frame;
  guint64 after_ns;
};
constexpr Slow kSlow[] = {{4, 6 * GST_MSECOND}, {7, 22 * GST_MSECOND}};

struct Event {
  const char *name;
  std::uint32_t number;
  std::uint64_t time_ns;
};
std::mutex events_lock; // guards the two below
std::vector<Event> events;
std::map<std::uint32_t, std::uint32_t> frame_of; // framebuffer to frame: each has one dma-buf

std::uint64_t now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * GST_SECOND +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void record(const char *name, std::uint32_t number)
{
  const std::lock_guard guard(events_lock);
  events.push_back({name, number, now_ns()});
}

void record_commit(const drm_mode_atomic &atomic)
{
  if (atomic.flags & DRM_MODE_ATOMIC_TEST_ONLY)
    return;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < atomic.count_objs; i++)
    count += reinterpret_cast<const std::uint32_t *>(atomic.count_props_ptr)[i];
  const auto *values = reinterpret_cast<const std::uint64_t *>(atomic.prop_values_ptr);
  for (std::size_t i = 0; i < count; i++) {
    const auto found = frame_of.find(static_cast<std::uint32_t>(values[i]));
    if (found != frame_of.end())
      return record("commit", found->second);
  }
}

} // namespace

// Stands before the C library's, for libdrm too.
int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  if (request == DRM_IOCTL_MODE_ATOMIC)
    record_commit(*static_cast<const drm_mode_atomic *>(argument));
  const int ret = static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
  if (request == DRM_IOCTL_MODE_ADDFB2 && ret == 0) {
    const auto frame = static_cast<std::uint32_t>(frame_of.size());
    frame_of.emplace(static_cast<const drm_mode_fb_cmd2 *>(argument)->fb_id, frame);
  }
  return ret;
}

namespace {

void set(const char *name, const char *value)
{
  const std::string path = std::string("/sys/kernel/tracing/") + name;
  const gstdrm::UniqueFd fd(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd || write(fd.get(), value, std::strlen(value)) < 0) {
    std::fprintf(stderr, "%s: this runs in the box (./run timeline)\n", path.c_str());
    std::exit(77);
  }
}

// "  task-1  [000] d.... 1.234567: drm_vblank_event_delivered: file=0x1, crtc=0, seq=42"
void read_flips()
{
  std::FILE *file = std::fopen("/sys/kernel/tracing/trace", "re");
  char line[512];
  while (file && std::fgets(line, sizeof(line), file)) {
    const char *event = std::strstr(line, ": drm_vblank_event_delivered:");
    const char *sequence = event ? std::strstr(event, "seq=") : nullptr;
    const char *start = event;
    while (start && start > line && start[-1] != ' ')
      start--;
    std::uint64_t seconds = 0, micro = 0;
    if (sequence && std::sscanf(start, "%" SCNu64 ".%6" SCNu64, &seconds, &micro) == 2)
      events.push_back({"flip", static_cast<std::uint32_t>(std::atoi(sequence + 4)),
                        seconds * GST_SECOND + micro * GST_USECOND});
  }
  if (file)
    std::fclose(file);
}

// A fence of the kernel's own (drivers/dma-buf/sw_sync.c, which has no uapi header).
struct FenceRequest {
  std::uint32_t value;
  char name[32];
  std::int32_t fence;
};

class Device {
public:
  Device() : timeline_(open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC)) {}
  // Signals with signal().
  int fence()
  {
    FenceRequest request{1, "frame", -1};
    ioctl(timeline_.get(), _IOWR('W', 0, FenceRequest), &request);
    return request.fence;
  }
  void signal()
  {
    std::uint32_t by = 1;
    ioctl(timeline_.get(), _IOW('W', 1, std::uint32_t), &by);
  }

private:
  gstdrm::UniqueFd timeline_;
};

void on_back(gpointer frame, GstMiniObject *)
{
  record("back", GPOINTER_TO_UINT(frame));
}

struct Stream {
  GstElement *sink;
  GstPad *src;
  std::array<GstBuffer *, kFrames> pool{};
};

Stream begin()
{
  GError *error = nullptr;
  Stream stream{gst_parse_launch("kmsdmabufsink mode=match driver-name=vkms enable-last-sample=false", &error),
                gst_pad_new("src", GST_PAD_SRC)};
  GstDrmAllocator *allocator =
      gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_UDMABUF, nullptr, &error);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  guint64 modifier = 0;
  const guint32 xr24 = gst_drm_format_from_video_format(GST_VIDEO_FORMAT_BGRx, &modifier);
  for (GstBuffer *&buffer : stream.pool)
    buffer = gst_drm_allocator_alloc_frame(allocator, xr24, kWidth, kHeight, &linear, 1, nullptr,
                                           nullptr, &error);
  gst_object_unref(allocator);
  gst_pad_set_active(stream.src, TRUE);
  GstPad *peer = gst_element_get_static_pad(stream.sink, "sink");
  gst_pad_link_full(stream.src, peer, GST_PAD_LINK_CHECK_NOTHING);
  gst_object_unref(peer);
  GstClock *clock = gst_system_clock_obtain();
  gst_element_set_clock(stream.sink, clock);
  gst_element_set_base_time(stream.sink, gst_clock_get_time(clock));
  gst_object_unref(clock);
  gst_element_set_state(stream.sink, GST_STATE_PLAYING);
  gst_pad_push_event(stream.src, gst_event_new_stream_start("timeline"));
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "BGRx", "width",
                                      G_TYPE_INT, kWidth, "height", G_TYPE_INT, kHeight,
                                      "framerate", GST_TYPE_FRACTION, 25'175'000, 420'000, nullptr);
  gst_pad_push_event(stream.src, gst_event_new_caps(caps));
  gst_caps_unref(caps);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(stream.src, gst_event_new_segment(&segment));
  return stream;
}

// The device that draws: signals a frame's fence some time after the frame was due.
void draw(Device &device, int frame, guint64 due_ns, guint64 after_ns)
{
  timespec until{static_cast<time_t>((due_ns + after_ns) / GST_SECOND),
                 static_cast<long>((due_ns + after_ns) % GST_SECOND)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  record("fence", static_cast<std::uint32_t>(frame));
  device.signal();
}

} // namespace

int main()
{
  gst_init(nullptr, nullptr);
  set("trace_clock", "mono");
  set("events/drm/drm_vblank_event_delivered/enable", "1");
  set("tracing_on", "1");
  std::array<Device, std::size(kSlow)> devices;
  std::vector<std::thread> threads;
  Stream stream = begin();
  const guint64 base = gst_element_get_base_time(stream.sink); // GstSystemClock is CLOCK_MONOTONIC
  for (int i = 0; i < kFrames; i++) {
    GstBuffer *buffer = gst_buffer_new();
    gst_buffer_copy_into(
        buffer, stream.pool[static_cast<std::size_t>(i)],
        static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_MEMORY | GST_BUFFER_COPY_META), 0, -1);
    GST_BUFFER_PTS(buffer) = kStart_ns + static_cast<guint64>(i) * kFrame_ns;
    GST_BUFFER_DURATION(buffer) = kFrame_ns;
    for (std::size_t s = 0; s < std::size(kSlow); s++)
      if (kSlow[s].frame == i) {
        gst_drm_sync_meta_add_acquire_fence(gst_buffer_add_drm_sync_meta(buffer),
                                            devices[s].fence(), nullptr);
        threads.emplace_back(draw, std::ref(devices[s]), i, base + GST_BUFFER_PTS(buffer),
                             kSlow[s].after_ns);
      }
    gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(buffer), on_back, GINT_TO_POINTER(i));
    record("push", static_cast<std::uint32_t>(i));
    gst_pad_push(stream.src, buffer);
    record("pushed", static_cast<std::uint32_t>(i));
  }
  gst_pad_push_event(stream.src, gst_event_new_eos());
  for (std::thread &thread : threads)
    thread.join();
  read_flips();
  const std::size_t recorded = events.size(); // what stopping does is no part of it
  for (std::size_t i = 0; i < recorded; i++)
    std::printf("%s %u %" PRIu64 "\n", events[i].name, events[i].number, events[i].time_ns);
  gst_element_set_state(stream.sink, GST_STATE_NULL);
  gst_object_unref(stream.sink);
  gst_pad_set_active(stream.src, FALSE);
  gst_object_unref(stream.src);
  for (GstBuffer *buffer : stream.pool)
    gst_buffer_unref(buffer);
  return 0;
}
