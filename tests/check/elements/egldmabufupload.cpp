// SPDX-License-Identifier: LGPL-2.1-or-later
// egldmabufupload on this machine's own EGL: what it offers before and after it has a context, the
// copy, messages, states and threads. Imports are tested in the box (tests/device/egl).
#include <atomic>
#include <thread>

#include "support/asked_constraints.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/has_egl.hpp"
#include "support/no_display_server.hpp"
#include "support/odd_queries.hpp"
#include "support/overlays.hpp"

#include <gst/gl/egl/gstgldisplay_egl.h>
#include <gst/gl/gl.h>

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kGl = "video/x-raw(memory:GLMemory)";
const std::string kBgrx = plain_caps("BGRx", 64, 48);

std::string upload(const char *more = "")
{
  return std::string("egldmabufupload ") + more;
}

GstPtr<GstCaps> answer(const Harness &h, const char *pad, GstCaps *filter = nullptr)
{
  const auto asked = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), pad));
  return GstPtr<GstCaps>::adopt(gst_pad_query_caps(asked.get(), filter));
}

GstPtr<GstCaps> template_of(const Harness &h, const char *pad)
{
  return GstPtr<GstCaps>::adopt(
      gst_pad_template_get_caps(gst_element_get_pad_template(h.element(), pad)));
}

bool takes(const GstPtr<GstCaps> &caps, const std::string &other)
{
  return gst_caps_can_intersect(caps.get(), caps_of(other).get()) != FALSE;
}

GstPtr<GstGLContext> context_of(const Harness &h)
{
  GstGLContext *context = nullptr;
  g_object_get(h.element(), "context", &context, nullptr);
  return GstPtr<GstGLContext>::adopt(context);
}

// The picture as the CPU reads it.
void check_pixels(GstBuffer *out, const GstPtr<GstCaps> &caps, guint seed)
{
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps.get()));
  check_drawn(out, info, seed);
}

// --- offers --------------------------------------------------------------------------------------

GST_START_TEST(test_template_before_a_context)
{
  GstElement *element = GST_ELEMENT(gst_object_ref_sink(make_element(upload())));
  for (const char *name : {"sink", "src"}) {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, name));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
    const auto whole = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(pad.get()));
    fail_unless(gst_caps_is_equal(caps.get(), whole.get()), "%s: %s", name, text_of(caps.get()).c_str());
  }
  GstGLContext *context = nullptr;
  g_object_get(element, "context", &context, nullptr);
  fail_unless(context == nullptr, "a query in NULL makes no context");
  gst_object_unref(element);
}
GST_END_TEST

GST_START_TEST(test_precise_with_a_context)
{
  const Harness h(upload("mode=import"));
  gst_harness_play(h.get());
  const auto sink = answer(h, "sink");
  fail_unless(context_of(h), "the first query finds the context");
  fail_unless(gst_caps_is_subset(sink.get(), template_of(h, "sink").get()));
  fail_unless(gst_caps_is_subset(answer(h, "src").get(), template_of(h, "src").get()));
  fail_unless(!takes(sink, dmabuf_caps("\"XR24:0x0a00000000000123\"", 64, 48)), "%s",
              text_of(sink.get()).c_str());
  // a driver lists less than everything
  fail_unless(!gst_caps_is_equal(sink.get(), template_of(h, "sink").get()));
}
GST_END_TEST

gint count_reconfigure(GstPad *, GstPadProbeInfo *info, gpointer count) noexcept
{
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_RECONFIGURE)
    ++*static_cast<std::atomic<int> *>(count);
  return GST_PAD_PROBE_OK;
}

// Upstream heard the superset before the start, when it could choose nothing, and hears the right
// answer in its own query. pipewiresrc takes its stream down for each RECONFIGURE, which
// pipewiresink at the other end of it takes for an error.
GST_START_TEST(test_no_reconfigure_for_the_query_that_finds_the_device)
{
  const Harness h(upload());
  std::atomic<int> events{0};
  gst_element_set_state(h.element(), GST_STATE_NULL);
  gst_pad_add_probe(h.get()->srcpad, GST_PAD_PROBE_TYPE_EVENT_UPSTREAM,
                    reinterpret_cast<GstPadProbeCallback>(count_reconfigure), &events, nullptr);
  const auto before = answer(h, "sink");
  fail_unless(gst_caps_is_equal(before.get(), template_of(h, "sink").get()));
  gst_harness_play(h.get());
  const int started = events;
  const auto after = answer(h, "sink");
  fail_unless(!gst_caps_is_equal(after.get(), before.get()));
  fail_unless_equals_int(events - started, 0);
}
GST_END_TEST

