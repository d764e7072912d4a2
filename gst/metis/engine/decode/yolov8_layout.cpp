// SPDX-License-Identifier: LGPL-2.1-or-later
#include "yolov8_layout.hpp"

#include <optional>
#include <string>

#include "decode_parts.hpp"

namespace gstdrm::metis {

namespace {

std::optional<GridTensor> as_grid(const TensorValues &tensor, bool channels_last)
{
  const auto dims = trimmed(tensor.dims, 3);
  if (dims.size() != 3)
    return std::nullopt;
  return channels_last ? GridTensor{tensor.values, dims[1], dims[0], dims[2], true}
                       : GridTensor{tensor.values, dims[2], dims[1], dims[0], false};
}

std::optional<GridTensor> as_boxes(const TensorValues &tensor)
{
  for (const bool channels_last : {true, false}) {
    const auto grid = as_grid(tensor, channels_last);
    if (grid && grid->channels == kBoxChannels)
      return grid;
  }
  return std::nullopt;
}

// The class tensor over the same cells as `boxes`, of those that are not taken.
std::optional<GridTensor> take_classes(Tensors tensors, const GridTensor &boxes,
                                       std::vector<bool> &taken)
{
  for (std::size_t i = 0; i < tensors.size(); i++) {
    const auto grid = as_grid(tensors[i], boxes.channels_last);
    if (taken[i] || !grid || grid->width != boxes.width || grid->height != boxes.height)
      continue;
    taken[i] = true;
    return grid;
  }
  return std::nullopt;
}

} // namespace

bool is_box_grid(const TensorValues &tensor)
{
  return as_boxes(tensor).has_value();
}

Result<std::vector<YoloGrid>> find_grids(Tensors tensors)
{
  std::vector<YoloGrid> grids;
  std::vector<bool> taken(tensors.size(), false);
  for (std::size_t i = 0; i < tensors.size(); i++) {
    const auto boxes = taken[i] ? std::nullopt : as_boxes(tensors[i]);
    if (!boxes)
      continue;
    taken[i] = true;
    const auto classes = take_classes(tensors, *boxes, taken);
    if (!classes)
      return unusable("yolov8", tensors,
                      "no class tensor has the " + std::to_string(boxes->width) + "x" +
                          std::to_string(boxes->height) + " cells of the boxes " + tensors[i].name);
    if (!grids.empty() && grids.front().classes.channels != classes->channels)
      return unusable("yolov8", tensors, "the strides have different numbers of classes");
    grids.push_back({*boxes, *classes});
  }
  for (std::size_t i = 0; i < tensors.size(); i++)
    if (!taken[i])
      return unusable("yolov8", tensors,
                      "no box tensor of 64 channels goes with " + tensors[i].name);
  if (grids.empty())
    return unusable("yolov8", tensors, "it needs one tensor, or two for each stride");
  return grids;
}

} // namespace gstdrm::metis
