// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string_view>

#include "kms_support.hpp"

#include "support/held_locks.hpp"

namespace gstdrm::test {

Sink::Sink(const char *properties)
{
  // What a test compares pixels with is the picture alone. Who names a plane or a file joins the
  // display of another program where there is one.
  const std::string_view given = properties;
  const bool names_mode = given.find("mode=") != given.npos || given.find("plane-id=") != given.npos ||
                        given.find("fd=") != given.npos;
  const std::string mode = names_mode ? "" : "mode=match ";
  const std::string line = "kmsdmabufsink name=sink driver-name=vkms sync=false " + mode + properties;
  GError *error = nullptr;
  sink_ = gst_parse_launch(line.c_str(), &error);
  ck_assert_msg(sink_ != nullptr && error == nullptr, "%s", error ? error->message : "no element");
  gst_object_ref_sink(sink_);
  bus_ = gst_bus_new();
  gst_element_set_bus(sink_, bus_);
  GstPad *pad = gst_element_get_static_pad(sink_, "sink");
  src_ = gst_pad_new("src", GST_PAD_SRC);
  gst_pad_set_active(src_, TRUE);
  ck_assert(GST_PAD_LINK_SUCCESSFUL(gst_pad_link_full(src_, pad, GST_PAD_LINK_CHECK_NOTHING)));
  gst_object_unref(pad);
  // Not for the sanitizers: with it LeakSanitizer's own thread crashes at the end of kms_rates in the
  // box ("Tracer caught signal 11", 4 of 4; without it 0 of 4). Natively they see the same elements.
#ifndef __SANITIZE_ADDRESS__
  const auto locks = std::make_shared<NoLocks>();
  watch_messages(bus_, locks);
  watch_signals(sink_, locks);
  watch_events(src_, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, locks);
#endif
}

Sink::~Sink()
{
  gst_element_set_state(sink_, GST_STATE_NULL);
  gst_pad_set_active(src_, FALSE);
  gst_object_unref(src_);
  gst_element_set_bus(sink_, nullptr);
  gst_bus_set_sync_handler(bus_, nullptr, nullptr, nullptr);
  gst_object_unref(bus_);
  gst_object_unref(sink_);
}

bool Sink::set_state(GstState state)
{
  return gst_element_set_state(sink_, state) != GST_STATE_CHANGE_FAILURE;
}

bool Sink::set_caps(const std::string &text)
{
  if (GST_STATE(sink_) < GST_STATE_PAUSED && GST_STATE_TARGET(sink_) < GST_STATE_PAUSED)
    ck_assert(set_state(GST_STATE_PLAYING));
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  ck_assert_msg(caps, "bad caps in the test: %s", text.c_str());
  gst_pad_push_event(src_, gst_event_new_stream_start("test"));
  // the result of pushing a sticky event does not tell
  gst_pad_push_event(src_, gst_event_new_caps(caps.get()));
  const auto sink_pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink_, "sink"));
  const auto current = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(sink_pad.get()));
  const bool accepted = current && gst_caps_is_equal(current.get(), caps.get());
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_pad_push_event(src_, gst_event_new_segment(&segment));
  return accepted;
}

GstFlowReturn Sink::push(GstBuffer *buffer)
{
  return gst_pad_push(src_, buffer);
}

void Sink::eos()
{
  gst_pad_push_event(src_, gst_event_new_eos());
}

void Sink::flush()
{
  gst_pad_push_event(src_, gst_event_new_flush_start());
  gst_pad_push_event(src_, gst_event_new_flush_stop(TRUE));
  gst_element_set_state(sink_, GST_STATE_PLAYING); // a flush loses the state; a pipeline does this
}

GstPtr<GstSample> Sink::snapshot()
{
  GstSample *sample = nullptr;
  g_signal_emit_by_name(sink_, "snapshot", &sample);
  return GstPtr<GstSample>::adopt(sample);
}

std::uint64_t Sink::stat(const char *name) const
{
  g_autoptr(GstStructure) stats = nullptr;
  g_object_get(sink_, "drm-stats", &stats, nullptr);
  const GValue *value = gst_structure_get_value(stats, name);
  ck_assert_msg(value != nullptr, "drm-stats has no %s", name);
  return G_VALUE_HOLDS_UINT(value) ? g_value_get_uint(value) : g_value_get_uint64(value);
}

