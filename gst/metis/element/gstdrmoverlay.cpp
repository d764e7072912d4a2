// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-drmoverlay
 * @title: drmoverlay
 * @short_description: boxes and labels over a frame
 *
 * Draws the #GstVideoRegionOfInterestMeta of each buffer. Where downstream shows
 * #GstVideoOverlayCompositionMeta, the frame passes untouched with the drawing beside it; else the
 * CPU draws on a copy, which `drm-stats` counts. Frames without regions pass as they are.
 *
 * ## Example
 * |[
 * gst-launch-1.0 … ! metisdmabufinfer model=faces.onnx ! drmtensordecode ! drmoverlay !
 * kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/base/gstbasetransform.h>
#include <gst/drm/drm.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_copy.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>
#include <gst/video/video-overlay-composition.h>
#include <gst/video/video.h>

#include "engine/overlay/drawing.hpp"
#include "gstdrmpassthrough.hpp"

GST_DEBUG_CATEGORY_STATIC(gst_drm_overlay_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_drm_overlay_debug

namespace gstdrm {

struct CompositionUnref {
  void operator()(GstVideoOverlayComposition *composition) const noexcept
  {
    gst_video_overlay_composition_unref(composition);
  }
};
using Composition = std::unique_ptr<GstVideoOverlayComposition, CompositionUnref>;

// A line in one colour, or a label.
struct Patch {
  metis::Area area;
  metis::Argb colour = 0;
  std::vector<metis::Argb> pixels; // of a label, row by row
};

// One box with its label, within the frame.
struct Marked {
  metis::Area box;
  std::string name; // determines the colour
  std::string text; // empty: no label
  friend bool operator==(const Marked &, const Marked &) = default;
};

// Keeps the last drawing, so that objects which do not move are drawn once. Streaming thread.
class Scene {
public:
  // Valid until the next call. Needs at least one object.
  const std::vector<Patch> &draw(std::vector<Marked> objects, const GstVideoInfo &info);
  // (transfer none) Of the last drawing, valid until the next one. Made when it is first asked for.
  GstVideoOverlayComposition *composition();
  void forget();
  [[nodiscard]] guint64 drawn() const noexcept { return drawn_; }

private:
  std::vector<Marked> objects_;
  std::vector<Patch> patches_;
  Composition composition_;
  guint64 drawn_ = 0;
};

namespace {

using metis::Area;
using metis::Argb;
using metis::Bitmap;

// --- lines and labels as areas -------------------------------------------------------------------

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
  guint id = 0;
  gdouble confidence = 0;
  const GstStructure *detection = gst_video_region_of_interest_meta_get_param(meta, "detection");
  const bool tracked = detection && gst_structure_get_uint(detection, "id", &id);
  const std::string text = tracked ? "#" + std::to_string(id) + " " + name : name;
  if (!detection || !gst_structure_get_double(detection, "confidence", &confidence) ||
      !(confidence >= 0 && confidence <= 1))
    return text;
  const GstStructure *about = gst_video_region_of_interest_meta_get_param(meta, "classification");
  const gchar *what = about ? gst_structure_get_string(about, "label") : nullptr;
  return text + " " + std::to_string(std::lround(confidence * 100)) + "%" +
         (what ? std::string(" ") + what : "");
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

// The regions of interest of the buffer that are within the frame.
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

// --- areas written into the planes of a frame ----------------------------------------------------

// The bytes of a colour in the components of a format.
class PlaneColours {
public:
  explicit PlaneColours(const GstVideoInfo &info) : is_rgb_(GST_VIDEO_INFO_IS_RGB(&info))
  {
    if (!gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &red_, &blue_))
      gst_video_color_matrix_get_Kr_Kb(GST_VIDEO_COLOR_MATRIX_BT601, &red_, &blue_);
    gst_video_color_range_offsets(info.colorimetry.range, info.finfo, offsets_.data(),
                                  scales_.data());
  }

  // A label has two colours, so the last two are kept.
  [[nodiscard]] guint8 byte_of(Argb colour, guint component)
  {
    if (last_[0].colour != colour) {
      std::swap(last_[0], last_[1]);
      if (last_[0].colour != colour)
        last_[0] = {colour, is_rgb_ ? rgb_of(colour) : yuv_of(colour)};
    }
    return last_[0].bytes[component];
  }

private:
  using Bytes = std::array<guint8, GST_VIDEO_MAX_COMPONENTS>; // R, G, B, A or Y, U, V, A
  struct Converted {
    Argb colour = 0; // transparent: none
    Bytes bytes{};
  };

  static Bytes rgb_of(Argb colour)
  {
    return {static_cast<guint8>(colour >> 16), static_cast<guint8>(colour >> 8),
            static_cast<guint8>(colour), 255};
  }
  [[nodiscard]] Bytes yuv_of(Argb colour) const
  {
    const Bytes rgb = rgb_of(colour);
    const double r = rgb[0] / 255.0, b = rgb[2] / 255.0;
    const double y = red_ * r + (1 - red_ - blue_) * (rgb[1] / 255.0) + blue_ * b;
    const auto byte = [this](std::size_t component, double value) {
      const double scaled = offsets_[component] + scales_[component] * value;
      return static_cast<guint8>(std::lround(std::clamp(scaled, 0.0, 255.0)));
    };
    return {byte(0, y), byte(1, (b - y) / (2 * (1 - blue_))), byte(2, (r - y) / (2 * (1 - red_))),
            255};
  }

  const bool is_rgb_;
  gdouble red_ = 0, blue_ = 0; // of luma
  std::array<gint, GST_VIDEO_MAX_COMPONENTS> offsets_{}, scales_{};
  std::array<Converted, 2> last_;
};

// One component of the visible part of a patch.
void paint_component(GstVideoFrame &frame, guint component, const Patch &patch, const Area &visible,
                     PlaneColours &colours)
{
  const GstVideoFormatInfo *format = frame.info.finfo;
  const auto across = GST_VIDEO_FORMAT_INFO_W_SUB(format, component);
  const auto down = GST_VIDEO_FORMAT_INFO_H_SUB(format, component);
  const gint step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
  const gint first = visible.x >> across, last = (visible.x + visible.width - 1) >> across;
  const gint last_row = (visible.y + visible.height - 1) >> down;
  for (gint row = visible.y >> down; row <= last_row; row++) {
    guint8 *sample = static_cast<guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, component)) +
                     static_cast<gssize>(row) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) +
                     static_cast<gssize>(first) * step;
    if (patch.pixels.empty()) {
      const guint8 byte = colours.byte_of(patch.colour, component);
      if (step == 1) {
        std::memset(sample, byte, static_cast<std::size_t>(last - first + 1));
        continue;
      }
      for (gint i = first; i <= last; i++, sample += step)
        *sample = byte;
      continue;
    }
    const gint y = std::max(row << down, visible.y) - patch.area.y;
    const Argb *pixels = patch.pixels.data() + static_cast<gssize>(y) * patch.area.width;
    for (gint i = first; i <= last; i++, sample += step)
      *sample = colours.byte_of(pixels[std::max(i << across, visible.x) - patch.area.x], component);
  }
}

