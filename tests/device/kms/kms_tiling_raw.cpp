// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The box's own vkms patch, without any of our code between: what a plane lists, which layouts it
// refuses, and that every pixel of a tiled framebuffer comes out of the writeback where the linear
// one has it. On a kernel started without vkms.tiled=1, that vkms lists LINEAR alone.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <linux/dma-buf.h>

#include <gst/video/video.h>

#include "kms_raw_support.hpp"
#include "support/check_main.hpp"

using namespace gstdrm::test;

namespace {

constexpr uint64_t kX = I915_FORMAT_MOD_X_TILED;
constexpr uint64_t kSamsung = DRM_FORMAT_MOD_SAMSUNG_64_32_TILE;

constexpr Size kSizes[] = {{64, 64}, {640, 480}, {1000, 700}, {1920, 1080}};
constexpr Pair kTiledPairs[] = {{DRM_FORMAT_XRGB8888, kX},
                                {DRM_FORMAT_ARGB8888, kX},
                                {DRM_FORMAT_NV12, kX},
                                {DRM_FORMAT_NV12, kSamsung}};

bool kernel_is_tiled()
{
  return read_file("/proc/cmdline").find("vkms.tiled=1") != std::string::npos;
}

struct Layout {
  Size size; // of the framebuffer, which may be larger than the picture
  uint32_t pitch = 0;
  std::array<uint32_t, 2> rows{}, offsets{};
  uint32_t total = 0;
};

uint32_t tile_rows(uint64_t modifier)
{
  return modifier == kX ? 8 : modifier == kSamsung ? 32 : 1;
}

// The kernel's framebuffer_check() wants whole pairs of Samsung tiles in each plane, chroma
// included: multiples of 256 and 64 pixels. The picture is then a part of the framebuffer.
Size framebuffer_size(Size picture, uint64_t modifier)
{
  if (modifier != kSamsung)
    return picture;
  return {round_up(picture.width, 256), round_up(picture.height, 64)};
}

Layout layout_of(const RawPicture &picture, uint64_t modifier)
{
  Layout layout{framebuffer_size(picture.size, modifier)};
  const RawPicture whole{picture.fourcc, layout.size, {}};
  layout.pitch = round_up(whole.row_bytes(), modifier == kX ? 512 : 4);
  for (size_t plane = 0; plane < picture.planes.size(); plane++) {
    layout.rows[plane] = round_up(whole.rows(plane), tile_rows(modifier));
    layout.offsets[plane] = layout.total;
    layout.total += round_up(layout.pitch * layout.rows[plane], kPage);
  }
  return layout;
}

// The order in which the tiles of a plane follow each other in memory, as (column, row).
std::vector<std::pair<uint32_t, uint32_t>> tile_order(uint64_t modifier, uint32_t columns,
                                                      uint32_t rows)
{
  std::vector<std::pair<uint32_t, uint32_t>> order;
  for (uint32_t row = 0; row < rows;) {
    if (modifier == kSamsung && row + 1 < rows) {
      for (uint32_t column = 0; column < columns; column += 2) {
        const uint32_t first = column % 4 ? row + 1 : row;
        const uint32_t second = column % 4 ? row : row + 1;
        order.insert(order.end(), {{column, first}, {column + 1, first}});
        order.insert(order.end(), {{column, second}, {column + 1, second}});
      }
      row += 2;
    } else {
      for (uint32_t column = 0; column < columns; column++)
        order.emplace_back(column, row);
      row++;
    }
  }
  return order;
}

void store_plane(const RawPicture &picture, size_t plane, uint64_t modifier, const Layout &layout,
                 uint8_t *out)
{
  const auto &bytes = picture.planes[plane];
  const uint32_t row_bytes = picture.row_bytes(), height = picture.rows(plane);
  if (modifier == kLinear) {
    for (uint32_t y = 0; y < height; y++)
      std::copy_n(&bytes[size_t{y} * row_bytes], row_bytes, out + size_t{y} * layout.pitch);
    return;
  }
  const uint32_t tile_width = modifier == kX ? 512 : 64, tile_height = tile_rows(modifier);
  const auto order =
      tile_order(modifier, layout.pitch / tile_width, layout.rows[plane] / tile_height);
  for (const auto &[column, row] : order) {
    for (uint32_t y = row * tile_height; y < (row + 1) * tile_height; y++, out += tile_width) {
      const uint32_t x = column * tile_width;
      if (y < height && x < row_bytes)
        std::copy_n(&bytes[size_t{y} * row_bytes + x], std::min(tile_width, row_bytes - x), out);
    }
  }
}

// A picture in dma-bufs, as a framebuffer of one layout.
struct Stored {
  Stored(RawDisplay &display, const RawPicture &picture, uint64_t modifier,
         Source source = Source::kUdmabuf, bool two_buffers = false)
  {
    Layout layout = layout_of(picture, modifier);
    std::vector<uint32_t> handles;
    if (two_buffers) {
      for (size_t plane = 0; plane < picture.planes.size(); plane++)
        buffers.push_back(std::make_unique<RawBuffer>(layout.pitch * layout.rows[plane], source));
      layout.offsets = {};
    } else {
      buffers.push_back(std::make_unique<RawBuffer>(layout.total, source));
    }
    for (const auto &buffer : buffers) {
      buffer->access(DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
      handles.push_back(display.import(*buffer));
    }
    for (size_t plane = 0; plane < picture.planes.size(); plane++)
      store_plane(picture, plane, modifier, layout,
                  buffers[two_buffers ? plane : 0]->data() + layout.offsets[plane]);
    for (const auto &buffer : buffers)
      buffer->access(DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
    fb =
        display.add({picture.fourcc, modifier}, layout.size, handles, layout.pitch, layout.offsets);
    fail_unless(fb != 0, "AddFB2: %s", g_strerror(errno));
  }

  std::vector<std::unique_ptr<RawBuffer>> buffers;
  uint32_t fb = 0;
};

std::set<Pair> tiled_only(std::set<Pair> pairs)
{
  std::erase_if(pairs, [](const Pair &pair) { return pair.modifier == kLinear; });
  return pairs;
}

GST_START_TEST(lists_exactly_the_tiled_pairs)
{
  RawDisplay display;
  std::set<Pair> wanted;
  if (kernel_is_tiled())
    wanted.insert(std::begin(kTiledPairs), std::end(kTiledPairs));
  fail_unless(tiled_only(display.in_formats(display.primary)) == wanted);
  fail_unless(tiled_only(display.in_formats(display.overlay)) == wanted);
  fail_unless(tiled_only(display.in_formats(display.cursor)).empty());
  // Linear for each of the 33 formats, as ever.
  fail_unless_equals_int(display.in_formats(display.primary).size(), 33 + wanted.size());
}
GST_END_TEST

GST_START_TEST(off_refuses_every_tiled_framebuffer)
{
  RawDisplay display;
  const Pair format = kTiledPairs[__i__];
  const RawPicture picture = noise(format.fourcc, {640, 480});
  const Layout layout = layout_of(picture, format.modifier);
  RawBuffer buffer(layout.total);
  fail_unless_equals_int(
      display.add(format, layout.size, {display.import(buffer)}, layout.pitch, layout.offsets), 0);
  fail_unless_equals_int(errno, EINVAL);
}
GST_END_TEST

GST_START_TEST(linear_shows_the_pattern)
{
  RawDisplay display;
  const Size size = kSizes[__i__];
  RawPicture picture = noise(DRM_FORMAT_XRGB8888, size);
  Stored linear(display, picture, kLinear);
  for (size_t at = 3; at < picture.planes[0].size(); at += 4)
    picture.planes[0][at] = 0xff;
  expect_same(display.shown(linear.fb, {display.primary, size, size}), picture.planes[0], "linear");
}
GST_END_TEST

GST_START_TEST(tiled_shows_what_linear_shows)
{
  RawDisplay display;
  const Pair format = kTiledPairs[__i__ / G_N_ELEMENTS(kSizes)];
  const Size size = kSizes[__i__ % G_N_ELEMENTS(kSizes)];
  const RawPicture picture = noise(format.fourcc, size);
  Stored linear(display, picture, kLinear), tiled(display, picture, format.modifier);
  expect_same(display.shown(tiled.fb, {display.primary, size, size}),
              display.shown(linear.fb, {display.primary, size, size}), "tiled");
}
GST_END_TEST

GST_START_TEST(tiled_shows_from_a_heap_and_from_two_buffers)
{
  RawDisplay display;
  const Pair format = kTiledPairs[__i__];
  const Size size{640, 480};
  const RawPicture picture = noise(format.fourcc, size);
  const RawDisplay::Show show{display.primary, size, size};
  Stored linear(display, picture, kLinear);
  Stored heap(display, picture, format.modifier, Source::kHeap);
  Stored apart(display, picture, format.modifier, Source::kUdmabuf, true);
  const auto wanted = display.shown(linear.fb, show);
  expect_same(display.shown(heap.fb, show), wanted, "heap");
  expect_same(display.shown(apart.fb, show), wanted, "two buffers");
}
GST_END_TEST

GST_START_TEST(tiled_overlay_shows_a_turned_part)
{
  RawDisplay display;
  const Pair format = kTiledPairs[__i__];
  const RawPicture picture = noise(format.fourcc, {1000, 700});
  Stored linear(display, picture, kLinear), tiled(display, picture, format.modifier);
  for (uint64_t rotation : {DRM_MODE_ROTATE_0, DRM_MODE_ROTATE_90, DRM_MODE_ROTATE_180,
                            DRM_MODE_ROTATE_270, DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_X}) {
    // Not at a tile's corner, across several tiles, and smaller than the screen.
    const RawDisplay::Show show{display.overlay, {640, 480}, {300, 202}, 333, 77, rotation};
    expect_same(display.shown(tiled.fb, show), display.shown(linear.fb, show), "turned");
  }
}
GST_END_TEST

// Our own tiler could share a mistake with the kernel's patch; GStreamer's NV12_64Z32 shares none.
GST_START_TEST(samsung_is_gstreamers_nv12_64z32)
{
  const Size size = framebuffer_size(kSizes[__i__], kSamsung);
  const Layout layout = layout_of(noise(DRM_FORMAT_NV12, size), kSamsung);
  GstVideoInfo info;
  fail_unless(
      gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12_64Z32, size.width, size.height));
  for (size_t plane = 0; plane < 2; plane++) {
    const uint32_t columns = GST_VIDEO_TILE_X_TILES(info.stride[plane]);
    const uint32_t rows = GST_VIDEO_TILE_Y_TILES(info.stride[plane]);
    fail_unless_equals_int(columns * 64, layout.pitch);
    fail_unless_equals_int(rows * 32, layout.rows[plane]);
    const auto order = tile_order(kSamsung, columns, rows);
    for (size_t i = 0; i < order.size(); i++)
      fail_unless_equals_int(i, gst_video_tile_get_index(GST_VIDEO_TILE_MODE_ZFLIPZ_2X2,
                                                         order[i].first, order[i].second, columns,
                                                         rows));
  }
}
GST_END_TEST

struct Bad {
  const char *why;
  Pair format;
  Size size;
  uint32_t pitch, second_offset, total;
};
// The good row of each kind shows that the others fail for their reason.
constexpr Size kVga{640, 480}, kXga{1024, 768}, kOdd{768, 576}; // 288 rows of chroma are nine tiles
constexpr Pair kX24{DRM_FORMAT_XRGB8888, kX}, kXnv12{DRM_FORMAT_NV12, kX},
    kZnv12{DRM_FORMAT_NV12, kSamsung};
constexpr Bad kBad[] = {
    {nullptr, kX24, kVga, 2560, 0, 2560 * 480},
    {"pitch no multiple of 512", kX24, kVga, 2560 + 256, 0, 4096 * 480},
    {"object too small", kX24, kVga, 2560, 0, 2560 * 480 - kPage},
    {nullptr, kX24, {640, 481}, 2560, 0, 2560 * 488},
    {"last tiles cut off", kX24, {640, 481}, 2560, 0, 2560 * 488 - kPage},
    {"pitch times height overflows", kX24, kVga, 1u << 31, 0, 2560 * 480},
    {"pitch below a row", kX24, kVga, 2048, 0, 2560 * 480},
    {nullptr, kXnv12, kVga, 1024, 1024 * 480, 1024 * 720},
    {"second plane inside a tile", kXnv12, kVga, 1024, 1024 * 480 + 512, 1024 * 800},
    {"second plane ends behind", kXnv12, kVga, 1024, 1024 * 480, 1024 * 720 - kPage},
    {nullptr, kZnv12, kXga, 1024, 1024 * 768, 1024 * 1152},
    {nullptr, kZnv12, kOdd, 768, 768 * 576, 768 * (576 + 288)},
    {"last row of tiles cut off", kZnv12, kOdd, 768, 768 * 576, 768 * (576 + 288) - kPage},
    {"pitch of an odd number of tiles", kZnv12, kXga, 1088, 1088 * 768, 1088 * 1200},
    {"second plane inside a tile", kZnv12, kXga, 1024, 1024 * 768 + 64, 1024 * 1200},
    {"width no multiple of 256", kZnv12, {640, 512}, 768, 768 * 512, 768 * 1024},
    {"height no multiple of 64", kZnv12, {768, 480}, 768, 768 * 512, 768 * 1024},
    {"not for XR24", {DRM_FORMAT_XRGB8888, kSamsung}, kXga, 4096, 0, 4096 * 768},
    {"not for XB24", {DRM_FORMAT_XBGR8888, kX}, kVga, 2560, 0, 2560 * 480},
    {"not for NV21", {DRM_FORMAT_NV21, kX}, kVga, 1024, 1024 * 480, 1024 * 720},
    {"not listed", {DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_Y_TILED}, kVga, 2560, 0, 2560 * 480},
    {"no modifier", {DRM_FORMAT_XRGB8888, DRM_FORMAT_MOD_INVALID}, kVga, 2560, 0, 2560 * 480},
};

GST_START_TEST(bad_layouts_are_refused)
{
  RawDisplay display;
  const Bad &bad = kBad[__i__];
  RawBuffer buffer(bad.total);
  errno = 0;
  const uint32_t fb = display.add(bad.format, bad.size, {display.import(buffer)}, bad.pitch,
                                  {0, bad.second_offset});
  const int error = fb ? 0 : errno;
  fail_unless((error == 0) == (bad.why == nullptr), "%s: %s", bad.why ? bad.why : "good layout",
              g_strerror(error));
  // The core itself answers with ERANGE where pitch times height has no 32 bits.
  fail_unless(error == 0 || error == EINVAL || (bad.pitch == 1u << 31 && error == ERANGE), "%s: %s",
              bad.why, g_strerror(error));
}
GST_END_TEST

GST_START_TEST(cursor_and_writeback_stay_linear)
{
  RawDisplay display;
  const Size size{64, 64};
  const RawPicture picture = noise(DRM_FORMAT_ARGB8888, size);
  Stored linear(display, picture, kLinear), tiled(display, picture, kX);
  const RawDisplay::Show cursor{display.cursor, size, size}, primary{display.primary, size, size};
  fail_unless_equals_int(display.test(linear.fb, cursor), 0);
  fail_unless_equals_int(display.test(tiled.fb, cursor), -EINVAL);
  fail_unless_equals_int(display.test(tiled.fb, primary, linear.fb), 0);
  fail_unless_equals_int(display.test(linear.fb, primary, tiled.fb), -EINVAL);
}
GST_END_TEST

GST_START_TEST(a_width_limit_refuses_the_commit_only)
{
  RawDisplay display;
  const Size size{1920, 1080};
  const RawPicture picture = noise(DRM_FORMAT_XRGB8888, size);
  Stored linear(display, picture, kLinear), tiled(display, picture, kX);
  const RawDisplay::Show show{display.primary, size, size};
  const std::pair<const char *, int> limits[] = {{"1919", -EINVAL}, {"1920", 0}, {"0", 0}};
  for (const auto &[limit, wanted] : limits) {
    FILE *file = fopen("/sys/module/vkms/parameters/tiled_max_width", "w");
    fail_unless(file && fputs(limit, file) >= 0 && fclose(file) == 0);
    fail_unless_equals_int(display.test(tiled.fb, show), wanted);
    fail_unless_equals_int(display.test(linear.fb, show), 0);
  }
}
GST_END_TEST

Suite *tiling_suite()
{
  Suite *suite = suite_create("kms_tiling_raw");
  TCase *tests = tcase_create("general");
  suite_add_tcase(suite, tests);
  tcase_set_timeout(tests, 60); // the largest NV12 takes long where the processors are busy
  constexpr int pairs = G_N_ELEMENTS(kTiledPairs), sizes = G_N_ELEMENTS(kSizes);

  tcase_add_test(tests, lists_exactly_the_tiled_pairs);
  tcase_add_loop_test(tests, linear_shows_the_pattern, 0, sizes);
  tcase_add_loop_test(tests, samsung_is_gstreamers_nv12_64z32, 0, sizes);
  if (!kernel_is_tiled()) {
    tcase_add_loop_test(tests, off_refuses_every_tiled_framebuffer, 0, pairs);
    return suite;
  }
  tcase_add_loop_test(tests, tiled_shows_what_linear_shows, 0, pairs * sizes);
  tcase_add_loop_test(tests, tiled_shows_from_a_heap_and_from_two_buffers, 0, pairs);
  tcase_add_loop_test(tests, tiled_overlay_shows_a_turned_part, 0, pairs);
  tcase_add_loop_test(tests, bad_layouts_are_refused, 0, G_N_ELEMENTS(kBad));
  tcase_add_test(tests, cursor_and_writeback_stay_linear);
  tcase_add_test(tests, a_width_limit_refuses_the_commit_only);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(tiling)
