// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the box's patches repair in vkms, without any of our code between: linear framebuffers in
// several dma-bufs or away from a dma-buf's first byte, and writebacks that meet another user of
// the composer. Each test but the one of the interrupted commit fails on a kernel without the
// patches.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "kms_raw_support.hpp"
#include "support/check_main.hpp"

using namespace gstdrm::test;

namespace {

constexpr Size kSmall{64, 64};
constexpr uint32_t kFast = 300; // Hz, so that 400 frames take little time

void fill(const RawBuffer &buffer, uint32_t offset, const std::vector<uint8_t> &bytes)
{
  buffer.access(DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE);
  std::copy(bytes.begin(), bytes.end(), buffer.data() + offset);
  buffer.access(DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE);
}

// A picture in linear dma-bufs: every plane `offset` bytes after the end of the one before. There
// is room behind, as an offset taken twice shall show wrong pixels and not crash the kernel.
struct Linear {
  Linear(RawDisplay &display, const RawPicture &picture, Source source, bool two_buffers,
         uint32_t offset)
  {
    std::vector<uint32_t> handles;
    std::array<uint32_t, 2> offsets{};
    uint32_t total = 0;
    for (size_t plane = 0; plane < picture.planes.size(); plane++) {
      offsets[plane] = offset + (two_buffers ? 0 : total);
      total = offsets[plane] + round_up(picture.planes[plane].size(), kPage);
      if (two_buffers)
        buffers.push_back(std::make_unique<RawBuffer>(total + offset, source));
    }
    if (!two_buffers)
      buffers.push_back(std::make_unique<RawBuffer>(total + offset, source));
    for (const auto &buffer : buffers)
      handles.push_back(display.import(*buffer));
    for (size_t plane = 0; plane < picture.planes.size(); plane++)
      fill(*buffers[two_buffers ? plane : 0], offsets[plane], picture.planes[plane]);
    fb =
        display.add({picture.fourcc, kLinear}, picture.size, handles, picture.row_bytes(), offsets);
    fail_unless(fb != 0, "AddFB2: %s", g_strerror(errno));
  }

  std::vector<std::unique_ptr<RawBuffer>> buffers;
  uint32_t fb = 0;
};

struct Place {
  uint32_t fourcc;
  Source source;
  bool two_buffers;
  uint32_t offset;
};
constexpr Place kPlaces[] = {
    {DRM_FORMAT_NV12, Source::kUdmabuf, true, 0},
    {DRM_FORMAT_NV12, Source::kHeap, true, 0},
    {DRM_FORMAT_NV12, Source::kUdmabuf, true, kPage},
    {DRM_FORMAT_NV12, Source::kUdmabuf, false, kPage},
    {DRM_FORMAT_XRGB8888, Source::kUdmabuf, false, kPage},
    {DRM_FORMAT_XRGB8888, Source::kHeap, false, kPage},
};

GST_START_TEST(a_linear_picture_looks_the_same_wherever_it_lies)
{
  RawDisplay display;
  const Place &place = kPlaces[__i__];
  const Size size{640, 480};
  const RawPicture picture = noise(place.fourcc, size);
  Linear plain(display, picture, Source::kUdmabuf, false, 0);
  Linear placed(display, picture, place.source, place.two_buffers, place.offset);
  for (const uint32_t plane : {display.primary, display.overlay}) {
    const RawDisplay::Show show{plane, size, size};
    expect_same(display.shown(placed.fb, show), display.shown(plain.fb, show), "placed");
  }
}
GST_END_TEST

// A small picture on its way into a writeback buffer, again and again.
struct Writer {
  Writer() : picture(display, noise(DRM_FORMAT_XRGB8888, kSmall), Source::kUdmabuf, false, 0)
  {
    target_fb = display.add({DRM_FORMAT_XRGB8888, kLinear}, kSmall, {display.import(target)},
                            kSmall.width * 4, {});
    fail_unless(target_fb != 0);
  }
  void write(int times, int in_fence = -1)
  {
    RawDisplay::Show show{display.primary, kSmall, kSmall};
    show.refresh = kFast;
    show.in_fence = in_fence;
    for (int i = 0; i < times; i++)
      display.write_back(picture.fb, show, target_fb);
  }

  RawDisplay display;
  Linear picture;
  RawBuffer target{kSmall.width * 4 * kSmall.height};
  uint32_t target_fb = 0;
};

GST_START_TEST(writebacks_in_a_row_all_end)
{
  Writer writer;
  writer.write(400);
}
GST_END_TEST

// Reads one line of CRC, 5 seconds at most.
bool read_crc(int file)
{
  char line[64];
  pollfd wait{.fd = file, .events = POLLIN};
  return poll(&wait, 1, 5000) == 1 && read(file, line, sizeof line) > 0;
}

GST_START_TEST(a_writeback_leaves_the_crc_on)
{
  Writer writer;
  writer.write(1);
  const std::string path = writer.display.debugfs("crtc-0/crc/data");
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  fail_unless(file >= 0, "%s: %s", path.c_str(), g_strerror(errno));
  fail_unless(read_crc(file));
  writer.write(2);
  g_usleep(200000); // the cleanup of the writeback, which nothing tells of
  char line[64];
  while (read(file, line, sizeof line) > 0)
    ; // what was computed until now
  for (int i = 0; i < 5; i++)
    fail_unless(read_crc(file), "no CRC after %d", i);
  close(file);
  writer.write(2); // and the end of the CRC leaves those on
}
GST_END_TEST

struct SwSyncFence {
  uint32_t value;
  char name[32];
  int32_t fence;
};
constexpr unsigned long kCreateFence = _IOWR('W', 0, SwSyncFence);
constexpr unsigned long kIncrement = _IOW('W', 1, uint32_t);
int timeline = -1;
volatile sig_atomic_t interruptions = 0;

void on_alarm(int)
{
  uint32_t one = 1;
  ioctl(timeline, kIncrement, &one);
  interruptions = interruptions + 1;
}

// The commit waits for a fence after it has prepared the writeback, is interrupted there, throws
// the writeback away unused, and is started again by libdrm.
GST_START_TEST(a_writeback_that_is_never_committed_counts_for_nothing)
{
  Writer writer;
  writer.write(2);
  timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR | O_CLOEXEC);
  SwSyncFence fence{1, "interrupted", -1};
  fail_unless(timeline >= 0 && ioctl(timeline, kCreateFence, &fence) == 0);
  struct sigaction action {};
  action.sa_handler = on_alarm; // without SA_RESTART: the ioctl returns EINTR
  sigaction(SIGALRM, &action, nullptr);
  const itimerval soon{{0, 0}, {0, 100000}};
  setitimer(ITIMER_REAL, &soon, nullptr);
  writer.write(1, fence.fence);
  fail_unless_equals_int(interruptions, 1);
  close(fence.fence);
  close(timeline);
  writer.write(5);
}
GST_END_TEST

Suite *fixes_suite()
{
  Suite *suite = suite_create("kms_vkms_fixes");
  TCase *tests = tcase_create("general");
  suite_add_tcase(suite, tests);
  tcase_set_timeout(tests, 60);
  tcase_add_loop_test(tests, a_linear_picture_looks_the_same_wherever_it_lies, 0,
                      G_N_ELEMENTS(kPlaces));
  tcase_add_loop_test(tests, writebacks_in_a_row_all_end, 0, 3);
  tcase_add_test(tests, a_writeback_leaves_the_crc_on);
  tcase_add_test(tests, a_writeback_that_is_never_committed_counts_for_nothing);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(fixes)
