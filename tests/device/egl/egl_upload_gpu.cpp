// SPDX-License-Identifier: LGPL-2.1-or-later
// Fences of a driver that draws on a GPU: GL waits for acquire fences, and gets fences for those
// who wait for it (driver_names.hpp).
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

#include "driver_names.hpp"
#include "egl_upload.hpp"
#include "support/gl_count.hpp"
#include "support/unfinished_frames.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::test;

// A context whose driver goes by the name of a GPU's.
class Gpu {
public:
  explicit Gpu(const char *gl_version = nullptr, Syncs made = Syncs::Made)
  {
    const DriverName name(gl_version, made);
    gl = std::make_unique<Gl>();
    fail_unless(gl->thread != nullptr, "no GL: %s", gl->problem.c_str());
    fail_if(device().driver().is_software);
    fail_unless(device().has_native_fences() == (made != Syncs::Missing));
  }
  [[nodiscard]] const egl::Device &device() const { return *gl->thread->device(); }

  std::unique_ptr<Gl> gl;
};

struct Wait {
  const char *name;
  const char *version;
  Kind kind;
  bool is_known;       // the frame was imported before
  std::uint64_t waits; // of GL, before it reads
};
const Wait kWaits[] = {
    {"an acquire fence", nullptr, Kind::Acquire, false, 1},
    {"an acquire fence, imported before", nullptr, Kind::Acquire, true, 1},
    {"Mesa's own implicit fences", nullptr, Kind::Implicit, true, 0},
    {"an acquire fence, another driver", kOtherVersion, Kind::Acquire, true, 1},
    {"an implicit fence for another driver", kOtherVersion, Kind::Implicit, false, 1},
    {"an implicit fence for another driver, imported before", kOtherVersion, Kind::Implicit, true,
     1},
};

void add_fence(const GstPtr<GstBuffer> &frame, Timeline &timeline, Kind kind)
{
  if (kind == Kind::Acquire) {
    fail_unless(gst_drm_sync_meta_add_acquire_fence(gst_buffer_add_drm_sync_meta(frame.get()),
                                                    timeline.fence(1), nullptr));
    return;
  }
  const UniqueFd fence(timeline.fence(1));
  fail_unless(gst_drm_dmabuf_import_fence(dmabuf_fd(frame.get()), fence.get(), GST_DRM_ACCESS_WRITE,
                                          nullptr));
}

// The streaming thread does not sleep for the device: GL does, once, before it reads. Where the
// driver waits by itself, nobody else does.
GST_START_TEST(test_gl_waits)
{
  const Wait &row = kWaits[__i__];
  const Gpu gpu(row.version);
  Frames frames(*gpu.gl, {.plain = kNv12, .gl_format = "NV12", .shape = egl::Shape::PerPlane});
  Timeline timeline;
  const auto frame = dmabuf(kNv12, 1);
  if (row.is_known)
    (void)frames.upload(frame);
  gpu.gl->settle();
  add_fence(frame, timeline, row.kind);
  const GlCalls before = gl_calls();
  const Device device(timeline);
  const auto out = frames.upload(frame);
  fail_unless(static_cast<bool>(out));
  fail_unless_equals_uint64(frames.stats.waits, 0);
  const GlCalls after = gl_calls();
  const auto made = [&](const char *name) { return after.at(name) - before.at(name); };
  fail_unless_equals_uint64(made("eglWaitSync"), row.waits);
  if (row.is_known) { // the sync point, and the hop for it, are the wait's alone
    fail_unless_equals_uint64(made("hop"), row.waits);
    fail_unless(made("glFenceSync") + made("glFlush") <= 2 * row.waits);
    fail_unless(row.waits > 0 || !gst_buffer_get_gl_sync_meta(out.get()));
  }
  if (row.waits == 0)
    return; // the software driver that plays the part does not wait
  fail_unless(gst_buffer_get_gl_sync_meta(out.get()) != nullptr,
              "other contexts do not see that GL waits");
  GlCalls last = last_gl_calls();
  fail_unless(last["eglWaitSync"] < last["glFenceSync"], "the sync point is before the wait");
  check_drawn(out.get(), frames.gl_info, 1);
  fail_unless(device.done(), "read before the device was done");
}
GST_END_TEST

