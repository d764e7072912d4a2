// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracer drmverify in a program whose pipelines start, change and end
// on several threads: elements and pads that go while frames flow, pads that appear late.
#include <atomic>
#include <string>

#include "support/dmabuf_elements.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

using ElementPtr = GstPtr<GstElement>;
using PadPtr = GstPtr<GstPad>;

constexpr const char *kDescriptions[] = {
    "videotestsrc num-buffers=20 ! dmabufupload allocator=memfd ! tee name=t t. ! queue ! fakesink t. ! queue ! dmabufdownload ! fakesink",
    "videotestsrc num-buffers=20 ! ( queue ! identity ! queue ) ! fakesink",
    "videotestsrc num-buffers=20 ! video/x-raw,width=64,height=48 ! decodebin ! fakesink",
    "videotestsrc num-buffers=20 ! video/x-raw,width=64,height=48 ! input-selector ! videoconvert ! video/x-raw,format=RGB ! fakesink",
};

ElementPtr parsed(const char *description)
{
  GError *error = nullptr;
  auto pipeline = ElementPtr::adopt(gst_parse_launch(description, &error));
  if (error) // fail() belongs to the main thread
    g_error("%s", error->message);
  return pipeline;
}

bool reaches_the_end(GstElement *pipeline)
{
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(
      bus.get(), 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR)));
  return message && GST_MESSAGE_TYPE(message.get()) == GST_MESSAGE_EOS;
}

GST_START_TEST(test_pipelines_at_once)
{
  std::atomic<int> ended{0};
  const auto play = [&ended](const char *description) {
    return [&ended, description] {
      for (int i = 0; i < 5; i++) {
        const ElementPtr pipeline = parsed(description);
        gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
        ended += reaches_the_end(pipeline.get()) ? 1 : 0;
        gst_element_set_state(pipeline.get(), GST_STATE_NULL);
      }
    };
  };
  at_once({play(kDescriptions[0]), play(kDescriptions[1]), play(kDescriptions[2]),
           play(kDescriptions[3])});
  fail_unless_equals_int(ended, 20);
}
GST_END_TEST

// A branch of a tee, which goes and is replaced in the thread of the tee, between two frames.
struct Branch {
  GstElement *pipeline = nullptr;
  ElementPtr tee;
  ElementPtr sink;
  PadPtr pad;
  int frames = 0;

  void remove()
  {
    const auto end = PadPtr::adopt(gst_pad_get_peer(pad.get()));
    gst_pad_unlink(pad.get(), end.get());
    gst_element_release_request_pad(tee.get(), pad.get());
    gst_element_set_state(sink.get(), GST_STATE_NULL);
    gst_bin_remove(GST_BIN(pipeline), sink.get());
  }
  void add()
  {
    sink = ElementPtr::share(gst_element_factory_make("fakesink", nullptr));
    g_object_set(sink.get(), "async", FALSE, nullptr);
    gst_bin_add(GST_BIN(pipeline), sink.get());
    pad = PadPtr::adopt(gst_element_request_pad_simple(tee.get(), "src_%u"));
    const auto end = PadPtr::adopt(gst_element_get_static_pad(sink.get(), "sink"));
    gst_pad_link(pad.get(), end.get());
    gst_element_sync_state_with_parent(sink.get());
  }
};

GstPadProbeReturn change_branch(GstPad *, GstPadProbeInfo *, gpointer data) noexcept
{
  auto &branch = *static_cast<Branch *>(data);
  if (++branch.frames % 5 == 0) {
    if (branch.sink)
      branch.remove();
    branch.add();
  }
  return GST_PAD_PROBE_OK;
}

GST_START_TEST(test_branches_that_go)
{
  const ElementPtr pipeline = parsed("videotestsrc num-buffers=200 ! dmabufupload allocator=memfd ! tee name=t t. ! queue name=q ! fakesink");
  Branch branch;
  branch.pipeline = pipeline.get();
  branch.tee = ElementPtr::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "t"));
  const auto sink = PadPtr::adopt(gst_element_get_static_pad(branch.tee.get(), "sink"));
  gst_pad_add_probe(sink.get(), GST_PAD_PROBE_TYPE_BUFFER, change_branch, &branch, nullptr);
  const auto queue = ElementPtr::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "q"));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  bool ended = false;
  std::atomic<bool> done{false};
  at_once({[&] {
             ended = reaches_the_end(pipeline.get());
             done = true;
           },
           [&] {
             while (!done) {
               gst_element_send_event(queue.get(), gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM_OOB, gst_structure_new_empty("x")));
               g_usleep(500);
             }
           }});
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  fail_unless(ended);
  fail_unless_equals_int(branch.frames, 200);
}
GST_END_TEST

Suite *suite()
{
  Suite *s = suite_create("tracer-storm");
  TCase *tc = tcase_create("tracer-storm");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_test(tc, test_pipelines_at_once);
  tcase_add_test(tc, test_branches_that_go);
  return s;
}

} // namespace

int main(int argc, char **argv)
{
  const gchar *others = g_getenv("GST_TRACERS");
  const std::string tracers = (others ? std::string(others) + ";" : "") + "drmverify";
  g_setenv("GST_TRACERS", tracers.c_str(), TRUE);
  g_setenv("GST_DRM_VERIFY_FILE", "/dev/null", TRUE);
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(suite());
}