// Whether each component of the format is a byte, so that paint() can write it.
bool is_paintable(const GstVideoInfo &info)
{
  const GstVideoFormatInfo *format = info.finfo;
  constexpr auto kOther = static_cast<GstVideoFormatFlags>(
      GST_VIDEO_FORMAT_FLAG_COMPLEX | GST_VIDEO_FORMAT_FLAG_PALETTE | GST_VIDEO_FORMAT_FLAG_TILED);
  if (GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format) == 0 ||
      (GST_VIDEO_FORMAT_INFO_FLAGS(format) & kOther) != 0)
    return false;
  for (guint i = 0; i < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); i++)
    if (GST_VIDEO_FORMAT_INFO_DEPTH(format, i) != 8 ||
        GST_VIDEO_FORMAT_INFO_SHIFT(format, i) != 0 || GST_VIDEO_FORMAT_INFO_PSTRIDE(format, i) < 1)
      return false;
  return true;
}

// GStreamer's own blending converts whole rows of the frame for each of the areas, there and back.
// Chroma samples that an area covers in part become its colour.
void paint(GstVideoFrame &frame, const std::vector<Patch> &patches)
{
  PlaneColours colours(frame.info);
  for (const Patch &patch : patches) {
    const Area visible =
        metis::clipped(patch.area, GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame));
    if (visible.width == 0 || visible.height == 0)
      continue;
    for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS(&frame); i++)
      paint_component(frame, i, patch, visible, colours);
  }
}

} // namespace

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

