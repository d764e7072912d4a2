// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gst/drm/alloc/linear_plan.hpp>

#include <string>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include <gst/drm/alloc/pitch_fit.hpp>

using namespace gstdrm;

namespace {

struct PlanRow {
  const char *name;
  std::uint32_t fourcc;
  std::uint32_t width;
  std::uint32_t height;
  Padding padding;
  std::uint32_t stride_align;
  std::uint32_t padded_width;
  std::uint32_t padded_height;
  std::size_t n_planes;
  std::array<std::uint32_t, 3> strides;
  std::array<std::uint64_t, 3> offsets; // of the first visible pixel
  std::uint64_t size;
};

std::string row_name(const testing::TestParamInfo<PlanRow> &info)
{
  return info.param.name;
}

// gtest prints parameters byte by byte otherwise, padding bytes included
void PrintTo(const PlanRow &row, std::ostream *out)
{
  *out << row.name;
}

FrameRequest request_for(std::uint32_t fourcc, std::uint32_t width, std::uint32_t height)
{
  FrameRequest request;
  request.fourcc = fourcc;
  request.width = width;
  request.height = height;
  request.modifiers = std::span(&kModLinear, 1);
  return request;
}

class Plans : public testing::TestWithParam<PlanRow> {};

TEST_P(Plans, LayOutAsExpected)
{
  const PlanRow &row = GetParam();
  FrameRequest request = request_for(row.fourcc, row.width, row.height);
  request.padding = row.padding;
  request.stride_align = row.stride_align;
  const auto plan = make_linear_plan(request);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->format, (Format{row.fourcc, kModLinear}));
  EXPECT_EQ(plan->padded_width, row.padded_width);
  EXPECT_EQ(plan->padded_height, row.padded_height);
  ASSERT_EQ(plan->n_planes, row.n_planes);
  for (std::size_t i = 0; i < row.n_planes; ++i) {
    EXPECT_EQ(plan->stride_bytes[i], row.strides[i]) << "plane " << i;
    EXPECT_EQ(plan->base_bytes[i] + plan->origin_bytes[i], row.offsets[i]) << "plane " << i;
  }
  EXPECT_EQ(plan->size_bytes, row.size);
  // the padding as realised is what was asked at least, and adds up
  EXPECT_GE(plan->padding.left, row.padding.left);
  EXPECT_GE(plan->padding.right, row.padding.right);
  EXPECT_GE(plan->padding.top, row.padding.top);
  EXPECT_GE(plan->padding.bottom, row.padding.bottom);
  EXPECT_EQ(plan->padding.left + row.width + plan->padding.right, plan->padded_width);
  EXPECT_EQ(plan->padding.top + row.height + plan->padding.bottom, plan->padded_height);

  const AllocatedFrame frame = frame_from_plan(*plan, FrameObject{});
  EXPECT_EQ(frame.padding.left, plan->padding.left);
  EXPECT_EQ(frame.padding.right, plan->padding.right);
  EXPECT_EQ(frame.padding.top, plan->padding.top);
  EXPECT_EQ(frame.padding.bottom, plan->padding.bottom);
  ASSERT_EQ(frame.n_planes, row.n_planes);
  for (std::size_t i = 0; i < row.n_planes; ++i)
    EXPECT_EQ(frame.planes[i].offset_bytes, row.offsets[i]) << "plane " << i;
}

