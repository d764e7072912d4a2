// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tensor_writer.hpp"

#include <cstring>
#include <limits>
#include <string>

#include <gst/drm/core/limits.hpp>

namespace gstdrm::metis {

namespace {

// With padding: hardware pads the channels to the size of its vectors.
constexpr std::size_t kMaxChannels = 1024;

Error refused(const Model &model, const std::string &why)
{
  return {ErrorCode::Unsupported,
          "No picture can be made the input of model \"" + model.name + "\", dimensions " +
              (model.input.dims.empty() ? "none" : dims_text(model.input.dims)) + ": " + why +
              ". Correct the model's description, or choose another model."};
}

Result<Span> span_of(const Model &model, std::size_t dim, const char *name, std::size_t limit)
{
  const std::size_t total = model.input.dims[dim];
  const Padding padding = model.input.padding.empty() ? Padding{} : model.input.padding[dim];
  if (total == 0 || total > limit)
    return refused(model, std::string(name) + " has to be 1 to " + std::to_string(limit));
  if (padding.before >= total || padding.after >= total - padding.before)
    return refused(model, std::string("the padding of ") + name + ", " +
                              std::to_string(padding.before) + " before and " +
                              std::to_string(padding.after) + " after, leaves nothing of " +
                              std::to_string(total));
  return Span{padding.before, total - padding.before - padding.after, total};
}

// Returns false if a product overflows.
bool lay_out(TensorPlan &plan)
{
  const std::size_t channels_in_row = plan.interleaved ? plan.channels.total : 1;
  plan.n_planes = plan.interleaved ? 1 : plan.channels.total;
  plan.pixel_bytes = channels_in_row * plan.element_bytes;
  std::size_t all = 0;
  return !__builtin_mul_overflow(plan.pixel_bytes, plan.width.total, &plan.row_bytes) &&
         !__builtin_mul_overflow(plan.row_bytes, plan.height.total, &plan.plane_bytes) &&
         !__builtin_mul_overflow(plan.plane_bytes, plan.n_planes, &all) &&
         all <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

} // namespace

Result<TensorPlan> make_tensor_plan(const Model &model)
{
  const bool interleaved = model.image.layout == TensorLayout::Nhwc;
  if (model.input.dims.size() != 4)
    return refused(model, std::string("four are wanted, ") +
                              (interleaved ? "N, H, W and C" : "N, C, H and W"));
  if (!model.input.padding.empty() && model.input.padding.size() != 4)
    return refused(model, "padding is given for " + std::to_string(model.input.padding.size()) +
                              " of them");
  const auto batch = span_of(model, 0, "N", 1);
  const auto height = span_of(model, interleaved ? 1 : 2, "H", kMaxFrameSize);
  const auto width = span_of(model, interleaved ? 2 : 3, "W", kMaxFrameSize);
  const auto channels = span_of(model, interleaved ? 3 : 1, "C", kMaxChannels);
  for (const auto *span : {&batch, &height, &width, &channels})
    if (!*span)
      return span->error();
  if (channels->size != 3)
    return refused(model, "C without padding is " + std::to_string(channels->size) +
                              " and has to be 3 (R, G and B)");
  TensorPlan plan;
  plan.height = *height;
  plan.width = *width;
  plan.channels = *channels;
  plan.interleaved = interleaved;
  plan.is_float = model.input.type == TensorType::Float32;
  plan.element_bytes = bytes_of(model.input.type);
  if (!lay_out(plan))
    return refused(model, "their product is larger than memory");
  return plan;
}

TensorWriter::TensorWriter(const TensorPlan &plan, const Quantiser &quantiser, Extent x, Extent y,
                           const std::array<float, 3> &bars, const RowLoops &loops)
    : plan_(plan), quantiser_(quantiser), x_(x), y_(y), loops_(&loops), bars_(plan.n_planes)
{
  make_bars(bars);
  if (plan_.is_float && plan_.interleaved)
    floats_.resize(x_.size);
  if (!plan_.is_float && plan_.interleaved)
    for (auto &row : bytes_)
      row.resize(x_.size);
}

void TensorWriter::make_bars(const std::array<float, 3> &colour)
{
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const std::size_t place = plan_.channels.before + channel;
    Bar &bar = bars_[plan_.interleaved ? 0 : place];
    if (bar.empty()) {
      bar.resize(plan_.row_bytes);
      fill_padding(bar.data(), bar.size());
    }
    const ChannelMap &map = quantiser_.channels[channel];
    const float level = (colour[channel] - map.mean) * map.scale;
    const void *value = plan_.is_float
                            ? static_cast<const void *>(&level)
                            : map.table.data() + static_cast<std::size_t>(colour[channel]);
    std::byte *pixel = bar.data() + plan_.width.before * plan_.pixel_bytes;
    if (plan_.interleaved)
      pixel += place * plan_.element_bytes;
    for (std::size_t x = 0; x < plan_.width.size; ++x, pixel += plan_.pixel_bytes)
      std::memcpy(pixel, value, plan_.element_bytes);
  }
}

void TensorWriter::fill_padding(std::byte *start, std::size_t n_bytes) const
{
  std::memset(start, quantiser_.zero_point, n_bytes);
}

void TensorWriter::write_bars(std::byte *tensor, std::size_t first, std::size_t end) const
{
  for (std::size_t plane = 0; plane < plan_.n_planes; ++plane) {
    if (bars_[plane].empty())
      continue;
    std::byte *row =
        tensor + plane * plan_.plane_bytes + (plan_.height.before + first) * plan_.row_bytes;
    for (std::size_t y = first; y < end; ++y, row += plan_.row_bytes)
      std::memcpy(row, bars_[plane].data(), plan_.row_bytes);
  }
}

void TensorWriter::write_outside(std::byte *tensor) const
{
  for (std::size_t plane = 0; plane < plan_.n_planes; ++plane) {
    std::byte *start = tensor + plane * plan_.plane_bytes;
    if (bars_[plane].empty()) {
      fill_padding(start, plan_.plane_bytes);
      continue;
    }
    const std::size_t end = plan_.height.before + plan_.height.size;
    fill_padding(start, plan_.height.before * plan_.row_bytes);
    fill_padding(start + end * plan_.row_bytes, (plan_.height.total - end) * plan_.row_bytes);
  }
  write_bars(tensor, 0, y_.start);
  write_bars(tensor, y_.start + y_.size, plan_.height.size);
}

void TensorWriter::write_empty(std::byte *tensor) const
{
  write_outside(tensor);
  write_bars(tensor, y_.start, y_.start + y_.size);
}

void TensorWriter::quantise(const std::uint8_t *in, std::size_t channel, std::uint8_t *out) const
{
  const ChannelMap &map = quantiser_.channels[channel];
  switch (map.way) {
  case ChannelMap::Way::Offset:
    return loops_->shift(in, map.table[0], out, x_.size); // 0 + offset
  case ChannelMap::Way::Affine:
    return loops_->scale(in, map.affine, out, x_.size);
  case ChannelMap::Way::Table:
    break;
  }
  for (std::size_t i = 0; i < x_.size; ++i)
    out[i] = map.table[in[i]];
}

void TensorWriter::write_bytes(std::byte *content, const std::uint8_t *const channels[3])
{
  auto *out = reinterpret_cast<std::uint8_t *>(content);
  if (!plan_.interleaved) {
    for (std::size_t channel = 0; channel < 3; ++channel)
      quantise(channels[channel], channel,
               out + (plan_.channels.before + channel) * plan_.plane_bytes);
    return;
  }
  for (std::size_t channel = 0; channel < 3; ++channel)
    quantise(channels[channel], channel, bytes_[channel].data());
  const std::uint8_t *const rows[3] = {bytes_[0].data(), bytes_[1].data(), bytes_[2].data()};
  const std::size_t step = plan_.channels.total;
  if (step == 3)
    return loops_->interleave_3(rows, out, x_.size);
  if (step == 4 && plan_.channels.before == 0)
    return loops_->interleave_4(rows, quantiser_.zero_point, out, x_.size);
  fill_padding(content, x_.size * step);
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t i = 0; i < x_.size; ++i)
      out[i * step + plan_.channels.before + channel] = rows[channel][i];
}

