// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink on displays of real drivers, which the box's vkms plays by the facts of
// display_profiles.cpp: what it takes of what peers have, 600 frames on every vblank, the pixels (by the CRC
// of the display, which every profile has, and by writeback, where there is such a connector), and what
// it says of what a display refuses.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <gst/drm/core/unique_fd.hpp>

#include "kms_clocked.hpp"
#include "kms_support.hpp"
#include "profile_facts.hpp"

namespace gstdrm::test {

namespace {

constexpr int kWidth = 1024, kHeight = 768;

// Its device, with the modes of the fake libdrm, and a sink that shows on it.
struct Board {
  explicit Board(const std::string &profile, const std::string &name = "board")
      : device(name, facts_of(profile)), properties("driver-name=\"\" device=" + device.path())
  {
    device.set_display(0, {k1024x768, k640x480});
  }
  ConfigfsDevice device;
  std::string properties;
};

// --- negotiation

struct Choice {
  const char *profile;
  std::vector<const char *> peer; // in its order; "" is plain video/x-raw, NV12 and BGRx
  const char *chosen;             // nullptr: nothing in common
};

const Choice kChoices[] = {
    {"i915", {"NV12:0x0100000000000002", "NV12"}, "NV12:0x0100000000000002"},
    {"i915", {"NV12:0x0200000000401901", "NV12"}, "NV12"},
    {"i915", {"NV12:0x0100000000000004", "XR24:0x0100000000000004"}, "XR24:0x0100000000000004"},
    {"i915", {"P010"}, nullptr},
    {"amdgpu", {"NV12:0x0100000000000002", "P010:0x0200000000401901", "P010"}, "P010:0x0200000000401901"},
    {"amdgpu", {"AR24:0x0200000000000901", "AR24"}, "AR24:0x0200000000000901"},
    {"rockchip", {"NV12:0x0800000000000001", "NV12"}, "NV12"},
    {"rockchip", {"XR24:0x0800000000000001", "XR24"}, "XR24:0x0800000000000001"},
    {"rockchip", {"P010", "NV15"}, "NV15"},
    {"vc4", {"P030", "P030:0x0700000000000004", "NV12"}, "P030:0x0700000000000004"},
    {"vc4", {"P010", "NV12:0x0700000000000005"}, "NV12:0x0700000000000005"},
    {"imx", {"NV21", "NV12:0x0500000000000001", "YU12"}, "YU12"},
    {"imx", {"P010"}, nullptr},
    {"tidss", {"YU12", "NV12"}, "NV12"},
    {"msm", {"NV12:0x0500000000000001", "NV12"}, "NV12:0x0500000000000001"},
    {"msm", {"YUYV:0x0500000000000001", "YUYV"}, "YUYV"},
    {"mediatek", {"NV12", "YUYV"}, "YUYV"},
    {"mediatek", {"NV12"}, nullptr},
    {"nvidia-drm", {"NV12:0x0300000000606010", "NV12"}, "NV12:0x0300000000606010"},
    {"nvidia-drm", {"NV12:0x0300000000000010", "NV12"}, "NV12"},
    {"virtio", {"XR24:0x0100000000000001"}, nullptr},
    {"virtio", {"NV12", "AR24"}, nullptr},
};

std::string offer_of(const Choice &choice)
{
  std::string caps;
  for (const char *format : choice.peer)
    caps += (caps.empty() ? "" : "; ") + dma_drm_caps(format, kWidth, kHeight);
  return caps;
}

GST_START_TEST(test_choice)
{
  const Choice &choice = kChoices[__i__];
  const Board board(choice.profile, "choice" + std::to_string(__i__));
  Sink sink(board.properties.c_str());
  ck_assert(sink.set_state(GST_STATE_PAUSED));
  const auto offer = GstPtr<GstCaps>::adopt(gst_caps_from_string(offer_of(choice).c_str()));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  const auto common = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), offer.get()));
  g_print("# %s takes %u of %u\n", choice.profile, gst_caps_get_size(common.get()), gst_caps_get_size(offer.get()));
  if (!choice.chosen) {
    ck_assert_msg(gst_caps_is_empty(common.get()), "%s", offer_of(choice).c_str());
    return;
  }
  ck_assert_msg(!gst_caps_is_empty(common.get()), "nothing of %s", offer_of(choice).c_str());
  const auto fixed = GstPtr<GstCaps>::adopt(gst_caps_fixate(gst_caps_copy(common.get())));
  ck_assert_str_eq(gst_structure_get_string(gst_caps_get_structure(fixed.get(), 0), "drm-format"), choice.chosen);
  ck_assert(sink.set_caps(dma_drm_caps(choice.chosen, kWidth, kHeight)));
}
GST_END_TEST