// The driver makes no sync of the fence: the CPU waits, before the frame goes on.
GST_START_TEST(test_refused)
{
  const Gpu gpu(nullptr, Syncs::Refused);
  Frames frames(*gpu.gl, {.plain = kXrgb});
  Timeline timeline;
  const auto frame = dmabuf(kXrgb, 1);
  if (__i__ == 1)
    (void)frames.upload(frame);
  add_fence(frame, timeline, Kind::Acquire);
  const Device device(timeline);
  const auto out = frames.upload(frame);
  fail_unless(out && device.done(), "the frame went on before its device was done");
  fail_unless_equals_uint64(frames.stats.waits, 1);
}
GST_END_TEST

struct Release {
  const char *name;
  const char *version;
  bool announced;      // the producer waits for release fences
  std::uint64_t syncs; // that are made for a frame on its way back
};
const Release kReleases[] = {
    {"announced", nullptr, true, 1},
    {"Mesa's own implicit fences", nullptr, false, 0},
    {"announced, another driver", kOtherVersion, true, 1},
    {"an implicit fence for another driver", kOtherVersion, false, 1},
};

GST_START_TEST(test_release)
{
  const Release &row = kReleases[__i__];
  const Gpu gpu(row.version);
  Frames frames(*gpu.gl, {.plain = kXrgb, .takes_release_fences = row.announced});
  const auto frame = dmabuf(kXrgb, 1);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(frame.get());
  (void)frames.upload(frame);
  gpu.gl->settle();
  const GlCalls before = gl_calls();
  auto out = frames.upload(frame);
  gpu.gl->settle();
  fail_if(gst_buffer_is_writable(frame.get()), "%s: it is shown, and given back", row.name);
  fail_unless_equals_uint64(gl_calls().at("eglCreateSync"), before.at("eglCreateSync"));
  out.reset();
  gpu.gl->settle();
  GlCalls after = gl_calls();
  fail_unless(gst_buffer_is_writable(frame.get()), "%s: the frame did not come back", row.name);
  const UniqueFd fence(gst_drm_sync_meta_dup_release_fence(meta));
  fail_unless(static_cast<bool>(fence) == row.announced, "%s", row.name);
  const auto made = [&](const char *name) {
    const auto known = before.find(name);
    return after[name] - (known == before.end() ? 0 : known->second);
  };
  fail_unless_equals_uint64(made("eglCreateSync"), row.syncs);
  fail_unless_equals_uint64(made("glFinish"), 0);
}
GST_END_TEST

struct Unfenced {
  const char *name;
  const char *version;
  bool announced;
  bool has_fence;         // when it is back
  std::uint64_t finishes; // that GL is asked for a frame on its way back
};
const Unfenced kUnfenced[] = {
    {"announced", nullptr, true, true, 0},
    {"Mesa's own implicit fences", nullptr, false, false, 0},
    {"announced, another driver", kOtherVersion, true, false, 1},
    {"an implicit fence for another driver", kOtherVersion, false, false, 1},
};

// A driver without native fences: what Mesa leaves with a dma-buf, the kernel hands out. Of other
// drivers nothing is known, and GL finishes.
GST_START_TEST(test_release_without_native_fences)
{
  const Unfenced &row = kUnfenced[__i__];
  const Gpu gpu(row.version, Syncs::Missing);
  Frames frames(*gpu.gl, {.plain = kXrgb, .takes_release_fences = row.announced});
  const auto frame = dmabuf(kXrgb, 1);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(frame.get());
  auto out = frames.upload(frame);
  gpu.gl->settle();
  const GlCalls before = gl_calls();
  out.reset();
  gpu.gl->settle();
  fail_unless(gst_buffer_is_writable(frame.get()), "%s: the frame did not come back", row.name);
  const UniqueFd fence(gst_drm_sync_meta_dup_release_fence(meta));
  fail_unless(static_cast<bool>(fence) == row.has_fence, "%s", row.name);
  fail_unless_equals_uint64(gl_calls().at("glFinish") - before.at("glFinish"), row.finishes);
}
GST_END_TEST

