// SPDX-License-Identifier: LGPL-2.1-or-later
// A pair that the display lists and then refuses: it is taken out of the offer, upstream chooses again, and the
// stream goes on. vkms.tiled=1 lists tiled pairs, vkms.tiled_max_width refuses them above a width.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "kms_watch.hpp"
#include "device/va/va_support.hpp"

namespace {

using namespace gstdrm::test;

constexpr const char *kTiledXr24 = "XR24:0x0100000000000001";
constexpr const char *kTiledNv12 = "NV12:0x0100000000000001";

void set_max_width(const char *text)
{
  ck_assert(write_file("/sys/module/vkms/parameters/tiled_max_width", text));
}

std::string any_of(int width, int height)
{
  return "video/x-raw(memory:DMABuf),format=DMA_DRM,width=" + std::to_string(width) +
         ",height=" + std::to_string(height) + ",framerate=60/1";
}

std::string play(const char *driver, const std::string &caps, int frames)
{
  set_driver(driver);
  return source("pattern=smpte num-surfaces=8 num-buffers=" + std::to_string(frames), caps,
                "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false");
}

struct Row {
  const char *name;
  const char *driver;
  int width, height;
  bool tiled_first; // what upstream begins with
  bool tiled_last;
  guint reconfigures; // at least
};

const Row kRows[] = {
    {"too wide: linear takes over", "modifiers=x-tiled:linear,formats=NV12", 1024, 768, true, false, 1},
    {"too wide, any format", "modifiers=x-tiled:linear", 1024, 768, true, false, 1},
    {"narrow enough: stays tiled", "modifiers=x-tiled:linear,formats=NV12", 640, 480, true, true, 0},
};

// YUV is rounded twice, by the pattern and by the display.
bool near(guint32 a, guint32 b)
{
  for (int shift = 0; shift < 24; shift += 8)
    if (std::abs(static_cast<int>(a >> shift & 0xff) - static_cast<int>(b >> shift & 0xff)) > 3)
      return false;
  return true;
}

bool is_tiled(const std::string &caps)
{
  return caps.find(":0x01") != std::string::npos;
}

} // namespace

GST_START_TEST(test_another_pair_takes_over)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  set_max_width("800");
  Pipeline pipeline(play(row.driver, any_of(row.width, row.height), 60));
  Watch watch(pipeline.get("sink"));
  ck_assert(pipeline.play());
  ck_assert_msg(watch.wait_for_end(), "%s", watch.error.c_str());
  ck_assert_uint_ge(watch.caps.size(), row.tiled_first == row.tiled_last ? 1 : 2);
  for (const std::string &caps : watch.caps)
    g_print("# caps: %s\n", caps.c_str());
  ck_assert_int_eq(is_tiled(watch.caps.front()), row.tiled_first);
  ck_assert_int_eq(is_tiled(watch.caps.back()), row.tiled_last);
  if (row.reconfigures == 0)
    ck_assert_uint_eq(watch.reconfigures, 0);
  else
    ck_assert_uint_ge(watch.reconfigures, row.reconfigures);
  ck_assert(watch.in_order);
  const guint64 shown = watch.stat("shown"), dropped = watch.stat("dropped");
  g_print("# %u RECONFIGURE, %" G_GUINT64_FORMAT " shown, %" G_GUINT64_FORMAT " let go\n", watch.reconfigures.load(),
          shown, dropped);
  ck_assert_uint_eq(shown + dropped, 60);
  ck_assert_uint_le(dropped, watch.reconfigures * 4); // upstream chooses again with its next buffer or soon after
  GstSample *sample = watch.snapshot();
  ck_assert(sample != nullptr);
  // SMPTE bars: the second of seven is yellow at 75 %
  const guint32 yellow = pixel(sample, row.width * 3 / 14, 40);
  gst_sample_unref(sample);
  ck_assert_msg(near(yellow, 0xbfbf00), "the second bar is %06x", yellow);
}
GST_END_TEST