// --- copies --------------------------------------------------------------------------------------

constexpr const char *kCopied[] = {"BGRx", "BGRA", "RGBA", "NV12", "I420", "GRAY8", "RGB16"};

GST_START_TEST(test_copy)
{
  const char *format = kCopied[__i__];
  const std::string caps = plain_caps(format, 66, 34);
  const Harness h(upload());
  fail_unless(h.negotiate(caps), "%s", h.last_error().c_str());
  const auto out = h.output_caps();
  fail_unless(takes(out, std::string(kGl) + ", texture-target=2D, format=" + format), "%s",
              text_of(out.get()).c_str());
  for (guint i = 0; i < 3; i++) {
    const auto frame = h.push(new_frame(caps, i));
    fail_unless(gst_is_gl_memory(gst_buffer_peek_memory(frame.get(), 0)));
    check_pixels(frame.get(), out, i);
  }
  fail_unless_equals_uint64(h.stat("frames"), 3);
  fail_unless_equals_uint64(h.stat("copies"), 3);
  fail_unless_equals_uint64(h.stat("imports"), 0);
  fail_unless_equals_uint64(h.stat("fallbacks"), 0);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_INFO), "copied by the CPU", "system memory");
}
GST_END_TEST

// Downstream takes RGBA alone: the copy converts.
GST_START_TEST(test_copy_converts_last)
{
  const Harness h(upload());
  gst_harness_set_sink_caps(h.get(), gst_caps_from_string("video/x-raw(memory:GLMemory), format=RGBA"));
  fail_unless(h.negotiate(kBgrx), "%s", h.last_error().c_str());
  fail_unless(takes(h.output_caps(), std::string(kGl) + ", format=RGBA"));
  (void)h.push(new_frame(kBgrx, 1));
  fail_unless_equals_uint64(h.stat("copies"), 1);
}
GST_END_TEST

GST_START_TEST(test_renegotiates)
{
  const Harness h(upload());
  const unsigned fds = count_fds();
  for (int i = 0; i < 100; i++) {
    const std::string caps = plain_caps(i % 2 ? "NV12" : "BGRx", 32 + 2 * i, 16 + 2 * (i % 5));
    fail_unless(h.negotiate(caps), "%d: %s", i, h.last_error().c_str());
    check_pixels(h.push(new_frame(caps, static_cast<guint>(i))).get(), h.output_caps(), static_cast<guint>(i));
  }
  fail_unless(count_fds() < fds + 40, "%u descriptors, and %u before", count_fds(), fds);
  fail_unless_equals_uint64(h.stat("frames"), 100);
}
GST_END_TEST

// --- refusals ------------------------------------------------------------------------------------

struct RefusalRow {
  const char *name;
  const char *settings;
  std::string caps;
  const char *says, *says_too;
};

const RefusalRow kRefusals[] = {
    {"a modifier that nobody has", "", dmabuf_caps("\"NV12:0x0a00000000000123\"", 64, 48), "takes", "NV12:0x0a00000000000123"},
    {"plain video under require", "zero-copy=require", kBgrx, "zero-copy=require forbids a copy", "BGRx"},
    {"a tiled frame in copy mode", "mode=copy", dmabuf_caps("\"XR24:0x0100000000000001\"", 64, 48), "takes", "INTEL_X_TILED"},
    {"system memory in import mode", "mode=import zero-copy=require", kBgrx, "mode=import forbids a copy", "BGRx"},
};

GST_START_TEST(test_refusals)
{
  const RefusalRow &row = kRefusals[__i__];
  const Harness h(upload(row.settings));
  fail_unless(!h.negotiate(row.caps), "%s", row.name);
  const GstFlowReturn flow = gst_harness_push(h.get(), gst_buffer_new_allocate(nullptr, 64 * 48 * 4, nullptr));
  fail_unless(flow != GST_FLOW_OK);
  const auto errors = h.messages(GST_MESSAGE_ERROR);
  CHECK_ONE_MESSAGE(errors, row.says, row.says_too);
  // there may be nothing to choose from
  const std::string &said = errors.front();
  fail_unless(said.find("takes nothing") == std::string::npos || said.find("nothing. Set mode=auto and zero-copy=prefer") != std::string::npos, "%s",
              said.c_str());
}
GST_END_TEST

