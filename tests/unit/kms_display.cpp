// SPDX-License-Identifier: LGPL-2.1-or-later
// The whole engine against a fake libdrm: what it asks of the kernel, and that no failure of any call leaves
// anything behind.
#include "gst/kms/kms_display.hpp"

#include <atomic>
#include <cerrno>
#include <vector>

#include <dirent.h>
#include <drm_fourcc.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "fake_drm.hpp"
#include "gst/kms/kms_scratch.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;

constexpr std::int64_t kLong_ns = 5'000'000'000;

struct Listener : DisplayListener {
  std::atomic<int> failures{0};
  std::atomic<int> changes{0};
  void display_failed(const Error &) noexcept override { failures++; }
  void formats_changed() noexcept override { changes++; }
  int view_refusals = 0;
  std::string where;
  void picture_placed(const std::string &text) noexcept override { where = text; }
  void view_refused(const Error &) noexcept override { view_refusals++; }
};

unsigned count_open_fds()
{
  unsigned count = 0;
  DIR *directory = opendir("/proc/self/fd");
  while (directory && readdir(directory))
    count++;
  closedir(directory);
  return count;
}

// Something with an identity: the fake imports it.
struct Memory {
  UniqueFd fd;
  explicit Memory(std::uint64_t size) : fd(memfd_create("fake-dmabuf", MFD_CLOEXEC))
  {
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  }
};

FrameLayout xrgb(const Memory &memory, std::uint32_t width, std::uint32_t height)
{
  FrameLayout layout;
  layout.format = {DRM_FORMAT_XRGB8888, kModLinear};
  layout.width = width;
  layout.height = height;
  layout.n_planes = 1;
  layout.planes[0] = {memory.fd.get(), 0, width * 4, *query_object(memory.fd.get())};
  return layout;
}

FrameLayout nv12(const Memory &y, const Memory &uv, std::uint32_t width, std::uint32_t height)
{
  FrameLayout layout = xrgb(y, width, height);
  layout.format.fourcc = DRM_FORMAT_NV12;
  layout.n_planes = 2;
  layout.planes[0].stride_bytes = width;
  const bool same = &y == &uv;
  layout.planes[1] = {uv.fd.get(), same ? std::uint64_t{width} * height : 0, width, *query_object(uv.fd.get())};
  return layout;
}

Picture picture(std::uint32_t width, std::uint32_t height)
{
  Picture p;
  p.format = {DRM_FORMAT_XRGB8888, kModLinear};
  p.width = width;
  p.height = height;
  p.rate = {60, 1};
  return p;
}

class DisplayTest : public testing::Test {
protected:
  DisplayTest() : drm_fd(fakedrm::plug()) {}
  ~DisplayTest() override
  {
    EXPECT_EQ(fakedrm::alive(), 0);
    EXPECT_EQ(fakedrm::device().double_closes, 0U);
  }

  Result<std::shared_ptr<Display>> open()
  {
    DeviceRequest request;
    request.fd = drm_fd.get();
    return Display::open(request, {}, listener);
  }

  static Result<Display::Shown> show(Display &display, const FrameLayout &layout)
  {
    Result<ImportCache::Import> import = display.import(layout);
    if (!import)
      return import.error();
    Frame frame;
    frame.framebuffer = import->framebuffer;
    return display.show(frame, FlipQueue::Overflow::Wait);
  }

  static const fakedrm::Commit &commit(std::size_t index) { return fakedrm::device().commits.at(index); }
  static std::uint64_t value(const fakedrm::Commit &c, std::uint32_t object, const char *name)
  {
    const auto it = c.values.find({object, name});
    return it == c.values.end() ? ~std::uint64_t{0} : it->second;
  }

  UniqueFd drm_fd;
  Listener listener;
  Memory memory{1024 * 768 * 4};
};