INSTANTIATE_TEST_SUITE_P(
    Linear, Plans,
    testing::Values(
        PlanRow{"xr24_640x480_is_tight", DRM_FORMAT_XRGB8888, 640, 480, {}, 1, 640, 480, 1, {2560}, {0},
                2560 * 480},
        PlanRow{"xr24_641x481_pads_to_256_bytes", DRM_FORMAT_XRGB8888, 641, 481, {}, 1, 704, 481, 1,
                {2816}, {0}, 2816 * 481},
        PlanRow{"nv12_640x480_not_tight", DRM_FORMAT_NV12, 640, 480, {}, 1, 768, 480, 2, {768, 768},
                {0, 768 * 480}, 768 * 720},
        PlanRow{"nv12_1920x1080_is_2048_wide", DRM_FORMAT_NV12, 1920, 1080, {}, 1, 2048, 1080, 2,
                {2048, 2048}, {0, 2048 * 1080}, 2048 * 1620},
        PlanRow{"nv12_641x481_evens_the_height", DRM_FORMAT_NV12, 641, 481, {}, 1, 768, 482, 2, {768, 768},
                {0, 768 * 482}, 768 * 723},
        PlanRow{"yu12_64x64_chroma_aligned_too", DRM_FORMAT_YUV420, 64, 64, {}, 1, 512, 64, 3,
                {512, 256, 256}, {0, 512 * 64, 512 * 64 + 256 * 32}, 512 * 96},
        PlanRow{"yu12_641x481_chroma_is_half", DRM_FORMAT_YUV420, 641, 481, {}, 1, 1024, 482, 3,
                {1024, 512, 512}, {0, 1024 * 482, 1024 * 482 + 512 * 241}, 1024 * 723},
        PlanRow{"yu24_has_no_subsampling", DRM_FORMAT_YUV444, 641, 481, {}, 1, 768, 481, 3,
                {768, 768, 768}, {0, 768 * 481, 2 * 768 * 481}, 3 * 768 * 481},
        PlanRow{"p010_1920x1080", DRM_FORMAT_P010, 1920, 1080, {}, 1, 1920, 1080, 2, {3840, 3840},
                {0, 3840 * 1080}, 3840 * 1620},
        PlanRow{"rg24_rows_end_within_a_pixel", DRM_FORMAT_RGB888, 640, 480, {}, 256, 682, 480, 1, {2048}, {0}, 983040},
        PlanRow{"yuyv_blocks_of_two_pixels", DRM_FORMAT_YUYV, 641, 2, {}, 1, 768, 2, 1, {1536}, {0}, 3072},
        PlanRow{"one_pixel", DRM_FORMAT_R8, 1, 1, {}, 1, 256, 1, 1, {256}, {0}, 256},
        PlanRow{"largest_nv12", DRM_FORMAT_NV12, 16384, 16384, {}, 1, 16384, 16384, 2, {16384, 16384},
                {0, 1 << 28}, std::uint64_t{16384} * 24576},
        PlanRow{"stride_align_4096", DRM_FORMAT_NV12, 1920, 1080, {}, 4096, 4096, 1080, 2, {4096, 4096},
                {0, 4096 * 1080}, 4096 * 1620},
        PlanRow{"decoder_padding_right_and_bottom", DRM_FORMAT_NV12, 1920, 1080, {0, 32, 0, 8}, 1, 2048,
                1088, 2, {2048, 2048}, {0, 2048 * 1088}, 2048 * 1632},
        PlanRow{"padding_on_the_right_widens", DRM_FORMAT_NV12, 64, 64, {0, 256, 0, 0}, 1, 512, 64, 2, {512, 512},
                {0, 512 * 64}, 512 * 96},
        PlanRow{"edges_move_the_picture", DRM_FORMAT_YUV420, 320, 240, {32, 32, 32, 32}, 1, 1024, 304, 3,
                {1024, 512, 512},
                {32 * 1024 + 512, 1024 * 304 + 16 * 512 + 256, 1024 * 304 + 512 * 152 + 16 * 512 + 256},
                1024 * 456},
        PlanRow{"stride_align_65536_is_the_most", DRM_FORMAT_R8, 1, 1, {}, 65536, 65536, 1, 1, {65536}, {0}, 65536},
        PlanRow{"largest_frame_is_4_gib", DRM_FORMAT_XRGB16161616, 16384, 16384, {0, 0, 16384, 0}, 1, 16384, 32768, 1,
                {131072}, {std::uint64_t{16384} * 131072}, std::uint64_t{1} << 32},
        PlanRow{"yuyv_left_edge_counts_blocks", DRM_FORMAT_YUYV, 64, 2, {2, 0, 0, 0}, 1, 256, 2, 1, {512}, {256}, 1024},
        PlanRow{"largest_height", DRM_FORMAT_R8, 1, 16384, {}, 1, 256, 16384, 1, {256}, {0}, 256 * 16384},
        PlanRow{"odd_edges_move_on", DRM_FORMAT_NV12, 64, 64, {3, 0, 1, 0}, 1, 512, 66, 2, {512, 512},
                {2 * 512 + 256, 512 * 66 + 512 + 256}, 512 * 99}),
    row_name);

