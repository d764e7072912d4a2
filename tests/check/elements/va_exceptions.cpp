// SPDX-License-Identifier: LGPL-2.1-or-later
// An exception at every place of vadmabufsrc and vadmabufconvert that could throw one: operator new fails at the n-th call,
// for each n in turn, while an element starts, while caps are agreed on and while a frame is made. The process goes on, and
// where no frame comes out the bus has an error.
#include <string>

#include <gst/check/gstharness.h>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-private.hpp>

#include "device/va/va_support.hpp"
#include "support/failing_new.hpp"
#include "va_native.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr long kMost = 20000; // places; a chain that never comes through is a fault
// Sanitized code is ten times as slow, and this has thousands of places: the other builds go to each.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long kStep = 7;
#else
constexpr long kStep = 1;
#endif

struct Outcome {
  bool came = false;   // frames
  bool said = false;   // the bus has an error
  bool thrown = false; // there was such a place
};

void go_through(const char *name, Outcome (*run)(const char *row, long place), const char *row)
{
  const Outcome whole = run(row, 0);
  fail_unless(whole.came && !whole.said, "%s", name);
  long place = 0;
  long errors = 0;
  Outcome outcome;
  do {
    place += kStep;
    fail_unless(place < kMost, "%s: an exception each time", name);
    outcome = run(row, place);
    fail_unless(outcome.came || outcome.said, "%s, place %ld: no frame, and no error", name, place);
    errors += outcome.said ? 1 : 0;
  } while (outcome.thrown);
  fail_unless(place > 20, "%s: %ld places", name, place);
  say(std::string(name) + ": " + std::to_string(place / kStep) + " places, " + std::to_string(errors) + " errors");
}

bool has_error(GstBus *bus)
{
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR));
  return static_cast<bool>(message);
}

// ---- vadmabufconvert, in this thread

GstBuffer *make_frame(const std::string &caps)
{
  if (caps.find("memory:DMABuf") == std::string::npos)
    return gst_buffer_new_allocate(nullptr, 64 * 48 * 3 / 2, nullptr);
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  const guint64 linear = GST_DRM_MODIFIER_LINEAR;
  GstBuffer *frame = gst_drm_allocator_alloc_frame(allocator, 0x3231564e, 64, 48, &linear, 1, nullptr, nullptr, nullptr);
  gst_object_unref(allocator);
  fail_unless(frame != nullptr);
  return frame;
}

constexpr const char *kPlain = "video/x-raw,format=NV12,width=64,height=48,framerate=30/1";

Outcome convert(const std::string &in, const std::string &out, const char *properties, long place)
{
  Outcome outcome;
  GstHarness *harness = gst_harness_new_parse((std::string("vadmabufconvert ") + properties).c_str());
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(harness->element, bus.get());
  GstBuffer *frame = make_frame(in);
  GstBuffer *next = make_frame(in);
  thrown = false;
  countdown = place;
  gst_harness_set_sink_caps_str(harness, out.c_str());
  gst_harness_set_src_caps_str(harness, in.c_str());
  const bool pushed = gst_harness_push(harness, frame) == GST_FLOW_OK;
  countdown = 0;
  outcome.thrown = thrown;
  // a frame may be lost where memory is short for a moment; the next one is not
  outcome.came = pushed && gst_harness_push(harness, gst_buffer_ref(next)) == GST_FLOW_OK && gst_harness_buffers_received(harness) >= 1;
  gst_buffer_unref(next);
  outcome.said = has_error(bus.get());
  gst_element_set_bus(harness->element, nullptr);
  gst_harness_teardown(harness);
  return outcome;
}

struct Row {
  const char *name;
  Outcome (*run)(const char *properties, long place);
  const char *properties;
};

std::string nv12()
{
  return dma_caps("NV12", 64, 48) + ",framerate=30/1,colorimetry=bt601";
}
std::string rgb()
{
  return dma_caps("XR24", 128, 96);
}
Outcome convert_frame(const char *properties, long place)
{
  return convert(nv12(), rgb(), properties, place);
}
Outcome convert_copy(const char *properties, long place)
{
  return convert(kPlain, rgb(), properties, place);
}
Outcome pass_frame(const char *properties, long place)
{
  return convert(nv12(), nv12(), properties, place);
}
Outcome start_converter(const char *properties, long place)
{
  Outcome outcome;
  const auto element = GstPtr<GstElement>::adopt(
      GST_ELEMENT(gst_object_ref_sink(gst_parse_launch((std::string("vadmabufconvert ") + properties).c_str(), nullptr))));
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  thrown = false;
  countdown = place;
  outcome.came = gst_element_set_state(element.get(), GST_STATE_PAUSED) == GST_STATE_CHANGE_SUCCESS;
  countdown = 0;
  outcome.thrown = thrown;
  outcome.said = has_error(bus.get());
  gst_element_set_bus(element.get(), nullptr);
  gst_element_set_state(element.get(), GST_STATE_NULL);
  return outcome;
}

// ---- vadmabufsrc, whose streaming thread is its own

struct Stream {
  long place = 0;
  std::atomic<int> frames{0};
};

// The first of a streaming thread is STREAM_START.
GstPadProbeReturn see(GstPad *, GstPadProbeInfo *info, gpointer data) noexcept
{
  auto &stream = *static_cast<Stream *>(data);
  if ((GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) != 0)
    ++stream.frames;
  else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_STREAM_START)
    countdown = stream.place;
  return GST_PAD_PROBE_OK;
}

Outcome produce(const char *properties, long start, long place)
{
  Stream stream;
  stream.place = place;
  Outcome outcome;
  Pipeline pipeline(std::string("vadmabufsrc name=src num-buffers=2 ") + properties + " ! " + nv12() + " ! fakesink name=sink");
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("src"), "src"));
  gst_pad_add_probe(pad.get(), static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM | GST_PAD_PROBE_TYPE_BUFFER), see,
                    &stream, nullptr);
  thrown_anywhere = false;
  countdown = start;
  const bool started = pipeline.play();
  countdown = 0;
  const auto end = started ? pipeline.wait_for_end() : pipeline.message(GST_MESSAGE_ERROR);
  outcome.said = !end.empty() && end != "eos";
  pipeline.stop();
  outcome.came = end == "eos" && stream.frames == 2;
  outcome.thrown = thrown_anywhere;
  return outcome;
}

Outcome produce_frames(const char *properties, long place)
{
  return produce(properties, 0, place);
}
Outcome start_source(const char *properties, long place)
{
  return produce(properties, place, 0);
}

const Row kRows[] = {
    {"vadmabufconvert starts", start_converter, ""},
    {"vadmabufconvert converts", convert_frame, ""},
    {"vadmabufconvert turns, with borders", convert_frame, "video-direction=90r"},
    {"vadmabufconvert copies", convert_copy, ""},
    {"vadmabufconvert passes frames on", pass_frame, ""},
    {"vadmabufsrc starts", start_source, ""},
    {"vadmabufsrc draws", produce_frames, ""},
    {"vadmabufsrc draws a counter", produce_frames, "pattern=frame-counter"},
};

GST_START_TEST(test_row)
{
  const Row &row = kRows[__i__];
  go_through(row.name, row.run, row.properties);
}
GST_END_TEST

Suite *va_exceptions_suite()
{
  Suite *suite = suite_create("va-exceptions");
  TCase *tcase = tcase_create("operator new fails");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 600);
  tcase_add_loop_test(tcase, test_row, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  const gstdrm::test::NativeNodes nodes;
  gstdrm::test::unplug(129); // the features of a second node would be kept, and reported as leaks
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(va_exceptions_suite());
}
