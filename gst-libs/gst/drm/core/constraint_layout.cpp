// SPDX-License-Identifier: LGPL-2.1-or-later
// The last step of a reconciliation: strides, offsets and the size of the buffer.
#include <algorithm>

#include <bitset>

#include "fourcc_cursor.hpp"
#include "frame_layout.hpp"
#include "reconcile.hpp"

namespace gstdrm {

namespace {

using Key = ConstraintKey;

// Of strides and offsets: drm_mode_fb_cmd2 has 32 bits for each.
constexpr std::uint64_t kMostPlaneBytes = UINT32_MAX;

std::uint64_t align_of(const Constraints &merged, Key key) noexcept
{
  const auto &number = merged.number(key);
  return number ? std::max<std::uint64_t>(number->max, 1) : 1;
}

Bounds bounds_of(const Constraints &merged, Key key) noexcept
{
  return merged.number(key).value_or(Bounds{});
}

std::uint64_t plain(const Constraints &merged, Key key) noexcept
{
  return bounds_of(merged, key).min;
}

// The sum cannot overflow: sizes are at most 2^47, alignments at most 2^31.
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t power_of_two) noexcept
{
  return (value + power_of_two - 1) & ~(power_of_two - 1);
}

std::string number(std::uint64_t value)
{
  return std::to_string(value);
}

KeyConflict exceeds(Key key, std::string why, std::uint64_t needed = 0)
{
  return KeyConflict{key, ConflictReason::Exceeds, std::move(why), needed, {}};
}

KeyConflict too_large(Key key, const std::string &what)
{
  return exceeds(key, what + " takes more bytes than can be counted");
}

// Rounds the size up to what was asked for, and checks it. `describe` names what is laid out: a
// text that only a failure needs.
template <typename Describe>
std::optional<KeyConflict> round_size(const Constraints &merged, BufferLayout &layout,
                                      const Describe &describe)
{
  const Bounds size = bounds_of(merged, Key::Size);
  const std::uint64_t most = constraint_key_facts(Key::Size).most;
  const std::uint64_t bytes = std::max(layout.size_bytes, size.min);
  if (bytes > most)
    return too_large(Key::Size, describe());
  layout.size_bytes = align_up(bytes, align_of(merged, Key::SizeAlign));
  if (layout.size_bytes > size.max)
    return exceeds(Key::Size,
                   describe() + " needs " + number(layout.size_bytes) + " bytes, and at most " +
                       number(size.max) + " are accepted",
                   layout.size_bytes);
  return std::nullopt;
}

template <typename Describe>
LayoutOutcome with_size(const Constraints &merged, BufferLayout layout, const Describe &describe)
{
  if (auto failure = round_size(merged, layout, describe))
    return std::move(*failure);
  return std::optional(std::move(layout));
}

struct PictureSize {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
};

std::optional<PictureSize> fixed_size(const Constraints &merged) noexcept
{
  const auto &width = merged.number(Key::Width);
  const auto &height = merged.number(Key::Height);
  if (!width || !height || width->min != width->max || height->min != height->max)
    return std::nullopt;
  return PictureSize{width->min, height->min};
}

std::string describe_picture(const Format &format, const PictureSize &size)
{
  return describe_format(format) + " of " + number(size.width) + "x" + number(size.height);
}

// The pixels of a row of every plane, padding included.
std::uint64_t padded_width(const Constraints &merged, const FourccInfo &info, std::uint64_t width)
{
  if (info.n_planes > 1) { // the stride of a single plane need not be whole pixels
    const PlaneInfo &first = info.planes[0];
    const std::uint64_t least = bounds_of(merged, Key::Stride).min;
    const std::uint64_t blocks = (least + first.block_bytes - 1) / first.block_bytes;
    width = std::max(width, blocks * first.block_width * first.hsub);
  }
  return linear_padded_width(info, width, align_of(merged, Key::StrideAlign));
}

// Appends the planes from the end of `layout` on.
std::optional<KeyConflict> add_picture(const Constraints &merged, const FourccInfo &info,
                                       const PictureSize &size, BufferLayout &layout)
{
  const auto describe = [&] { return describe_picture(*layout.format, size); };
  const Bounds stride = bounds_of(merged, Key::Stride);
  const std::uint64_t align = align_of(merged, Key::StrideAlign);
  const std::uint64_t width = padded_width(merged, info, size.width);
  if (width > kMostPlaneBytes)
    return too_large(Key::Stride, "A row of " + describe());
  for (std::size_t i = 0; i < info.n_planes; ++i) {
    const std::uint64_t pixels = plane_row_bytes(info.planes[i], static_cast<std::uint32_t>(width));
    if (pixels == 0)
      return too_large(Key::Stride, "A row of " + describe());
    const std::uint64_t row = align_up(i == 0 ? std::max(pixels, stride.min) : pixels, align);
    const std::uint64_t offset = align_up(layout.size_bytes, align_of(merged, Key::OffsetAlign));
    if (offset > kMostPlaneBytes)
      return too_large(Key::Size, "A plane of " + describe());
    if (i == 0 && row > stride.max)
      return exceeds(Key::Stride,
                     describe() + " needs a stride of " + number(row) + " bytes, and at most " +
                         number(stride.max) + " is accepted",
                     row);
    layout.planes.push_back({offset, row});
    layout.size_bytes =
        offset + row * plane_rows(info.planes[i], static_cast<std::uint32_t>(size.height));
  }
  return std::nullopt;
}

// Lays out an image, or all levels of a pyramid, into `layout`, whose old contents are dropped.
std::optional<KeyConflict> lay_out_picture(const Constraints &merged, const Format &format,
                                           const FourccInfo &info, PictureSize size,
                                           std::uint64_t levels, BufferLayout &layout)
{
  const auto describe = [format, size] { return describe_picture(format, size); };
  layout.format = format;
  layout.planes.clear();
  layout.size_bytes = 0;
  const std::uint64_t scale = plain(merged, Key::PyramidScale);
  for (std::uint64_t level = 0; level < levels; ++level) {
    if (auto failure = add_picture(merged, info, size, layout))
      return failure;
    size.width = std::max<std::uint64_t>(size.width * scale >> 16, 1);
    size.height = std::max<std::uint64_t>(size.height * scale >> 16, 1);
  }
  return round_size(merged, layout, describe);
}

// The layout of the first linear pair that has one. Pairs of fourccs whose layout is not known here
// stay in the set, because the allocator may know their layout.
LayoutOutcome lay_out_image(Constraints &merged, std::uint64_t levels)
{
  const auto size = fixed_size(merged);
  if (!merged.formats || !size)
    return std::optional<BufferLayout>();
  std::optional<BufferLayout> first;
  std::optional<KeyConflict> refused;
  std::vector<Format> taken_out;
  BufferLayout layout;
  layout.planes.reserve(kMaxPlanes * levels);
  FourccCursor cursor;
  std::bitset<kMaxShapes> fitting; // a layout follows from the shape of the planes alone
  for (const Format &format : merged.formats->pairs()) {
    const FourccInfo *info = format.modifier == kModLinear ? cursor.find(format.fourcc) : nullptr;
    if (!info || fitting[fourcc_shape(*info)])
      continue;
    auto failure = lay_out_picture(merged, format, *info, *size, levels, layout);
    fitting[fourcc_shape(*info)] = !failure;
    if (failure)
      taken_out.push_back(format);
    else if (!first)
      first = layout;
    if (failure && !refused)
      refused = std::move(failure);
  }
  if (!taken_out.empty() && taken_out.size() == merged.formats->size())
    return std::move(*refused);
  if (!taken_out.empty())
    merged.formats =
        FormatSet::subtract(*merged.formats, FormatSet::from_pairs(std::move(taken_out)));
  return first;
}

LayoutOutcome lay_out_raw(const Constraints &merged)
{
  const std::uint64_t bytes = bounds_of(merged, Key::Size).min;
  BufferLayout layout;
  layout.planes.push_back({0, bytes});
  layout.size_bytes = bytes;
  return with_size(merged, std::move(layout),
                   [bytes] { return "Raw memory of " + number(bytes) + " bytes"; });
}

LayoutOutcome lay_out_tensor(const Constraints &merged)
{
  constexpr std::uint64_t kFloatBytes = 4;
  const auto type = static_cast<TensorElement>(plain(merged, Key::TensorType));
  const std::vector<std::uint64_t> &dims = *merged.dims;
  const std::uint64_t most = constraint_key_facts(Key::Size).most;
  BufferLayout layout;
  layout.planes.resize(dims.size());
  std::uint64_t bytes = type == TensorElement::Float32 ? kFloatBytes : 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    layout.planes[i].stride_bytes = bytes;
    if (bytes > most / dims[i])
      return too_large(Key::TensorDims, "The tensor");
    bytes *= dims[i];
    if (i == dims.size() - 1 && i > 0) // the innermost dimension is a row
      bytes = align_up(bytes, align_of(merged, Key::StrideAlign));
  }
  layout.size_bytes = bytes;
  return with_size(merged, std::move(layout), [] { return std::string("The tensor"); });
}

LayoutOutcome lay_out_array(const Constraints &merged)
{
  const std::uint64_t capacity = plain(merged, Key::ArrayCapacity);
  const std::uint64_t stride =
      align_up(plain(merged, Key::ArrayElement), align_of(merged, Key::StrideAlign));
  if (stride > constraint_key_facts(Key::Size).most / capacity)
    return too_large(Key::ArrayCapacity, "The array");
  BufferLayout layout;
  layout.planes.push_back({0, stride});
  layout.size_bytes = stride * capacity;
  return with_size(merged, std::move(layout), [&] {
    return "An array of " + number(capacity) + " elements of " + number(stride) + " bytes";
  });
}

} // namespace

LayoutOutcome lay_out(Constraints &merged, BufferType type)
{
  switch (type) {
  case BufferType::Image:
    return lay_out_image(merged, 1);
  case BufferType::Pyramid:
    return lay_out_image(merged, plain(merged, Key::PyramidLevels));
  case BufferType::Raw:
    return lay_out_raw(merged);
  case BufferType::Tensor:
    return lay_out_tensor(merged);
  case BufferType::Array:
    return lay_out_array(merged);
  }
  return std::optional<BufferLayout>();
}

} // namespace gstdrm