TEST_F(DisplayTest, first_frame_sets_the_mode_that_fits_and_centres)
{
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  ASSERT_TRUE((*display)->start());
  ASSERT_TRUE((*display)->configure(picture(1000, 700)));
  EXPECT_TRUE(fakedrm::device().commits.empty()); // not before there is a frame
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  const fakedrm::Commit &c = commit(0);
  EXPECT_EQ(c.flags, unsigned{DRM_MODE_ATOMIC_ALLOW_MODESET} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ(value(c, fakedrm::kCrtc, "ACTIVE"), 1U);
  EXPECT_EQ(value(c, fakedrm::kConnector, "CRTC_ID"), fakedrm::kCrtc);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_X"), 12U); // (1024 - 1000) / 2
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_Y"), 34U);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_W"), std::uint64_t{1000} << 16);
  EXPECT_EQ(value(c, fakedrm::kOverlay, "FB_ID"), 0U); // off
  EXPECT_EQ(value(c, fakedrm::kWriteback, "CRTC_ID"), fakedrm::kCrtc);
}

TEST_F(DisplayTest, the_offer_narrows_to_the_chosen_plane)
{
  constexpr Format kExtra{DRM_FORMAT_YUYV, kModLinear};
  fakedrm::device().overlay_extra = kExtra.fourcc;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start());
  EXPECT_TRUE((*display)->formats().contains(kExtra)); // the overlay's
  ASSERT_TRUE((*display)->configure(picture(1024, 768)));
  EXPECT_EQ(listener.changes, 0);
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  EXPECT_EQ(listener.changes, 1);
  EXPECT_FALSE((*display)->formats().contains(kExtra)); // the primary plane was taken
  EXPECT_TRUE((*display)->formats().contains({DRM_FORMAT_NV12, kModLinear}));
  // the same plane again changes nothing
  ASSERT_TRUE((*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ(listener.changes, 1);
  ASSERT_TRUE((*display)->stop());
  EXPECT_TRUE((*display)->formats().contains(kExtra));
}

TEST_F(DisplayTest, equal_planes_leave_the_offer_alone)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  EXPECT_EQ(listener.changes, 0);
}

TEST_F(DisplayTest, a_refused_pair_leaves_the_offer)
{
  constexpr Format kXrgb{DRM_FORMAT_XRGB8888, kModLinear}, kNv12{DRM_FORMAT_NV12, kModLinear};
  fakedrm::device().primary_centres = false;
  fakedrm::device().refused_fourcc = DRM_FORMAT_XRGB8888;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  auto shown = show(**display, xrgb(memory, 640, 480));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(listener.changes, 0);
  (*display)->refuse(shown.error());
  EXPECT_EQ(listener.changes, 1);
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
  EXPECT_TRUE((*display)->refusal(picture(640, 480)));
  EXPECT_FALSE((*display)->refusal(picture(1024, 768)));
  // the stream carries on with another, of the same size and then of another one
  Picture other = picture(640, 480);
  other.format = kNv12;
  ASSERT_TRUE((*display)->configure(other) && show(**display, nv12(memory, memory, 640, 480)));
  EXPECT_EQ((*display)->formats(), FormatSet::from_pairs({kNv12}));
  fakedrm::device().refused_fourcc = 0;
  other.width = 1024;
  other.height = 768;
  ASSERT_TRUE((*display)->drain(kLong_ns) && (*display)->configure(other));
  ASSERT_TRUE(show(**display, nv12(memory, memory, 1024, 768)));
  EXPECT_TRUE((*display)->formats().contains(kXrgb)); // refused at another size only
  EXPECT_EQ(listener.changes, 2);
  EXPECT_EQ(listener.failures, 0);
}

TEST_F(DisplayTest, pairs_that_a_test_commit_refuses_are_taken_out_before_they_come)
{
  fakedrm::device().refused_fourcc = DRM_FORMAT_NV12;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  EXPECT_EQ((*display)->formats().size(), 2U);
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ((*display)->formats().size(), 1U);
  EXPECT_EQ(listener.changes, 1);
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U); // the scratch ones are gone
}