// --- streams

struct Stream {
  const char *profile;
  const char *drm_format; // nullptr: plain video/x-raw, for displays without modifiers
  const char *format;     // GstVideoFormat
};

const Stream kStreams[] = {
    {"i915", "NV12", "NV12"},
    {"i915", "NV12:0x0100000000000002", "NV12"},
    {"i915", "XR24:0x0100000000000002", "BGRx"},
    {"amdgpu", "NV12", "NV12"},
    {"amdgpu", "XR24:0x0200000000401901", "BGRx"},
    {"rockchip", "NV12", "NV12"},
    {"rockchip", "XR24:0x0800000000000001", "BGRx"},
    {"vc4", "NV12", "NV12"},
    {"vc4", "NV12:0x0700000000000004", "NV12"},
    {"imx", "YU12", "I420"},
    {"tidss", "NV12", "NV12"},
    {"msm", "NV12", "NV12"},
    {"msm", "NV12:0x0500000000000001", "NV12"},
    {"mediatek", "YUYV", "YUY2"},
    {"nvidia-drm", "NV12", "NV12"},
    {"nvidia-drm", "NV12:0x0300000000606014", "NV12"},
    {"virtio", nullptr, "BGRx"},
};

constexpr guint kFrames = 600;

std::string caps_of(const Stream &stream)
{
  return stream.drm_format ? dma_drm_caps(stream.drm_format, kWidth, kHeight) : plain_caps(stream.format, kWidth, kHeight);
}

// On virtual time nothing is ever late: each frame is on screen, with one commit and no copy.
GST_START_TEST(test_stream)
{
  const Stream &stream = kStreams[__i__];
  g_print("# %s %s\n", stream.profile, caps_of(stream).c_str());
  const Board board(stream.profile, "stream" + std::to_string(__i__));
  const GstVideoInfo info = video_info(plain_caps(stream.format, kWidth, kHeight));
  ClockedStream player(board.properties.c_str(), caps_of(stream), info, GST_SECOND);
  const auto before = player.sink.stat("commits"); // the mode set is no frame's
  for (guint i = 0; i < kFrames; i++)
    player.push(gst_util_uint64_scale(i, GST_SECOND, 60), GST_SECOND / 60);
  player.sink.eos();
  ck_assert_uint_eq(player.sink.stat("frames"), kFrames);
  ck_assert_uint_eq(player.sink.stat("shown"), kFrames);
  ck_assert_uint_eq(player.sink.stat("dropped"), 0);
  ck_assert_uint_eq(player.sink.stat("commits"), before + kFrames);
  ck_assert_uint_eq(player.sink.stat("copies"), 0);
  ck_assert_uint_eq(player.sink.stat("imports"), 6); // the buffers of the stream
}
GST_END_TEST

// --- pixels

