// SPDX-License-Identifier: LGPL-2.1-or-later
#include <utility>

#include "rows.hpp"

namespace gstdrm::metis {

extern const Decoder pose_decoder;

namespace {

constexpr std::size_t kPosePoint = 5;     // after centre, size and score
constexpr std::size_t kPersonPoints = 17; // of COCO

// YOLOv8-pose: one tensor (5 + 3 key points) x N: centre and size in pixels of the input, score,
// and x, y and visibility of each key point. Those of COCO's persons are 17, and only these are
// recognised, because other numbers are as likely classes of YOLOv8.
bool fits_pose(Tensors tensors, const DecodeOptions &)
{
  const auto table = only_table(tensors, Order::ColumnsFirst);
  return table && table->columns == kPosePoint + 3 * kPersonPoints && table->boxes > table->columns;
}

Result<std::vector<Detection>> decode_pose(Tensors tensors, const DecodeOptions &options,
                                           OutputForm &form)
{
  const auto table = only_table(tensors, Order::ColumnsFirst);
  if (!table || table->columns <= kPosePoint || (table->columns - kPosePoint) % 3 != 0 ||
      table->boxes < table->columns)
    return unusable(
        pose_decoder.word, tensors,
        "it needs one tensor of (5 + 3 x key points) x boxes, with more boxes than rows");
  if (const auto checked = check_table(pose_decoder, tensors, form, *table, 4, 1); !checked)
    return checked.error();
  const auto reader =
      box_reader(pose_decoder, tensors, options, form, BoxForm::Cxcywh, BoxUnit::Pixels);
  if (!reader)
    return reader.error();
  std::vector<Detection> found;
  for (std::size_t i = 0; i < table->boxes; i++) {
    const float score = table->at(i, 4);
    if (!(score >= options.threshold))
      continue;
    Detection person = reader->read(table->four(i), std::min(score, 1.0F), 0);
    if (!is_real(person))
      continue;
    for (std::size_t column = kPosePoint; column < table->columns; column += 3)
      person.key_points.push_back(
          {table->at(i, column) * reader->scale_x, table->at(i, column + 1) * reader->scale_y});
    found.push_back(std::move(person));
  }
  return best_of(std::move(found), options.iou_threshold, options.max_detections);
}

} // namespace

const Decoder pose_decoder = {.word = "pose",
                              .outputs = "(5 + 3 x key points) x N",
                              .fits = fits_pose,
                              .decode = decode_pose,
                              .only_label = "person",
                              .reads_unit = true};

} // namespace gstdrm::metis
