// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams on displays of real drivers: sizes, formats, pitches, turns, overlays and cursors that change in
// mid-stream, snapshots, restarts. ProfileTest sees that the driver has refused test commits alone.
#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "profile_fixture.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;
using fakedrm::kCrtc;
using fakedrm::kPrimary;
using fakedrm::PlaneModel;

class ProfileStreams : public ProfileTest {
protected:
  void SetUp() override
  {
    ProfileTest::SetUp();
    light();
    before = state();
    ASSERT_NO_FATAL_FAILURE(open());
    ASSERT_TRUE(display->start());
  }
  void TearDown() override
  {
    ASSERT_TRUE(display->stop());
    EXPECT_EQ(state(), before);
    ProfileTest::TearDown();
  }

  // The format that every profile has.
  [[nodiscard]] static Format xrgb() { return {DRM_FORMAT_XRGB8888, model().modifiers ? kModLinear : kModImplicit}; }
  [[nodiscard]] bool takes(Format format) const { return display->formats().contains(format); }
  void begin(const FrameLayout &layout, int frames = 3)
  {
    ASSERT_TRUE(display->configure(picture_of(layout)));
    const Result<Shown> shown = show(layout, frames);
    ASSERT_TRUE(shown) << shown.error().message;
  }
  static const PlaneModel *plane_of(std::uint64_t type)
  {
    for (const PlaneModel &plane : model().planes)
      if (plane.type == type)
        return &plane;
    return nullptr;
  }
  // The plane with a framebuffer of this width and format; the black one under a picture is XR24.
  static const PlaneModel *picture_plane(std::uint32_t width, std::uint32_t fourcc = 0)
  {
    fakedrm::Device &d = fakedrm::device();
    for (const PlaneModel &plane : model().planes)
      if (const auto fb = static_cast<std::uint32_t>(now(plane.id, "FB_ID"));
          fb && d.sizes[fb].first == width && (!fourcc || d.fourccs[fb] == fourcc))
        return &plane;
    return nullptr;
  }
  static bool is_over(const PlaneModel &upper, const PlaneModel &lower)
  {
    if (!upper.has_zpos || !lower.has_zpos)
      return upper.id > lower.id;
    const std::uint64_t high = now(upper.id, "zpos"), low = now(lower.id, "zpos");
    return high > low || (high == low && upper.id > lower.id);
  }

  // Straight alpha is on a plane that blends it, where there is one.
  static void expect_blended(Format format)
  {
    const auto blends = [](const PlaneModel &plane) {
      return std::any_of(plane.blending.begin(), plane.blending.end(), [](const auto &mode) { return mode.name == "Coverage"; });
    };
    bool one_blends = false, picture_blends = false;
    for (const PlaneModel &plane : model().planes) {
      one_blends |= plane.type != DRM_PLANE_TYPE_CURSOR && plane.lists(format.fourcc, format.modifier) && blends(plane);
      const auto fb = static_cast<std::uint32_t>(now(plane.id, "FB_ID"));
      picture_blends |= fb && fakedrm::device().fourccs[fb] == format.fourcc && blends(plane);
    }
    EXPECT_EQ(picture_blends, one_blends);
  }

  std::vector<std::string> before;
};

TEST_P(ProfileStreams, AFrameIsOneCommit)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  const std::size_t commits = fakedrm::device().commits.size();
  const unsigned tests = fakedrm::device().tests;
  ASSERT_TRUE(show(layout, 10));
  EXPECT_EQ(fakedrm::device().commits.size(), commits + 10);
  EXPECT_EQ(fakedrm::device().tests, tests);
  EXPECT_EQ(fakedrm::device().commits.back().values.size(), 1U);
}

TEST_P(ProfileStreams, SizesChange)
{
  for (const auto &[width, height] : {std::pair(1024U, 768U), std::pair(640U, 480U), std::pair(1024U, 768U)})
    ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), width, height)));
  const std::string other = outcome(frame(memory, xrgb(), 800, 600));
  if (other.find("refused") == std::string::npos) {
    ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768)));
  }
}

