// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmdetections.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <gst/drm/core/json_writer.hpp>
#include <gst/video/gstvideometa.h>

#include "gstdrmanalytics.hpp"

namespace gstdrm {

namespace {

// One axis: input pixels to frame pixels.
struct Axis {
  gdouble scale, offset;
  gint extent; // of the frame; 0 if unknown

  [[nodiscard]] bool is_valid() const
  {
    return std::isfinite(scale) && scale > 0 && std::isfinite(offset);
  }
  [[nodiscard]] gdouble exact(gdouble at) const { return (at - offset) / scale; }
  [[nodiscard]] gint inside(gdouble at) const
  {
    const gdouble most = extent > 0 ? extent : G_MAXINT / 2;
    return static_cast<gint>(std::lround(std::clamp(exact(at), 0.0, most)));
  }
};

std::optional<FoundObject> placed(const metis::Detection &found, const Axis &x, const Axis &y)
{
  const gint left = x.inside(found.x), top = y.inside(found.y);
  const gint right = x.inside(static_cast<gdouble>(found.x) + found.width);
  const gint bottom = y.inside(static_cast<gdouble>(found.y) + found.height);
  if (right <= left || bottom <= top)
    return std::nullopt;
  FoundObject object{left, top, right - left, bottom - top, found.score, found.label, {}, {}};
  for (const metis::KeyPoint &point : found.key_points)
    object.key_points.push_back(
        {static_cast<float>(x.exact(point.x)), static_cast<float>(y.exact(point.y))});
  object.mask = found.mask;
  object.mask.x = static_cast<float>(x.exact(found.mask.x));
  object.mask.y = static_cast<float>(y.exact(found.mask.y));
  object.mask.width = static_cast<float>(found.mask.width / x.scale);
  object.mask.height = static_cast<float>(found.mask.height / y.scale);
  object.embedding = found.embedding;
  return object;
}

template <typename Values, typename Number>
void set_numbers(GstStructure *structure, const char *field, const Values &values, Number number_of)
{
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(values.size()));
  for (const auto &value : values) {
    GValue number = G_VALUE_INIT;
    g_value_init(&number, G_TYPE_DOUBLE);
    g_value_set_double(&number, static_cast<gdouble>(number_of(value)));
    gst_value_array_append_and_take_value(&array, &number);
  }
  gst_structure_take_value(structure, field, &array);
}

void set_mask(GstStructure *structure, const metis::Mask &mask)
{
  GstBuffer *values = gst_buffer_new_memdup(mask.values.data(), mask.values.size());
  gst_structure_set(structure, "mask", GST_TYPE_BUFFER, values, "mask-columns", G_TYPE_UINT,
                    static_cast<guint>(mask.columns), "mask-rows", G_TYPE_UINT,
                    static_cast<guint>(mask.values.size() / mask.columns), "mask-x", G_TYPE_DOUBLE,
                    static_cast<gdouble>(mask.x), "mask-y", G_TYPE_DOUBLE,
                    static_cast<gdouble>(mask.y), "mask-width", G_TYPE_DOUBLE,
                    static_cast<gdouble>(mask.width), "mask-height", G_TYPE_DOUBLE,
                    static_cast<gdouble>(mask.height), nullptr);
  gst_buffer_unref(values);
}

GstStructure *structure_of(const FoundObject &object)
{
  GstStructure *structure =
      gst_structure_new("detection", "label", G_TYPE_STRING, object.name.c_str(), "label-id",
                        G_TYPE_UINT, object.label, "confidence", G_TYPE_DOUBLE, object.score, "x",
                        G_TYPE_INT, object.x, "y", G_TYPE_INT, object.y, "width", G_TYPE_INT,
                        object.width, "height", G_TYPE_INT, object.height, nullptr);
  if (object.id != 0)
    gst_structure_set(structure, "id", G_TYPE_UINT, object.id, nullptr);
  if (object.parent)
    gst_structure_set(structure, "parent-id", G_TYPE_INT, *object.parent, nullptr);
  if (!object.key_points.empty()) {
    set_numbers(structure, "key-points-x", object.key_points,
                [](const metis::KeyPoint &point) { return point.x; });
    set_numbers(structure, "key-points-y", object.key_points,
                [](const metis::KeyPoint &point) { return point.y; });
  }
  if (!object.embedding.empty())
    set_numbers(structure, "embedding", object.embedding, [](float value) { return value; });
  if (!object.mask.values.empty())
    set_mask(structure, object.mask);
  return structure;
}

// With the names of structure_of().
void write_json(JsonWriter &json, const FoundObject &object)
{
  json.begin_object();
  if (object.id != 0)
    json.key("id").number(object.id);
  if (object.parent)
    json.key("parent-id").number(static_cast<guint>(*object.parent));
  json.key("label").string(object.name).key("label-id").number(object.label);
  json.key("confidence").real(static_cast<float>(object.score));
  for (const auto &[name, number] : {std::pair("x", object.x),
                                     {"y", object.y},
                                     {"width", object.width},
                                     {"height", object.height}})
    json.key(name).number(static_cast<guint>(number)); // not negative: cut at the frame's edges
  if (!object.key_points.empty()) {
    json.key("key-points").begin_array();
    for (const metis::KeyPoint &point : object.key_points)
      json.begin_array().real(point.x).real(point.y).end_array();
    json.end_array();
  }
  if (!object.embedding.empty()) {
    json.key("embedding").begin_array();
    for (const float value : object.embedding)
      json.real(value);
    json.end_array();
  }
  json.end_object();
}

} // namespace