struct RefusedRow {
  const char *name;
  std::uint32_t fourcc;
  std::uint32_t width;
  std::uint32_t height;
  Padding padding;
  std::uint32_t stride_align;
  const char *says;
};

std::string refused_name(const testing::TestParamInfo<RefusedRow> &info)
{
  return info.param.name;
}

void PrintTo(const RefusedRow &row, std::ostream *out)
{
  *out << row.name;
}

class Refusals : public testing::TestWithParam<RefusedRow> {};

TEST_P(Refusals, SayWhy)
{
  const RefusedRow &row = GetParam();
  FrameRequest request = request_for(row.fourcc, row.width, row.height);
  request.padding = row.padding;
  request.stride_align = row.stride_align;
  const auto plan = make_linear_plan(request);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find(row.says), std::string::npos) << plan.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Refusals,
    testing::Values(RefusedRow{"no_width", DRM_FORMAT_NV12, 0, 480, {}, 1, "0x480"},
                    RefusedRow{"no_height", DRM_FORMAT_NV12, 640, 0, {}, 1, "640x0"},
                    RefusedRow{"too_wide", DRM_FORMAT_NV12, 16385, 480, {}, 1, "16384"},
                    RefusedRow{"too_high", DRM_FORMAT_NV12, 640, 0xffffffff, {}, 1, "16384"},
                    RefusedRow{"padding_would_wrap", DRM_FORMAT_NV12, 640, 480, {0xfffffff0, 0, 0, 0}, 1,
                               "padding"},
                    RefusedRow{"padding_on_the_right_would_wrap", DRM_FORMAT_NV12, 640, 480, {0, 0xfffffff0, 0, 0}, 1,
                               "padding"},
                    RefusedRow{"padding_above_would_wrap", DRM_FORMAT_NV12, 640, 480, {0, 0, 0xfffffff0, 0}, 1,
                               "padding"},
                    RefusedRow{"padding_below_would_wrap", DRM_FORMAT_NV12, 640, 480, {0, 0, 0, 0xfffffff0}, 1,
                               "padding"},
                    RefusedRow{"unknown_fourcc", 0x20202021, 640, 480, {}, 1, "not known"},
                    RefusedRow{"no_fourcc", 0, 640, 480, {}, 1, "not known"},
                    RefusedRow{"odd_alignment", DRM_FORMAT_NV12, 640, 480, {}, 48, "48"},
                    RefusedRow{"no_alignment", DRM_FORMAT_NV12, 640, 480, {}, 0, "power of two"},
                    RefusedRow{"huge_alignment", DRM_FORMAT_NV12, 640, 480, {}, 1U << 31, "65536"},
                    RefusedRow{"beyond_32_bits", DRM_FORMAT_XRGB16161616, 16384, 16384,
                               {16384, 16384, 16384, 16384}, 1, "4 GiB"}),
    refused_name);

// A device that rounds its pitch to `round` and takes `most` bytes of a row.
struct FakeSurface {
  std::uint32_t pitch_bytes = 0;
  std::uint64_t size_bytes = 0;
};

struct FakeDevice {
  std::uint32_t round;
  int calls = 0;
  Result<FakeSurface> operator()(std::uint32_t pitch, std::uint32_t rows)
  {
    ++calls;
    const std::uint32_t rounded = (pitch + round - 1) / round * round;
    return FakeSurface{rounded, std::uint64_t{rounded} * rows};
  }
};

struct PitchRow {
  const char *name;
  std::uint32_t fourcc;
  std::uint32_t round;
  int calls;
  std::array<std::uint32_t, 3> strides;
};

