// SPDX-License-Identifier: LGPL-2.1-or-later
// What a search for a context leaves behind. A caps query of another thread that comes while egldmabufupload is being stopped:
// what it finds then is no reason for the next start to have no OpenGL context, and is let go of. The stop takes place where it harms:
// behind the query's look at the element's display, or behind a step of the search that comes later.
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <dlfcn.h>

#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"

#include <gst/gl/gl.h>

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

// The steps of a search behind which an element is stopped.
enum class Step { Display, Context, Formats };

GstElement *stops_in_query = nullptr;
Step stops_behind = Step::Display;

void stop_behind(Step step)
{
  if (!stops_in_query || stops_behind != step)
    return;
  gst_element_set_state(std::exchange(stops_in_query, nullptr), GST_STATE_NULL);
}

// A search that does not end until it is let go.
std::atomic<GstGLBaseFilter *> held_search{nullptr};
std::atomic<bool> is_held{false};
std::atomic<bool> let_go{false};

void hold(GstGLBaseFilter *filter)
{
  GstGLBaseFilter *expected = filter;
  if (!held_search.compare_exchange_strong(expected, nullptr))
    return;
  is_held = true;
  while (!let_go)
    g_usleep(1000);
}

} // namespace

// Stands before GStreamer's own for the plugin, which asks for the context behind its look at the display.
extern "C" __attribute__((visibility("default"))) GstGLContext *gst_gl_base_filter_get_gl_context(GstGLBaseFilter *filter)
{
  static const auto real = reinterpret_cast<GstGLContext *(*)(GstGLBaseFilter *)>(::dlsym(RTLD_NEXT, "gst_gl_base_filter_get_gl_context"));
  if (!GST_IS_GL_BASE_FILTER(filter) || GST_ELEMENT(filter) != stops_in_query) {
    hold(filter);
    return real(filter);
  }
  stop_behind(Step::Display);
  GstGLContext *context = real(filter);
  if (context)
    stop_behind(Step::Context);
  return context;
}

// The last that is asked about the formats of a context before they are offered. Versions of GStreamer differ in a const, so it is declared
// under another name.
extern "C" __attribute__((visibility("default"))) GstGLFormat format_from_video_info(GstGLContext *, const GstVideoInfo *, guint) __asm__(
    "gst_gl_format_from_video_info");

extern "C" GstGLFormat format_from_video_info(GstGLContext *context, const GstVideoInfo *info, guint plane)
{
  static const auto real = reinterpret_cast<decltype(&format_from_video_info)>(::dlsym(RTLD_NEXT, "gst_gl_format_from_video_info"));
  const GstGLFormat format = real(context, info, plane);
  stop_behind(Step::Formats);
  return format;
}

namespace {

GstPtr<GstCaps> ask(GstElement *element, const char *name)
{
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, name));
  return GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
}

bool has_context(GstElement *element)
{
  GstGLContext *context = nullptr;
  g_object_get(element, "context", &context, nullptr);
  return static_cast<bool>(GstPtr<GstGLContext>::adopt(context));
}

GST_START_TEST(test_stopped_in_a_query)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element("egldmabufupload"))));
  gst_element_set_state(element.get(), GST_STATE_READY);
  stops_behind = Step::Display;
  stops_in_query = element.get();
  (void)ask(element.get(), "sink");
  fail_unless(stops_in_query == nullptr, "the query does not ask for the context");
  fail_unless(!has_context(element.get()));
  gst_element_set_state(element.get(), GST_STATE_READY);
  (void)ask(element.get(), "sink");
  fail_unless(has_context(element.get()), "the next start looks for no context");
  gst_element_set_state(element.get(), GST_STATE_NULL);
}
GST_END_TEST