TEST(ScratchLayout, fits_what_hardware_asks_for)
{
  std::uint64_t size = 0;
  const auto nv12 = scratch_layout({DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED}, 1000, 500, size);
  ASSERT_TRUE(nv12);
  EXPECT_EQ(nv12->height, 500U);
  EXPECT_EQ(nv12->planes[0].stride_bytes, 1024U);
  EXPECT_EQ(nv12->planes[1].offset_bytes % 65536, 0U);
  EXPECT_GE(nv12->planes[1].offset_bytes, 1024U * 504);
  EXPECT_GE(size, nv12->planes[1].offset_bytes + 1024U * 256);
  EXPECT_FALSE(scratch_layout({DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_Y_TILED_CCS}, 640, 480, size));
}

TEST(Offer, answers_whether_it_changed)
{
  constexpr Format kX{DRM_FORMAT_XRGB8888, kModLinear}, kN{DRM_FORMAT_NV12, kModLinear},
      kTiled{DRM_FORMAT_NV12, I915_FORMAT_MOD_X_TILED};
  FormatOffer offer(FormatSet::from_pairs({kX, kN, kTiled}));
  EXPECT_FALSE(offer.list(FormatSet::from_pairs({kX, kN, kTiled})));
  EXPECT_TRUE(offer.refuse({kTiled, 1920, 1080, "EINVAL"}));
  EXPECT_FALSE(offer.refuse({kTiled, 1920, 1080, "EINVAL"}));
  EXPECT_EQ(offer.formats(), FormatSet::from_pairs({kX, kN}));
  EXPECT_EQ(offer.refusals().front().reason, "EINVAL");
  EXPECT_FALSE(offer.list(FormatSet::from_pairs({kX, kN}))); // what went was not offered
  EXPECT_TRUE(offer.list(FormatSet::from_pairs({kX, kTiled})));
  EXPECT_FALSE(offer.resize(1920, 1080));
  EXPECT_TRUE(offer.resize(640, 480)); // smaller ones may do
  EXPECT_TRUE(offer.formats().contains(kTiled));
  EXPECT_FALSE(offer.forget_refusals());
}

TEST_F(DisplayTest, a_plane_that_scales_contains_the_picture)
{
  fakedrm::device().scales = true;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1000, 700)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_W"), 1024U);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_H"), 717U); // 1024 * 700 / 1000
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "CRTC_Y"), 25U);
  EXPECT_EQ(value(commit(0), fakedrm::kPrimary, "SRC_W"), std::uint64_t{1000} << 16);
  // another view comes with the next frame, without a mode set
  View view;
  view.fit = Fit::Cover;
  (*display)->set_view(view);
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  const fakedrm::Commit &c = commit(1);
  EXPECT_EQ(c.flags, unsigned{DRM_MODE_ATOMIC_NONBLOCK} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "CRTC_H"), 768U);
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_X"), std::uint64_t{34} << 16); // (1000 - 932) / 2
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_W"), std::uint64_t{932} << 16); // 700 * 4 / 3, even
  EXPECT_EQ(value(c, fakedrm::kPrimary, "SRC_H"), std::uint64_t{700} << 16);
  EXPECT_TRUE(listener.where.find("scaled") != std::string::npos) << listener.where;
  EXPECT_EQ(listener.view_refusals, 0);
}

TEST_F(DisplayTest, a_plane_that_does_not_scale_says_why)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1000, 700)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1000, 700)) && (*display)->drain(kLong_ns));
  EXPECT_NE(listener.where.find("1000x700 at 12,34, not scaled: ERANGE"), std::string::npos) << listener.where;
}

TEST_F(DisplayTest, a_view_that_is_refused_leaves_the_picture)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(1024, 768)));
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  View view;
  view.zpos = 2; // the fake's planes have none
  (*display)->set_view(view);
  auto shown = show(**display, xrgb(memory, 1024, 768));
  ASSERT_TRUE(shown && *shown == Display::Shown::Yes && (*display)->drain(kLong_ns));
  EXPECT_EQ(listener.view_refusals, 1);
  EXPECT_EQ(listener.changes, 0); // the pair is as good as before
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)) && (*display)->drain(kLong_ns));
  EXPECT_EQ(listener.view_refusals, 1);
}