Result<std::vector<FoundObject>> to_frame(const std::vector<metis::Detection> &found,
                                          const GstDrmTensorPlacement &placement, FrameSize frame)
{
  const Axis x{placement.scale_x, placement.offset_x, frame.width};
  const Axis y{placement.scale_y, placement.offset_y, frame.height};
  if (!x.is_valid() || !y.is_valid())
    return Error{ErrorCode::Layout,
                 "The frame lies nowhere in the model's input: the placement of its tensors has "
                 "scales of " +
                     std::to_string(placement.scale_x) + " and " +
                     std::to_string(placement.scale_y) + ".",
                 0};
  std::vector<FoundObject> objects;
  for (const metis::Detection &detection : found)
    if (auto object = placed(detection, x, y))
      objects.push_back(std::move(*object));
  return objects;
}

std::optional<FoundObject> moved(const FoundObject &object, const metis::Detection &box,
                                 FrameSize frame)
{
  const metis::Detection before{static_cast<float>(object.x),
                                static_cast<float>(object.y),
                                static_cast<float>(object.width),
                                static_cast<float>(object.height),
                                static_cast<float>(object.score),
                                object.label,
                                object.key_points,
                                object.mask,
                                object.embedding};
  const auto axis = [](gdouble from, gdouble from_size, gdouble to, gdouble to_size, gint extent) {
    const gdouble scale = from_size / to_size;
    return Axis{scale, from - to * scale, extent};
  };
  auto there = placed(before, axis(before.x, before.width, box.x, box.width, frame.width),
                      axis(before.y, before.height, box.y, box.height, frame.height));
  if (there) {
    there->name = object.name;
    there->group = object.group;
    there->id = object.id;
    there->first_seen = object.first_seen;
    there->last_seen = object.last_seen;
    there->parent = object.parent;
  }
  return there;
}

GstVideoRegionOfInterestMeta *region_of(GstBuffer *buffer, const FoundObject &object)
{
  return object.parent ? gst_buffer_get_video_region_of_interest_meta_id(buffer, *object.parent)
                       : nullptr;
}

void attach(GstBuffer *buffer, const std::vector<FoundObject> &objects)
{
  // Without ids of their own the regions are numbered, on from those that the frame has already.
  auto number =
      static_cast<gint>(gst_buffer_get_n_meta(buffer, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  for (const FoundObject &object : objects) {
    if (auto *region = object.whole ? region_of(buffer, object) : nullptr) {
      GstStructure *about = structure_of(object);
      gst_structure_set_name(about, object.embedding.empty() ? "classification" : "embedding");
      gst_video_region_of_interest_meta_add_param(region, about);
      continue;
    }
    GstVideoRegionOfInterestMeta *meta = gst_buffer_add_video_region_of_interest_meta(
        buffer, object.name.c_str(), static_cast<guint>(object.x), static_cast<guint>(object.y),
        static_cast<guint>(object.width), static_cast<guint>(object.height));
    meta->id = object.id != 0 ? static_cast<gint>(object.id) : number;
    number++;
    meta->parent_id = object.parent.value_or(-1);
    gst_video_region_of_interest_meta_add_param(meta, structure_of(object));
  }
  attach_analytics(buffer, objects);
}

std::string json_of(GstBuffer *buffer, FrameSize frame, const std::vector<FoundObject> &objects)
{
  JsonWriter json;
  json.begin_object().key("pts");
  if (GST_BUFFER_PTS_IS_VALID(buffer))
    json.number(GST_BUFFER_PTS(buffer));
  else
    json.null();
  if (frame.width > 0 && frame.height > 0)
    json.key("width")
        .number(static_cast<guint>(frame.width))
        .key("height")
        .number(static_cast<guint>(frame.height));
  json.key("detections").begin_array();
  for (const FoundObject &object : objects)
    write_json(json, object);
  json.end_array().end_object();
  return json.text();
}

GstStructure *message_of(GstBuffer *buffer, const std::vector<FoundObject> &objects,
                         const std::string &json)
{
  GstStructure *message =
      gst_structure_new("drm-detections", "pts", G_TYPE_UINT64, GST_BUFFER_PTS(buffer), "json",
                        G_TYPE_STRING, json.c_str(), nullptr);
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, static_cast<guint>(objects.size()));
  for (const FoundObject &object : objects) {
    GValue one = G_VALUE_INIT;
    g_value_init(&one, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&one, structure_of(object));
    gst_value_array_append_and_take_value(&array, &one);
  }
  gst_structure_take_value(message, "detections", &array);
  return message;
}

} // namespace gstdrm
