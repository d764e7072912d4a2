// SPDX-License-Identifier: LGPL-2.1-or-later
// gst_drm_enumerate_va() on drivers that fail, vanish, hang or say nothing: every node is listed, with its pairs or with a reason.
#include <atomic>
#include <memory>
#include <string>

#include <gst/base/gstpushsrc.h>
#include <gst/drm/drm.h>

#include "device/va/va_support.hpp"
#include "support/gate.hpp"
#include "support/source_pairs.hpp"
#include "va_native.hpp"

namespace {

using namespace gstdrm::test;

struct UnrefArray {
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
using List = std::unique_ptr<GPtrArray, UnrefArray>;

const GstDrmSource *source_at(const List &list, guint index)
{
  return static_cast<const GstDrmSource *>(g_ptr_array_index(list.get(), index));
}

std::string problem_at(const List &list, guint index)
{
  const gchar *text = gst_drm_source_get_problem(source_at(list, index));
  return text ? text : "";
}

// ---- the test driver, of which the n-th call fails, as it does when its device is removed then

constexpr const char *kCalls[] = {"init", "query", "create", "export", "begin", "render", "end", "sync"};

GST_START_TEST(test_vanishes_at_each_call)
{
  const std::string call = kCalls[__i__];
  set_driver(kNativeDriver);
  const List whole(gst_drm_enumerate_va());
  fail_unless_equals_int(static_cast<int>(whole->len), 2);
  const Pairs pairs = pairs_of(source_at(whole, 1));
  fail_unless(problem_at(whole, 1).empty() && !pairs.empty(), "%s", problem_at(whole, 1).c_str());
  for (unsigned n = 1; n <= 6; n++) {
    set_driver(kNativeDriver + ("@renderD129,fail=" + call) + ":" + std::to_string(n));
    const List list(gst_drm_enumerate_va());
    fail_unless_equals_int(static_cast<int>(list->len), 2);
    fail_unless(pairs_of(source_at(list, 0)) == pairs, "the other node");
    const Pairs found = pairs_of(source_at(list, 1));
    const std::string problem = problem_at(list, 1);
    fail_unless(problem.empty() != found.empty(), "%s %u: '%s', %zu pairs", call.c_str(), n, problem.c_str(), found.size());
  }
  set_driver(kNativeDriver + ("@renderD129,fail=" + call)); // from the first one on
  const List none(gst_drm_enumerate_va());
  say(call + ": " + problem_at(none, 1));
}
GST_END_TEST

// ---- an element of that name, as another version of the plugin might have

enum class Way { PlainCaps, AnyFormat, NoFrame, Removed, Hangs };
std::atomic<Way> way{Way::PlainCaps};
std::atomic<bool> gone{false}; // an element has been freed
Gate &gate()
{
  static auto *const shared = new Gate; // a thread that hangs may outlive main()
  return *shared;
}

struct FakeSource {
  GstPushSrc parent;
};
struct FakeSourceClass {
  GstPushSrcClass parent;
};
G_DEFINE_TYPE(FakeSource, fake_source, GST_TYPE_PUSH_SRC)

void set_nothing(GObject *, guint, const GValue *, GParamSpec *) noexcept {}

GstCaps *caps_of_way(GstBaseSrc *, GstCaps *) noexcept
{
  return gst_caps_from_string(way == Way::PlainCaps ? "video/x-raw,format=NV12,width=64,height=64" : "video/x-raw(memory:DMABuf)");
}

GstFlowReturn fill_frame(GstPushSrc *source, GstBuffer *) noexcept
{
  if (way == Way::AnyFormat || way == Way::PlainCaps)
    return GST_FLOW_OK;
  if (way == Way::Removed)
    unplug(129);
  if (way != Way::NoFrame)
    GST_ELEMENT_ERROR(source, RESOURCE, READ, ("The device is gone."), (nullptr));
  return way == Way::NoFrame ? GST_FLOW_EOS : GST_FLOW_ERROR;
}

GstStateChangeReturn change(GstElement *element, GstStateChange transition) noexcept
{
  if (way == Way::Hangs && transition == GST_STATE_CHANGE_NULL_TO_READY)
    gate().pass();
  return GST_ELEMENT_CLASS(fake_source_parent_class)->change_state(element, transition);
}

void finalize(GObject *object) noexcept
{
  G_OBJECT_CLASS(fake_source_parent_class)->finalize(object);
  gone = true;
}

void fake_source_class_init(FakeSourceClass *klass)
{
  G_OBJECT_CLASS(klass)->set_property = set_nothing;
  G_OBJECT_CLASS(klass)->finalize = finalize;
  g_object_class_install_property(G_OBJECT_CLASS(klass), 1, g_param_spec_string("device", "", "", nullptr, G_PARAM_WRITABLE));
  GST_ELEMENT_CLASS(klass)->change_state = change;
  GST_BASE_SRC_CLASS(klass)->get_caps = caps_of_way;
  GST_PUSH_SRC_CLASS(klass)->fill = fill_frame;
  gst_element_class_add_pad_template(GST_ELEMENT_CLASS(klass), gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, gst_caps_new_any()));
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "fake", "Source", "fake", "tests");
}

void fake_source_init(FakeSource *) {}

struct WayRow {
  Way way;
  const char *problem;
};
const WayRow kWays[] = {
    {Way::PlainCaps, ""}, // a list that is empty
    {Way::AnyFormat, "vadmabufsrc on /dev/dri/renderD129 names no formats."},
    {Way::NoFrame, "vadmabufsrc on /dev/dri/renderD129 names no formats."},
    {Way::Removed, "The device is gone."},
    {Way::Hangs, "The VA-API driver of /dev/dri/renderD129 gave no answer within 1 s (GST_DRM_VA_PROBE_TIMEOUT)."},
};

// The limit is as short as it can be set, and the thread that hangs is let go at the end alone: nothing here is measured.
GST_START_TEST(test_other_elements)
{
  const WayRow &row = kWays[__i__];
  set_driver(kNativeDriver);
  fail_unless(gst_element_register(nullptr, "vadmabufsrc", GST_RANK_NONE, fake_source_get_type()));
  unplug(128);
  way = row.way;
  gone = false; // the rows of one process come one after another
  if (row.way == Way::Hangs)
    g_setenv("GST_DRM_VA_PROBE_TIMEOUT", "1", TRUE);
  const List list(gst_drm_enumerate_va());
  g_unsetenv("GST_DRM_VA_PROBE_TIMEOUT");
  fail_unless_equals_int(static_cast<int>(list->len), 1);
  fail_unless_equals_string(gst_drm_source_get_name(source_at(list, 0)), "va:renderD129");
  fail_unless(pairs_of(source_at(list, 0)).empty());
  const std::string problem = problem_at(list, 0);
  fail_unless_equals_string(problem.c_str(), row.problem);
  if (row.way == Way::Hangs)
    gate().open();
  while (!gone)
    g_usleep(1000);
  plug(128);
  plug(129);
}
GST_END_TEST

Suite *va_enumerate_suite()
{
  Suite *suite = suite_create("va-enumerate");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_vanishes_at_each_call, 0, G_N_ELEMENTS(kCalls));
  tcase_add_loop_test(tcase, test_other_elements, 0, G_N_ELEMENTS(kWays)); // last: the element stays
  return suite;
}

} // namespace

GST_DRM_VA_NATIVE_MAIN(va_enumerate)