TEST_F(DisplayTest, hdr_is_told_and_taken_back)
{
  for (const bool needs_mode_set : {false, true}) {
    drm_fd.reset(fakedrm::plug());
    fakedrm::device().hdr_needs_mode_set = needs_mode_set;
    auto display = open();
    Picture sdr = picture(1024, 768), hdr = sdr;
    hdr.hdr = HdrMetadata{TransferFunction::Pq, {}, {}, 10'000'000, 50, 1000, 400};
    ASSERT_TRUE(display && (*display)->start());
    for (const Picture &p : {sdr, hdr, hdr, sdr}) {
      ASSERT_TRUE((*display)->configure(p) && show(**display, xrgb(memory, 1024, 768)) &&
                  (*display)->drain(kLong_ns));
    }
    EXPECT_EQ(value(commit(0), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
    const auto blob = static_cast<std::uint32_t>(value(commit(1), fakedrm::kConnector, "HDR_OUTPUT_METADATA"));
    ASSERT_TRUE(fakedrm::device().blobs.count(blob));
    EXPECT_EQ(fakedrm::device().blobs.at(blob).at(4), 2); // PQ
    EXPECT_EQ(value(commit(1), fakedrm::kConnector, "Colorspace"), fakedrm::kBt2020Rgb);
    EXPECT_EQ((commit(1).flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0, needs_mode_set);
    EXPECT_FALSE(commit(2).values.count({fakedrm::kConnector, "HDR_OUTPUT_METADATA"})); // as before
    EXPECT_EQ(value(commit(3), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
    EXPECT_EQ(value(commit(3), fakedrm::kConnector, "Colorspace"), 0U);
    ASSERT_TRUE((*display)->stop());
    EXPECT_EQ(value(commit(4), fakedrm::kConnector, "HDR_OUTPUT_METADATA"), 0U);
  }
}

TEST_F(DisplayTest, a_flip_is_one_property)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  for (int i = 0; i < 3; i++)
    ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  ASSERT_EQ(fakedrm::device().commits.size(), 3U);
  EXPECT_EQ(commit(2).values.size(), 1U);
  EXPECT_EQ(commit(2).flags, unsigned{DRM_MODE_ATOMIC_NONBLOCK} | DRM_MODE_PAGE_FLIP_EVENT);
  EXPECT_EQ((*display)->counters().shown, 3U);
}

TEST_F(DisplayTest, an_overlay_over_black_where_the_primary_must_cover)
{
  fakedrm::device().primary_centres = false;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(100, 100)));
  // the overlay alone would do for this driver; one that needs a primary plane gets a black one
  ASSERT_TRUE(show(**display, xrgb(memory, 100, 100)));
  EXPECT_NE(value(commit(0), fakedrm::kOverlay, "FB_ID"), 0U);
}

TEST_F(DisplayTest, without_writeback_where_the_driver_refuses_it)
{
  fakedrm::device().takes_writeback = false;
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  EXPECT_EQ(value(commit(0), fakedrm::kWriteback, "CRTC_ID"), 0U);
  EXPECT_FALSE((*display)->snapshot());
}

TEST_F(DisplayTest, stop_restores_what_was)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE((*display)->stop());
  const fakedrm::Commit &last = fakedrm::device().commits.back();
  EXPECT_EQ(value(last, fakedrm::kCrtc, "ACTIVE"), 0U);
  EXPECT_EQ(value(last, fakedrm::kPrimary, "FB_ID"), 0U);
  EXPECT_EQ(value(last, fakedrm::kConnector, "CRTC_ID"), 0U);
  EXPECT_TRUE(fakedrm::device().framebuffers.empty());
  EXPECT_TRUE(fakedrm::device().handles.empty());
}

TEST_F(DisplayTest, a_driver_without_modifiers_is_implicit)
{
  fakedrm::device().modifiers = false;
  auto display = open();
  ASSERT_TRUE(display);
  EXPECT_TRUE((*display)->formats().contains({DRM_FORMAT_NV12, kModImplicit}));
  EXPECT_FALSE((*display)->formats().contains({DRM_FORMAT_NV12, kModLinear}));
}

TEST_F(DisplayTest, no_master_no_connection)
{
  fakedrm::device().master = false;
  auto taken = open();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().sys_errno, EBUSY);
  fakedrm::device().master = true;
  fakedrm::device().connected = false;
  auto unplugged = open();
  ASSERT_FALSE(unplugged);
  EXPECT_NE(unplugged.error().message.find("Virtual-1"), std::string::npos);
}