namespace {

// Of an error, warning or info message; nothing of no message.
std::string text_of(const GstPtr<GstMessage> &message)
{
  if (!message)
    return {};
  GError *error = nullptr;
  if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message.get(), &error, nullptr);
  else if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_WARNING)
    gst_message_parse_warning(message.get(), &error, nullptr);
  else if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_INFO)
    gst_message_parse_info(message.get(), &error, nullptr);
  std::string text = error ? error->message : "?";
  g_clear_error(&error);
  return text;
}

} // namespace

std::string Sink::next_message(GstMessageType types)
{
  return text_of(GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus_, types)));
}

std::string Sink::await_message(GstMessageType types)
{
  return text_of(GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus_, 10 * GST_SECOND, types)));
}

std::string dma_drm_caps(const char *drm_format, int width, int height, const char *more)
{
  return std::string("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=(string)\"") + drm_format +
         "\", width=" + std::to_string(width) + ", height=" + std::to_string(height) +
         ", framerate=60/1" + more;
}

std::string plain_caps(const char *format, int width, int height, const char *more)
{
  return std::string("video/x-raw, format=") + format + ", width=" + std::to_string(width) +
         ", height=" + std::to_string(height) + ", framerate=60/1" + more;
}

GstPtr<GstBuffer> make_noise(const GstVideoInfo &info, unsigned seed)
{
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr));
  GstMapInfo map;
  ck_assert(gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE));
  std::minstd_rand noise(seed + 1);
  for (gsize i = 0; i < map.size; i++)
    map.data[i] = static_cast<std::uint8_t>(noise() >> 8);
  gst_buffer_unmap(buffer.get(), &map);
  return buffer;
}

GstPtr<GstBuffer> allocate(GstDrmAllocatorKind kind, std::uint32_t fourcc, int width, int height,
                          const GstVideoAlignment *align)
{
  GError *error = nullptr;
  const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(kind, nullptr, &error));
  ck_assert_msg(allocator, "%s", error ? error->message : "?");
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(
      allocator.get(), fourcc, static_cast<guint>(width), static_cast<guint>(height), &linear, 1, align, nullptr,
      &error);
  ck_assert_msg(buffer != nullptr, "%s", error ? error->message : "?");
  return GstPtr<GstBuffer>::adopt(buffer);
}

namespace {

// Each plane in a dma-buf of its own, with rows of its own padding.
GstPtr<GstBuffer> allocate_split(const GstVideoInfo &info)
{
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {};
  gsize at = 0;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); p++) {
    const int row_bytes = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    const int rows = p == 0 ? GST_VIDEO_INFO_HEIGHT(&info) : (GST_VIDEO_INFO_HEIGHT(&info) + 1) / 2;
    constexpr std::uint32_t kR8 = 0x20203852; // bytes
    const GstPtr<GstBuffer> plane = allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, kR8, row_bytes, rows);
    const GstVideoMeta *meta = gst_buffer_get_video_meta(plane.get());
    strides[p] = meta->stride[0];
    offsets[p] = at + meta->offset[0];
    GstMemory *memory = gst_buffer_get_memory(plane.get(), 0);
    at += gst_memory_get_sizes(memory, nullptr, nullptr);
    gst_buffer_append_memory(buffer.get(), memory);
  }
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), offsets, strides);
  return buffer;
}

void copy_picture(const GstVideoInfo &info, GstBuffer *to, GstBuffer *from)
{
  GstVideoFrame source, destination;
  ck_assert(gst_video_frame_map(&source, &info, from, GST_MAP_READ));
  ck_assert(gst_video_frame_map(&destination, &info, to, GST_MAP_WRITE));
  ck_assert(gst_video_frame_copy(&destination, &source));
  gst_video_frame_unmap(&destination);
  gst_video_frame_unmap(&source);
}

} // namespace

GstPtr<GstBuffer> to_dmabuf(const GstVideoInfo &info, GstBuffer *system, Shape shape)
{
  GstPtr<GstBuffer> buffer;
  if (shape == Shape::TwoDescriptors) {
    buffer = allocate_split(info);
  } else {
    GstVideoAlignment align;
    gst_video_alignment_reset(&align);
    // more than any alignment of its own would give, so that the padding is surely there
    align.padding_right = 320;
    align.padding_bottom = 6;
    guint64 modifier = 0;
    const guint32 fourcc = gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&info), &modifier);
    buffer = allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, fourcc, GST_VIDEO_INFO_WIDTH(&info),
                      GST_VIDEO_INFO_HEIGHT(&info), shape == Shape::PaddedStrides ? &align : nullptr);
  }
  copy_picture(info, buffer.get(), system);
  return buffer;
}