// --- the element ---------------------------------------------------------------------------------

struct OverlaySettings {
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  std::atomic<ImplicitModifier> implicit_modifier{ImplicitModifier::Auto};
  std::atomic<bool> labels{true};
};

// drmoverlay without GObject. Any thread uses zero_copy, implicit_modifier, labels, stats(),
// ask_again(), waits.raise() and waits.clear(); the streaming thread, or a state change while there
// is none, uses the rest.
class Overlayer : public OverlaySettings {
public:
  explicit Overlayer(GstBaseTransform *element)
      : caps(element), element_(element), copier_(element, [this] { return failure_.claim(); })
  {
  }

  Interrupt waits;
  PassedCaps caps;
  [[nodiscard]] GstStructure *stats() const;

  void start();
  void stop();
  bool set_caps(GstCaps *new_caps, GstCaps *);
  // Downstream has changed: asks it again before the next frame.
  void ask_again()
  {
    ask_ = true;
    copier_.ask_again();
  }
  // Adds to downstream's answer what this element needs of frames that it may copy.
  void state_needs(GstQuery *answered) const;
  GstFlowReturn process(GstPtr<GstBuffer> &buffer);

private:
  GstFlowReturn fail(const Error &error);
  [[nodiscard]] bool takes_composition();
  [[nodiscard]] bool is_linear() const;
  GstFlowReturn draw_on_copy(GstPtr<GstBuffer> &buffer, const std::vector<Patch> &patches);
  void count_copy();
  Result<GstPtr<GstBuffer>> copy(GstBuffer *input);

  GstBaseTransform *const element_;
  OncePerFailure failure_;
  std::atomic<bool> ask_{true};
  bool takes_composition_ = false;
  bool is_dmabuf_ = false; // by the caps
  GstDrmVideoInfo info_{};
  GstPtr<GstCaps> caps_;
  FrameCopier copier_;
  Scene scene_;
  Stats stats_;
  std::atomic<guint64> objects_{0};
  std::atomic<guint64> compositions_{0};
  std::atomic<guint64> drawn_{0};
};

namespace {

// Adds the rectangles above those of other elements.
void attach_composition(GstBuffer *buffer, GstVideoOverlayComposition *composition)
{
  GstVideoOverlayCompositionMeta *there = gst_buffer_get_video_overlay_composition_meta(buffer);
  if (!there) {
    gst_buffer_add_video_overlay_composition_meta(buffer, composition);
    return;
  }
  const Composition joined(gst_video_overlay_composition_copy(there->overlay));
  for (guint i = 0; i < gst_video_overlay_composition_n_rectangles(composition); i++)
    gst_video_overlay_composition_add_rectangle(
        joined.get(), gst_video_overlay_composition_get_rectangle(composition, i));
  gst_buffer_remove_meta(buffer, &there->meta);
  gst_buffer_add_video_overlay_composition_meta(buffer, joined.get());
}

// Does not copy metas of the memory, such as layout and fences.
gboolean copy_meta(GstBuffer *from, GstMeta **meta, gpointer to) noexcept
{
  const GstMetaInfo *info = (*meta)->info;
  const bool of_memory =
      gst_meta_api_type_has_tag(info->api, g_quark_from_static_string(GST_META_TAG_MEMORY_STR)) ||
      gst_meta_api_type_has_tag(info->api,
                                g_quark_from_static_string(GST_META_TAG_MEMORY_REFERENCE_STR));
  if (!of_memory && info->transform_func) {
    GstMetaTransformCopy whole{FALSE, 0, static_cast<gsize>(-1)};
    info->transform_func(static_cast<GstBuffer *>(to), *meta, from, _gst_meta_transform_copy,
                         &whole);
  }
  return TRUE;
}

bool is_all_dmabuf(GstBuffer *buffer)
{
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    if (!gst_is_fd_memory(gst_buffer_peek_memory(buffer, i)))
      return false;
  return gst_buffer_n_memory(buffer) > 0;
}

bool composes(GstQuery *answered)
{
  return gst_query_find_allocation_meta(answered, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
                                        nullptr) != FALSE;
}

} // namespace

GstStructure *Overlayer::stats() const
{
  GstStructure *stats = stats_.to_structure();
  gst_structure_set(stats, "objects", G_TYPE_UINT64, objects_.load(), "compositions", G_TYPE_UINT64,
                    compositions_.load(), "drawn", G_TYPE_UINT64, drawn_.load(), nullptr);
  return stats;
}