// What the offer says of the next format, while this one is shown, is what becomes of it.
TEST_P(ProfileStreams, FormatsChange)
{
  std::vector<Format> formats;
  for (const std::uint32_t fourcc : {DRM_FORMAT_NV12, DRM_FORMAT_RGB565, DRM_FORMAT_ARGB8888, DRM_FORMAT_XRGB8888})
    if (const Format format{fourcc, xrgb().modifier}; takes(format))
      formats.push_back(format);
  for (const Format &format : formats) {
    const FrameLayout layout = frame(memory, format, 1024, 768);
    const std::optional<Refusal> refusal = display->refusal(picture_of(layout));
    EXPECT_FALSE(refusal) << refusal->reason;
    ASSERT_NO_FATAL_FAILURE(begin(layout));
    if (format.fourcc == DRM_FORMAT_ARGB8888)
      expect_blended(format);
  }
}

// A decoder may allocate anew without new caps, or mix buffers of its own with those of a pool.
TEST_P(ProfileStreams, PitchesChange)
{
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768)));
  for (const std::uint32_t more : {512U, 0U, 1024U, 1024U, 0U})
    ASSERT_TRUE(show(frame(memory, xrgb(), 1024, 768, more), 2));
  EXPECT_EQ(display->counters().shown, 13U);
}

// That a driver takes other offsets in a flip says nothing of pitches, nor of the distances between
// planes.
TEST_P(ProfileStreams, OffsetsChangeAndThenPitches)
{
  FrameLayout moved = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(moved));
  moved.planes[0].offset_bytes += 1024;
  ASSERT_TRUE(show(moved, 2));
  moved.planes[0].offset_bytes += 1024;
  const unsigned tests = fakedrm::device().tests;
  ASSERT_TRUE(show(moved, 2));
  EXPECT_EQ(fakedrm::device().tests, tests); // the driver takes that
  for (const std::uint32_t more : {512U, 0U})
    ASSERT_TRUE(show(frame(memory, xrgb(), 1024, 768, more), 2));
  EXPECT_EQ(display->counters().shown, 11U);
  EXPECT_TRUE(takes(xrgb()));
}

TEST_P(ProfileStreams, TheViewChanges)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  View turned;
  turned.rotation = DRM_MODE_ROTATE_180;
  View small;
  small.area = Rectangle{64, 64, 512, 384};
  for (const View &view : {turned, small, View{}}) {
    display->set_view(view);
    ASSERT_TRUE(show(layout, 3));
  }
  for (const std::string &error : heard.view_errors) { // says why, for each plane
    for (const PlaneModel &plane : model().planes)
      EXPECT_TRUE(names_plane(error, plane.id) || error.find(" more planes. GST_DEBUG=") != std::string::npos) << error;
    EXPECT_LE(error.size(), kMostText) << error;
  }
}

std::shared_ptr<const Overlay> box(std::int32_t x)
{
  auto pixels = std::make_shared<std::vector<std::uint32_t>>(64 * 64, 0xff112233U);
  OverlayImage image;
  image.pixels = reinterpret_cast<const std::uint8_t *>(pixels->data());
  image.stride_bytes = 64 * 4;
  image.width = image.height = 64;
  image.place = {x, 50, 64, 64};
  image.owner = pixels;
  auto overlay = std::make_shared<Overlay>();
  overlay->images = {image};
  return overlay;
}

TEST_P(ProfileStreams, OverlaysAreOverThePicture)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_TRUE(display->configure(picture_of(layout)));
  for (const std::int32_t x : {100, 110, 1000}) // the last hangs over the edge
    ASSERT_TRUE(show(layout, 2, box(x)));
  const PlaneModel *over = picture_plane(64);
  // the one at the edge is smaller
  const bool has_plane = plane_of(DRM_PLANE_TYPE_OVERLAY) && !model().keeps_size;
  EXPECT_EQ(over != nullptr, has_plane);
  EXPECT_EQ(display->can_overlay(), has_plane);
  if (over) {
    EXPECT_TRUE(is_over(*over, *picture_plane(1024)));
  }
  ASSERT_TRUE(show(layout, 2)); // and goes
  EXPECT_FALSE(picture_plane(64));
}

