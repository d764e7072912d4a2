// SPDX-License-Identifier: LGPL-2.1-or-later
// A minute of a stream at the rates that there are: each frame is shown, once, and none late. On
// virtual time. The display's own modes have about 60 Hz; a faster one comes from the kernel's
// command line (video=), and the stream then has that mode's rate, whatever the kernel's formula
// (CVT) made of it.
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/unique_fd.hpp>

#include "configfs_support.hpp"
#include "kms_clocked.hpp"

using namespace gstdrm::test;
using gstdrm::UniqueFd;

namespace {

#if defined(__SANITIZE_ADDRESS__) // some times slower
constexpr guint kSeconds = 10;
#else
constexpr guint kSeconds = 60;
#endif
constexpr guint kSettled = 10; // frames
constexpr GstClockTime kStart = GST_SECOND / 2;

struct Rate {
  const char *name;
  int width, height;
  int numerator, denominator;
};

// Sizes of modes that are no slower: VESA DMT 640x480 has 59.9405 Hz, 1920x1080 60.0000.
const Rate kRates[] = {
    {"24 fps", 640, 480, 24, 1},
    {"30 fps", 640, 480, 30, 1},
    {"59.94 fps", 640, 480, 60000, 1001},
    {"60 fps", 1920, 1080, 60, 1},
};

// What the box's kernel was told: "120"; nothing: the display's own modes.
const char *fast_mode()
{
  return std::getenv("GST_DRM_TEST_REFRESH");
}

// The fastest mode of vkms's first connector, as width, height and rate.
Rate fastest_mode()
{
  const UniqueFd fd(drmOpen("vkms", nullptr));
  ck_assert(fd);
  drmModeRes *resources = drmModeGetResources(fd.get());
  ck_assert(resources && resources->count_connectors > 0);
  drmModeConnector *connector = drmModeGetConnector(fd.get(), resources->connectors[0]);
  Rate rate{"", 0, 0, 0, 1};
  for (int i = 0; i < connector->count_modes; i++) {
    const drmModeModeInfo &mode = connector->modes[i];
    const int total = mode.htotal * mode.vtotal;
    if (rate.numerator == 0 || gst_util_fraction_compare(static_cast<int>(mode.clock), total,
                                                         rate.numerator, rate.denominator) > 0)
      rate = {"the mode's own", mode.hdisplay, mode.vdisplay, static_cast<int>(mode.clock), total};
  }
  drmModeFreeConnector(connector);
  drmModeFreeResources(resources);
  rate.numerator *= 1000; // from kHz
  return rate;
}

void play(const Rate &rate, const char *properties = "")
{
  const double fps = static_cast<double>(rate.numerator) / rate.denominator;
  const auto frames = static_cast<guint>(fps * kSeconds);
  g_print("# %s: %.4f frames a second, %dx%d, %u frames\n", rate.name, fps, rate.width, rate.height,
          frames);
  const std::string more =
      ", framerate=" + std::to_string(rate.numerator) + "/" + std::to_string(rate.denominator);
  std::string caps = dma_drm_caps("XR24", rate.width, rate.height);
  caps.replace(caps.find(", framerate"), std::string::npos, more);
  const GstVideoInfo info = video_info(plain_caps("BGRx", rate.width, rate.height));
  ClockedStream stream(properties, caps, info, kStart);
  const GstClockTime duration =
      gst_util_uint64_scale_int(GST_SECOND, rate.denominator, rate.numerator);
  guint first_sequence = 0, first_shown = 0;
  for (guint i = 0; i < frames; i++) {
    stream.push(gst_util_uint64_scale(i, static_cast<guint64>(GST_SECOND) * rate.denominator,
                                      rate.numerator),
                duration);
    if (i == kSettled) { // no time goes by between these two
      first_sequence = static_cast<guint>(stream.sink.stat("last-flip-sequence"));
      first_shown = static_cast<guint>(stream.sink.stat("shown"));
    }
  }
  stream.sink.eos();
  const Sink &sink = stream.sink;
  const auto vblanks = static_cast<guint>(sink.stat("last-flip-sequence")) - first_sequence;
  g_print("# %u vblanks for the last %u frames\n", vblanks, frames - first_shown);
  ck_assert_uint_eq(sink.stat("shown"), frames);
  ck_assert_uint_eq(sink.stat("dropped"), 0);
  ck_assert_uint_eq(sink.stat("late"), 0);
  ck_assert_uint_eq(sink.stat("commits"), frames);
  ck_assert_uint_eq(sink.stat("waits"), 0);
  ck_assert_uint_eq(sink.stat("copies"), 0);
  ck_assert_uint_ge(vblanks, frames - first_shown); // a vblank has one flip at most
  if (fast_mode())                                  // and here each has one
    ck_assert_uint_eq(vblanks, frames - first_shown);
}

} // namespace

GST_START_TEST(test_a_minute)
{
  play(kRates[__i__]);
}
GST_END_TEST

GST_START_TEST(test_a_minute_of_a_fast_mode)
{
  const Rate rate = fastest_mode();
  const double fps = static_cast<double>(rate.numerator) / rate.denominator;
  const double wanted = std::atof(fast_mode());
  // CVT rounds the pixel clock to 0.25 MHz
  ck_assert_msg(fps > wanted * 0.98 && fps < wanted * 1.02, "%.3f Hz is not about %s", fps,
                fast_mode());
  play(rate);
}
GST_END_TEST

// Two sinks on one device, each with a display of its own.
GST_START_TEST(test_a_minute_of_two)
{
  const ConfigfsDevice device("pair", {{}, {}});
  const std::string properties = "device=" + device.path() + " connector=";
  const std::string first = properties + device.connectors()[0];
  const std::string second = properties + device.connectors()[1];
  std::thread other([&second] { play(kRates[2], second.c_str()); });
  play(kRates[0], first.c_str());
  other.join();
}
GST_END_TEST

static Suite *kms_rates_suite(void)
{
  Suite *s = suite_create("kms-rates");
  // one box each (CK_RUN_CASE): a minute takes some time without a vDSO
  const char *const cases[] = {"film", "television", "fast", "two"};
  for (int i = 0; i < 4; i++) {
    TCase *tc = tcase_create(cases[i]);
    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 200);
    if (i == 2)
      tcase_add_test(tc, test_a_minute_of_a_fast_mode);
    else if (i == 3)
      tcase_add_test(tc, test_a_minute_of_two);
    else
      tcase_add_loop_test(tc, test_a_minute, 2 * i, 2 * i + 2);
  }
  return s;
}

GST_DRM_CHECK_MAIN(kms_rates)
