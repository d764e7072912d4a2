// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkdisplay.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gst/drm/element/mappable_frame.hpp>

namespace gstdrm {

namespace {

bool has_8_bit_rgba(const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_IS_RGB(&info) && GST_VIDEO_INFO_HAS_ALPHA(&info) &&
         GST_VIDEO_INFO_N_PLANES(&info) == 1 && GST_VIDEO_INFO_COMP_DEPTH(&info, 0) == 8 &&
         GST_VIDEO_INFO_COMP_DEPTH(&info, GST_VIDEO_COMP_A) == 8;
}

// Cursor planes blend colours that are multiplied by alpha already; those of video/x-raw are not.
kms::CursorImage premultiply(const GstVideoFrame &frame)
{
  kms::CursorImage image;
  image.width = static_cast<std::uint32_t>(GST_VIDEO_FRAME_WIDTH(&frame));
  image.height = static_cast<std::uint32_t>(GST_VIDEO_FRAME_HEIGHT(&frame));
  image.pixels.reserve(std::size_t{image.width} * image.height * 4);
  for (std::size_t y = 0; y < image.height; y++)
    for (std::size_t x = 0; x < image.width; x++) {
      const auto component = [&](guint c) {
        const auto *data = static_cast<const guint8 *>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
        return unsigned{
            data[y * static_cast<std::size_t>(GST_VIDEO_FRAME_COMP_STRIDE(&frame, c)) +
                 x * static_cast<std::size_t>(GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c))]};
      };
      const unsigned alpha = component(GST_VIDEO_COMP_A);
      for (const guint c : {GST_VIDEO_COMP_B, GST_VIDEO_COMP_G, GST_VIDEO_COMP_R})
        image.pixels.push_back(static_cast<std::uint8_t>((component(c) * alpha + 127) / 255));
      image.pixels.push_back(static_cast<std::uint8_t>(alpha));
    }
  return image;
}

// Nothing for nullptr: no cursor. Error: the sample is not a picture of 8-bit RGB with alpha.
Result<std::optional<kms::CursorImage>> read_cursor_image(GstSample *sample)
{
  if (!sample)
    return std::optional<kms::CursorImage>();
  GstVideoInfo info;
  GstCaps *caps = gst_sample_get_caps(sample);
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  if (!caps || !buffer || !gst_video_info_from_caps(&info, caps) || !has_8_bit_rgba(info))
    return Error{
        ErrorCode::Caps,
        "cursor-image needs a buffer and video/x-raw caps of 8-bit RGB with alpha, such as BGRA.",
        0};
  if (const Result<void> checked = check_mappable_frame(buffer, info); !checked)
    return Error{ErrorCode::Layout,
                 "cursor-image is no frame of its caps: " + checked.error().message + ".", 0};
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
    return Error{ErrorCode::Layout, "cursor-image cannot be mapped.", 0};
  const std::unique_ptr<GstVideoFrame, decltype(&gst_video_frame_unmap)> mapped(
      &frame, gst_video_frame_unmap);
  return std::optional<kms::CursorImage>(premultiply(frame));
}

Result<void> show_cursor(kms::Display &display, GstSample *sample)
{
  const Result<std::optional<kms::CursorImage>> image = read_cursor_image(sample);
  return image ? display.set_cursor(*image) : Result<void>(image.error());
}

// GStreamer turns clockwise, KMS counter-clockwise after it has reflected.
std::uint32_t rotation_of(GstVideoOrientationMethod direction)
{
  switch (direction) {
  case GST_VIDEO_ORIENTATION_90R:
    return DRM_MODE_ROTATE_270;
  case GST_VIDEO_ORIENTATION_180:
    return DRM_MODE_ROTATE_180;
  case GST_VIDEO_ORIENTATION_90L:
    return DRM_MODE_ROTATE_90;
  case GST_VIDEO_ORIENTATION_HORIZ:
    return DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_X;
  case GST_VIDEO_ORIENTATION_VERT:
    return DRM_MODE_ROTATE_0 | DRM_MODE_REFLECT_Y;
  case GST_VIDEO_ORIENTATION_UL_LR:
    return DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_X;
  case GST_VIDEO_ORIENTATION_UR_LL:
    return DRM_MODE_ROTATE_90 | DRM_MODE_REFLECT_Y;
  default:
    return DRM_MODE_ROTATE_0;
  }
}

// Returns nullopt if no KMS property has values of that type.
std::optional<kms::UserProperty> read_user_property(const std::string &name, const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value) && g_value_get_string(value))
    return kms::UserProperty{name, std::string(g_value_get_string(value))};
  if (G_VALUE_HOLDS_BOOLEAN(value))
    return kms::UserProperty{name, std::int64_t{g_value_get_boolean(value) ? 1 : 0}};
  if (G_VALUE_HOLDS_INT(value))
    return kms::UserProperty{name, std::int64_t{g_value_get_int(value)}};
  if (G_VALUE_HOLDS_INT64(value))
    return kms::UserProperty{name, std::int64_t{g_value_get_int64(value)}};
  if (G_VALUE_HOLDS_UINT(value))
    return kms::UserProperty{name, std::uint64_t{g_value_get_uint(value)}};
  if (G_VALUE_HOLDS_UINT64(value))
    return kms::UserProperty{name, std::uint64_t{g_value_get_uint64(value)}};
  return std::nullopt;
}

