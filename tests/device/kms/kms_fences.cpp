// SPDX-License-Identifier: LGPL-2.1-or-later
// Acquire fences: the flip comes after the fence, by the kernel's own time stamps, whoever waits
// for it; a fence that never signals, or signals with an error, costs its frame and no more.
// Nothing here asks how long something took but on virtual time, where a busy machine takes none.
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include <cerrno>
#include <linux/sync_file.h>
#include <sys/ioctl.h>
#include <time.h>

#include <gst/allocators/gstdmabuf.h>

#include "kms_ioctls.hpp"
#include "kms_support.hpp"
#include "support/box_time.hpp"
#include "support/descriptors.hpp"
#include "support/sw_sync.hpp"

using namespace gstdrm::test;
using gstdrm::UniqueFd;

namespace {

constexpr gulong kRefresh_us = 16'667;
constexpr guint64 kRefresh_ns = 16'667'000;
constexpr int kPatience = 20'000; // looks, some milliseconds apart

// When the kernel signalled it, CLOCK_MONOTONIC.
guint64 signalled_at(int fence)
{
  sync_fence_info details = {};
  sync_file_info info = {};
  info.num_fences = 1;
  info.sync_fence_info = reinterpret_cast<guintptr>(&details);
  ck_assert_int_eq(ioctl(fence, SYNC_IOC_FILE_INFO, &info), 0);
  ck_assert_int_ne(info.status, 0);
  return details.timestamp_ns;
}

void wait_until(const Sink &sink, const char *stat, guint64 value)
{
  for (int i = 0; i < kPatience && sink.stat(stat) < value; i++)
    g_usleep(2000);
  ck_assert_uint_eq(sink.stat(stat), value);
}

const std::string kCaps = dma_drm_caps("XR24", 640, 480);

GstPtr<GstBuffer> picture()
{
  static const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  static const GstPtr<GstBuffer> noise = make_noise(info, 1);
  return to_dmabuf(info, noise.get(), Shape::Tight);
}

enum class Kind { None, Explicit, Implicit };

// A frame that some device draws until the fence signals.
GstPtr<GstBuffer> picture_with(int borrowed_fence, Kind kind)
{
  GstPtr<GstBuffer> buffer = picture();
  GError *error = nullptr;
  bool attached = true;
  if (kind == Kind::Explicit)
    attached = gst_drm_sync_meta_add_acquire_fence(gst_buffer_add_drm_sync_meta(buffer.get()),
                                                   UniqueFd::dup(borrowed_fence).release(), &error);
  else if (kind == Kind::Implicit)
    attached = gst_drm_dmabuf_import_fence(
        gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(buffer.get(), 0)), borrowed_fence,
        GST_DRM_ACCESS_WRITE, &error);
  ck_assert_msg(attached, "%s", error ? error->message : "?");
  return buffer;
}

// A stream that has begun, with one frame on screen.
void begin(Sink &sink)
{
  ck_assert(sink.set_caps(kCaps));
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  wait_until(sink, "shown", 1);
}

enum class Waiter { Sink, Kernel };

struct Row {
  const char *name;
  const char *properties;
  Kind kind;
  Waiter waiter;
};

const Row kRows[] = {
    {"explicit fence, held in the sink", "", Kind::Explicit, Waiter::Sink},
    {"explicit fence, no limit", "fence-timeout=0", Kind::Explicit, Waiter::Sink},
    {"explicit fence, sync-mode=implicit", "sync-mode=implicit", Kind::Explicit, Waiter::Sink},
    {"explicit fence, sync-mode=implicit, no limit", "sync-mode=implicit fence-timeout=0",
     Kind::Explicit, Waiter::Sink},
    // vkms waits for writers itself, so auto asks nothing of the dma-buf
    {"implicit fence, auto", "", Kind::Implicit, Waiter::Kernel},
    {"implicit fence, sync-mode=implicit", "sync-mode=implicit", Kind::Implicit, Waiter::Kernel},
    {"implicit fence exported, held in the sink", "sync-mode=explicit", Kind::Implicit,
     Waiter::Sink},
    {"implicit fence exported, no limit", "sync-mode=explicit fence-timeout=0", Kind::Implicit,
     Waiter::Sink},
};

} // namespace

