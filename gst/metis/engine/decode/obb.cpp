// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder obb_decoder;

namespace {

constexpr std::size_t kLeastColumns = 6; // centre, size, one class, angle

// The corners in order, for an angle in radians from the x axis towards the y axis, which points
// down.
std::vector<KeyPoint> corners_of(const Detection &upright, float angle)
{
  const KeyPoint centre{upright.x + upright.width / 2, upright.y + upright.height / 2};
  const float cosine = std::cos(angle) / 2, sine = std::sin(angle) / 2;
  const KeyPoint along{upright.width * cosine, upright.width * sine};
  const KeyPoint across{-upright.height * sine, upright.height * cosine};
  return {{centre.x - along.x - across.x, centre.y - along.y - across.y},
          {centre.x + along.x - across.x, centre.y + along.y - across.y},
          {centre.x + along.x + across.x, centre.y + along.y + across.y},
          {centre.x - along.x + across.x, centre.y - along.y + across.y}};
}

// The upright box around the corners.
Detection around(std::vector<KeyPoint> corners, float score, std::uint32_t label)
{
  const auto [left, right] = std::minmax({corners[0].x, corners[1].x, corners[2].x, corners[3].x});
  const auto [top, bottom] = std::minmax({corners[0].y, corners[1].y, corners[2].y, corners[3].y});
  return {left, top, right - left, bottom - top, score, label, std::move(corners)};
}

// Twice the signed area of the triangle a, b, c.
double turn(const KeyPoint &a, const KeyPoint &b, const KeyPoint &c)
{
  return (static_cast<double>(b.x) - a.x) * (static_cast<double>(c.y) - a.y) -
         (static_cast<double>(b.y) - a.y) * (static_cast<double>(c.x) - a.x);
}

double area_of(const std::vector<KeyPoint> &polygon)
{
  double twice = 0;
  for (std::size_t i = 2; i < polygon.size(); i++)
    twice += turn(polygon[0], polygon[i - 1], polygon[i]);
  return std::abs(twice) / 2;
}

// The part of the polygon on the side of a line where turn() is not negative
// (Sutherland and Hodgman).
std::vector<KeyPoint> cut(const std::vector<KeyPoint> &polygon, const KeyPoint &from,
                          const KeyPoint &to)
{
  std::vector<KeyPoint> inside;
  for (std::size_t i = 0; i < polygon.size(); i++) {
    const KeyPoint &point = polygon[i], &next = polygon[(i + 1) % polygon.size()];
    const double here = turn(from, to, point), there = turn(from, to, next);
    if (here >= 0)
      inside.push_back(point);
    if ((here < 0) == (there < 0))
      continue;
    const auto part = static_cast<float>(here / (here - there));
    inside.push_back({point.x + part * (next.x - point.x), point.y + part * (next.y - point.y)});
  }
  return inside;
}

// Intersection over union of the rotated boxes.
float rotated_overlap(const Detection &a, const Detection &b)
{
  std::vector<KeyPoint> common = a.key_points;
  for (std::size_t i = 0; i < b.key_points.size() && !common.empty(); i++)
    common = cut(common, b.key_points[i], b.key_points[(i + 1) % b.key_points.size()]);
  const double intersection = area_of(common);
  const double both = area_of(a.key_points) + area_of(b.key_points) - intersection;
  return both > 0 ? static_cast<float>(intersection / both) : 0;
}

// YOLOv8-obb: one tensor (5 + classes) x N: centre and size, a probability per class, and an angle
// in radians. The key points of an object are the corners of its rotated box. Not recognised by its
// dimensions, which are those of YOLOv8 with another class.
Result<std::vector<Detection>> decode_obb(Tensors tensors, const DecodeOptions &options,
                                          OutputForm &form)
{
  const auto table = only_table(tensors, Order::ColumnsFirst);
  if (!table || table->columns < kLeastColumns || table->boxes < table->columns)
    return unusable(obb_decoder.word, tensors,
                    "it needs one tensor of (5 + classes) x boxes, with more boxes than rows");
  const std::size_t classes = table->columns - 5, angle_column = table->columns - 1;
  if (const auto checked = check_table(obb_decoder, tensors, form, *table, 4, classes); !checked)
    return checked.error();
  const auto reader =
      box_reader(obb_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const auto best =
        best_class(classes, options.threshold, [&](std::size_t c) { return table->at(i, 4 + c); });
    if (!best)
      continue;
    const Detection upright =
        reader->read(table->four(i), std::min(best->value, 1.0F), best->label);
    if (!is_real(upright))
      continue;
    Detection object =
        around(corners_of(upright, table->at(i, angle_column)), upright.score, upright.label);
    if (is_real(object))
      found.push_back(std::move(object));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections, rotated_overlap);
}

} // namespace

const Decoder obb_decoder = {.word = "obb",
                             .outputs = "(5 + classes) x N, the last an angle",
                             .fits = nullptr,
                             .decode = decode_obb,
                             .reads_unit = true};

} // namespace gstdrm::metis