// Frames go on while the limit comes down: the flip of a pair that was shown all the time is refused.
GST_START_TEST(test_refused_in_the_middle)
{
  set_max_width("0");
  Pipeline pipeline(play("modifiers=x-tiled:linear,formats=NV12", any_of(1024, 768), 120));
  Watch watch(pipeline.get("sink"));
  watch.at_buffer(40, [] { set_max_width("800"); });
  ck_assert(pipeline.play());
  ck_assert_msg(watch.wait_for_end(), "%s", watch.error.c_str());
  ck_assert_uint_eq(watch.caps.size(), 2);
  ck_assert(is_tiled(watch.caps.front()));
  ck_assert(!is_tiled(watch.caps.back()));
  ck_assert(watch.in_order);
  ck_assert_uint_ge(watch.stat("shown"), 110);
  ck_assert_uint_eq(watch.stat("shown") + watch.stat("dropped"), 120);
}
GST_END_TEST

// Nothing else that upstream could send: one error that names both sides and the reason.
GST_START_TEST(test_no_pair_is_left)
{
  set_max_width("800");
  Pipeline pipeline(play("modifiers=x-tiled,formats=NV12", dma_caps(kTiledNv12, 1024, 768), 60));
  Watch watch(pipeline.get("sink"));
  ck_assert(pipeline.play());
  ck_assert(!watch.wait_for_end());
  gstdrm::test::say(watch.error);
  for (const char *word : {"No format is left", kTiledNv12, "1024x768", "EINVAL", "The display offers", "Upstream offers"})
    ck_assert_msg(watch.error.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word, watch.error.c_str());
}
GST_END_TEST

// A source that goes on regardless: frames are let go for a while, then an error says who did not listen.
GST_START_TEST(test_source_ignores_reconfigure)
{
  set_max_width("800");
  set_driver("modifiers=x-tiled:linear");
  Pipeline pipeline(source("num-surfaces=8", any_of(1024, 768), "kmsdmabufsink name=sink mode=match driver-name=vkms sync=false"));
  Watch watch(pipeline.get("sink"));
  watch.swallow_reconfigure = true;
  ck_assert(pipeline.play());
  ck_assert(!watch.wait_for_end());
  gstdrm::test::say(watch.error);
  for (const char *word : {"Upstream did not choose another format within 64 buffers", "EINVAL", "The display offers"})
    ck_assert_msg(watch.error.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word, watch.error.c_str());
  ck_assert_uint_eq(watch.stat("shown"), 0);
  ck_assert_uint_eq(watch.stat("dropped"), 65);
}
GST_END_TEST

// What the caps query answers: the listed pairs before anything is shown; after it only what was proved.
GST_START_TEST(test_offer_before_and_after)
{
  set_max_width("800");
  Pipeline pipeline(play("modifiers=linear,formats=NV12", any_of(1024, 768), 30));
  Watch watch(pipeline.get("sink"));
  ck_assert(gst_element_set_state(pipeline.get("sink"), GST_STATE_READY) != GST_STATE_CHANGE_FAILURE);
  const std::string before = watch.query_caps();
  ck_assert(pipeline.play());
  ck_assert_msg(watch.wait_for_end(), "%s", watch.error.c_str());
  const std::string after = watch.query_caps();
  for (const char *pair : {kTiledXr24, kTiledNv12, "XR24", "NV12"})
    ck_assert_msg(before.find(pair) != std::string::npos, "%s is not in %s", pair, before.c_str());
  for (const char *pair : {kTiledXr24, kTiledNv12})
    ck_assert_msg(after.find(pair) == std::string::npos, "%s is still in %s", pair, after.c_str());
  ck_assert(after.find("XR24") != std::string::npos && after.find("NV12") != std::string::npos);
  // the source could have been better off with what was taken away, so it was told; it stayed with what it had
  ck_assert_uint_eq(watch.reconfigures, 1);
  ck_assert_uint_eq(watch.stat("shown"), 30);
  pipeline.stop();
  ck_assert(gst_element_set_state(pipeline.get("sink"), GST_STATE_READY) != GST_STATE_CHANGE_FAILURE);
  const std::string again = watch.query_caps();
  ck_assert_msg(again == before, "%s", again.c_str());
}
GST_END_TEST

static Suite *kms_refused_suite(void)
{
  Suite *s = suite_create("kms-refused");
  TCase *tc = tcase_create("refused");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_another_pair_takes_over, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_refused_in_the_middle);
  tcase_add_test(tc, test_no_pair_is_left);
  tcase_add_test(tc, test_source_ignores_reconfigure);
  tcase_add_test(tc, test_offer_before_and_after);
  return s;
}

GST_DRM_VA_CHECK_MAIN(kms_refused)
