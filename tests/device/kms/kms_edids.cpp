// SPDX-License-Identifier: LGPL-2.1-or-later
// The mode that kmsdmabufsink sets on real displays (tests/data/edid) where the user does not ask for one, with planes that
// scale and without. The displays are dark before.
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "configfs_support.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

struct Stream {
  int width, height;
  const char *rate;
};

// 720p of unknown rate (WebRTC), 1080p30, film, small, 2160p60
constexpr std::array<Stream, 5> kStreams = {{{1280, 720, "0/1"}, {1920, 1080, "30/1"}, {1280, 720, "24000/1001"}, {640, 360, "30/1"}, {3840, 2160, "60/1"}}};

struct Row {
  const char *edid;
  std::array<const char *, kStreams.size()> unscaled, scaled; // the mode, or words of the error
};

constexpr const char *kTooLarge = "Put videoscale before the sink.";
constexpr const char *kHeadset = "no desktop: name it";

const Row kRows[] = {
    // 24 Hz for film, of the HDMI modes
    {"acer-hdmi-vic-4k30",
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"},
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"}},
    // one tile, which lists 3840x2160 too
    {"apple-imac-5k-tile-half",
     {"2560x2880@59.98", "2560x2880@59.98", "2560x2880@59.98", "2560x2880@59.98", "3840x2160@60.00"},
     {"2560x2880@59.98", "2560x2880@59.98", "2560x2880@59.98", "2560x2880@59.98", "2560x2880@59.98"}},
    // nothing is turned unasked
    {"ayn-handheld-portrait-1080x1920-wrong-size",
     {kTooLarge, kTooLarge, kTooLarge, "1080x1920@60.09", kTooLarge},
     {"1080x1920@60.09", "1080x1920@60.09", "1080x1920@60.09", "1080x1920@60.09", "1080x1920@60.09"}},
    {"benq-projector-no-size",
     {"1920x1080@60.00", "1920x1080@60.00", "1920x1080@23.98", "1920x1080@60.00", kTooLarge},
     {"1920x1080@60.00", "1920x1080@60.00", "1920x1080@23.98", "1920x1080@60.00", "1920x1080@60.00"}},
    {"ctx-pv520-analog-no-detailed-timing",
     {kTooLarge, kTooLarge, kTooLarge, "1024x768@60.00", kTooLarge},
     {"1024x768@60.00", "1024x768@60.00", "1024x768@60.00", "1024x768@60.00", "1024x768@60.00"}},
    // 59.97 Hz as good as 29.99 for 30 pictures a second
    {"lg-ultrawide-3440x1440",
     {"3440x1440@59.97", "3440x1440@59.97", "3440x1440@59.97", "3440x1440@59.97", kTooLarge},
     {"3440x1440@59.97", "3440x1440@59.97", "3440x1440@59.97", "3440x1440@59.97", "3440x1440@59.97"}},
    {"libdisplay-info-custom-uncommon-cta-vesa",
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@59.94", "3840x2160@60.00", "3840x2160@60.00"},
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@59.94", "3840x2160@60.00", "3840x2160@60.00"}},
    {"libdisplay-info-hp-5dq99aa-hdmi",
     {"2560x1440@59.95", "2560x1440@59.95", "2560x1440@59.95", "2560x1440@59.95", kTooLarge},
     {"2560x1440@59.95", "2560x1440@59.95", "2560x1440@59.95", "2560x1440@59.95", "2560x1440@59.95"}},
    // film: five refreshes at 120 Hz
    {"msi-extension-2-is-the-base-again",
     {"2560x1440@60.00", "2560x1440@60.00", "2560x1440@120.00", "2560x1440@60.00", kTooLarge},
     {"2560x1440@60.00", "2560x1440@60.00", "2560x1440@120.00", "2560x1440@60.00", "2560x1440@60.00"}},
    // vkms leaves interlaced modes out
    {"panasonic-plasma-1080i60-preferred",
     {kTooLarge, kTooLarge, kTooLarge, "720x480@60.00", kTooLarge},
     {"720x480@60.00", "720x480@60.00", "720x480@59.94", "720x480@60.00", "720x480@60.00"}},
    {"panasonic-tv-4k60-hdr-420-forum-vsdb",
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"},
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"}},
    // film: five refreshes at 119.88 Hz
    {"samsung-odyssey-g8-base-repeated",
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@119.88", "3840x2160@60.00", "3840x2160@60.00"},
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@119.88", "3840x2160@60.00", "3840x2160@60.00"}},
    // 30 pictures a second: three refreshes at 90 Hz; film: two and three at 60 Hz
    {"samsung-oled-panel-displayid-no-dtd",
     {"3840x2400@90.00", "3840x2400@90.00", "3840x2400@60.00", "3840x2400@90.00", "3840x2400@60.00"},
     {"3840x2400@90.00", "3840x2400@90.00", "3840x2400@60.00", "3840x2400@90.00", "3840x2400@60.00"}},
    {"sony-tv-4k60-extension-checksum-wrong",
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"},
     {"3840x2160@60.00", "3840x2160@60.00", "3840x2160@23.98", "3840x2160@60.00", "3840x2160@60.00"}},
    {"valve-anx7530-800x1280-no-extension",
     {kTooLarge, kTooLarge, kTooLarge, "800x1280@60.00", kTooLarge},
     {"800x1280@60.00", "800x1280@60.00", "800x1280@60.00", "800x1280@60.00", "800x1280@60.00"}},
    // a headset is shown on by name alone
    {"vive-pro-2-headset-displayid2-only",
     {kHeadset, kHeadset, kHeadset, kHeadset, kHeadset},
     {kHeadset, kHeadset, kHeadset, kHeadset, kHeadset}},
    {"zzx-laptop-2240x1400-hdr-wrong-size",
     {"2240x1400@60.00", "2240x1400@60.00", "2240x1400@60.00", "2240x1400@60.00", kTooLarge},
     {"2240x1400@60.00", "2240x1400@60.00", "2240x1400@60.00", "2240x1400@60.00", "2240x1400@60.00"}},
};

std::string read_file(const std::string &path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void set_scaling(bool scales)
{
  std::ofstream("/sys/module/vkms/parameters/scaling") << (scales ? "1" : "0");
}

// Of the device's only CRTC: "1920x1080@60.00".
std::string mode_on_screen(const std::string &path)
{
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  const std::unique_ptr<drmModeRes, decltype(&drmModeFreeResources)> resources(drmModeGetResources(fd), drmModeFreeResources);
  ck_assert(resources && resources->count_crtcs == 1);
  const std::unique_ptr<drmModeCrtc, decltype(&drmModeFreeCrtc)> crtc(drmModeGetCrtc(fd, resources->crtcs[0]), drmModeFreeCrtc);
  close(fd);
  if (!crtc || !crtc->mode_valid)
    return "dark";
  const drmModeModeInfo &mode = crtc->mode;
  char text[64];
  std::snprintf(text, sizeof(text), "%ux%u@%.2f", unsigned{mode.hdisplay}, unsigned{mode.vdisplay},
                mode.clock * 1000.0 / mode.htotal / mode.vtotal);
  return text;
}

std::string show(const std::string &path, const Stream &stream)
{
  Sink sink(("mode=auto device=" + path).c_str());
  const std::string caps = plain_caps("BGRx", stream.width, stream.height, (", framerate=(fraction)" + std::string(stream.rate)).c_str());
  const bool shown = sink.set_state(GST_STATE_PLAYING) && sink.set_caps(caps) &&
                     sink.push(gst_buffer_new_allocate(nullptr, static_cast<gsize>(stream.width) * stream.height * 4, nullptr)) == GST_FLOW_OK;
  return shown ? mode_on_screen(path) : sink.next_message(GST_MESSAGE_ERROR);
}

void check(const Row &row, bool scales)
{
  set_scaling(scales);
  ConfigfsDevice device("edid", {{0, false, false}});
  device.set_edid(0, read_file(std::string(GST_DRM_TEST_DATA_DIR "/edid/") + row.edid + ".bin"));
  device.plug(0, true);
  bool right = true;
  for (std::size_t i = 0; i < kStreams.size(); i++) {
    const Stream &stream = kStreams[i];
    const char *expected = (scales ? row.scaled : row.unscaled)[i];
    const std::string got = show(device.path(), stream);
    g_print("# %s, %s: %dx%d at %s: %s\n", row.edid, scales ? "scaled" : "not scaled", stream.width, stream.height, stream.rate, got.c_str());
    right &= got.find(expected) != std::string::npos;
  }
  ck_assert_msg(right, "%s: another mode", row.edid);
}

} // namespace

GST_START_TEST(test_not_scaled)
{
  check(kRows[__i__], false);
}
GST_END_TEST

GST_START_TEST(test_scaled)
{
  check(kRows[__i__], true);
}
GST_END_TEST

static Suite *kms_edids_suite(void)
{
  Suite *s = suite_create("kms_edids");
  TCase *rows = tcase_create("rows");
  tcase_set_timeout(rows, 120);
  suite_add_tcase(s, rows);
  tcase_add_loop_test(rows, test_not_scaled, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(rows, test_scaled, 0, G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_edids)