TEST_F(DisplayTest, both_planes_in_one_dmabuf_share_one_handle)
{
  auto display = open();
  ASSERT_TRUE(display);
  auto one = (*display)->import(nv12(memory, memory, 640, 480));
  ASSERT_TRUE(one);
  EXPECT_EQ(fakedrm::device().handles.size(), 1U);
  EXPECT_EQ(fakedrm::device().handles.begin()->second, 1); // imported once, for both planes
  const Memory other{640 * 240};
  auto two = (*display)->import(nv12(memory, other, 640, 480));
  ASSERT_TRUE(two);
  EXPECT_FALSE(two->hit);
  EXPECT_EQ(fakedrm::device().handles.size(), 2U);
}

// A compressed layout has more planes than its format: they go to the kernel as they came.
TEST_F(DisplayTest, auxiliary_planes_pass_through)
{
  auto display = open();
  ASSERT_TRUE(display);
  const Memory aux{4096};
  for (const Memory *second : std::initializer_list<const Memory *>{&memory, &aux}) {
    FrameLayout layout = xrgb(memory, 640, 480);
    layout.format.modifier = I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS;
    layout.n_planes = 2;
    layout.planes[1] = {second->fd.get(), second == &memory ? std::uint64_t{640} * 4 * 480 : 0, 64,
                        *query_object(second->fd.get())};
    auto import = (*display)->import(layout);
    ASSERT_TRUE(import) << import.error().message;
    EXPECT_EQ(fakedrm::device().plane_modifiers,
              std::vector<std::uint64_t>(2, I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS));
  }
  EXPECT_EQ(fakedrm::device().handles.size(), 2U);
}

TEST_F(DisplayTest, the_same_dmabuf_is_imported_once)
{
  auto display = open();
  ASSERT_TRUE(display);
  const UniqueFd duplicate = memory.fd.dup();
  FrameLayout layout = xrgb(memory, 640, 480);
  auto first = (*display)->import(layout);
  layout.planes[0].fd = duplicate.get();
  auto second = (*display)->import(layout);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->hit);
  EXPECT_TRUE(second->hit);
  EXPECT_EQ(first->framebuffer, second->framebuffer);
  layout.planes[0].stride_bytes += 256; // another layout of it is another framebuffer
  auto third = (*display)->import(layout);
  ASSERT_TRUE(third);
  EXPECT_FALSE(third->hit);
  EXPECT_EQ(fakedrm::device().handles.size(), 1U);
}