GST_START_TEST(test_flip_comes_after_the_fence)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Timeline timeline;
  Sink sink(row.properties);
  begin(sink);
  const UniqueFd fence(timeline.fence(1));
  GstPtr<GstBuffer> frame = picture_with(fence.get(), row.kind);
  const unsigned commits = count_drm_ioctls(kAtomic);
  const guint64 before = now_ns();
  ck_assert_int_eq(sink.push(frame.release()), GST_FLOW_OK);
  ck_assert_uint_lt(now_ns() - before, kRefresh_ns / 4); // the streaming thread slept for nothing
  g_usleep(5 * kRefresh_us);
  ck_assert_uint_eq(sink.stat("shown"), 1);
  ck_assert_uint_eq(count_drm_ioctls(kAtomic) - commits, row.waiter == Waiter::Kernel ? 1 : 0);
  timeline.advance();
  wait_until(sink, "shown", 2);
  ck_assert_uint_gt(sink.stat("last-flip-time"), signalled_at(fence.get()));
  ck_assert_uint_eq(count_drm_ioctls(kAtomic) - commits, 1);
  ck_assert_uint_eq(sink.stat("waits"), 0);
  ck_assert_uint_eq(sink.stat("fence-timeouts") + sink.stat("fence-errors"), 0);
  // and the flip was the next one
  ck_assert_uint_le(sink.stat("last-flip-time"), signalled_at(fence.get()) + 2 * kRefresh_ns);
}
GST_END_TEST

// What a fence costs when it has signalled by the time of its commit: no DRM ioctl more than the
// one.
GST_START_TEST(test_fenced_stream_is_one_ioctl_a_frame)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  constexpr guint kFrames = 60;
  Timeline timeline;
  Sink sink(row.properties);
  begin(sink);
  std::array<GstPtr<GstBuffer>, 4> pool;
  for (GstPtr<GstBuffer> &buffer : pool) {
    const UniqueFd fence(timeline.fence(1));
    buffer = picture_with(fence.get(), row.kind);
  }
  timeline.advance();
  for (const GstPtr<GstBuffer> &buffer : pool)
    ck_assert_int_eq(sink.push(gst_buffer_ref(buffer.get())), GST_FLOW_OK);
  wait_until(sink, "shown", 1 + pool.size());
  const unsigned before = count_drm_ioctls();
  for (guint i = 0; i < kFrames; i++)
    ck_assert_int_eq(sink.push(gst_buffer_ref(pool[i % pool.size()].get())), GST_FLOW_OK);
  wait_until(sink, "shown", 1 + pool.size() + kFrames);
  // and once, on the way, the framebuffer of begin()'s buffer goes: RMFB and GEM_CLOSE
  ck_assert_uint_le(count_drm_ioctls() - before, kFrames + 2);
  ck_assert_uint_eq(sink.stat("dropped"), 0);
}
GST_END_TEST

GST_START_TEST(test_fence_never_signals)
{
  Timeline timeline;
  Sink sink("fence-timeout=50000000");
  begin(sink);
  const UniqueFd fence(timeline.fence(1));
  const guint64 before = now_ns();
  ck_assert_int_eq(sink.push(picture_with(fence.get(), Kind::Explicit).release()), GST_FLOW_OK);
  wait_until(sink, "fence-timeouts", 1);
  const guint64 spent = now_ns() - before;
  ck_assert_uint_ge(spent, 50'000'000);
  ck_assert_uint_le(spent, 60'000'000);
  ck_assert_uint_eq(sink.stat("dropped"), 1);
  const std::string warning = sink.await_message(GST_MESSAGE_WARNING);
  ck_assert_msg(warning.find("0.050 s") != std::string::npos &&
                    warning.find("fence-timeout") != std::string::npos,
                "%s", warning.c_str());
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  wait_until(sink, "shown", 2);
  ck_assert_uint_eq(sink.stat("held"), 1);
}
GST_END_TEST

GST_START_TEST(test_fence_signals_an_error)
{
  const bool while_held = __i__ == 1;
  Timeline timeline;
  Sink sink;
  begin(sink);
  const UniqueFd fence(timeline.fence(1));
  if (!while_held)
    timeline.destroy();
  ck_assert_int_eq(sink.push(picture_with(fence.get(), Kind::Explicit).release()), GST_FLOW_OK);
  if (while_held) {
    g_usleep(3 * kRefresh_us);
    ck_assert_uint_eq(sink.stat("fence-errors"), 0);
    timeline.destroy();
  }
  wait_until(sink, "fence-errors", 1);
  ck_assert(!sink.await_message(GST_MESSAGE_WARNING).empty());
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  wait_until(sink, "shown", 2);
}
GST_END_TEST