Result<std::vector<kms::UserProperty>> read_user_properties(const char *property,
                                                            const GstStructure *structure)
{
  std::vector<kms::UserProperty> properties;
  for (gint i = 0; structure && i < gst_structure_n_fields(structure); i++) {
    const std::string name = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    const GValue *value = gst_structure_get_value(structure, name.c_str());
    const std::optional<kms::UserProperty> read = read_user_property(name, value);
    if (!read)
      return Error{ErrorCode::Device,
                   std::string(property) + ": " + name + " is a " + G_VALUE_TYPE_NAME(value) +
                       ". Give an integer, a boolean, or a string with the name of a value.",
                   EINVAL};
    properties.push_back(*read);
  }
  return properties;
}

} // namespace

SinkSettings SinkDisplay::settings() const
{
  const std::lock_guard guard(lock_);
  return settings_;
}

void SinkDisplay::change(const std::function<void(SinkSettings &)> &change)
{
  const std::lock_guard guard(lock_);
  change(settings_);
  follow_settings();
}

// With the lock held. What the display has already changes nothing.
void SinkDisplay::follow_settings()
{
  kms::View &view = settings_.view;
  const bool by_tag = settings_.direction == GST_VIDEO_ORIENTATION_AUTO;
  const GstVideoOrientationMethod direction =
      by_tag ? settings_.tag_direction : settings_.direction;
  if (direction != GST_VIDEO_ORIENTATION_CUSTOM) {
    view.rotation = rotation_of(direction);
    view.rotation_is_optional = by_tag;
  }
  if (!display_)
    return;
  display_->set_view(view);
  display_->set_restore(settings_.restore);
  display_->move_cursor(settings_.cursor_x, settings_.cursor_y);
}

Result<void> SinkDisplay::set_cursor_image(GstSample *sample)
{
  auto image = GstPtr<GstSample>::share(sample);
  {
    const std::lock_guard guard(lock_);
    std::swap(settings_.cursor_image, image); // the old one is freed without the lock
  }
  return show_wanted_cursor();
}

// Without the lock, so that another thread may set another image meanwhile: whoever shows an image
// that is not wanted any more shows the next one too.
Result<void> SinkDisplay::show_wanted_cursor()
{
  while (true) {
    const GstPtr<GstSample> wanted = settings().cursor_image;
    const std::shared_ptr<kms::Display> display = get();
    if (!display)
      return {};
    Result<void> shown = show_cursor(*display, wanted.get());
    const std::lock_guard guard(lock_);
    if (settings_.cursor_image.get() == wanted.get())
      return shown;
  }
}

Result<std::shared_ptr<kms::Display>> SinkDisplay::open_display(kms::DisplayListener &listener,
                                                                const kms::Display *former) const
{
  SinkSettings wanted = settings();
  Result<kms::ModeRequest> mode = kms::parse_mode_request(wanted.mode);
  if (!mode)
    return mode.error();
  wanted.output.mode = *mode;
  wanted.output.implicit_modifiers = wanted.implicit_modifier == ImplicitModifier::Driver;
  if (former && former->is_joined()) // the display stays the other program's
    wanted.output.mode.kind = kms::ModeRequest::Kind::Current;
  for (const auto &[property, from, to] :
       {std::tuple("connector-properties", wanted.connector_properties.get(),
                   &wanted.output.connector_properties),
        std::tuple("plane-properties", wanted.plane_properties.get(),
                   &wanted.output.plane_properties)}) {
    Result<std::vector<kms::UserProperty>> properties = read_user_properties(property, from);
    if (!properties)
      return properties.error();
    *to = std::move(*properties);
  }
  Result<std::shared_ptr<kms::Display>> opened =
      kms::Display::open(wanted.device, wanted.output, listener);
  if (!opened)
    return opened;
  if (Result<void> view = (*opened)->check_view(settings().view); !view)
    return view.error();
  return opened;
}

// Returns the one before.
std::shared_ptr<kms::Display> SinkDisplay::set_display(std::shared_ptr<kms::Display> display)
{
  const std::lock_guard guard(lock_);
  display_.swap(display);
  follow_settings();
  return display;
}

Result<void> SinkDisplay::open(kms::DisplayListener &listener)
{
  Result<std::shared_ptr<kms::Display>> opened = open_display(listener, nullptr);
  if (!opened)
    return opened.error();
  (void)set_display(std::move(*opened));
  return {};
}

Result<void> SinkDisplay::open_another(kms::DisplayListener &listener)
{
  Result<std::shared_ptr<kms::Display>> opened = open_display(listener, get().get());
  if (!opened)
    return opened.error();
  if (Result<void> taken = (*opened)->take_output(); !taken)
    return taken;
  return set_display(std::move(*opened))->give_up_output();
}

Result<void> SinkDisplay::close()
{
  std::shared_ptr<kms::Display> last; // closed without the lock
  {
    const std::lock_guard guard(lock_);
    last = std::move(display_);
  }
  // another thread may be inside a snapshot or a property and hold it a moment longer
  return last ? last->give_up_output() : Result<void>();
}

std::shared_ptr<kms::Display> SinkDisplay::get() const
{
  const std::lock_guard guard(lock_);
  return display_;
}

} // namespace gstdrm
