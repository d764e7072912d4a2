// SPDX-License-Identifier: LGPL-2.1-or-later
// What create() refuses and why, which pictures are accepted, where boxes go back, and that all instruction sets give the same bytes.
#include <array>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <drm_fourcc.h>
#include <gtest/gtest.h>

#include "engine/preprocess.hpp"
#include "engine/preprocess/axis.hpp"
#include "engine/preprocess/rows.hpp"

using namespace gstdrm;
using namespace gstdrm::metis;

namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Refused {
  const char *name;
  void (*change)(Model &model);
  std::uint32_t fourcc;
  std::uint32_t width, height;
  ErrorCode code;
  const char *says; // part of the message
};

void nothing(Model &) {}

const Refused kRefused[] = {
    {"width_0", nothing, DRM_FORMAT_NV12, 0, 16, ErrorCode::Layout, "0x16"},
    {"height_0", nothing, DRM_FORMAT_NV12, 16, 0, ErrorCode::Layout, "16x0"},
    {"huge_frame", nothing, DRM_FORMAT_XRGB8888, 0xffffffff, 0xffffffff, ErrorCode::Layout, "4294967295x4294967295"},
    {"NV15", nothing, DRM_FORMAT_NV15, 16, 16, ErrorCode::Format, "made of NV15 frames: what is read is NV12, NV21,"},
    {"no_format", nothing, 0, 16, 16, ErrorCode::Format, "0x00000000"},
    {"no_dims", [](Model &m) { m.input.dims.clear(); }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "dimensions none"},
    {"three_dims", [](Model &m) { m.input.dims = {20, 30, 3}; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "20x30x3"},
    {"batch_of_2", [](Model &m) { m.input.dims[0] = 2; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "N has to be 1"},
    {"one_channel", [](Model &m) { m.input.dims[3] = 1; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "C without padding is 1"},
    {"four_channels", [](Model &m) { m.input.dims[3] = 4; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "C without padding is 4"},
    {"other_layout", [](Model &m) { m.image.layout = TensorLayout::Nchw; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "C without padding is 20"},
    {"no_rows", [](Model &m) { m.input.dims[1] = 0; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "H has to be 1 to"},
    {"product_overflows", [](Model &m) { m.input.dims = {1, kHuge / 2, kHuge / 2, 3}; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "H has to be 1 to"},
    {"padding_of_two_dims", [](Model &m) { m.input.padding.resize(2); }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "padding is given for 2"},
    {"nothing_but_padding", [](Model &m) { m.input.padding = {{}, {}, {10, 20}, {}}; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "leaves nothing of 30"},
    {"padding_overflows", [](Model &m) { m.input.padding = {{}, {kHuge, 2}, {}, {}}; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "leaves nothing of 20"},
    {"scale_0", [](Model &m) { m.input.quantisation->scale = 0; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "scale 0.0"},
    {"scale_not_a_number", [](Model &m) { m.input.quantisation->scale = static_cast<double>(kNan); }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "scale nan"},
    {"zero_point_outside", [](Model &m) { m.input.quantisation->zero_point = 128; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "zero point 128"},
    {"mean_not_a_number", [](Model &m) { m.image.mean[1] = kNan; }, DRM_FORMAT_NV12, 16, 16, ErrorCode::Unsupported, "channel 1"},
};

Model small_model()
{
  Model model;
  model.name = "small";
  model.image.layout = TensorLayout::Nhwc;
  model.input.type = TensorType::Int8;
  model.input.dims = {1, 20, 30, 3};
  model.input.quantisation = Quantisation{1.0 / 255, -128};
  return model;
}

class Refusals : public testing::TestWithParam<Refused> {};

TEST_P(Refusals, SayWhy)
{
  const Refused &row = GetParam();
  Model model = small_model();
  row.change(model);
  const auto made = Preprocessor::create(model, row.fourcc, row.width, row.height, ColorMatrix::Bt601, false);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, row.code);
  EXPECT_NE(made.error().message.find(row.says), std::string::npos) << made.error().message;
}

INSTANTIATE_TEST_SUITE_P(Create, Refusals, testing::ValuesIn(kRefused),
                         [](const auto &info) { return std::string(info.param.name); });

struct ViewRow {
  const char *name;
  void (*change)(PictureView &view);
};

constexpr ViewRow kViews[] = {
    {"stride_of_luma", [](PictureView &v) { v.strides[0] = 16; }},
    {"stride_of_chroma", [](PictureView &v) { v.strides[1] = 17; }},
    {"no_chroma", [](PictureView &v) { v.planes[1] = nullptr; }},
    {"wider", [](PictureView &v) { v.width = 18; }},
    {"other_format", [](PictureView &v) { v.fourcc = DRM_FORMAT_XRGB8888; }},
    {"other_matrix", [](PictureView &v) { v.matrix = ColorMatrix::Bt709; }},
    {"other_range", [](PictureView &v) { v.full_range = true; }},
};

class Views : public testing::TestWithParam<ViewRow> {};

TEST_P(Views, ThatDoNotFitAreRefused)
{
  const auto made = Preprocessor::create(small_model(), DRM_FORMAT_NV12, 17, 9, ColorMatrix::Bt601, false);
  ASSERT_TRUE(made);
  static constexpr std::array<std::uint8_t, 200> pixels{};
  PictureView view{DRM_FORMAT_NV12, 17, 9, {pixels.data(), pixels.data()}, {17, 18}, ColorMatrix::Bt601, false};
  ASSERT_TRUE(made->accepts(view));
  GetParam().change(view);
  EXPECT_FALSE(made->accepts(view));
}

INSTANTIATE_TEST_SUITE_P(Check, Views, testing::ValuesIn(kViews),
                         [](const auto &info) { return std::string(info.param.name); });

struct PlacementRow {
  const char *name;
  std::uint32_t width, height;
  Fit fit;
  Placement placement; // in 640x640
  LetterboxPlace place = LetterboxPlace::Centre;
};

constexpr PlacementRow kPlacements[] = {
    {"stretch", 1920, 1080, Fit::Stretch, {1.0F / 3, 640.0F / 1080, 0, 0}},
    {"wide", 1920, 1080, Fit::Letterbox, {1.0F / 3, 1.0F / 3, 0, 140}},
    {"high", 360, 720, Fit::Letterbox, {640.0F / 720, 640.0F / 720, 160, 0}},
    {"square", 64, 64, Fit::Letterbox, {10, 10, 0, 0}},
    {"a_line", 16384, 1, Fit::Letterbox, {640.0F / 16384, 1, 0, 319}},
    {"wide_in_the_corner", 1920, 1080, Fit::Letterbox, {1.0F / 3, 1.0F / 3, 0, 0}, LetterboxPlace::TopLeft},
    {"high_in_the_corner", 360, 720, Fit::Letterbox, {640.0F / 720, 640.0F / 720, 0, 0}, LetterboxPlace::TopLeft},
    {"stretched_in_the_corner", 1920, 1080, Fit::Stretch, {1.0F / 3, 640.0F / 1080, 0, 0}, LetterboxPlace::TopLeft},
};

class Placements : public testing::TestWithParam<PlacementRow> {};

TEST_P(Placements, AreThoseOfThePicture)
{
  const PlacementRow &row = GetParam();
  Model model = small_model();
  model.image.fit = row.fit;
  model.image.place = row.place;
  // padding does not count
  model.input.dims = {1, 650, 643, 3};
  model.input.padding = {{}, {4, 6}, {1, 2}, {}};
  const auto made = Preprocessor::create(model, DRM_FORMAT_XRGB8888, row.width, row.height, ColorMatrix::Bt601, false);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FLOAT_EQ(made->placement().scale_x, row.placement.scale_x);
  EXPECT_FLOAT_EQ(made->placement().scale_y, row.placement.scale_y);
  EXPECT_FLOAT_EQ(made->placement().offset_x, row.placement.offset_x);
  EXPECT_FLOAT_EQ(made->placement().offset_y, row.placement.offset_y);
}

INSTANTIATE_TEST_SUITE_P(Fits, Placements, testing::ValuesIn(kPlacements),
                         [](const auto &info) { return std::string(info.param.name); });

// Bytes in no order, and what loops made of them.
class LoopRun {
public:
  LoopRun(const RowLoops &loops, std::size_t n) : loops_(loops), n_(n), random_(static_cast<unsigned>(n) + 1) {}

  std::vector<std::uint8_t> outputs()
  {
    run_rgb();
    run_unpack();
    run_nv12();
    run_writers();
    return all_;
  }

private:
  std::vector<std::uint8_t> bytes(std::size_t size)
  {
    std::vector<std::uint8_t> made(size);
    for (auto &byte : made)
      byte = static_cast<std::uint8_t>(random_() >> 8);
    return made;
  }
  template <typename T> void keep(const std::vector<T> &row)
  {
    const auto *start = reinterpret_cast<const std::uint8_t *>(row.data());
    all_.insert(all_.end(), start, start + n_ * sizeof(T));
  }
  void run_unpack()
  {
    const auto from = bytes(4 * n_);
    std::vector<std::uint8_t> out(n_);
    for (const std::size_t step : {2U, 4U})
      for (const auto unpack : {loops_.unpack, loops_.unpack_10, loops_.unpack_16}) {
        unpack(from.data(), step, out.data(), n_);
        keep(out);
      }
  }
  void run_rgb()
  {
    const auto upper = bytes(4 * n_);
    const auto lower = bytes(4 * n_);
    std::array<std::vector<Blended>, 3> rows;
    for (auto &row : rows)
      row.resize(n_ + 1);
    Blended *const to[3] = {rows[0].data(), rows[1].data(), rows[2].data()};
    for (const int weight : {0, 1, 77, 127})
      for (const auto blend : {loops_.blend_3, loops_.blend_4}) {
        blend(upper.data(), lower.data(), weight, to, n_);
        for (const auto &row : rows)
          keep(row);
      }
    std::vector<std::uint32_t> first(n_);
    std::vector<std::int32_t> weights(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      first[i] = static_cast<std::uint32_t>(random_() % n_);
      weights[i] = static_cast<std::int32_t>(random_() % 128);
    }
    std::vector<std::uint8_t> levels(n_);
    loops_.lerp_to_level(to[0], first.data(), weights.data(), levels.data(), n_);
    keep(levels);
  }
  // From a row of quarters / 4 samples per pixel: those of four pixels lie within 16 bytes or not.
  std::array<std::vector<Centred>, 2> picked(std::uint32_t quarters, std::uint32_t parts)
  {
    const auto samples = static_cast<std::uint32_t>(n_ * quarters / 4 + 1);
    const RowPicks picks(make_axis(samples, static_cast<std::uint32_t>(n_), samples, Siting::Pixel), samples, parts);
    std::array<std::vector<Centred>, 2> rows;
    for (auto &row : rows)
      row.resize(padded_to_block(n_));
    Centred *const out[2] = {rows[0].data(), rows[1].data()};
    const auto from = bytes(std::size_t{samples} * parts);
    if (parts == 1)
      loops_.pick(from.data(), picks.table(), out[0]);
    else
      loops_.pick_2(from.data(), picks.table(), out);
    for (const auto &row : rows)
      keep(row);
    return rows;
  }
  void run_nv12()
  {
    picked(33, 1); // far from each other
    picked(25, 2);
    const std::array luma_rows{picked(15, 1), picked(4, 1)};
    const std::array chroma_rows{picked(7, 2), picked(2, 2)};
    for (auto &row : levels_)
      row.resize(n_);
    const CentredRows luma{luma_rows[0][0].data(), luma_rows[1][0].data(), 127};
    const CentredRows chroma[2] = {{chroma_rows[0][0].data(), chroma_rows[0][0].data(), 0},
                                   {chroma_rows[0][1].data(), chroma_rows[1][1].data(), 77}};
    std::uint8_t *const rgb[3] = {levels_[0].data(), levels_[1].data(), levels_[2].data()};
    loops_.to_rgb(luma, chroma, {2048, 9539, 17545, 1535, 5328, 17305}, rgb, n_);
    for (const auto &row : levels_)
      keep(row);
  }
  void run_writers()
  {
    std::vector<std::uint8_t> out(4 * n_);
    const auto keep_all = [&] { all_.insert(all_.end(), out.begin(), out.end()); };
    loops_.shift(levels_[0].data(), 0x80, out.data(), n_);
    keep_all();
    for (const bool is_signed : {false, true}) {
      loops_.scale(levels_[1].data(), {-4, 300, 46077, 65535, is_signed}, out.data(), n_);
      keep_all();
    }
    const std::uint8_t *const channels[3] = {levels_[0].data(), levels_[1].data(), levels_[2].data()};
    loops_.interleave_3(channels, out.data(), n_);
    keep_all();
    loops_.interleave_4(channels, 0x80, out.data(), n_);
    keep_all();
    std::vector<float> floats(n_);
    loops_.to_float(levels_[2].data(), 103.53F, 1 / 57.375F, floats.data(), n_);
    keep(floats);
  }

  const RowLoops &loops_;
  const std::size_t n_;
  std::minstd_rand random_;
  std::array<std::vector<std::uint8_t>, 3> levels_;
  std::vector<std::uint8_t> all_;
};

std::vector<std::uint8_t> outputs_of(const RowLoops &loops, std::size_t n)
{
  return LoopRun(loops, n).outputs();
}

TEST(RowLoopsTest, GiveTheSameBytesOnEveryInstructionSet)
{
  std::size_t n_sets = 0;
  while (row_loops_at(n_sets))
    ++n_sets;
  ASSERT_GE(n_sets, 1U);
  EXPECT_EQ(&row_loops(), row_loops_at(n_sets - 1));
  for (std::size_t n = 1; n < 140; ++n) {
    const auto want = outputs_of(*row_loops_at(0), n);
    for (std::size_t set = 1; set < n_sets; ++set)
      ASSERT_EQ(outputs_of(*row_loops_at(set), n), want) << row_loops_at(set)->name << ", rows of " << n;
  }
}

} // namespace