std::string pitch_name(const testing::TestParamInfo<PitchRow> &info)
{
  return info.param.name;
}

void PrintTo(const PitchRow &row, std::ostream *out)
{
  *out << row.name;
}

class Pitches : public testing::TestWithParam<PitchRow> {};

TEST_P(Pitches, AreFollowed)
{
  const PitchRow &row = GetParam();
  FakeDevice device{row.round};
  const auto fit = fit_pitch(request_for(row.fourcc, 1920, 1080), std::ref(device));
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_EQ(device.calls, row.calls);
  for (std::size_t i = 0; i < fit->plan.n_planes; ++i)
    EXPECT_EQ(fit->plan.stride_bytes[i], row.strides[i]) << "plane " << i;
  EXPECT_EQ(fit->surface.pitch_bytes, fit->plan.stride_bytes[0]);
  EXPECT_GE(fit->surface.size_bytes, fit->plan.size_bytes);
}

INSTANTIATE_TEST_SUITE_P(Rounded, Pitches,
                         testing::Values(PitchRow{"as_asked", DRM_FORMAT_NV12, 64, 1, {2048, 2048}},
                                         PitchRow{"nv12_to_4096", DRM_FORMAT_NV12, 4096, 2, {4096, 4096}},
                                         PitchRow{"xr24_to_4096", DRM_FORMAT_XRGB8888, 4096, 2, {8192}},
                                         PitchRow{"yu12_keeps_chroma_at_half", DRM_FORMAT_YUV420, 4096, 2,
                                                  {8192, 4096, 4096}}),
                         pitch_name);

TEST(Pitch, TooSmallIsRefused)
{
  const auto fit = fit_pitch(request_for(DRM_FORMAT_NV12, 1920, 1080),
                             [](std::uint32_t, std::uint32_t) -> Result<FakeSurface> {
                               return FakeSurface{1024, 1 << 20};
                             });
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("1024"), std::string::npos) << fit.error().message;
}

// The planes of a frame need not be whole rows of the first plane together.
TEST(Pitch, LastRowMayBeInPart)
{
  FakeDevice device{64};
  const auto fit = fit_pitch(request_for(DRM_FORMAT_YUV410, 64, 4), std::ref(device));
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_NE(fit->plan.size_bytes % fit->plan.stride_bytes[0], 0U);
  EXPECT_GE(fit->surface.size_bytes, fit->plan.size_bytes);
}

TEST(Pitch, OfNoPowerOfTwoIsRefused)
{
  const auto fit = fit_pitch(request_for(DRM_FORMAT_NV12, 1920, 1080),
                             [](std::uint32_t pitch, std::uint32_t) -> Result<FakeSurface> {
                               return FakeSurface{pitch + 10, 1 << 24};
                             });
  ASSERT_FALSE(fit);
}

TEST(Pitch, FailureOfTheDeviceIsPassedOn)
{
  const auto fit = fit_pitch(request_for(DRM_FORMAT_NV12, 1920, 1080),
                             [](std::uint32_t, std::uint32_t) -> Result<FakeSurface> {
                               return Error{ErrorCode::Allocation, "device says no", 12};
                             });
  ASSERT_FALSE(fit);
  EXPECT_EQ(fit.error().message, "device says no");
}

TEST(Modifiers, AreNamedInMessages)
{
  const std::array<std::uint64_t, 3> some{0, I915_FORMAT_MOD_X_TILED, kModImplicit};
  const std::string text = describe_modifiers(some);
  EXPECT_NE(text.find("LINEAR"), std::string::npos) << text;
  EXPECT_NE(text.find("INTEL_X_TILED"), std::string::npos) << text;
  EXPECT_NE(text.find("implicit"), std::string::npos) << text;
  EXPECT_EQ(describe_modifiers({}), "nothing");
}

TEST(Modifiers, LongListsAreCut)
{
  const std::vector<std::uint64_t> many(40, I915_FORMAT_MOD_X_TILED);
  EXPECT_NE(describe_modifiers(many).find("24 more"), std::string::npos);
}

} // namespace