GstFlowReturn Overlayer::fail(const Error &error)
{
  const std::string sender = peer_name(element_->sinkpad);
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot draw on a frame of " + sender,
                  error);
  failure_.post(GST_ELEMENT(element_), failure.add("sender", sender).add("caps", caps_.get()));
  return GST_FLOW_ERROR;
}

void Overlayer::start()
{
  stats_.begin(GST_ELEMENT(element_));
  objects_ = compositions_ = drawn_ = 0;
  failure_.reset();
  caps.start();
  ask_ = true;
  waits.clear();
}

void Overlayer::stop()
{
  scene_.forget();
  copier_.set_caps(nullptr);
  caps_.reset();
}

bool Overlayer::set_caps(GstCaps *new_caps, GstCaps *)
{
  scene_.forget();
  copier_.set_caps(new_caps);
  ask_ = true;
  caps_ = GstPtr<GstCaps>::share(new_caps);
  const GstCapsFeatures *features = gst_caps_get_features(new_caps, 0);
  is_dmabuf_ = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF);
  GError *error = nullptr;
  if (gst_drm_video_info_from_caps_full(&info_, new_caps, &error)) {
    resolve_implicit(info_, implicit_modifier);
    return true;
  }
  // memory of another kind, which the CPU cannot read: a composition needs only the size
  info_ = {};
  info_.drm_modifier = DRM_FORMAT_MOD_INVALID;
  if (gst_video_info_from_caps(&info_.vinfo, new_caps)) {
    g_clear_error(&error);
    return true;
  }
  caps.post(Failure({}, take_error(error)).add("caps", new_caps));
  return false;
}

bool Overlayer::takes_composition()
{
  if (!ask_.exchange(false))
    return takes_composition_;
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_.get(), FALSE));
  takes_composition_ = gst_pad_peer_query(element_->srcpad, query.get()) && composes(query.get());
  GST_INFO_OBJECT(element_, "downstream %s", takes_composition_ ? "composes" : "does not compose");
  return takes_composition_;
}

void Overlayer::state_needs(GstQuery *answered) const
{
  GstCaps *asked = nullptr;
  gst_query_parse_allocation(answered, &asked, nullptr);
  GstDrmVideoInfo info;
  // with a composition no pixel of the frame is read
  if (composes(answered) || !asked || !gst_caps_is_fixed(asked) ||
      !gst_drm_video_info_from_caps(&info, asked))
    return;
  resolve_implicit(info, implicit_modifier);
  if (info.drm_modifier != DRM_FORMAT_MOD_LINEAR)
    return;
  Needs needs;
  needs.cpu_access = GST_DRM_ACCESS_READ; // for the copy
  add_needs(GST_ELEMENT(element_), answered, needs);
}

bool Overlayer::is_linear() const
{
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info_.vinfo);
  return info_.drm_modifier == DRM_FORMAT_MOD_LINEAR && format != GST_VIDEO_FORMAT_UNKNOWN &&
         format != GST_VIDEO_FORMAT_ENCODED;
}

GstFlowReturn Overlayer::process(GstPtr<GstBuffer> &buffer)
{
  stats_.frames++;
  if (!caps_)
    return GST_FLOW_NOT_NEGOTIATED;
  std::vector<Marked> objects = marked_objects(buffer.get(), info_.vinfo, labels);
  if (objects.empty())
    return GST_FLOW_OK;
  objects_ += objects.size();
  const std::vector<Patch> &patches = scene_.draw(std::move(objects), info_.vinfo);
  drawn_ = scene_.drawn();
  if (!takes_composition())
    return draw_on_copy(buffer, patches);
  if (const Result<void> made = make_writable(buffer); !made)
    return fail(made.error());
  attach_composition(buffer.get(), scene_.composition());
  compositions_++;
  return GST_FLOW_OK;
}

