// SPDX-License-Identifier: LGPL-2.1-or-later
// The quantisation in numbers of 16 bits gives, on every instruction set, the bytes that the formula gives.
#include "engine/preprocess/quantiser.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

using namespace gstdrm::metis;

namespace {

struct SlopeRow {
  const char *name;
  double least, most; // of a level of the picture, in levels of the tensor
};

constexpr SlopeRow kSlopes[] = {
    {"flat", 0.001, 0.25}, {"half", 0.25, 0.75},        {"one", 0.75, 1.25}, {"steep", 1.25, 4},
    {"steeper", 4, 63},    {"falling", -1.5, -0.0009}, {"zero", 0, 0},
};

struct Case {
  double mean, slope;
  int zero_point;
  TensorType type;
};

Model model_of(const Case &row)
{
  Model model;
  model.name = "made up";
  model.image.mean.fill(static_cast<float>(row.mean));
  model.image.scale.fill(static_cast<float>(row.slope * 0.02));
  model.input.type = row.type;
  model.input.quantisation = Quantisation{0.02, row.zero_point};
  return model;
}

std::uint8_t wanted(const Model &model, std::size_t channel)
{
  const bool is_signed = model.input.type == TensorType::Int8;
  const double mean = static_cast<double>(model.image.mean[0]);
  const double scale = static_cast<double>(model.image.scale[0]);
  const double value = (static_cast<double>(channel) - mean) * scale / 0.02 + model.input.quantisation->zero_point;
  return static_cast<std::uint8_t>(
      static_cast<int>(std::clamp(std::floor(value + 0.5), is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0)));
}

class QuantiserSlopes : public testing::TestWithParam<SlopeRow> {};

TEST_P(QuantiserSlopes, NeedNoTable)
{
  std::minstd_rand random(1);
  std::uniform_real_distribution<double> slopes(GetParam().least, std::nextafter(GetParam().most, 1e9));
  std::uniform_real_distribution<double> means(-5, 245);
  std::vector<std::uint8_t> levels(256);
  std::iota(levels.begin(), levels.end(), std::uint8_t{0});
  for (int turn = 0; turn < 500; ++turn) {
    const TensorType type = turn % 2 ? TensorType::Int8 : TensorType::UInt8;
    const int zero_point = static_cast<int>(random() % 256) - (type == TensorType::Int8 ? 128 : 0);
    const Case row{means(random), slopes(random), zero_point, type};
    const Model model = model_of(row);
    const auto made = make_quantiser(model);
    ASSERT_TRUE(made) << made.error().message;
    const ChannelMap &map = made->channels[0];
    std::vector<std::uint8_t> want(256);
    for (std::size_t channel = 0; channel < want.size(); ++channel)
      want[channel] = wanted(model, channel);
    ASSERT_TRUE(std::equal(want.begin(), want.end(), map.table.begin()));
    ASSERT_NE(map.way, ChannelMap::Way::Table) << "slope " << row.slope << ", mean " << row.mean << ", zero point " << zero_point;
    for (std::size_t set = 0; row_loops_at(set); ++set) {
      std::vector<std::uint8_t> out(256);
      row_loops_at(set)->scale(levels.data(), map.affine, out.data(), out.size());
      ASSERT_EQ(out, want) << row_loops_at(set)->name << ": slope " << row.slope << ", mean " << row.mean << ", zero point " << zero_point;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Slopes, QuantiserSlopes, testing::ValuesIn(kSlopes), [](const auto &info) { return std::string(info.param.name); });

} // namespace