namespace {

struct Rgb {
  double r, g, b;
};

// Luma coefficients and range of a colorimetry.
struct Conversion {
  double kr = 0, kb = 0;
  bool full = false;
};

Conversion conversion_of(const GstVideoInfo &info)
{
  Conversion conversion;
  if (GST_VIDEO_INFO_IS_YUV(&info))
    ck_assert(gst_video_color_matrix_get_Kr_Kb(info.colorimetry.matrix, &conversion.kr, &conversion.kb));
  conversion.full = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  return conversion;
}

// Equations of ITU-T H.273, 8 bits.
Rgb from_ycbcr(const Conversion &conversion, int y, int cb, int cr)
{
  const auto [kr, kb, full] = conversion;
  const double luma = full ? y / 255.0 : (y - 16) / 219.0;
  const double pb = (cb - 128) / (full ? 255.0 : 224.0);
  const double pr = (cr - 128) / (full ? 255.0 : 224.0);
  const double r = luma + 2 * (1 - kr) * pr;
  const double b = luma + 2 * (1 - kb) * pb;
  const double g = (luma - kr * r - kb * b) / (1 - kr - kb);
  return {r, g, b};
}

std::uint8_t to_byte(double value)
{
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
}

std::array<std::uint8_t, 3> pixel_bgr(const GstVideoFrame &frame, const Conversion &conversion, int x,
                                      int y)
{
  const auto component = [&](guint c) {
    const auto *base = static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_COMP_DATA(&frame, c));
    const GstVideoFormatInfo *finfo = frame.info.finfo;
    const int column = x >> GST_VIDEO_FORMAT_INFO_W_SUB(finfo, c);
    const int row = y >> GST_VIDEO_FORMAT_INFO_H_SUB(finfo, c);
    return int{base[row * GST_VIDEO_FRAME_COMP_STRIDE(&frame, c) +
                    column * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, c)]};
  };
  if (GST_VIDEO_INFO_IS_RGB(&frame.info))
    return {static_cast<std::uint8_t>(component(2)), static_cast<std::uint8_t>(component(1)),
            static_cast<std::uint8_t>(component(0))};
  const Rgb rgb = from_ycbcr(conversion, component(0), component(1), component(2));
  return {to_byte(rgb.b), to_byte(rgb.g), to_byte(rgb.r)};
}

} // namespace

std::vector<std::uint8_t> reference(const GstVideoInfo &info, GstBuffer *system, int mode_width,
                                    int mode_height)
{
  std::vector<std::uint8_t> display(static_cast<std::size_t>(mode_width) * mode_height * 4, 0);
  GstVideoFrame frame;
  ck_assert(gst_video_frame_map(&frame, &info, system, GST_MAP_READ));
  const Conversion conversion = conversion_of(info);
  const int left = (mode_width - GST_VIDEO_INFO_WIDTH(&info)) / 2;
  const int top = (mode_height - GST_VIDEO_INFO_HEIGHT(&info)) / 2;
  for (int y = 0; y < GST_VIDEO_INFO_HEIGHT(&info); y++)
    for (int x = 0; x < GST_VIDEO_INFO_WIDTH(&info); x++) {
      const auto bgr = pixel_bgr(frame, conversion, x, y);
      std::copy(bgr.begin(), bgr.end(),
                display.begin() + (static_cast<std::ptrdiff_t>(top + y) * mode_width + left + x) * 4);
    }
  gst_video_frame_unmap(&frame);
  return display;
}

int largest_difference(GstSample *sample, const std::vector<std::uint8_t> &expected, int *width,
                       int *height)
{
  const GstStructure *caps = gst_caps_get_structure(gst_sample_get_caps(sample), 0);
  if (width)
    gst_structure_get_int(caps, "width", width);
  if (height)
    gst_structure_get_int(caps, "height", height);
  ck_assert_str_eq(gst_structure_get_string(caps, "format"), "BGRx");
  GstMapInfo map;
  ck_assert(gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ));
  int largest = map.size == expected.size() ? 0 : -1;
  for (std::size_t i = 0; largest >= 0 && i < expected.size(); i++)
    if (i % 4 != 3) // the padding byte
      largest = std::max(largest, std::abs(int{map.data[i]} - int{expected[i]}));
  gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
  return largest;
}

} // namespace gstdrm::test