GstFlowReturn Overlayer::draw_on_copy(GstPtr<GstBuffer> &buffer, const std::vector<Patch> &patches)
{
  if (!is_linear())
    return fail(
        {ErrorCode::Unsupported,
         "There is no way to draw on " + describe_caps(caps_.get()) +
             ": downstream shows no GstVideoOverlayComposition, and the CPU draws on linear "
             "frames alone. Ask upstream for a linear format with a capsfilter.",
         0});
  auto drawn = copy(buffer.get());
  if (!drawn)
    return fail(drawn.error());
  if (!*drawn)
    return GST_FLOW_FLUSHING;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info_.vinfo, drawn->get(), GST_MAP_READWRITE))
    return fail({ErrorCode::Import, "The CPU cannot map the copy of a frame for drawing.", 0});
  bool is_drawn = is_paintable(info_.vinfo);
  if (is_drawn)
    paint(frame, patches);
  else // more than 8 bits: GStreamer knows those formats
    is_drawn = gst_video_overlay_composition_blend(scene_.composition(), &frame) != FALSE;
  gst_video_frame_unmap(&frame);
  if (!is_drawn)
    return fail({ErrorCode::Unsupported,
                 std::string("GStreamer blends no overlay on ") +
                     GST_VIDEO_INFO_NAME(&info_.vinfo) + " frames.",
                 0});
  buffer = std::move(*drawn);
  return GST_FLOW_OK;
}

void Overlayer::count_copy()
{
  stats_.count_copy(GST_ELEMENT(element_), info_.vinfo.size,
                    "downstream shows no GstVideoOverlayComposition");
}

// Returns an empty pointer if a flush or stop ended the wait for the frame.
Result<GstPtr<GstBuffer>> Overlayer::copy(GstBuffer *input)
{
  if (zero_copy == ZeroCopy::Require)
    return Error{ErrorCode::Unsupported,
                 "zero-copy=require forbids to copy the frame that boxes are drawn on, and "
                 "downstream shows no GstVideoOverlayComposition. Set zero-copy=prefer, or use a "
                 "sink that shows overlays.",
                 0};
  const Result<Waited> ready = wait_for_device(GST_ELEMENT(element_), input, stats_, waits);
  if (!ready)
    return ready.error();
  if (*ready == Waited::Interrupted)
    return GstPtr<GstBuffer>();
  if (!is_dmabuf_ && !is_all_dmabuf(input)) {
    if (const auto checked = check_mappable_frame(input, info_.vinfo); !checked)
      return checked.error();
    count_copy();
    return GstPtr<GstBuffer>::adopt(gst_buffer_copy_deep(input));
  }
  // The layout comes from another element: check it before the CPU reads a pixel.
  if (const auto layout = frame_layout_of(input, info_); !layout)
    return layout.error();
  auto made = copier_.copy(input, info_.vinfo);
  if (!made)
    return made.error();
  count_copy();
  gst_buffer_copy_into(
      made->get(), input,
      static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS), 0,
      static_cast<gsize>(-1));
  gst_buffer_foreach_meta(input, copy_meta, made->get());
  return made;
}

} // namespace gstdrm

using gstdrm::common_property;
using gstdrm::GstPtr;
using gstdrm::logging;
using gstdrm::Overlayer;
using gstdrm::OverlaySettings;
using gstdrm::posting;
using gstdrm::property;

#define GST_TYPE_DRM_OVERLAY (gst_drm_overlay_get_type())
G_DECLARE_FINAL_TYPE(GstDrmOverlay, gst_drm_overlay, GST, DRM_OVERLAY, GstBaseTransform)

struct _GstDrmOverlay {
  GstBaseTransform parent;
  Overlayer *overlayer; // made in init, deleted in finalize
};

G_DEFINE_TYPE(GstDrmOverlay, gst_drm_overlay, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(drmoverlay, "drmoverlay", GST_RANK_NONE, GST_TYPE_DRM_OVERLAY)

static Overlayer &overlayer_of(gpointer element) noexcept
{
  return *static_cast<GstDrmOverlay *>(element)->overlayer;
}

static const auto &overlay_properties()
{
  using S = OverlaySettings;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      common_property<&S::implicit_modifier>(),
      property<&S::labels>("labels", "Labels", "Write what each box is, and how certain that is",
                           gstdrm::kPlayingProperty),
  };
  return rows;
}

static void gst_drm_overlay_set_property(GObject *object, guint id, const GValue *value,
                                         GParamSpec *spec)
{
  gstdrm::set_property(object, overlay_properties(), id, value, spec,
                       [object](const auto &set) { set(overlayer_of(object)); });
}

