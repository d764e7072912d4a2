// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>

#include <drm_fourcc.h>

#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"

namespace gstdrm::test {

namespace {

// One GstGLDisplay for all pipelines, for as long as the program runs. Those on the same EGL device
// are one EGLDisplay, which ends with any of them (gst_gl_display_egl_finalize() calls
// eglTerminate()), and that may be after the next one was opened.
GstContext *display = nullptr;

// At exit: Mesa 26 forgets what a display that has not ended has of a driver.
void end_display() noexcept
{
  g_clear_pointer(&display, gst_context_unref);
}

GstContext *find_display()
{
  const auto pipeline = GstPtr<GstElement>::adopt(
      gst_parse_launch("gltestsrc name=source num-buffers=1 ! fakesink", nullptr));
  fail_unless(pipeline, "no gltestsrc");
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  const auto end = GstPtr<GstMessage>::adopt(
      gst_bus_timed_pop_filtered(bus.get(), 180 * GST_SECOND,
                                 static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  fail_unless(end && GST_MESSAGE_TYPE(end.get()) == GST_MESSAGE_EOS, "no OpenGL");
  const auto source =
      GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "source"));
  GstContext *found = gst_element_get_context(source.get(), "gst.gl.GLDisplay");
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  fail_unless(found != nullptr, "gltestsrc has no display");
  return found;
}

using Flag = std::shared_ptr<std::atomic<bool>>;

GstBusSyncReply notice_error(GstBus *, GstMessage *message, gpointer failed) noexcept
{
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    **static_cast<Flag *>(failed) = true;
  return GST_BUS_PASS;
}

void delete_flag(gpointer failed) noexcept
{
  const std::unique_ptr<Flag> flag(static_cast<Flag *>(failed));
}

std::set<GstElement *> pipelines; // that have not ended yet

void end(GstElement *pipeline)
{
  pipelines.erase(pipeline);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
}

} // namespace

EglPipeline::EglPipeline(const std::string &description)
    : failed_(std::make_shared<std::atomic<bool>>(false))
{
  if (!display) {
    display = find_display();
    std::atexit(end_display); // before the exit handlers of the driver, which is loaded by now
  }
  g_autoptr(GError) error = nullptr;
  pipeline_ = gst_parse_launch(description.c_str(), &error);
  fail_unless(pipeline_ && !error, "%s: %s", description.c_str(), error ? error->message : "");
  pipelines.insert(pipeline_);
  gst_element_set_context(pipeline_, display);
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_));
  gst_bus_set_sync_handler(bus.get(), notice_error, new Flag(failed_), delete_flag);
}

EglPipeline::~EglPipeline()
{
  end(pipeline_);
}

void EglPipeline::end_forgotten() noexcept
{
  while (!pipelines.empty())
    end(*pipelines.begin());
}

GstPtr<GstElement> EglPipeline::element(const char *name) const
{
  auto found = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline_), name));
  fail_unless(found, "no element %s", name);
  return found;
}

void EglPipeline::push(const PatternFrame &frame, const std::string &text) const
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  fail_unless(caps, "caps '%s'", text.c_str());
  const auto sample =
      GstPtr<GstSample>::adopt(gst_sample_new(frame.buffer().get(), caps.get(), nullptr, nullptr));
  // what it says is that of the frame before
  (void)gst_app_src_push_sample(GST_APP_SRC(element("in").get()), sample.get());
}

GstPtr<GstSample> EglPipeline::pull(const char *appsink) const
{
  const auto sink = element(appsink);
  // an appsrc that fails ends no appsink's wait
  for (int tenths = 0; tenths < 600 && !*failed_; tenths++)
    if (GstSample *sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink.get()), GST_SECOND / 10))
      return GstPtr<GstSample>::adopt(sample);
    else if (gst_app_sink_is_eos(GST_APP_SINK(sink.get())))
      break;
  return {};
}

GstPtr<GstSample> EglPipeline::pass(const PatternFrame &frame, const std::string &caps) const
{
  push(frame, caps);
  GstPtr<GstSample> sample = pull();
  fail_unless(sample, "%s: %s", caps.c_str(), sample ? "" : outcome().c_str());
  return sample;
}

std::string EglPipeline::outcome(GstClockTime limit) const
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), limit, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS)));
  fail_unless(message, "neither an error nor the end");
  if (GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS)
    return "end of stream";
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message.get(), &error, nullptr);
  return error->message;
}

void EglPipeline::play_to_end(GstClockTime limit) const
{
  const std::string said = outcome(limit);
  fail_unless_equals_string(said.c_str(), "end of stream");
}

std::string EglPipeline::notices() const
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_));
  std::string texts;
  while (GstMessage *message = gst_bus_pop_filtered(bus.get(), GST_MESSAGE_INFO)) {
    g_autoptr(GError) error = nullptr;
    gst_message_parse_info(message, &error, nullptr);
    texts += std::string(error->message) + "\n";
    gst_message_unref(message);
  }
  return texts;
}

std::uint64_t EglPipeline::stat(const char *name, const char *of) const
{
  GstStructure *stats = nullptr;
  g_object_get(element(of).get(), "drm-stats", &stats, nullptr);
  guint64 value = G_MAXUINT64;
  const bool found = gst_structure_get_uint64(stats, name, &value) != FALSE;
  gst_structure_free(stats);
  fail_unless(found, "%s has no %s", of, name);
  return value;
}

std::string EglPipeline::copy_reason(const char *of) const
{
  GstStructure *stats = nullptr;
  g_object_get(element(of).get(), "drm-stats", &stats, nullptr);
  std::string reason = gst_structure_get_string(stats, "last-copy-reason");
  gst_structure_free(stats);
  return reason;
}