// What is drawn: GL waits, draws, and makes the sync point and the frame's fence behind that. The
// fence is flushed, or it might never signal for another process.
GST_START_TEST(test_drawn_in_order)
{
  const Release &row = kReleases[__i__];
  const Gpu gpu(row.version);
  const std::string plain = plain_caps("P010_10LE", 64, 48);
  Frames frames(
      *gpu.gl, {.plain = plain, .shape = egl::Shape::Drawn, .takes_release_fences = row.announced});
  const auto frame = dmabuf(plain, 1);
  Timeline timeline;
  add_fence(frame, timeline, Kind::Acquire);
  {
    const Device device(timeline);
    (void)frames.upload(frame);
    gpu.gl->settle();
  }
  GlCalls last = last_gl_calls();
  std::vector<const char *> order{"eglWaitSync", "glDrawArrays", "glFenceSync"};
  if (row.syncs > 0)
    order.insert(order.end(), {"eglCreateSync", "glFlush", "eglDupNativeFenceFDANDROID"});
  for (std::size_t i = 1; i < order.size(); i++)
    fail_unless(last[order[i - 1]] < last[order[i]], "%s: %s before %s", row.name, order[i],
                order[i - 1]);
}
GST_END_TEST

// Behind which call a frame goes back, where the driver makes syncs and where it makes none.
const char *const kReturns[] = {"eglDupNativeFenceFDANDROID", "glFinish"};

void note_calls(gpointer calls, GstMiniObject *) noexcept
{
  *static_cast<GlCalls *>(calls) = gl_calls();
}

GST_START_TEST(test_back_last)
{
  const char *const behind = kReturns[__i__];
  const Gpu gpu(nullptr, __i__ == 1 ? Syncs::Refused : Syncs::Made);
  Frames frames(*gpu.gl, {.plain = kXrgb, .takes_release_fences = true});
  const auto memory = dmabuf(kXrgb, 1);
  (void)frames.upload(memory);
  auto frame = wrapped_anew(memory);
  gst_buffer_add_drm_sync_meta(frame.get());
  GlCalls calls;
  gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(frame.get()), note_calls, &calls);
  auto out = frames.upload(frame);
  frame.reset();
  gpu.gl->settle();
  HeldGlThread held(*gpu.gl);
  const GlCalls before = gl_calls();
  out.reset();
  const bool is_early = !calls.empty();
  held.let_go();
  gpu.gl->settle();
  fail_if(is_early, "the frame is given back though GL has done nothing yet");
  fail_unless_equals_uint64(calls[behind], before.at(behind) + 1);
}
GST_END_TEST

// A producer with one dma-buf: once it has it back, it waits for the release fence, hands the frame
// over with an acquire fence, and draws when the consumer sleeps for that fence, so that both
// fences are pending as long as they can be.
class Producer {
public:
  Producer(const GstPtr<GstBuffer> &frame, const GstVideoInfo &info, guint rounds)
      : frame_(frame), own_view_(wrapped_anew(frame)), info_(info), rounds_(rounds),
        consumer_(::gettid()), thread_([this] { run(); })
  {
  }
  Producer(const Producer &) = delete;
  Producer &operator=(const Producer &) = delete;
  ~Producer() { thread_.join(); }
  // The number of the picture that the frame will have.
  guint next()
  {
    while (handed_over_ == taken_)
      g_usleep(kPollUs);
    return ++taken_;
  }
  // The consumer is done with this picture, as far as it sleeps for that.
  void went_on(guint picture) { gone_on_ = picture; }
  // How often there was one.
  [[nodiscard]] guint release_fences() const { return release_fences_; }

private:
  static constexpr gulong kPollUs = 1000;
  static constexpr int kLongMs = 60000;

  // Whether there is one, which has signalled then.
  bool await_release(GstDrmSyncMeta *meta)
  {
    const UniqueFd fence(gst_drm_sync_meta_dup_release_fence(meta));
    if (!fence)
      return false;
    pollfd wait{fence.get(), POLLIN, 0};
    return ::poll(&wait, 1, kLongMs) == 1;
  }
  void run()
  {
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(frame_.get());
    for (guint round = 1; round <= rounds_; round++) {
      while (!gst_buffer_is_writable(frame_.get()))
        g_usleep(kPollUs);
      if (await_release(meta))
        release_fences_++;
      gst_drm_sync_meta_clear(meta);
      gst_drm_sync_meta_add_acquire_fence(meta, timeline_.fence(round), nullptr);
      handed_over_ = round;
      std::string sleep;
      do { // as Device
        sleep = sleep_of(consumer_);
        g_usleep(50 * kPollUs);
      } while (taken_ != round || sleep.empty() || sleep_of(consumer_) != sleep);
      draw(own_view_.get(), info_, round);
      timeline_.advance();
      while (gone_on_ != round)
        g_usleep(kPollUs);
    }
  }