// A fence that there is no descriptor for is no frame without a fence.
GST_START_TEST(test_no_descriptor_for_the_fence)
{
  const bool exported = __i__ == 1;
  Timeline timeline;
  Sink sink(exported ? "sync-mode=explicit" : "");
  begin(sink);
  const UniqueFd fence(timeline.fence(1));
  GstPtr<GstBuffer> frame = picture_with(fence.get(), exported ? Kind::Implicit : Kind::Explicit);
  const guint64 commits = sink.stat("commits");
  {
    const FewDescriptors none(0);
    ck_assert_int_eq(sink.push(frame.release()), GST_FLOW_ERROR);
  }
  const std::string error = sink.await_message(GST_MESSAGE_ERROR);
  ck_assert_msg(error.find("EMFILE") != std::string::npos, "%s", error.c_str());
  ck_assert_uint_eq(sink.stat("commits"), commits);
}
GST_END_TEST

// The very first frame: a mode set would block, so the sink waits, but not for ever.
GST_START_TEST(test_first_frame)
{
  Timeline timeline;
  Sink sink("fence-timeout=50000000");
  ck_assert(sink.set_caps(kCaps));
  const UniqueFd never(timeline.fence(2));
  ck_assert_int_eq(sink.push(picture_with(never.get(), Kind::Explicit).release()), GST_FLOW_OK);
  ck_assert_uint_eq(sink.stat("fence-timeouts"), 1);
  ck_assert_uint_eq(sink.stat("commits"), 0);
  const UniqueFd soon(timeline.fence(1));
  std::atomic<bool> drawn{false};
  std::thread device([&] {
    g_usleep(20'000);
    ck_assert_uint_eq(sink.stat("commits"), 0);
    drawn = true;
    timeline.advance();
  });
  ck_assert_int_eq(sink.push(picture_with(soon.get(), Kind::Explicit).release()), GST_FLOW_OK);
  // the stamp of a mode set's flip may be that of a vblank before the display was last turned off
  ck_assert(drawn);
  device.join();
  wait_until(sink, "shown", 1);
}
GST_END_TEST

GST_START_TEST(test_stop_ends_the_wait_of_the_first_frame)
{
  Timeline timeline;
  Sink sink("fence-timeout=0");
  ck_assert(sink.set_caps(kCaps));
  const UniqueFd never(timeline.fence(1));
  std::atomic<int> flow{GST_FLOW_OK};
  std::thread streaming(
      [&] { flow = sink.push(picture_with(never.get(), Kind::Explicit).release()); });
  wait_until(sink, "waits", 1);
  ck_assert(sink.set_state(GST_STATE_NULL));
  streaming.join();
  ck_assert_int_eq(flow, GST_FLOW_FLUSHING);
}
GST_END_TEST

namespace {

// What happens while a frame is held for a fence that nobody signals.
struct Action {
  const char *name;
  void (*run)(Sink &);
  guint64 limit_ns; // on virtual time
  guint64 shown;    // with one good frame after it
};

void stop(Sink &sink)
{
  ck_assert(sink.set_state(GST_STATE_READY));
  ck_assert(sink.set_state(GST_STATE_PLAYING));
  ck_assert(sink.set_caps(kCaps));
}

void flush(Sink &sink)
{
  sink.flush();
  ck_assert(sink.set_caps(kCaps)); // with the segment
}

void change_caps(Sink &sink)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", 320, 240));
  ck_assert(sink.set_caps(dma_drm_caps("XR24", 320, 240)));
  ck_assert_int_eq(sink.push(to_dmabuf(info, make_noise(info, 2).get(), Shape::Tight).release()),
                   GST_FLOW_OK);
  wait_until(sink, "shown", 2);
  ck_assert(sink.set_caps(kCaps));
}

void end_of_stream(Sink &sink)
{
  sink.eos();
  sink.flush();
  ck_assert(sink.set_caps(kCaps));
}

void stop_for_good(Sink &sink)
{
  ck_assert(sink.set_state(GST_STATE_NULL));
  ck_assert(sink.set_state(GST_STATE_PLAYING));
  ck_assert(sink.set_caps(kCaps));
}

const Action kActions[] = {
    {"stop", stop, 100'000'000, 1}, // the counters begin anew
    {"NULL", stop_for_good, 100'000'000, 1},
    {"flush", flush, 100'000'000, 2},
    {"change of caps", change_caps, 2'300'000'000, 3},
    {"end of stream", end_of_stream, 2'100'000'000, 2},
};

} // namespace

GST_START_TEST(test_nothing_hangs_on_a_held_frame)
{
  // with no limit as well: the kernel never has the fence, so the way back waits for none
  static const char *const kLimits[] = {"fence-timeout=20000000000", "fence-timeout=0",
                                        "sync-mode=implicit fence-timeout=0"};
  const Action &action = kActions[__i__ / G_N_ELEMENTS(kLimits)];
  const char *limit = kLimits[__i__ % G_N_ELEMENTS(kLimits)];
  g_print("# %s, %s\n", action.name, limit);
  Timeline timeline;
  Sink sink(limit);
  begin(sink);
  const UniqueFd never(timeline.fence(1));
  ck_assert_int_eq(sink.push(picture_with(never.get(), Kind::Explicit).release()), GST_FLOW_OK);
  const guint64 before = now_ns();
  action.run(sink);
  ck_assert_msg(now_ns() - before < action.limit_ns, "%s took %" G_GUINT64_FORMAT " ns", action.name, now_ns() - before);
  // sync=false shows every frame in order, so what is still held goes when the stream does
  timeline.destroy();
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  wait_until(sink, "shown", action.shown);
}
GST_END_TEST

namespace {

// Frames with a good fence, one that fails and one that is still pending when the sink stops; each
// is replaced by a frame that gives it back with a release fence.
void live(const Row &row)
{
  Timeline timeline;
  Sink sink(row.properties);
  begin(sink);
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(kCaps.c_str()));
  GstQuery *query = gst_query_new_allocation(caps.get(), FALSE);
  gst_drm_query_announce_release_fences(query);
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  ck_assert(gst_pad_query(pad.get(), query));
  gst_query_unref(query);
  for (guint i = 1; i <= 8; i++) {
    const UniqueFd fence(timeline.fence(i));
    ck_assert_int_eq(sink.push(picture_with(fence.get(), row.kind).release()), GST_FLOW_OK);
    timeline.advance();
  }
  wait_until(sink, "shown", 9);
  if (row.kind == Kind::Explicit)
    ck_assert_uint_ge(sink.stat("release-fences"), 7);
  Timeline failing;
  const UniqueFd failed(failing.fence(1));
  failing.destroy();
  ck_assert_int_eq(sink.push(picture_with(failed.get(), row.kind).release()), GST_FLOW_OK);
  if (row.waiter == Waiter::Kernel)
    return; // a commit that waits for ever is the kernel's
  const UniqueFd never(timeline.fence(100));
  ck_assert_int_eq(sink.push(picture_with(never.get(), row.kind).release()), GST_FLOW_OK);
}

} // namespace

GST_START_TEST(test_no_descriptor_is_left)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  live(row); // what is opened once and kept
  const unsigned before = count_fds();
  for (int i = 0; i < 3; i++)
    live(row);
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

static Suite *kms_fences_suite(void)
{
  Suite *s = suite_create("kms-fences");
  TCase *tc = tcase_create("fences");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_loop_test(tc, test_flip_comes_after_the_fence, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_fenced_stream_is_one_ioctl_a_frame, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(tc, test_no_descriptor_is_left, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_fence_never_signals);
  tcase_add_loop_test(tc, test_fence_signals_an_error, 0, 2);
  tcase_add_loop_test(tc, test_no_descriptor_for_the_fence, 0, 2);
  tcase_add_test(tc, test_first_frame);
  tcase_add_test(tc, test_stop_ends_the_wait_of_the_first_frame);
  tcase_add_loop_test(tc, test_nothing_hangs_on_a_held_frame, 0, 3 * G_N_ELEMENTS(kActions));
  return s;
}

GST_DRM_CHECK_MAIN(kms_fences)
