// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_download_support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <unistd.h>

#include <gst/app/gstappsink.h>
#include <gst/gl/gl.h>

namespace gstdrm::test {
namespace {

// What a component of a pixel is, as a number from 0 to 1.
struct Colour {
  double r, g, b;
};

Colour colour_at(const Rgba &picture, int x, int y)
{
  const std::uint8_t *pixel =
      picture.at(std::clamp(x, 0, picture.width - 1), std::clamp(y, 0, picture.height - 1));
  return {pixel[0] / 255.0, pixel[1] / 255.0, pixel[2] / 255.0};
}

struct Equation {
  double kr, kb;
  bool full;
  int bits;

  // component 0: Y, 1: Cb, 2: Cr; as the number that is stored
  [[nodiscard]] double value(int component, Colour c) const
  {
    const double y = kr * c.r + (1 - kr - kb) * c.g + kb * c.b;
    const double step = 1 << (bits - 8);
    const double most = (1 << bits) - 1;
    if (component == 0)
      return full ? y * most : (16 + 219 * y) * step;
    const double chroma = component == 1 ? (c.b - y) / (2 * (1 - kb)) : (c.r - y) / (2 * (1 - kr));
    return 128 * step + chroma * (full ? most : 224 * step);
  }
};

Equation equation_of(const GstVideoInfo &info)
{
  Equation equation{0.2126, 0.0722, false, static_cast<int>(GST_VIDEO_INFO_COMP_DEPTH(&info, 0))};
  if (info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT601)
    equation.kr = 0.299, equation.kb = 0.114;
  else if (info.colorimetry.matrix == GST_VIDEO_COLOR_MATRIX_BT2020)
    equation.kr = 0.2627, equation.kb = 0.0593;
  equation.full = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255;
  return equation;
}

// The colour at a chroma sample of 4:2:0: left and vertically centred (MPEG-2).
Colour chroma_at(const Rgba &picture, int x, int y)
{
  constexpr std::array<double, 3> kAcross{0.25, 0.5, 0.25};
  Colour sum{0, 0, 0};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      const Colour one = colour_at(picture, 2 * x + i - 1, 2 * y + j);
      const double weight = kAcross[static_cast<std::size_t>(i)] * 0.5;
      sum = {sum.r + weight * one.r, sum.g + weight * one.g, sum.b + weight * one.b};
    }
  return sum;
}

GstVideoInfo info_of(GstCaps *caps)
{
  GstDrmVideoInfo drm;
  gst_drm_video_info_init(&drm);
  fail_unless(gst_drm_video_info_from_caps(&drm, caps));
  GstVideoInfo info = drm.vinfo;
  const gchar *text = gst_structure_get_string(gst_caps_get_structure(caps, 0), "colorimetry");
  if (text)
    gst_video_colorimetry_from_string(&info.colorimetry, text);
  return info;
}

void wait_for_fence(GstBuffer *buffer)
{
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const int fence = meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1;
  if (fence < 0)
    return;
  GstDrmFenceState state = GST_DRM_FENCE_STATE_PENDING;
  fail_unless(gst_drm_fence_wait(fence, 5 * GST_SECOND, &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_SIGNALLED);
  ::close(fence);
}

// The sample of a component at (x, y) of its plane. GStreamer's table puts the second component of
// a pair one byte after the first, whatever the depth.
double stored(const GstVideoFrame &frame, guint component, int x, int y, int bits)
{
  const gint offset = GST_VIDEO_FRAME_COMP_POFFSET(&frame, component) * (bits > 8 ? 2 : 1);
  const auto *row =
      static_cast<const std::uint8_t *>(
          GST_VIDEO_FRAME_PLANE_DATA(&frame, GST_VIDEO_FRAME_COMP_PLANE(&frame, component))) +
      static_cast<std::ptrdiff_t>(y) * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component) +
      static_cast<std::ptrdiff_t>(x) * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component) + offset;
  return bits == 8 ? row[0] : ((row[0] | row[1] << 8) >> (16 - bits));
}

struct Tally {
  void add(double difference)
  {
    most = std::max(most, difference);
    sum += difference;
    count++;
  }
  [[nodiscard]] Difference result() const { return {most, sum / std::max(count, 1.0)}; }
  double most = 0;
  double sum = 0;
  double count = 0;
};

Difference rgb_difference(const GstVideoFrame &frame, const Rgba &picture)
{
  Tally tally;
  for (int y = 0; y < picture.height; y++)
    for (int x = 0; x < picture.width; x++)
      for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); c++)
        tally.add(std::abs(stored(frame, c, x, y, 8) - picture.at(x, y)[c]));
  return tally.result();
}

Difference yuv_difference(const GstVideoFrame &frame, const Rgba &picture)
{
  const Equation equation = equation_of(frame.info);
  Tally tally;
  for (guint c = 0; c < 3; c++)
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, c); y++)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, c); x++) {
        const Colour colour = c == 0 ? colour_at(picture, x, y) : chroma_at(picture, x, y);
        const double wanted = std::clamp(std::round(equation.value(static_cast<int>(c), colour)),
                                         0.0, std::ldexp(1.0, equation.bits) - 1);
        tally.add(std::abs(stored(frame, c, x, y, equation.bits) - wanted));
      }
  return tally.result();
}

} // namespace

const std::uint8_t *Rgba::at(int x, int y) const
{
  return pixels.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                          static_cast<std::size_t>(x)) *
                             4;
}