// The context that a search has found when its element is stopped does not live on in an element that is in NULL.
GST_START_TEST(test_nothing_is_kept_behind_a_stop)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element("egldmabufupload"))));
  gst_element_set_state(element.get(), GST_STATE_READY);
  if (!gst_gl_base_filter_find_gl_context(GST_GL_BASE_FILTER(element.get())))
    return; // no OpenGL on this machine
  GWeakRef context;
  GstGLContext *found = nullptr;
  g_object_get(element.get(), "context", &found, nullptr);
  g_weak_ref_init(&context, found);
  g_clear_pointer(&found, gst_object_unref);
  stops_behind = __i__ == 0 ? Step::Context : Step::Formats;
  stops_in_query = element.get();
  (void)ask(element.get(), "sink");
  fail_unless(stops_in_query == nullptr, "the search has not come to the stop");
  const auto left = GstPtr<GObject>::adopt(static_cast<GObject *>(g_weak_ref_get(&context)));
  g_weak_ref_clear(&context);
  fail_if(static_cast<bool>(left), "the stopped element has the context");
}
GST_END_TEST

// GStreamer's base class looks for a context by itself as well, and has an error for each time that it finds none.
GST_START_TEST(test_no_context_is_one_error)
{
  const char *name = __i__ == 0 ? "egldmabufupload" : "egldmabufdownload";
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element(name))));
  const auto bus = GstPtr<GstBus>::adopt(gst_bus_new());
  gst_element_set_bus(element.get(), bus.get());
  g_setenv("GST_GL_PLATFORM", "none", TRUE);
  for (int start = 0; start < 2; start++) { // another start is another failure
    gst_element_set_state(element.get(), GST_STATE_PAUSED);
    for (int search = 0; search < 2; search++) {
      fail_unless(!gst_gl_base_filter_find_gl_context(GST_GL_BASE_FILTER(element.get())));
      (void)ask(element.get(), "sink");
    }
    int errors = 0;
    while (const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR)))
      errors++;
    fail_unless_equals_int(errors, 1);
    gst_element_set_state(element.get(), GST_STATE_NULL);
  }
  g_unsetenv("GST_GL_PLATFORM");
  gst_element_set_bus(element.get(), nullptr);
}
GST_END_TEST

std::atomic<int> warnings{0};

void count_warning(GstDebugCategory *, GstDebugLevel level, const gchar *, const gchar *, gint, GObject *, GstDebugMessage *message, gpointer) noexcept
{
  if (level != GST_LEVEL_WARNING || !g_strrstr(gst_debug_message_get(message), "still looks for an OpenGL context"))
    return;
  warnings++;
  let_go = true;
}

// A search that does not end keeps no change of state waiting for ever, and the log tells of it, as what follows may be odd.
GST_START_TEST(test_warning_of_a_search_that_lasts)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element("egldmabufupload"))));
  g_setenv("GST_GL_PLATFORM", "none", TRUE); // a context that takes its time would be a search that lasts
  gst_debug_set_threshold_for_name("egldmabufupload", GST_LEVEL_WARNING);
  gst_debug_add_log_function(count_warning, nullptr, nullptr);
  gst_element_set_state(element.get(), GST_STATE_READY);
  for (const bool lasts : {false, true}) {
    warnings = 0;
    let_go = !lasts;
    is_held = false;
    held_search = GST_GL_BASE_FILTER(element.get());
    std::thread other([&] { (void)ask(element.get(), "sink"); });
    while (!is_held)
      g_usleep(1000);
    gst_element_set_state(element.get(), GST_STATE_NULL);
    let_go = true;
    other.join();
    fail_unless(lasts ? warnings > 0 : warnings == 0, "%d warnings", warnings.load());
    gst_element_set_state(element.get(), GST_STATE_READY);
  }
  gst_element_set_state(element.get(), GST_STATE_NULL);
  g_unsetenv("GST_GL_PLATFORM");
  gst_debug_remove_log_function(count_warning);
  gst_debug_unset_threshold_for_name("egldmabufupload");
}
GST_END_TEST

Suite *egl_late_query_suite()
{
  Suite *suite = suite_create("egl-late-query");
  TCase *tcase = tcase_create("late-query");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_stopped_in_a_query);
  tcase_add_loop_test(tcase, test_nothing_is_kept_behind_a_stop, 0, 2);
  tcase_add_test(tcase, test_warning_of_a_search_that_lasts);
  tcase_add_loop_test(tcase, test_no_context_is_one_error, 0, 2);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(egl_late_query_suite());
}
