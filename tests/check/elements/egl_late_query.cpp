// SPDX-License-Identifier: LGPL-2.1-or-later
// What a search for a context leaves behind. A caps query of another thread that comes while egldmabufupload is being stopped:
// what it finds then is no reason for the next start to have no OpenGL context. The stop takes place where it harms: behind the
// query's look at the element's display.
#include <string>

#include <dlfcn.h>

#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"

#include <gst/gl/gl.h>

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

GstElement *stops_in_query = nullptr;

} // namespace

// Stands before GStreamer's own for the plugin, which asks for the context behind its look at the display.
extern "C" __attribute__((visibility("default"))) GstGLContext *gst_gl_base_filter_get_gl_context(GstGLBaseFilter *filter)
{
  static const auto real = reinterpret_cast<GstGLContext *(*)(GstGLBaseFilter *)>(::dlsym(RTLD_NEXT, "gst_gl_base_filter_get_gl_context"));
  if (GST_IS_GL_BASE_FILTER(filter) && GST_ELEMENT(filter) == stops_in_query) {
    stops_in_query = nullptr;
    gst_element_set_state(GST_ELEMENT(filter), GST_STATE_NULL);
  }
  return real(filter);
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

Suite *egl_late_query_suite()
{
  Suite *suite = suite_create("egl-late-query");
  TCase *tcase = tcase_create("late-query");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_stopped_in_a_query);
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