// crc32_le() of the kernel's lib/crc/crc32.c, as vkms has it for a frame: over rows of A, R, G, B of 16 bits.
class DisplayCrc {
public:
  DisplayCrc()
  {
    for (std::uint32_t i = 0; i < table_.size(); i++) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; bit++)
        value = value >> 1 ^ (value & 1 ? 0xedb88320U : 0);
      table_[i] = value;
    }
  }
  void add(std::uint16_t channel)
  {
    for (const unsigned byte : {unsigned{channel} & 0xff, unsigned{channel} >> 8})
      crc_ = crc_ >> 8 ^ table_[(crc_ ^ byte) & 0xff];
  }
  [[nodiscard]] std::uint32_t value() const { return crc_; }

private:
  std::array<std::uint32_t, 256> table_{};
  std::uint32_t crc_ = 0;
};

// Of a picture of BGRx pixels; vkms makes 16 bits of 8 by the factor 257.
std::uint32_t crc_of(const std::vector<std::uint8_t> &pixels)
{
  DisplayCrc crc;
  for (std::size_t i = 0; i < pixels.size(); i += 4) {
    crc.add(0xffff);
    for (const std::size_t channel : {2, 1, 0})
      crc.add(static_cast<std::uint16_t>(pixels[i + channel] * 257));
  }
  return crc.value();
}

// The CRCs that vkms counts while a file of debugfs is open.
class CrcReader {
public:
  explicit CrcReader(const std::string &card)
      : fd_(open(("/sys/kernel/debug/dri/" + card.substr(card.find_last_not_of("0123456789") + 1) + "/crtc-0/crc/data").c_str(),
                 O_RDONLY | O_CLOEXEC))
  {
    ck_assert_int_ge(fd_.get(), 0);
  }
  // Whether one of the next ten refreshes has it.
  bool sees(std::uint32_t wanted)
  {
    for (int i = 0; i < 10; i++) {
      char line[64] = {}; // "0x00000010 0x12345678\n"
      ck_assert_int_gt(read(fd_.get(), line, sizeof(line) - 1), 0);
      std::uint32_t frame = 0, crc = 0;
      ck_assert_int_eq(sscanf(line, "%" SCNx32 " %" SCNx32, &frame, &crc), 2);
      if (crc == wanted)
        return true;
    }
    return false;
  }

private:
  UniqueFd fd_;
};

struct Pixels {
  const char *profile;
  const char *drm_format; // nullptr: plain video/x-raw
  const char *format;
  int width, height; // centred, or the mode
  bool by_writeback = false;
};

// Modifiers are labels: vkms takes the pixels as linear.
const Pixels kPixels[] = {
    {"i915", "XR24", "BGRx", 1024, 768},
    {"i915", "XR24:0x0100000000000002", "BGRx", 1024, 768},
    {"i915", "XB24", "RGBx", 640, 480},
    {"amdgpu", "XR24", "BGRx", 1024, 768},
    {"amdgpu", "XR24:0x0200000000401901", "BGRx", 640, 480},
    {"rockchip", "XR24", "BGRx", 1024, 768},
    {"rockchip", "XR24:0x0800000000000001", "BGRx", 1024, 768},
    {"vc4", "XR24", "BGRx", 1024, 768},
    {"vc4", "XR24", "BGRx", 1024, 768, true},
    {"vc4", "NV12", "NV12", 640, 480, true},
    {"vc4", "NV12:0x0700000000000004", "NV12", 1024, 768, true},
    {"imx", "XR24", "BGRx", 1024, 768},
    {"imx", "XR24", "BGRx", 800, 600},
    {"tidss", "XR24", "BGRx", 1024, 768},
    {"msm", "XR24", "BGRx", 1024, 768},
    {"msm", "XR24:0x0500000000000001", "BGRx", 640, 480, true},
    {"msm", "NV12:0x0500000000000001", "NV12", 640, 480, true}, // BT.601, as there is no COLOR_ENCODING
    {"mediatek", "XR24", "BGRx", 1024, 768},
    {"mediatek", "XR24", "BGRx", 800, 600},
    {"nvidia-drm", "XR24:0x0300000000606013", "BGRx", 1024, 768},
    {"nvidia-drm", "XR24", "BGRx", 800, 600},
    {"virtio", nullptr, "BGRx", 1024, 768},
    {"virtio", nullptr, "BGRx", 640, 480},
};