// Downstream takes no GL memory.
GST_START_TEST(test_refused_downstream)
{
  const Harness h(upload());
  gst_harness_set_sink_caps(h.get(), gst_caps_from_string("video/x-raw, format=RGBA"));
  fail_unless(!h.negotiate(kBgrx));
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "nothing in common", "gldownload");
}
GST_END_TEST

// --- queries -------------------------------------------------------------------------------------

GST_START_TEST(test_odd_queries)
{
  const Harness h(upload());
  gst_harness_play(h.get());
  const auto caps = odd_caps(kOddCaps[__i__]);
  for (const char *name : {"sink", "src"}) {
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(h.element(), name));
    ask_caps(pad.get(), caps.get(), kOddCaps[__i__].name);
    if (g_str_equal(name, "sink"))
      ask_whether_accepted(pad.get(), caps.get(), kOddCaps[__i__].name, can_be_honoured);
  }
}
GST_END_TEST

GST_START_TEST(test_allocation_query)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kBgrx), "%s", h.last_error().c_str());
  (void)h.push(new_frame(kBgrx, 0));
  const GstPtr<GstQuery> query = h.ask_allocation(kBgrx);
  fail_unless(query ? true : false);
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, nullptr));
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_CROP_META_API_TYPE, nullptr));
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_DRM_SYNC_META_API_TYPE, nullptr));
  fail_unless_equals_int(gst_query_get_n_allocation_pools(query.get()), 0);
  check_entry(query.get(), "egldmabufupload", GST_DRM_CONSTRAINT_PERMISSIONS, GST_DRM_ACCESS_READ);
}
GST_END_TEST

// A texture that downstream keeps keeps the frame that it shows.
GST_START_TEST(test_frames_that_textures_keep)
{
  const Harness h(upload());
  offer_pool(h, nullptr, 0, 5);
  fail_unless(h.negotiate(kBgrx), "%s", h.last_error().c_str());
  (void)h.push(new_frame(kBgrx, 0));
  const GstPtr<GstQuery> query = h.ask_allocation(kBgrx);
  fail_unless(query ? true : false);
  check_entry(query.get(), "egldmabufupload", GST_DRM_CONSTRAINT_BUFFERS_HELD, 5);
}
GST_END_TEST

// --- states, threads, callbacks ------------------------------------------------------------------

// Other threads ask while the element starts and stops.
GST_START_TEST(test_queries_in_state_changes)
{
  const Harness h(upload());
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (int n = 0; n < 2; n++)
    others.emplace_back([&] {
      while (!done) {
        (void)answer(h, "sink");
        (void)answer(h, "src", caps_of("video/x-raw(memory:GLMemory), format=RGBA").get());
        (void)h.stat("frames");
        g_usleep(1); // in virtual time nobody else runs before all threads have slept
      }
    });
  for (int i = 0; i < 10; i++) {
    gst_element_set_state(h.element(), GST_STATE_PLAYING);
    gst_element_set_state(h.element(), i % 2 ? GST_STATE_NULL : GST_STATE_READY);
  }
  done = true;
  for (std::thread &other : others)
    other.join();
}
GST_END_TEST

GstBusSyncReply call_back(GstBus *, GstMessage *message, gpointer data) noexcept
{
  const auto *h = static_cast<const Harness *>(data);
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_INFO || GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    (void)h->stat("copies");
    (void)answer(*h, "sink");
    g_object_set(h->element(), "prove", FALSE, nullptr);
  }
  return GST_BUS_PASS;
}

GST_START_TEST(test_handler_calls_back)
{
  const Harness h(upload());
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(h.element()));
  gst_bus_set_sync_handler(bus.get(), call_back, const_cast<Harness *>(&h), nullptr);
  fail_unless(h.negotiate(kBgrx), "%s", h.last_error().c_str());
  (void)h.push(new_frame(kBgrx, 0));
  fail_unless(!h.negotiate(dmabuf_caps("\"NV12:0x0a00000000000123\"", 64, 48)));
  gst_bus_set_sync_handler(bus.get(), nullptr, nullptr, nullptr);
}
GST_END_TEST

