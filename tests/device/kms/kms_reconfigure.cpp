// SPDX-License-Identifier: LGPL-2.1-or-later
// Upstream is asked to choose again, again and again, while the stream goes on: no frame is lost or out of order, and
// nothing is left behind.
#include <atomic>
#include <functional>
#include <string>

#include "kms_watch.hpp"
#include "device/va/va_support.hpp"

namespace {

using namespace gstdrm::test;

constexpr guint kStorm = 1000;
constexpr guint kFrames = 500;

void reconfigure(const Watch &watch)
{
  ck_assert(gst_pad_push_event(watch.pad(), gst_event_new_reconfigure()));
}

std::string stream(guint frames)
{
  set_driver("formats=NV12");
  return source("pattern=solid num-surfaces=8 num-buffers=" + std::to_string(frames), dma_caps("NV12", 320, 240),
                "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false");
}

// `total` RECONFIGUREs spread over the frames, from the streaming thread or from one of their own.
void run_storm(guint frames, guint total, bool other_thread)
{
  Pipeline pipeline(stream(frames));
  Watch watch(pipeline.get("sink"));
  std::atomic<guint> sent{0};
  const auto send = [&watch, &sent, frames, total] {
    for (guint i = 0; i < total / frames; i++, sent++)
      reconfigure(watch);
  };
  struct Other {
    std::function<void()> send;
    Watch *watch;
    guint frames;
  } other{send, &watch, frames};
  GThread *thread = nullptr;
  if (other_thread)
    thread = g_thread_new(
        "storm",
        [](gpointer data) -> gpointer {
          auto *o = static_cast<Other *>(data);
          for (guint i = 0; i < o->frames; i++) {
            while (o->watch->buffers <= i && o->watch->buffers < o->frames)
              g_usleep(200);
            o->send();
          }
          return nullptr;
        },
        &other);
  else
    watch.at_every_buffer(send);
  ck_assert(pipeline.play());
  const bool ended = watch.wait_for_end();
  if (thread)
    g_thread_join(thread);
  ck_assert_msg(ended, "%s", watch.error.c_str());
  g_print("# %u RECONFIGURE, %" G_GSIZE_FORMAT " CAPS, %" G_GUINT64_FORMAT " imports\n", sent.load(),
          watch.caps.size(), watch.stat("imports"));
  ck_assert_uint_eq(sent, total);
  ck_assert(watch.in_order);
  ck_assert_uint_eq(watch.buffers, frames);
  ck_assert_uint_eq(watch.stat("shown"), frames);
  ck_assert_uint_eq(watch.stat("dropped"), 0);
  ck_assert_uint_le(count_framebuffers(), 60); // a bounded cache, not one per RECONFIGURE
}

} // namespace

GST_START_TEST(test_storm)
{
  const bool other_thread = __i__ == 1;
  g_print("# %u RECONFIGUREs from %s\n", kStorm, other_thread ? "a thread of their own" : "the streaming thread");
  run_storm(10, 20, other_thread); // what is made once, by whoever is asked first
  const unsigned fds = settled_fds();
  run_storm(kFrames, kStorm, other_thread);
  ck_assert_msg(settles_at(fds), "%u descriptors before, %u after", fds, count_fds());
  // nobody else has any, and the kernel may take a shown one away after its file is closed: what is there before says
  // nothing
  ck_assert_msg(framebuffers_settle_at(0), "%u framebuffers are left", count_framebuffers());
}
GST_END_TEST

// vkms's planes are all alike and all pairs work: the answer is no other than before, and nobody is disturbed.
GST_START_TEST(test_nothing_to_say)
{
  Pipeline pipeline(stream(20));
  Watch watch(pipeline.get("sink"));
  ck_assert(pipeline.play());
  ck_assert_msg(watch.wait_for_end(), "%s", watch.error.c_str());
  ck_assert_uint_eq(watch.reconfigures, 0);
  ck_assert_uint_eq(watch.caps.size(), 1);
}
GST_END_TEST

static Suite *kms_reconfigure_suite(void)
{
  Suite *s = suite_create("kms-reconfigure");
  TCase *tc = tcase_create("reconfigure");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_storm, 0, 2);
  tcase_add_test(tc, test_nothing_to_say);
  return s;
}

GST_DRM_VA_CHECK_MAIN(kms_reconfigure)