  const GstPtr<GstBuffer> &frame_;
  const GstPtr<GstBuffer> own_view_; // of the same dma-buf
  const GstVideoInfo info_;
  const guint rounds_;
  const pid_t consumer_;
  Timeline timeline_;
  std::atomic<guint> handed_over_{0};
  std::atomic<guint> taken_{0};
  std::atomic<guint> gone_on_{0};
  std::atomic<guint> release_fences_{0};
  std::thread thread_;
};

std::string pixels_of(const GstPtr<GstBuffer> &buffer, GstVideoInfo info)
{
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer.get(), GST_MAP_READ));
  std::string pixels;
  for (int y = 0; y < info.height; y++)
    pixels.append(static_cast<const char *>(frame.data[0]) +
                      y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                  static_cast<gsize>(info.width) * 4);
  gst_video_frame_unmap(&frame);
  return pixels;
}

// The draw does not start before the acquire fence signals, and the producer does not write before
// the release fence: each picture is what was written for it. Frames that are drawn are read when
// the producer has written all others over them.
GST_START_TEST(test_producer)
{
  const bool draws = __i__ == 1;
  const Gpu gpu;
  Frames::Setup setup{.plain = plain_caps("BGRx", 64, 48), .takes_release_fences = true};
  if (draws)
    setup = {.plain = plain_caps("P010_10LE", 64, 48),
             .shape = egl::Shape::Drawn,
             .takes_release_fences = true};
  constexpr guint kRounds = 4;
  std::vector<std::string> expected;
  Frames frames(*gpu.gl, setup);
  for (guint seed = 0; seed <= kRounds; seed++)
    expected.push_back(pixels_of(frames.upload(dmabuf(setup.plain, seed)), frames.gl_info));
  gpu.gl->settle();

  const auto frame = dmabuf(setup.plain, 0);
  gst_buffer_add_drm_sync_meta(frame.get());
  std::array<GstPtr<GstBuffer>, kRounds + 1> shown;
  std::array<bool, kRounds + 1> is_right{};
  guint release_fences = 0;
  {
    Producer producer(frame, frames.info, kRounds);
    for (guint round = 1; round <= kRounds; round++) {
      const guint picture = producer.next();
      shown[picture] = frames.upload(frame);
      if (!draws) // the texture shows the producer's memory
        is_right[picture] =
            pixels_of(std::exchange(shown[picture], {}), frames.gl_info) == expected[picture];
      producer.went_on(round);
    }
    release_fences = producer.release_fences();
  }
  for (guint picture = 1; picture <= kRounds; picture++)
    fail_unless(draws ? pixels_of(shown[picture], frames.gl_info) == expected[picture]
                      : is_right[picture],
                "picture %u", picture);
  fail_unless(expected[1] != expected[2]);
  fail_unless_equals_int(release_fences, kRounds - 1);
  fail_unless_equals_uint64(frames.stats.waits, 0);
}
GST_END_TEST

} // namespace

void gstdrm::test::add_gpu_tests(Suite *suite)
{
  TCase *gpu = tcase_create("gpu");
  tcase_add_loop_test(gpu, test_gl_waits, 0, G_N_ELEMENTS(kWaits));
  tcase_add_loop_test(gpu, test_refused, 0, 2);
  tcase_add_loop_test(gpu, test_producer, 0, 2);
  tcase_add_loop_test(gpu, test_drawn_in_order, 0, G_N_ELEMENTS(kReleases));
  tcase_add_loop_test(gpu, test_back_last, 0, G_N_ELEMENTS(kReturns));
  tcase_add_loop_test(gpu, test_release, 0, G_N_ELEMENTS(kReleases));
  tcase_add_loop_test(gpu, test_release_without_native_fences, 0, G_N_ELEMENTS(kUnfenced));
  suite_add_tcase(suite, gpu);
}
