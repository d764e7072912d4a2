// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmoverlayscene.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace gstdrm {

namespace {

using metis::Area;
using metis::Argb;
using metis::Bitmap;

constexpr std::size_t kMostObjects = 200; // in one frame

struct RectangleUnref {
  void operator()(GstVideoOverlayRectangle *rectangle) const noexcept
  {
    gst_video_overlay_rectangle_unref(rectangle);
  }
};
using Rectangle = std::unique_ptr<GstVideoOverlayRectangle, RectangleUnref>;

// 0xAARRGGBB in the CPU's byte order is BGRA in memory on little-endian machines, ARGB on others.
Rectangle rectangle_of(const std::vector<Argb> &pixels, const Area &area)
{
  const gsize bytes = pixels.size() * sizeof(Argb);
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, bytes, nullptr);
  gst_buffer_fill(buffer, 0, pixels.data(), bytes);
  const auto width = static_cast<guint>(area.width), height = static_cast<guint>(area.height);
  gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                            GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, width, height);
  Rectangle rectangle(gst_video_overlay_rectangle_new_raw(buffer, area.x, area.y, width, height,
                                                          GST_VIDEO_OVERLAY_FORMAT_FLAG_NONE));
  gst_buffer_unref(buffer);
  return rectangle;
}

std::string text_of(GstVideoRegionOfInterestMeta *meta, const std::string &name)
{
  gdouble confidence = 0;
  const GstStructure *detection = gst_video_region_of_interest_meta_get_param(meta, "detection");
  if (!detection || !gst_structure_get_double(detection, "confidence", &confidence) ||
      !(confidence >= 0 && confidence <= 1))
    return name;
  return name + " " + std::to_string(std::lround(confidence * 100)) + "%";
}

std::vector<Patch> patches_of(const std::vector<Marked> &objects, const GstVideoInfo &info)
{
  const metis::Pen pen = metis::pen_for(GST_VIDEO_INFO_HEIGHT(&info));
  std::vector<Patch> patches;
  for (const Marked &object : objects) {
    const Argb colour = metis::colour_of(object.name);
    for (const Area &line : metis::outline(object.box, pen.line))
      patches.push_back({line, colour, {}});
    Bitmap label = metis::draw_label(object.text, pen.letter, colour);
    if (label.pixels.empty())
      continue;
    const Area area = metis::place_label(label, object.box, GST_VIDEO_INFO_WIDTH(&info),
                                         GST_VIDEO_INFO_HEIGHT(&info));
    patches.push_back({area, colour, std::move(label.pixels)});
  }
  return patches;
}

} // namespace

std::vector<Marked> marked_objects(GstBuffer *buffer, const GstVideoInfo &info, bool labels)
{
  std::vector<Marked> objects;
  gpointer state = nullptr;
  while (GstMeta *found = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *>(found);
    const auto number = [](guint n) { return static_cast<int>(MIN(n, G_MAXINT)); };
    const Area box =
        metis::clipped({number(meta->x), number(meta->y), number(meta->w), number(meta->h)},
                       GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
    if (box.width == 0 || box.height == 0)
      continue;
    const gchar *type = meta->roi_type ? g_quark_to_string(meta->roi_type) : nullptr;
    const std::string name = type ? type : "";
    objects.push_back({box, name, labels ? text_of(meta, name) : ""});
    if (objects.size() == kMostObjects)
      break;
  }
  return objects;
}

const std::vector<Patch> &Scene::draw(std::vector<Marked> objects, const GstVideoInfo &info)
{
  if (!patches_.empty() && objects == objects_)
    return patches_;
  patches_ = patches_of(objects, info);
  composition_.reset();
  objects_ = std::move(objects);
  drawn_++;
  return patches_;
}

GstVideoOverlayComposition *Scene::composition()
{
  if (composition_)
    return composition_.get();
  for (const Patch &patch : patches_) {
    const auto size =
        static_cast<std::size_t>(patch.area.width) * static_cast<std::size_t>(patch.area.height);
    const Rectangle rectangle = rectangle_of(
        patch.pixels.empty() ? std::vector<Argb>(size, patch.colour) : patch.pixels, patch.area);
    if (composition_)
      gst_video_overlay_composition_add_rectangle(composition_.get(), rectangle.get());
    else
      composition_.reset(gst_video_overlay_composition_new(rectangle.get()));
  }
  return composition_.get();
}

void Scene::forget()
{
  objects_.clear();
  patches_.clear();
  composition_.reset();
}

} // namespace gstdrm
