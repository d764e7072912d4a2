// SPDX-License-Identifier: LGPL-2.1-or-later
// What a probe finds out of drivers that differ.
#include "engine/egl_probe.hpp"

#include <drm_fourcc.h>

#include "egl_frames.hpp"

namespace gstdrm::egl {
namespace {

using test::MemfdFrame;
using Outcome = Probe::Outcome;

constexpr Format kNv12{DRM_FORMAT_NV12, kModLinear};

class ProbeTest : public test::WithDevice {
protected:
  // Remembers the alignments that were asked for.
  MakeScratch scratch()
  {
    return [this](Format format, std::uint32_t width, std::uint32_t height,
                  std::uint32_t stride_align) -> Result<ScratchFrame> {
      asked_.push_back(stride_align);
      if (stride_align > most_)
        return Error{ErrorCode::Allocation, "no memory for such rows", 0};
      auto frame = std::make_shared<MemfdFrame>(format.fourcc, width, height, stride_align);
      frame->layout.format.modifier = format.modifier;
      return ScratchFrame{frame->layout, frame};
    };
  }

  std::vector<std::uint32_t> asked_;
  std::uint32_t most_ = 1U << 20;
};

using Alignments = std::vector<std::uint32_t>;

struct ProbeRow {
  EGLint wanted; // by the driver
  std::uint32_t width;
  std::uint32_t stride_align; // 0: refused
  Alignments asked;
};

// radeonsi takes linear rows that are multiples of 256 bytes: not those of NV12 at width 640.
TEST_F(ProbeTest, LeastAlignmentThatTheDriverTakes)
{
  const ProbeRow rows[] = {
      {1, 642, 1, {1}},
      {256, 1024, 1, {1}},
      {256, 640, 256, {1, 256}},         // 640 is a multiple of 128
      {256, 642, 256, {1, 16, 64, 128}}, // 768, which is more than 128 was meant to give
      {64, 642, 64, {1, 16, 64}},
      {16, 642, 16, {1, 16}},
      {512, 640, 512, {1, 256, 512}},
      {4096, 640, 4096, {1, 256, 512, 4096}},
      {8192, 640, 0, {1, 256, 512, 4096}},
  };
  for (const ProbeRow &row : rows) {
    driver_.pitch_alignment = row.wanted;
    asked_.clear();
    for (const Shape shape : {Shape::OneImage, Shape::PerPlane}) {
      asked_.clear();
      const Probe probe = probe_import(device_, kNv12, row.width, 480, shape, scratch());
      const std::string name = std::to_string(row.wanted) + ", " + std::to_string(row.width);
      EXPECT_EQ(asked_, row.asked) << name;
      if (row.stride_align == 0) {
        EXPECT_EQ(probe.outcome, Outcome::Refused) << name;
        EXPECT_NE(probe.reason.find("EGL_BAD_ALLOC"), std::string::npos) << probe.reason;
      } else {
        EXPECT_EQ(probe.outcome, Outcome::Taken) << name << ": " << probe.reason;
        EXPECT_EQ(probe.stride_align, row.stride_align) << name;
      }
      EXPECT_EQ(driver_.alive(), 0U);
    }
  }
}

TEST_F(ProbeTest, RefusedAlways)
{
  driver_.refuse_image = [](const test::FakeImage &) { return EGL_BAD_MATCH; };
  const Probe probe = probe_import(device_, kNv12, 640, 480, Shape::OneImage, scratch());
  EXPECT_EQ(probe.outcome, Outcome::Refused);
  EXPECT_NE(probe.reason.find("EGL_BAD_MATCH (0x3009)"), std::string::npos) << probe.reason;
  EXPECT_EQ(probe.reason.find("could be tried"), std::string::npos) << probe.reason;
}

// What is tried is what a stream's frames are.
TEST_F(ProbeTest, WithHints)
{
  const ColorHints wide{EGL_ITU_REC2020_EXT, EGL_YUV_NARROW_RANGE_EXT, 0, 0};
  driver_.refuse_image = [](const test::FakeImage &image) {
    const auto space = image.hints.find(EGL_YUV_COLOR_SPACE_HINT_EXT);
    return space != image.hints.end() && space->second == EGL_ITU_REC2020_EXT ? EGL_BAD_MATCH
                                                                              : EGL_SUCCESS;
  };
  EXPECT_EQ(probe_import(device_, kNv12, 640, 480, Shape::OneImage, scratch()).outcome,
            Outcome::Taken);
  EXPECT_EQ(probe_import(device_, kNv12, 640, 480, Shape::OneImage, scratch(), wide).outcome,
            Outcome::Refused);
}

// Memory whose rows are longer than was asked for proves no more than that.
TEST_F(ProbeTest, LongRowsAreWhatIsProved)
{
  const MakeScratch padded = [](Format format, std::uint32_t width, std::uint32_t height,
                                std::uint32_t) -> Result<ScratchFrame> {
    auto frame = std::make_shared<MemfdFrame>(format.fourcc, width, height, 256);
    return ScratchFrame{frame->layout, frame};
  };
  EXPECT_EQ(probe_import(device_, kNv12, 640, 480, Shape::OneImage, padded).stride_align, 256U);
  EXPECT_EQ(probe_import(device_, kNv12, 1024, 480, Shape::OneImage, padded).stride_align, 1U);
}

// Listed is not usable.
TEST_F(ProbeTest, TiledIsListedAndRefused)
{
  driver_.formats = {
      {DRM_FORMAT_XRGB8888, {{kModLinear, false}, {I915_FORMAT_MOD_X_TILED, false}}}};
  open();
  driver_.refuse_image = [](const test::FakeImage &image) {
    return image.planes[0]->modifier == kModLinear ? EGL_SUCCESS : EGL_BAD_ALLOC;
  };
  const Probe tiled = probe_import(device_, {DRM_FORMAT_XRGB8888, I915_FORMAT_MOD_X_TILED}, 640,
                                   480, Shape::OneImage, scratch());
  EXPECT_EQ(tiled.outcome, Outcome::Refused);
  EXPECT_EQ(asked_, Alignments{1}) << "the rows of a tiled frame are its allocator's";
  const Probe linear = probe_import(device_, {DRM_FORMAT_XRGB8888, kModLinear}, 640, 480,
                                    Shape::OneImage, scratch());
  EXPECT_EQ(linear.outcome, Outcome::Taken);
}

TEST_F(ProbeTest, NoMemoryIsNoRefusal)
{
  most_ = 0;
  const Probe none = probe_import(device_, kNv12, 640, 480, Shape::OneImage, scratch());
  EXPECT_EQ(none.outcome, Outcome::NotTried);
  EXPECT_NE(none.reason.find("no memory for such rows"), std::string::npos);
  EXPECT_EQ(driver_.calls_of("eglCreateImageKHR"), 0U);

  most_ = 128;
  driver_.pitch_alignment = 256;
  const Probe some = probe_import(device_, kNv12, 640, 480, Shape::OneImage, scratch());
  EXPECT_EQ(some.outcome, Outcome::Refused);
  EXPECT_NE(some.reason.find("EGL_BAD_ALLOC"), std::string::npos);
  EXPECT_NE(some.reason.find("could be tried: no memory for such rows"), std::string::npos);
}

// An allocator may align more than it is asked to, as udmabuf's does.
TEST_F(ProbeTest, RowsThatDidNotChangeAreNotTriedAgain)
{
  driver_.pitch_alignment = 512;
  std::vector<std::uint32_t> asked;
  const MakeScratch generous = [&asked](Format format, std::uint32_t width, std::uint32_t height,
                                        std::uint32_t stride_align) -> Result<ScratchFrame> {
    asked.push_back(stride_align);
    auto frame =
        std::make_shared<MemfdFrame>(format.fourcc, width, height, std::max(256U, stride_align));
    return ScratchFrame{frame->layout, frame};
  };
  const Probe probe = probe_import(device_, kNv12, 642, 480, Shape::OneImage, generous);
  EXPECT_EQ(probe.outcome, Outcome::Taken);
  EXPECT_EQ(probe.stride_align, 512U);
  EXPECT_EQ(asked, (Alignments{1, 512}));
}

} // namespace
} // namespace gstdrm::egl
