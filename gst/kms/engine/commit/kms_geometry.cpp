// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_geometry.hpp"

#include <algorithm>
#include <cmath>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

struct Size {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

std::uint32_t rounded(double value, std::uint32_t largest)
{
  return static_cast<std::uint32_t>(
      std::clamp(std::lround(value), 1L, static_cast<long>(std::max(largest, 1U))));
}

// The middle `part` of `whole`, at even pixels where it is a part.
void crop(std::uint32_t whole, std::uint32_t part, std::int32_t &start, std::uint32_t &length)
{
  if (part >= whole) {
    start = 0;
    length = whole;
    return;
  }
  length = part > 1 ? part & ~1U : part;
  start = static_cast<std::int32_t>((whole - length) / 2 & ~1U);
}

Rectangle centred(const Rectangle &area, Size size)
{
  return {area.x +
              (static_cast<std::int32_t>(area.width) - static_cast<std::int32_t>(size.width)) / 2,
          area.y +
              (static_cast<std::int32_t>(area.height) - static_cast<std::int32_t>(size.height)) / 2,
          size.width, size.height};
}

Rectangle transposed(const Rectangle &r)
{
  return {r.y, r.x, r.height, r.width};
}

} // namespace

std::string describe_rectangle(const Rectangle &rectangle)
{
  return describe_size(rectangle.width, rectangle.height) + " at " + std::to_string(rectangle.x) +
         "," + std::to_string(rectangle.y);
}

std::optional<Rectangle> intersect(const Rectangle &a, const Rectangle &b)
{
  const auto end = [](std::int32_t start, std::uint32_t length) {
    return std::int64_t{start} + std::int64_t{length};
  };
  const std::int32_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  const std::int64_t right = std::min(end(a.x, a.width), end(b.x, b.width));
  const std::int64_t bottom = std::min(end(a.y, a.height), end(b.y, b.height));
  if (right <= x || bottom <= y)
    return std::nullopt;
  return Rectangle{x, y, static_cast<std::uint32_t>(right - x),
                   static_cast<std::uint32_t>(bottom - y)};
}

Placement place(const Shape &shape, const Rectangle &area, Fit fit)
{
  if (!shape.width || !shape.height || !area.width || !area.height || !shape.par_n ||
      !shape.par_d || !(shape.screen_pixel_aspect > 0))
    return {};
  // as the viewer sees it
  Size seen{shape.width, shape.height};
  double pixel_aspect = static_cast<double>(shape.par_n) / shape.par_d;
  if (shape.turned) {
    seen = {shape.height, shape.width};
    pixel_aspect = 1 / pixel_aspect;
  }
  pixel_aspect /= shape.screen_pixel_aspect;
  const double aspect = pixel_aspect * seen.width / seen.height;
  const double area_aspect = static_cast<double>(area.width) / area.height;

  Size shown{area.width, area.height}; // on the screen
  Size part = seen;                    // of the picture
  switch (fit) {
  case Fit::Contain:
    if (aspect >= area_aspect)
      shown.height = rounded(area.width / aspect, area.height);
    else
      shown.width = rounded(area.height * aspect, area.width);
    break;
  case Fit::Cover:
    if (aspect >= area_aspect)
      part.width = rounded(seen.width * area_aspect / aspect, seen.width);
    else
      part.height = rounded(seen.height * aspect / area_aspect, seen.height);
    break;
  case Fit::Fill:
    break;
  case Fit::None:
    part = {std::min(seen.width, area.width), std::min(seen.height, area.height)};
    break;
  }
  Placement placement;
  crop(seen.width, part.width, placement.source.x, placement.source.width);
  crop(seen.height, part.height, placement.source.y, placement.source.height);
  if (fit == Fit::None)
    shown = {placement.source.width, placement.source.height};
  placement.destination = centred(area, shown);
  placement.scaled =
      shown.width != placement.source.width || shown.height != placement.source.height;
  if (shape.turned)
    placement.source = transposed(placement.source);
  return placement;
}

} // namespace gstdrm::kms
