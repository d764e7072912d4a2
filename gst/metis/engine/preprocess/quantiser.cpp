// SPDX-License-Identifier: LGPL-2.1-or-later
#include "quantiser.hpp"

#include <algorithm>
#include <cmath>

namespace gstdrm::metis {

namespace {

struct Range {
  int low;
  int high;
};

Range range_of(TensorType type)
{
  return type == TensorType::Int8 ? Range{-128, 127} : Range{0, 255};
}

// Within these limits no sum of an AffineMap needs more than 16 bits.
constexpr double kMaxSlope = 64;
constexpr double kMaxOffset = 16000;

// Finds an offset, in 1/2^16, that gives all values of the table with this slope. Each channel
// limits the offset from both sides, or from one side if its value is the type's lowest or highest.
// Returns false if there is none. Slopes are in 1/2^16, too, so the nearest slope does not always
// have one.
bool find_offset(ChannelMap &map, Range range)
{
  const bool is_signed = range.low < 0;
  constexpr std::int64_t kOne = 1 << 16;
  std::int64_t least = -static_cast<std::int64_t>(kMaxOffset) * kOne;
  std::int64_t most = -least;
  for (std::int64_t channel = 0; channel < 256; ++channel) {
    const std::uint8_t byte = map.table[static_cast<std::size_t>(channel)];
    const std::int64_t want = is_signed ? static_cast<std::int8_t>(byte) : byte;
    const std::int64_t product = channel * (map.affine.whole * kOne + map.affine.slope);
    if (want > range.low)
      least = std::max(least, want * kOne - product);
    if (want < range.high)
      most = std::min(most, want * kOne + kOne - 1 - product);
  }
  if (least > most)
    return false;
  const std::int64_t offset = least + (most - least) / 2;
  map.affine.base = static_cast<std::int16_t>(offset >> 16);
  map.affine.fraction = static_cast<std::uint16_t>(offset & 0xffff);
  map.affine.is_signed = is_signed;
  return true;
}

bool find_affine(ChannelMap &map, double slope, Range range)
{
  const auto nearest = std::lround(slope * (1 << 16));
  for (const long step : {0L, 1L, -1L}) {
    const long fixed = nearest + step;
    map.affine.whole = static_cast<std::int16_t>(fixed >> 16);
    map.affine.slope = static_cast<std::uint16_t>(fixed & 0xffff);
    if (find_offset(map, range))
      return true;
  }
  return false;
}

void find_faster_way(ChannelMap &map, double slope, Range range)
{
  if (!(std::abs(slope) < kMaxSlope) || !find_affine(map, slope, range))
    return;
  map.way = ChannelMap::Way::Affine;
  const auto is_offset = [&](std::size_t channel) {
    return map.table[channel] == static_cast<std::uint8_t>(map.table[0] + channel);
  };
  std::size_t channel = 0;
  while (channel < map.table.size() && is_offset(channel))
    ++channel;
  if (channel == map.table.size())
    map.way = ChannelMap::Way::Offset;
}

ChannelMap make_map(double mean, double scale, const Quantisation &quantisation, Range range)
{
  ChannelMap map;
  for (int channel = 0; channel < 256; ++channel) {
    const double value = (channel - mean) * scale / quantisation.scale + quantisation.zero_point;
    const double rounded = std::clamp<double>(std::floor(value + 0.5), range.low, range.high);
    map.table[static_cast<std::size_t>(channel)] =
        static_cast<std::uint8_t>(static_cast<int>(rounded));
  }
  find_faster_way(map, scale / quantisation.scale, range);
  return map;
}

} // namespace

Result<Quantiser> make_quantiser(const Model &model)
{
  const Quantisation quantisation = model.input.quantisation.value_or(Quantisation{});
  const bool is_float = model.input.type == TensorType::Float32;
  const Range range = range_of(model.input.type);
  if (!is_float && (!std::isfinite(quantisation.scale) || quantisation.scale <= 0))
    return Error{ErrorCode::Unsupported,
                 "The input of model \"" + model.name + "\" cannot be quantised with scale " +
                     std::to_string(quantisation.scale) +
                     ": it has to be finite and above 0. Correct the model's description."};
  if (!is_float && (quantisation.zero_point < range.low || quantisation.zero_point > range.high))
    return Error{ErrorCode::Unsupported,
                 "The input of model \"" + model.name + "\" has zero point " +
                     std::to_string(quantisation.zero_point) +
                     ", which is outside its type's range of " + std::to_string(range.low) +
                     " to " + std::to_string(range.high) + ". Correct the model's description."};
  Quantiser quantiser;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float mean = model.image.mean[channel];
    const float scale = model.image.scale[channel];
    if (!std::isfinite(mean) || !std::isfinite(scale))
      return Error{ErrorCode::Unsupported,
                   "Mean and scale of channel " + std::to_string(channel) + " of model \"" +
                       model.name + "\" are " + std::to_string(mean) + " and " +
                       std::to_string(scale) +
                       ": both have to be finite. Correct the model's description."};
    if (!is_float)
      quantiser.channels[channel] = make_map(mean, scale, quantisation, range);
    quantiser.channels[channel].mean = mean;
    quantiser.channels[channel].scale = scale;
  }
  if (!is_float)
    quantiser.zero_point = static_cast<std::uint8_t>(quantisation.zero_point);
  return quantiser;
}

} // namespace gstdrm::metis