void check_writeback(Sink &sink, const Pixels &row, const std::vector<std::uint8_t> &expected)
{
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  const int difference = largest_difference(sample.get(), expected);
  const int allowed = std::strcmp(row.format, "NV12") == 0 ? 1 : 0; // rounding
  ck_assert_msg(difference >= 0 && difference <= allowed, "%s %s: %d", row.profile, row.drm_format, difference);
}

GST_START_TEST(test_pixels)
{
  const Pixels &row = kPixels[__i__];
  g_print("# %s %s %dx%d\n", row.profile, row.drm_format ? row.drm_format : row.format, row.width, row.height);
  const Board board(row.profile, "pixels" + std::to_string(__i__));
  Sink sink(board.properties.c_str());
  const std::string plain = plain_caps(row.format, row.width, row.height);
  ck_assert(sink.set_caps(row.drm_format ? dma_drm_caps(row.drm_format, row.width, row.height) : plain));
  const GstVideoInfo info = video_info(plain);
  const GstPtr<GstBuffer> picture = make_noise(info, 11);
  const GstFlowReturn flow = sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release());
  ck_assert_msg(flow == GST_FLOW_OK, "%s", sink.next_message(GST_MESSAGE_ERROR).c_str());
  const bool small = row.width == 640;
  const auto expected = reference(info, picture.get(), small ? 640 : kWidth, small ? 480 : kHeight);
  ck_assert_uint_eq(sink.stat("copies"), 0);
  if (row.by_writeback) {
    check_writeback(sink, row, expected);
    return;
  }
  ck_assert_msg(CrcReader(board.device.path()).sees(crc_of(expected)), "other pixels on %s", row.profile);
  if (std::strcmp(row.profile, "vc4") != 0 && std::strcmp(row.profile, "msm") != 0)
    ck_assert(!sink.snapshot()); // there is no writeback connector
}
GST_END_TEST