void TensorWriter::write_floats(std::byte *content, const std::uint8_t *const channels[3])
{
  auto *out = reinterpret_cast<float *>(content);
  if (plan_.interleaved && plan_.channels.total > 3)
    fill_padding(content, x_.size * plan_.pixel_bytes);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const ChannelMap &map = quantiser_.channels[channel];
    const std::size_t place = plan_.channels.before + channel;
    float *row =
        plan_.interleaved ? floats_.data() : out + place * plan_.plane_bytes / sizeof(float);
    loops_->to_float(channels[channel], map.mean, map.scale, row, x_.size);
    if (plan_.interleaved)
      for (std::size_t i = 0; i < x_.size; ++i)
        out[i * plan_.channels.total + place] = row[i];
  }
}

void TensorWriter::write_row(std::byte *tensor, std::uint32_t y,
                             const std::uint8_t *const channels[3])
{
  const std::size_t row = (plan_.height.before + y_.start + y) * plan_.row_bytes;
  const std::size_t start = (plan_.width.before + x_.start) * plan_.pixel_bytes;
  const std::size_t end = start + x_.size * plan_.pixel_bytes;
  for (std::size_t plane = 0; plane < plan_.n_planes; ++plane) {
    if (bars_[plane].empty())
      continue;
    std::byte *out = tensor + plane * plan_.plane_bytes + row;
    std::memcpy(out, bars_[plane].data(), start);
    std::memcpy(out + end, bars_[plane].data() + end, plan_.row_bytes - end);
  }
  if (plan_.is_float)
    write_floats(tensor + row + start, channels);
  else
    write_bytes(tensor + row + start, channels);
}

} // namespace gstdrm::metis