TEST_P(ProfileStreams, CursorsMove)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  CursorImage image;
  image.width = image.height = 24;
  image.pixels.assign(std::size_t{24} * 24 * 4, 0xff);
  const PlaneModel *cursor = plane_of(DRM_PLANE_TYPE_CURSOR);
  ASSERT_EQ(static_cast<bool>(display->set_cursor(image)), cursor != nullptr);
  if (!cursor)
    return;
  for (const auto &[x, y] : {std::pair(10, 10), std::pair(-20, -20), std::pair(1000, 750), std::pair(500, 300)}) {
    display->move_cursor(x, y);
    ASSERT_TRUE(show(layout, 2));
    EXPECT_EQ(static_cast<std::int32_t>(now(cursor->id, "CRTC_X")), x);
  }
  ASSERT_TRUE(display->set_cursor({}));
  ASSERT_TRUE(show(layout, 2));
  EXPECT_EQ(now(cursor->id, "FB_ID"), 0U);
}

TEST_P(ProfileStreams, SnapshotsWhereThereIsAWritebackConnector)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  const Result<Snapshot> snapshot = display->snapshot();
  const bool has_writeback = !model().writeback.empty();
  if (!has_writeback) {
    ASSERT_FALSE(snapshot);
    EXPECT_NE(snapshot.error().message.find("writeback"), std::string::npos) << snapshot.error().message;
  }
  ASSERT_TRUE(show(layout, 3));
}

TEST_P(ProfileStreams, Restarts)
{
  for (int i = 0; i < 5; i++) {
    ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), i % 2 ? 640 : 1024, i % 2 ? 480 : 768)));
    ASSERT_TRUE(display->stop());
    EXPECT_EQ(state(), before);
    ASSERT_TRUE(display->start());
  }
}

// Another program has left every plane as low as it goes.
TEST_P(ProfileStreams, PlanesThatWereLeftLow)
{
  ASSERT_TRUE(display->stop());
  display.reset();
  for (const PlaneModel &plane : model().planes)
    if (plane.has_zpos && !plane.zpos_is_fixed)
      fakedrm::device().found[{plane.id, "zpos"}] = plane.least_zpos;
  before = state();
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_TRUE(display->start());
  for (const auto &[fourcc, width, height] : {std::tuple(DRM_FORMAT_NV12, 800U, 600U), {DRM_FORMAT_XRGB8888, 800U, 600U},
                                              {DRM_FORMAT_ARGB8888, 1000U, 700U}, {DRM_FORMAT_NV12, 1024U, 768U}}) {
    const Format format{fourcc, xrgb().modifier};
    if (!takes(format) || outcome(frame(memory, format, width, height)).find("refused") != std::string::npos)
      continue;
    const PlaneModel *picture = picture_plane(width, fourcc);
    ASSERT_TRUE(picture);
    for (const PlaneModel &plane : model().planes)
      if (&plane != picture && now(plane.id, "FB_ID") != 0) {
        EXPECT_TRUE(is_over(*picture, plane)) << "plane " << picture->id << " lies under plane " << plane.id << " at " << width;
      }
  }
}

// And the cursor's opaque.
TEST_P(ProfileStreams, CursorsThatWereLeftLow)
{
  const PlaneModel *cursor = plane_of(DRM_PLANE_TYPE_CURSOR);
  if (!cursor)
    return;
  ASSERT_TRUE(display->stop());
  display.reset();
  for (const PlaneModel &plane : model().planes)
    if (plane.has_zpos && !plane.zpos_is_fixed)
      fakedrm::device().found[{plane.id, "zpos"}] = plane.least_zpos;
  std::uint64_t premultiplied = 0;
  for (const auto &mode : cursor->blending) {
    if (mode.name == "None")
      fakedrm::device().found[{cursor->id, "pixel blend mode"}] = mode.value;
    if (mode.name == "Pre-multiplied")
      premultiplied = mode.value;
  }
  before = state();
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_TRUE(display->start());
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  CursorImage image;
  image.width = image.height = 24;
  image.pixels.assign(std::size_t{24} * 24 * 4, 0xff);
  ASSERT_TRUE(display->set_cursor(image));
  ASSERT_TRUE(show(layout, 2));
  ASSERT_NE(now(cursor->id, "FB_ID"), 0U);
  for (const PlaneModel &plane : model().planes)
    if (&plane != cursor && now(plane.id, "FB_ID") != 0) {
      EXPECT_TRUE(is_over(*cursor, plane)) << "the cursor lies under plane " << plane.id;
    }
  if (!cursor->blending.empty()) {
    EXPECT_EQ(now(cursor->id, "pixel blend mode"), premultiplied);
  }
}