static void gst_drm_overlay_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
  const Overlayer &overlayer = overlayer_of(object);
  if (id == gstdrm::kStatsId)
    g_value_take_boxed(value, overlayer.stats());
  else
    gstdrm::get_property(object, overlay_properties(), id, value, spec, overlayer);
}

static gboolean gst_drm_overlay_query(GstBaseTransform *trans, GstPadDirection direction,
                                      GstQuery *query)
{
  if (const auto passed = gstdrm::pass_query(trans, direction, query))
    return *passed;
  const gboolean answered =
      GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)->query(trans, direction, query);
  if (direction == GST_PAD_SINK && GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION)
    overlayer_of(trans).state_needs(query);
  return answered;
}

static gboolean gst_drm_overlay_sink_event(GstBaseTransform *trans, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    overlayer_of(trans).waits.raise();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    overlayer_of(trans).waits.clear();
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class);
  return GST_EVENT_TYPE(event) == GST_EVENT_CAPS ? overlayer_of(trans).caps.take(event, base)
                                                 : base->sink_event(trans, event);
}

static gboolean gst_drm_overlay_src_event(GstBaseTransform *trans, GstEvent *event) noexcept
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_RECONFIGURE)
    overlayer_of(trans).ask_again();
  return GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)->src_event(trans, event);
}

static GstStateChangeReturn gst_drm_overlay_change_state(GstElement *element,
                                                         GstStateChange transition) noexcept
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    overlayer_of(element).waits.raise();
  return GST_ELEMENT_CLASS(gst_drm_overlay_parent_class)->change_state(element, transition);
}

static GstFlowReturn gst_drm_overlay_submit(GstBaseTransform *trans, gboolean discont,
                                            GstBuffer *input)
{
  auto buffer = GstPtr<GstBuffer>::adopt(input);
  const GstFlowReturn flow = overlayer_of(trans).process(buffer);
  return flow != GST_FLOW_OK ? flow
                             : GST_BASE_TRANSFORM_CLASS(gst_drm_overlay_parent_class)
                                   ->submit_input_buffer(trans, discont, buffer.release());
}

static void gst_drm_overlay_finalize(GObject *object) noexcept
{
  std::default_delete<Overlayer>()(&overlayer_of(object));
  G_OBJECT_CLASS(gst_drm_overlay_parent_class)->finalize(object);
}

static void gst_drm_overlay_class_init(GstDrmOverlayClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_drm_overlay_debug, "drmoverlay", 0, "Boxes and labels over a frame");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_drm_overlay_set_property>;
  object_class->get_property = logging<gst_drm_overlay_get_property>;
  object_class->finalize = gst_drm_overlay_finalize;
  gstdrm::install_properties(object_class, overlay_properties());
  gstdrm::install_common_properties(
      object_class,
      {gstdrm::row_id<0>, "What to do where boxes have to be drawn on a copy of the frame",
       gstdrm::kStatsId,
       "Counters since start: frames, objects, compositions, drawn, copies, bytes-copied, "
       "last-copy-reason, waits",
       gstdrm::row_id<1>,
       "Frames of caps that name no modifier (memory:DMABuf without DMA_DRM): drawn on by the CPU "
       "as linear ones (linear), or never (all others)"});

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  const auto video = GstPtr<GstCaps>::adopt(gst_caps_from_string("video/x-raw(ANY)"));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, video.get()));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, video.get()));
  gst_element_class_set_static_metadata(
      element_class, "Overlay of detections", "Filter/Editor/Video",
      "Draws boxes and labels beside the frame or on a copy", "gst-drm contributors");
  element_class->change_state = gst_drm_overlay_change_state;

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->start = posting<overlayer_of, &Overlayer::start>;
  transform_class->stop = logging<overlayer_of, &Overlayer::stop>;
  transform_class->set_caps = posting<overlayer_of, &Overlayer::set_caps>;
  transform_class->query = posting<gst_drm_overlay_query>;
  transform_class->sink_event = posting<gst_drm_overlay_sink_event>;
  transform_class->src_event = gst_drm_overlay_src_event;
  transform_class->submit_input_buffer = posting<gst_drm_overlay_submit>;
}

static void gst_drm_overlay_init(GstDrmOverlay *self)
{
  self->overlayer = std::make_unique<Overlayer>(GST_BASE_TRANSFORM(self)).release();
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
  self->overlayer->caps.watch();
}