TEST_F(DisplayTest, dead_imports_are_kept_for_some_frames)
{
  auto display = open();
  ASSERT_TRUE(display);
  const Memory other{640 * 480 * 4};
  auto living = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(living);
  {
    auto dead = (*display)->import(xrgb(other, 640, 480));
    ASSERT_TRUE(dead);
  }
  for (std::uint64_t i = 0; i < ImportCache::kKeepFrames - 1; i++)
    ASSERT_TRUE((*display)->import(xrgb(memory, 640, 480)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 2U);
  for (int i = 0; i < 2; i++)
    ASSERT_TRUE((*display)->import(xrgb(memory, 640, 480)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U);
  // memory that is alive is kept for ever, seen or not
  const Memory third{640 * 480 * 4};
  for (int i = 0; i < 200; i++)
    ASSERT_TRUE((*display)->import(xrgb(third, 640, 480)));
  auto again = (*display)->import(xrgb(memory, 640, 480));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->hit);
}

TEST_F(DisplayTest, dead_imports_are_bounded_in_bytes)
{
  auto display = open();
  ASSERT_TRUE(display);
  for (int i = 0; i < 10; i++) {
    const Memory big{ImportCache::kKeepBytes / 4};
    ASSERT_TRUE((*display)->import(xrgb(big, 640, 480)));
  }
  EXPECT_LE(fakedrm::device().framebuffers.size(), 6U);
}

TEST_F(DisplayTest, a_change_of_picture_drops_the_imports)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const Memory other{1024 * 768 * 4};
  ASSERT_TRUE(show(**display, xrgb(memory, 640, 480)));
  ASSERT_TRUE(show(**display, xrgb(other, 640, 480)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  ASSERT_TRUE((*display)->configure(picture(1024, 768)));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U); // on screen
  ASSERT_TRUE(show(**display, xrgb(memory, 1024, 768)));
  ASSERT_TRUE((*display)->drain(kLong_ns));
  EXPECT_EQ(fakedrm::device().framebuffers.size(), 1U);
  EXPECT_EQ(listener.failures, 0);
}

// The whole life of a display. An Error ends it early.
Result<void> live(const DeviceRequest &request, Listener &listener, const Memory &a, const Memory &b)
{
  Result<std::shared_ptr<Display>> opened = Display::open(request, {}, listener);
  if (!opened)
    return opened.error();
  Display &display = **opened;
  if (Result<void> started = display.start(); !started)
    return started;
  if (Result<void> configured = display.configure(picture(640, 480)); !configured)
    return configured;
  for (const Memory *memory : {&a, &b, &a}) {
    Result<ImportCache::Import> import = display.import(xrgb(*memory, 640, 480));
    if (!import)
      return import.error();
    Frame frame;
    frame.framebuffer = import->framebuffer;
    if (memory != &a) // a mode set waits for its fence here, and this is none
      frame.acquire_fence = std::make_shared<UniqueFd>(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Result<Display::Shown> shown = display.show(frame, FlipQueue::Overflow::Wait);
    if (!shown)
      return shown.error();
    if (*shown == Display::Shown::Failed)
      return Error{ErrorCode::Device, "posted", 0};
  }
  if (!display.drain(kLong_ns))
    return Error{ErrorCode::Device, "not drained", 0};
  (void)display.snapshot(); // /dev/null is no fence, so it always fails in the end
  return display.stop();
}

class EveryFailure : public testing::TestWithParam<int> {};

TEST_P(EveryFailure, leaves_nothing_behind)
{
  const Memory a{640 * 480 * 4}, b{640 * 480 * 4};
  const unsigned fds_before = count_open_fds();
  int failed = 0;
  for (int n = 1;; n++) {
    UniqueFd drm_fd(fakedrm::plug());
    Listener listener;
    fakedrm::device().fail_at = n;
    fakedrm::device().error = GetParam();
    DeviceRequest request;
    request.fd = drm_fd.get();
    const Result<void> result = live(request, listener, a, b);
    const std::string where = "call " + std::to_string(n) + ": " + fakedrm::device().failed_call;
    ASSERT_EQ(fakedrm::alive(), 0) << where;
    ASSERT_EQ(fakedrm::device().double_closes, 0U) << where;
    ASSERT_TRUE(result || !result.error().message.empty()) << where;
    if (fakedrm::device().failed_call.empty()) {
      ASSERT_TRUE(result) << result.error().message;
      break; // n is past the last call
    }
    failed += result ? 0 : 1;
  }
  EXPECT_GT(failed, 30); // failures that a display cannot do without
  UniqueFd last(fakedrm::plug()); // lets the one before go
  last.reset();
  EXPECT_LE(count_open_fds(), fds_before + 1); // the fake's own end
}

INSTANTIATE_TEST_SUITE_P(Errors, EveryFailure, testing::Values(ENOMEM, EINVAL, EACCES, EBUSY, ENODEV),
                         [](const auto &info) { return std::string(strerrorname_np(info.param)); });

} // namespace