namespace {

bool find_out_whether_imports()
{
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, 64, 48, {});
  frame.fill(1);
  const EglPipeline stream("appsrc name=in format=time ! egldmabufupload name=u mode=import ! "
                           "appsink name=out sync=false");
  gst_element_set_state(stream.bin(), GST_STATE_PLAYING);
  stream.push(frame, dma_drm_caps("XR24", 64, 48));
  if (stream.pull())
    return true;
  const std::string said = stream.outcome();
  say("no imports here: " + said);
  fail_unless(contains(said, "of Mesa before 26"), "%s", said.c_str());
  return false;
}

} // namespace

// libcheck jumps out of a case that fails, and a local static variable whose first value is not
// found so would stay locked for the next case.
bool imports_here()
{
  static std::optional<bool> known;
  if (!known)
    known = find_out_whether_imports();
  return *known;
}

TCase *add_case(Suite *suite, const char *name)
{
  TCase *tcase = tcase_create(name);
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 240);
  tcase_add_checked_fixture(tcase, nullptr, [] {
    EglPipeline::end_forgotten();
    refuse_images({});
    list_modifiers({});
    list_no_modifiers(false);
    list_no_formats(false);
    list_in_2d(0);
    sample_copies(false);
  });
  return tcase;
}

bool contains(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

std::string dma_drm_caps(const char *drm_format, int width, int height, const std::string &more)
{
  return std::string("video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)") + drm_format +
         ",width=" + std::to_string(width) + ",height=" + std::to_string(height) +
         ",framerate=30/1" + more;
}

std::string through(const std::string &settings, const std::string &gl, const std::string &format)
{
  return "appsrc name=in format=time ! egldmabufupload name=u " + settings +
         " ! video/x-raw(memory:GLMemory),format=" + gl +
         " ! gldownload ! video/x-raw,format=" + format + " ! appsink name=out sync=false";
}

std::string through_rgba(const std::string &settings)
{
  return "appsrc name=in format=time ! egldmabufupload name=u " + settings +
         " ! video/x-raw(memory:GLMemory),format=RGBA ! glcolorconvert ! "
         "video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! gldownload ! "
         "video/x-raw,format=RGBA ! appsink name=out sync=false";
}

std::string drawn(const std::string &settings, const std::string &caps)
{
  return "appsrc name=in format=time ! egldmabufupload name=u " + settings +
         " ! video/x-raw(memory:GLMemory),format=RGBA" + caps +
         " ! glcolorconvert ! video/x-raw(memory:GLMemory),format=RGBA,texture-target=2D ! "
         "gldownload ! video/x-raw,format=RGBA ! appsink name=out sync=false";
}

namespace {

// A sample's frame in CPU memory.
class Mapped {
public:
  explicit Mapped(GstSample *sample)
  {
    fail_unless(gst_video_info_from_caps(&info_, gst_sample_get_caps(sample)));
    fail_unless(gst_video_frame_map(&frame_, &info_, gst_sample_get_buffer(sample), GST_MAP_READ));
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  ~Mapped() { gst_video_frame_unmap(&frame_); }

  [[nodiscard]] const GstVideoInfo &info() const { return info_; }
  [[nodiscard]] const std::uint8_t *row(guint plane, std::uint32_t y) const
  {
    return static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&frame_, plane)) +
           static_cast<std::ptrdiff_t>(y) * GST_VIDEO_FRAME_PLANE_STRIDE(&frame_, plane);
  }

private:
  GstVideoInfo info_{};
  GstVideoFrame frame_{};
};

} // namespace

double rgba_distance(GstSample *sample, const PatternFrame &frame, const YuvMatrix &matrix)
{
  const Mapped mapped(sample);
  fail_unless_equals_string(GST_VIDEO_INFO_NAME(&mapped.info()), "RGBA");
  fail_unless_equals_int(GST_VIDEO_INFO_WIDTH(&mapped.info()), frame.layout().width);
  fail_unless_equals_int(GST_VIDEO_INFO_HEIGHT(&mapped.info()), frame.layout().height);
  double largest = 0;
  unsigned compared = 0;
  for (std::uint32_t y = 0; y < frame.layout().height; y++) {
    const std::uint8_t *row = mapped.row(0, y);
    for (std::uint32_t x = 0; x < frame.layout().width; x++) {
      if (!frame.is_flat(x, y))
        continue;
      const Rgba expected = frame.expected(x, y, matrix);
      for (std::size_t c = 0; c < expected.size(); c++, compared++)
        largest = std::max(largest, std::abs(row[4 * x + c] - expected[c]));
    }
  }
  fail_unless(compared > frame.layout().width * frame.layout().height);
  return largest;
}

void check_planes(GstSample *sample, const PatternFrame &frame)
{
  const Mapped mapped(sample);
  const FourccInfo *format = fourcc_info(frame.layout().format.fourcc);
  const unsigned bytes = frame.is_wide() ? 2 : 1;
  for (guint p = 0; p < frame.layout().n_planes; p++) {
    const unsigned components = format->planes[p].block_bytes / bytes;
    const std::uint32_t columns =
        plane_row_bytes(format->planes[p], frame.layout().width) / format->planes[p].block_bytes;
    for (std::uint32_t y = 0; y < plane_rows(format->planes[p], frame.layout().height); y++) {
      const std::uint8_t *at = mapped.row(p, y);
      for (std::uint32_t i = 0; i < columns * components; i++, at += bytes) {
        std::uint16_t value = 0; // little-endian, as the machine is
        std::memcpy(&value, at, bytes);
        const unsigned expected = frame.stored(p, i / components, y, i % components);
        if (value != expected)
          ck_abort_msg("plane %u at %u,%u: %u instead of %u", p, i / components, y, value,
                       expected);
      }
    }
  }
}

} // namespace gstdrm::test
