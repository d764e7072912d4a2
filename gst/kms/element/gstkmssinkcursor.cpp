// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: cursor-x, cursor-y and cursor-image.
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

enum { PROP_CURSOR_X = 100, PROP_CURSOR_Y, PROP_CURSOR_IMAGE };

bool has_8_bit_rgba(const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_IS_RGB(&info) && GST_VIDEO_INFO_HAS_ALPHA(&info) &&
         GST_VIDEO_INFO_N_PLANES(&info) == 1 && GST_VIDEO_INFO_COMP_DEPTH(&info, 0) == 8 &&
         GST_VIDEO_INFO_COMP_DEPTH(&info, GST_VIDEO_COMP_A) == 8;
}

// Planes blend what has been multiplied by alpha already, video/x-raw has not.
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

Result<std::optional<kms::CursorImage>> read_image(GstSample *sample)
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
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
    return Error{ErrorCode::Layout, "cursor-image has fewer bytes than its caps say.", 0};
  const std::unique_ptr<GstVideoFrame, decltype(&gst_video_frame_unmap)> mapped(
      &frame, gst_video_frame_unmap);
  return std::optional<kms::CursorImage>(premultiply(frame));
}

void show_image(GstKmsDmabufSink *sink, Display &display, GstSample *sample)
{
  Result<std::optional<kms::CursorImage>> image = read_image(sample);
  const Result<void> set = image ? display.set_cursor(*image) : Result<void>(image.error());
  if (!set)
    GST_ELEMENT_WARNING(sink, RESOURCE, SETTINGS, ("%s", set.error().message.c_str()),
                        ("errno %d", set.error().sys_errno));
}

void sink_set_cursor_image(GstKmsDmabufSink *sink, GstSample *sample)
{
  SinkState &state = *sink->state;
  std::shared_ptr<Display> display;
  {
    const std::lock_guard guard(state.lock);
    state.settings.cursor_image.reset(sample ? gst_sample_ref(sample) : nullptr);
    display = state.display;
  }
  if (display)
    show_image(sink, *display, sample);
}

void sink_move_cursor(GstKmsDmabufSink *sink, std::optional<gint> x, std::optional<gint> y)
{
  SinkState &state = *sink->state;
  const std::lock_guard guard(state.lock);
  SinkSettings &settings = state.settings;
  settings.cursor_x = x.value_or(settings.cursor_x);
  settings.cursor_y = y.value_or(settings.cursor_y);
  if (state.display)
    state.display->move_cursor(settings.cursor_x, settings.cursor_y);
}

} // namespace

bool set_cursor_property(GObject *object, guint id, const GValue *value)
{
  GstKmsDmabufSink *sink = GST_KMS_DMABUF_SINK(object);
  switch (id) {
  case PROP_CURSOR_X:
    sink_move_cursor(sink, g_value_get_int(value), std::nullopt);
    return true;
  case PROP_CURSOR_Y:
    sink_move_cursor(sink, std::nullopt, g_value_get_int(value));
    return true;
  case PROP_CURSOR_IMAGE:
    sink_set_cursor_image(sink, gst_value_get_sample(value));
    return true;
  default:
    return false;
  }
}

bool get_cursor_property(GObject *object, guint id, GValue *value)
{
  SinkState &state = *GST_KMS_DMABUF_SINK(object)->state;
  const std::lock_guard guard(state.lock);
  switch (id) {
  case PROP_CURSOR_X:
    g_value_set_int(value, state.settings.cursor_x);
    return true;
  case PROP_CURSOR_Y:
    g_value_set_int(value, state.settings.cursor_y);
    return true;
  case PROP_CURSOR_IMAGE:
    gst_value_set_sample(value, state.settings.cursor_image.get());
    return true;
  default:
    return false;
  }
}

void install_cursor_properties(GObjectClass *klass)
{
  const auto flags = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_PLAYING);
  g_object_class_install_property(
      klass, PROP_CURSOR_X,
      g_param_spec_int("cursor-x", "Cursor X",
                       "Left edge of the cursor, in pixels of the mode; may lie outside", G_MININT,
                       G_MAXINT, 0, flags));
  g_object_class_install_property(
      klass, PROP_CURSOR_Y,
      g_param_spec_int("cursor-y", "Cursor Y",
                       "Top edge of the cursor, in pixels of the mode; may lie outside", G_MININT,
                       G_MAXINT, 0, flags));
  g_object_class_install_property(
      klass, PROP_CURSOR_IMAGE,
      g_param_spec_boxed("cursor-image", "Cursor image",
                         "Picture for the hardware cursor, video/x-raw of 8-bit RGB with alpha "
                         "(BGRA, ARGB, RGBA, ABGR; not premultiplied), no larger than the "
                         "hardware's cursor (NULL: no cursor)",
                         GST_TYPE_SAMPLE, flags));
}

void sink_start_cursor(GstKmsDmabufSink *sink)
{
  sink_move_cursor(sink, std::nullopt, std::nullopt);
  GstPtr<GstSample> image;
  std::shared_ptr<Display> display;
  {
    const std::lock_guard guard(sink->state->lock);
    if (GstSample *sample = sink->state->settings.cursor_image.get())
      image.reset(gst_sample_ref(sample));
    display = sink->state->display;
  }
  if (image && display)
    show_image(sink, *display, image.get());
}

} // namespace gstdrm