GST_START_TEST(test_flush)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kBgrx));
  for (guint i = 0; i < 3; i++) {
    (void)h.push(new_frame(kBgrx, i));
    gst_harness_push_event(h.get(), gst_event_new_flush_start());
    gst_harness_push_event(h.get(), gst_event_new_flush_stop(FALSE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  }
  check_pixels(h.push(new_frame(kBgrx, 9)).get(), h.output_caps(), 9);
}
GST_END_TEST

// EGL's display, until nobody else has it: GStreamer ends it with that object, also under a context
// of the next case that was made meanwhile.
void wait_for_end(GstPtr<GstGLDisplayEGL> display)
{
  while (g_atomic_int_get(&G_OBJECT(display.get())->ref_count) > 1)
    g_usleep(1000);
}

// An application keeps a frame; the element goes, then the frame, and with it the context, which
// ends on a thread of its own.
GST_START_TEST(test_frame_outlives_element)
{
  GstPtr<GstGLDisplayEGL> display;
  {
    GstPtr<GstBuffer> kept;
    GstPtr<GstCaps> caps;
    {
      const Harness h(upload());
      fail_unless(h.negotiate(kBgrx));
      kept = h.push(new_frame(kBgrx, 5));
      caps = h.output_caps();
      const auto plain =
          GstPtr<GstGLDisplay>::adopt(gst_gl_context_get_display(context_of(h).get()));
      display = GstPtr<GstGLDisplayEGL>::adopt(gst_gl_display_egl_from_gl_display(plain.get()));
    }
    check_pixels(kept.get(), caps, 5);
  }
  wait_for_end(std::move(display));
}
GST_END_TEST

// Another display takes the place of the pipeline's: a new context, and the stream goes on.
GST_START_TEST(test_another_display)
{
  const Harness h(upload());
  fail_unless(h.negotiate(kBgrx));
  (void)h.push(new_frame(kBgrx, 0));
  const GstPtr<GstGLContext> first = context_of(h);
  const auto display = GstPtr<GstGLDisplay>::adopt(gst_gl_display_new());
  GstContext *context = gst_context_new(GST_GL_DISPLAY_CONTEXT_TYPE, TRUE);
  gst_context_set_gl_display(context, display.get());
  gst_element_set_context(h.element(), context);
  gst_context_unref(context);
  check_pixels(h.push(new_frame(kBgrx, 7)).get(), h.output_caps(), 7);
  const GstPtr<GstGLContext> second = context_of(h);
  fail_unless(second && second.get() != first.get());
  fail_unless(h.messages(GST_MESSAGE_ERROR).empty());
}
GST_END_TEST

// textoverlay before GStreamer's gloverlaycompositor
GST_START_TEST(test_overlays)
{
  for (const char *textures : {"video/x-raw(memory:GLMemory), format=BGRx", "video/x-raw(memory:GLMemory), format=RGBA"}) {
    const Harness h(upload());
    check_overlays_pass(h, kBgrx, textures, GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
  }
}
GST_END_TEST

Suite *egldmabufupload_suite()
{
  Suite *suite = suite_create("egldmabufupload");
  TCase *tcase = tcase_create("upload");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_template_before_a_context);
  tcase_add_test(tcase, test_precise_with_a_context);
  tcase_add_test(tcase, test_no_reconfigure_for_the_query_that_finds_the_device);
  tcase_add_loop_test(tcase, test_copy, 0, G_N_ELEMENTS(kCopied));
  tcase_add_test(tcase, test_copy_converts_last);
  tcase_add_test(tcase, test_overlays);
  tcase_add_test(tcase, test_renegotiates);
  tcase_add_loop_test(tcase, test_refusals, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_test(tcase, test_refused_downstream);
  tcase_add_loop_test(tcase, test_odd_queries, 0, kOddCapsCount);
  tcase_add_test(tcase, test_allocation_query);
  tcase_add_test(tcase, test_frames_that_textures_keep);
  tcase_add_test(tcase, test_queries_in_state_changes);
  tcase_add_test(tcase, test_handler_calls_back);
  tcase_add_test(tcase, test_flush);
  tcase_add_test(tcase, test_frame_outlives_element);
  tcase_add_test(tcase, test_another_display);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  if (!has_egl()) {
    g_printerr("GStreamer finds no OpenGL by EGL on this machine\n");
    return 77;
  }
  return gstdrm::test::run_suite(egldmabufupload_suite());
}