Rgba Rgba::upside_down() const
{
  Rgba turned{width, height, {}};
  for (int y = height - 1; y >= 0; y--)
    turned.pixels.insert(turned.pixels.end(), at(0, y), at(0, y) + 4 * width);
  return turned;
}

// --- pipelines -----------------------------------------------------------------------------------

namespace {

std::set<GstElement *> pipelines; // that are not ended yet

void end(GstElement *pipeline)
{
  pipelines.erase(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

GstContext *display_context;

} // namespace

Download::Download(const std::string &description)
{
  g_autoptr(GError) error = nullptr;
  pipeline_ = gst_parse_launch(description.c_str(), &error);
  fail_unless(pipeline_ && !error, "%s: %s", description.c_str(), error ? error->message : "");
  pipelines.insert(pipeline_);
  gst_element_set_context(pipeline_, display_context);
}

Download::~Download()
{
  end(pipeline_);
}

void Download::open_display()
{
  GstGLDisplay *display = gst_gl_display_new();
  display_context = gst_context_new(GST_GL_DISPLAY_CONTEXT_TYPE, TRUE);
  gst_context_set_gl_display(display_context, display);
  gst_object_unref(display);
}

// Contexts of frames that outlived their pipeline end on threads of their own. The leaks tracer
// must not be asked meanwhile: it takes references to objects that are about to be freed.
void Download::close_display()
{
  GstGLDisplay *display = nullptr;
  (void)gst_context_get_gl_display(display_context, &display);
  g_clear_pointer(&display_context, gst_context_unref);
  const gint64 end = g_get_monotonic_time() + 20 * G_TIME_SPAN_SECOND;
  while (g_atomic_int_get(&G_OBJECT(display)->ref_count) > 1 && g_get_monotonic_time() < end)
    g_usleep(1000);
  gst_object_unref(display);
}

void Download::end_forgotten()
{
  while (!pipelines.empty())
    end(*pipelines.begin());
}

GstPtr<GstElement> Download::element(const char *name) const
{
  return GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline_), name));
}

void Download::play()
{
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
}

void Download::stop()
{
  gst_element_set_state(pipeline_, GST_STATE_NULL);
}

GstPtr<GstSample> Download::pull(const char *appsink)
{
  return GstPtr<GstSample>::adopt(
      gst_app_sink_try_pull_sample(GST_APP_SINK(element(appsink).get()), 60 * GST_SECOND));
}

std::string Download::outcome()
{
  GstBus *bus = gst_element_get_bus(pipeline_);
  GstMessage *message = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  gst_object_unref(bus);
  fail_unless(message != nullptr, "neither an error nor the end");
  std::string text = "end of stream";
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    text = error->message;
  }
  gst_message_unref(message);
  return text;
}

// fail_unless_equals_string() would outlive a temporary text.
void Download::check_end()
{
  const std::string said = outcome();
  fail_unless_equals_string(said.c_str(), "end of stream");
}

std::uint64_t Download::stat(const char *name, const char *of) const
{
  GstStructure *stats = nullptr;
  g_object_get(element(of).get(), "drm-stats", &stats, nullptr);
  guint64 value = G_MAXUINT64;
  gst_structure_get_uint64(stats, name, &value);
  gst_structure_free(stats);
  return value;
}

bool draws()
{
  Download probe("gltestsrc num-buffers=1 ! video/x-raw(memory:GLMemory),width=16,height=16 ! "
                 "egldmabufdownload name=d ! fakesink");
  probe.play();
  probe.check_end();
  const bool drawn = probe.stat("draws") == 1;
  fail_unless_equals_int(probe.stat("copies"), drawn ? 0 : 1);
  return drawn;
}

// --- pixels --------------------------------------------------------------------------------------

bool gl_draws()
{
  static const bool known = draws();
  return known;
}

std::string dma_drm(const char *drm_format)
{
  return std::string("video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)") + drm_format;
}

std::string source(int width, int height, int frames, const char *pattern)
{
  return "gltestsrc num-buffers=" + std::to_string(frames) + " pattern=" + pattern +
         " ! video/x-raw(memory:GLMemory),format=RGBA,width=" + std::to_string(width) +
         ",height=" + std::to_string(height);
}

bool contains(const std::string &text, const char *part)
{
  return text.find(part) != std::string::npos;
}

Rgba rgba_of(GstSample *sample)
{
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  wait_for_fence(buffer);
  const GstVideoInfo info = info_of(gst_sample_get_caps(sample));
  fail_unless_equals_string(GST_VIDEO_INFO_NAME(&info), "RGBA");
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  Rgba picture{info.width, info.height, {}};
  for (int y = 0; y < info.height; y++) {
    const auto *row = static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                      static_cast<std::ptrdiff_t>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
    picture.pixels.insert(picture.pixels.end(), row, row + 4 * info.width);
  }
  gst_video_frame_unmap(&frame);
  return picture;
}

Difference difference(GstSample *sample, const Rgba &picture)
{
  GstBuffer *buffer = gst_sample_get_buffer(sample);
  wait_for_fence(buffer);
  const GstVideoInfo info = info_of(gst_sample_get_caps(sample));
  if (info.width != picture.width || info.height != picture.height)
    return {65536, 65536};
  GstVideoFrame frame;
  fail_unless(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  const Difference found = GST_VIDEO_INFO_IS_RGB(&info) ? rgb_difference(frame, picture)
                                                        : yuv_difference(frame, picture);
  gst_video_frame_unmap(&frame);
  return found;
}

} // namespace gstdrm::test