// Tearing flips where the driver has them, and a clear refusal where it has none.
TEST_P(ProfileStreams, TearingFlips)
{
  ASSERT_TRUE(display->stop());
  display.reset();
  DeviceRequest request;
  request.fd = drm_fd.get();
  OutputRequest output;
  output.tearing = true;
  auto opened = Display::open(request, output, heard);
  ASSERT_EQ(static_cast<bool>(opened), model().async);
  if (!opened) {
    EXPECT_NE(opened.error().message.find("tearing"), std::string::npos) << opened.error().message;
    ASSERT_NO_FATAL_FAILURE(open());
  } else {
    display = *opened;
  }
  ASSERT_TRUE(display->start());
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768), 5));
}

// Beside the program whose picture is on the primary plane: on a plane of its own, and nothing of that
// program's changes; where there is no such plane, the error says so.
TEST_P(ProfileStreams, BesideAnotherProgram)
{
  ASSERT_TRUE(display->stop());
  display.reset();
  DeviceRequest request;
  request.fd = drm_fd.get();
  OutputRequest output;
  output.mode.kind = ModeRequest::Kind::Current;
  auto opened = Display::open(request, output, heard);
  ASSERT_EQ(static_cast<bool>(opened), plane_of(DRM_PLANE_TYPE_OVERLAY) != nullptr);
  if (!opened) {
    EXPECT_FALSE(opened.error().message.empty());
    ASSERT_NO_FATAL_FAILURE(open());
    ASSERT_TRUE(display->start());
    return;
  }
  display = *opened;
  ASSERT_TRUE(display->start());
  const std::size_t commits = fakedrm::device().commits.size();
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768)));
  if (!model().keeps_size) { // else a plane that is on stays as large as it is
    ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 640, 480)));
  }
  const PlaneModel *picture = picture_plane(model().keeps_size ? 1024 : 640);
  ASSERT_TRUE(picture);
  EXPECT_TRUE(is_over(*picture, model().planes.front()));
  for (std::size_t i = commits; i < fakedrm::device().commits.size(); i++)
    for (const auto &[key, value] : fakedrm::device().commits[i].values)
      EXPECT_TRUE(key.first == picture->id || key.second == "OUT_FENCE_PTR") << key.first << " " << key.second;
}

// The link of the display was lost before the sink came.
TEST_P(ProfileStreams, AModeSetMendsTheLink)
{
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768)));
  EXPECT_EQ(now(fakedrm::kConnector, "link-status"), std::uint64_t{DRM_MODE_LINK_STATUS_GOOD});
}

// Rows that the driver does not take are refused with the pitch in the text, and the stream can go on.
TEST_P(ProfileStreams, PitchesThatAreRefused)
{
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 1024, 768)));
  const FrameLayout odd = frame(memory, xrgb(), 1024, 768, 4);
  const Result<FramebufferCache::Import> import = display->import(odd);
  EXPECT_EQ(static_cast<bool>(import), model().pitch == 1);
  if (!import) {
    EXPECT_NE(import.error().message.find("/4100"), std::string::npos) << import.error().message;
    // which it is
    EXPECT_EQ(import.error().message.find("ask it for linear"), std::string::npos) << import.error().message;
  }
  ASSERT_TRUE(show(frame(memory, xrgb(), 1024, 768), 2));
}

// Calls that fail do so on each profile, beside what its driver refuses: the stream goes on, or its error says which call.
TEST_P(ProfileStreams, FaultsBesideTheFacts)
{
  const FrameLayout layout = frame(memory, xrgb(), 1024, 768);
  ASSERT_NO_FATAL_FAILURE(begin(layout));
  fakedrm::device().busy_commits = 3;
  ASSERT_TRUE(show(layout, 4));
  EXPECT_EQ(fakedrm::device().busy_commits, 0);
  fakedrm::device().fail_call = "drmModeAddFB2WithModifiers";
  const Result<FramebufferCache::Import> import = display->import(frame(memory, xrgb(), 640, 480));
  ASSERT_FALSE(import);
  EXPECT_NE(import.error().message.find("ADDFB2"), std::string::npos) << import.error().message;
  fakedrm::device().fail_call.clear();
  ASSERT_NO_FATAL_FAILURE(begin(frame(memory, xrgb(), 640, 480)));
}

INSTANTIATE_TEST_SUITE_P(Profiles, ProfileStreams, testing::ValuesIn(profile_names()), name_of);

} // namespace
