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

// The fixed point of AffineMap holds slopes below 4 and offsets below 512 in 32 bits.
constexpr double kMaxSlope = 4;
constexpr double kMaxOffset = 512;

bool gives(const ChannelMap &map)
{
  for (int channel = 0; channel < 256; ++channel)
    if (apply(map.affine, channel) != map.table[static_cast<std::size_t>(channel)])
      return false;
  return true;
}

void find_faster_way(ChannelMap &map, double slope, double offset, Range range)
{
  if (!(std::abs(slope) < kMaxSlope) || !(std::abs(offset) < kMaxOffset))
    return;
  const double one = 1 << AffineMap::kBits;
  map.affine = {static_cast<std::int32_t>(std::lround(slope * one)),
                static_cast<std::int32_t>(std::lround((offset + 0.5) * one)), range.low,
                range.high};
  if (!gives(map))
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
  const double slope = scale / quantisation.scale;
  find_faster_way(map, slope, quantisation.zero_point - mean * slope, range);
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