// Turned by 90 degrees and twice as large: what i915 does with Y tiles, and vkms with a profile alone.
GST_START_TEST(test_turned_and_scaled)
{
  constexpr int kSmallWidth = kHeight / 2, kSmallHeight = kWidth / 2;
  const Board board("i915", "turned");
  Sink sink((board.properties + " rotation=rotate-90 mode=1024x768").c_str());
  ck_assert(sink.set_caps(dma_drm_caps("XR24:0x0100000000000002", kSmallWidth, kSmallHeight)));
  const GstVideoInfo info = video_info(plain_caps("BGRx", kSmallWidth, kSmallHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  const auto small = reference(info, picture.get(), kSmallWidth, kSmallHeight);
  std::vector<std::uint8_t> expected(std::size_t{kWidth} * kHeight * 4);
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) { // counter-clockwise: the right edge comes to the top
      const auto *from = &small[(static_cast<std::size_t>(x / 2) * kSmallWidth + (kSmallWidth - 1 - y / 2)) * 4];
      std::copy(from, from + 4, &expected[(static_cast<std::size_t>(y) * kWidth + x) * 4]);
    }
  ck_assert(CrcReader(board.device.path()).sees(crc_of(expected)));
}
GST_END_TEST

// Straight alpha over black, on a plane that has "pixel blend mode".
GST_START_TEST(test_straight_alpha)
{
  const Board board("vc4", "alpha");
  Sink sink(board.properties.c_str());
  ck_assert(sink.set_caps(dma_drm_caps("AR24", kWidth, kHeight)));
  const GstVideoInfo info = video_info(plain_caps("BGRA", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 5);
  ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  GstMapInfo map;
  ck_assert(gst_buffer_map(picture.get(), &map, GST_MAP_READ));
  std::vector<std::uint8_t> expected(map.data, map.data + map.size);
  gst_buffer_unmap(picture.get(), &map);
  for (std::size_t i = 0; i < expected.size(); i++)
    expected[i] = static_cast<std::uint8_t>(expected[i] * expected[i | 3] / 255);
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  const int difference = largest_difference(sample.get(), expected);
  ck_assert_msg(difference >= 0 && difference <= 1, "%d", difference); // rounding
}
GST_END_TEST

// --- refusals

struct Refusal {
  const char *profile;
  const char *drm_format; // nullptr: plain video/x-raw
  const char *format;
  int width, height;
  unsigned more_stride; // bytes
  const char *properties;
  const char *says; // part of the error or warning
};

const Refusal kRefusals[] = {
    {"i915", "XR24", "BGRx", 1024, 768, 4, "", "/4100"},
    {"amdgpu", "XR24", "BGRx", 640, 480, 64, "", "/2624"},
    {"virtio", nullptr, "BGRx", 800, 600, 0, "", "zero-copy=require forbids the copy"},
    {"nvidia-drm", "XR24", "BGRx", 2048, 1536, 0, "", "takes sizes from 10x10 to 1024x768"},
    {"mediatek", "NV12", "NV12", 1024, 768, 0, "", "Convert to XR24"},
    {"rockchip", "P010", "P010_10LE", 1024, 768, 0, "", "Convert to NV12"},
    {"imx", "NV12", "NV12", 1280, 720, 0, "", "takes sizes from 10x10 to 1024x768"},
    {"tidss", "XR24", "BGRx", 1024, 768, 0, "rotation=rotate-180", "cannot turn or reflect"},
};

// The frame with longer rows, all else the same.
GstPtr<GstBuffer> with_stride(const GstVideoInfo &info, unsigned more)
{
  const GstPtr<GstBuffer> large = allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, 0x34325258, 4096, GST_VIDEO_INFO_HEIGHT(&info));
  GstBuffer *frame = gst_buffer_new();
  gst_buffer_append_memory(frame, gst_buffer_get_memory(large.get(), 0));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {GST_VIDEO_INFO_WIDTH(&info) * 4 + static_cast<gint>(more)};
  gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)), static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)), 1,
                                 offsets, strides);
  return GstPtr<GstBuffer>::adopt(frame);
}

GST_START_TEST(test_refusal)
{
  const Refusal &row = kRefusals[__i__];
  const Board board(row.profile, "refusal" + std::to_string(__i__));
  Sink sink((board.properties + " zero-copy=require " + row.properties).c_str());
  const std::string plain = plain_caps(row.format, row.width, row.height);
  const GstVideoInfo info = video_info(plain);
  if (sink.set_caps(row.drm_format ? dma_drm_caps(row.drm_format, row.width, row.height) : plain)) {
    const GstPtr<GstBuffer> picture = make_noise(info, 3);
    sink.push((row.more_stride ? with_stride(info, row.more_stride) : to_dmabuf(info, picture.get(), Shape::Tight)).release());
  }
  const std::string text = sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  say(text);
  ck_assert_msg(text.find(row.says) != std::string::npos, "%s: '%s'", row.profile, text.c_str());
}
GST_END_TEST

} // namespace

} // namespace gstdrm::test

static Suite *kms_profiles_suite(void)
{
  using namespace gstdrm::test;
  Suite *s = suite_create("kms-profiles");
  TCase *tc = tcase_create("profiles");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_choice, 0, static_cast<int>(std::size(kChoices)));
  tcase_add_loop_test(tc, test_stream, 0, static_cast<int>(std::size(kStreams)));
  tcase_add_loop_test(tc, test_pixels, 0, static_cast<int>(std::size(kPixels)));
  tcase_add_test(tc, test_turned_and_scaled);
  tcase_add_test(tc, test_straight_alpha);
  tcase_add_loop_test(tc, test_refusal, 0, static_cast<int>(std::size(kRefusals)));
  return s;
}

GST_DRM_CHECK_MAIN(kms_profiles)
