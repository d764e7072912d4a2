// SPDX-License-Identifier: LGPL-2.1-or-later
// Another display is plugged in while frames come: other modes, and none that holds the picture.
#include <string>
#include <vector>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "kms_image.hpp"

using namespace gstdrm::test;

namespace {

constexpr auto kComplaints = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

struct Replugged {
  ConfigfsDevice device{"one", {{0, false, true}}};
  Show show;

  Replugged(const char *properties, int width, int height)
      : show(("device=" + device.path() + " " + properties).c_str(), width, height)
  {
  }
  void replug(const std::vector<Timing> &timings)
  {
    device.plug(0, false);
    expect_hotplug(show.sink, device.connectors()[0], false);
    show.push();
    device.set_display(0, timings);
    device.plug(0, true);
    expect_hotplug(show.sink, device.connectors()[0], true);
  }
};

} // namespace

// The mode that fits is set anew on each display, and what does not fill it is centred.
GST_START_TEST(test_other_modes)
{
  Replugged r("", 640, 480);
  r.show.start();
  compare("at first", r.show.screen("at first"), r.show.picture);
  const struct {
    const char *name;
    std::vector<Timing> timings;
    int width, height;
  } rows[] = {
      {"720p alone", {k1280x720}, 1280, 720},
      {"1080p, and 800x600 of another shape", {k1920x1080, k800x600}, 1920, 1080},
      {"its own size among three", {k1920x1080, k640x480, k800x600}, 640, 480},
      {"the first display", {}, 640, 480},
  };
  for (const auto &row : rows) {
    r.replug(row.timings);
    r.show.push();
    r.show.push();
    compare(row.name, r.show.screen(row.name),
            on_black(row.width, row.height, r.show.picture, (row.width - 640) / 2,
                     (row.height - 480) / 2));
  }
  ck_assert(r.show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

// Another display without a moment of no display between, as a KVM switch does.
GST_START_TEST(test_changed_in_one_event)
{
  Replugged r("", 640, 480);
  r.show.start();
  r.device.set_display(0, {k1280x720});
  r.device.plug(0, true);
  expect_hotplug(r.show.sink, r.device.connectors()[0], true);
  r.show.push();
  r.show.push();
  compare("720p", r.show.screen("720p"), on_black(1280, 720, r.show.picture, 320, 120));
  // and an event without a change says nothing
  r.device.plug(0, true);
  r.show.push();
  compare("720p", r.show.screen("720p"), on_black(1280, 720, r.show.picture, 320, 120));
  ck_assert(r.show.sink.next_message(GST_MESSAGE_ELEMENT).empty());
}
GST_END_TEST

// No mode holds the picture: upstream chooses another size, and the stream goes on with it; then a
// larger display is there again.
GST_START_TEST(test_smaller_display)
{
  ConfigfsDevice device("one", {{0, false, true}});
  const auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(
      ("videotestsrc pattern=smpte ! capsfilter caps=\"video/x-raw,width=1024,height=768;"
       "video/x-raw,width=800,height=600\" ! dmabufupload ! kmsdmabufsink name=sink mode=match device=" +
       device.path())
          .c_str(),
      nullptr));
  const auto sink = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), "sink"));
  const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline.get()));
  gst_element_set_state(pipeline.get(), GST_STATE_PLAYING);
  ck_assert_int_eq(gst_element_get_state(pipeline.get(), nullptr, nullptr, GST_CLOCK_TIME_NONE),
                   GST_STATE_CHANGE_SUCCESS);
  // what is on screen has this size, and both its upper corners are the picture's
  const auto await_size = [&sink](int width, int height) {
    for (int i = 0; i < 400; i++) {
      GstSample *sample = nullptr;
      g_signal_emit_by_name(sink.get(), "snapshot", &sample);
      const auto owned = GstPtr<GstSample>::adopt(sample);
      if (sample) {
        const Image screen = screen_of(sample);
        if (screen.width == width && screen.height == height && screen.at(0, 0) != 0 &&
            screen.at(width - 1, 0) != 0)
          return;
      }
      g_usleep(50'000);
    }
    ck_abort_msg("never %dx%d", width, height);
  };
  const auto replug = [&](const std::vector<Timing> &timings) {
    device.plug(0, false);
    device.set_display(0, timings);
    device.plug(0, true);
  };
  await_size(1024, 768);
  replug({k800x600, k640x480});
  await_size(800, 600);
  replug({});
  await_size(1024, 768);
  const auto message = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR));
  if (message) {
    GError *error = nullptr;
    gst_message_parse_error(message.get(), &error, nullptr);
    ck_abort_msg("%s", error->message);
  }
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

namespace {

struct Refused {
  const char *name, *properties;
  int width, height;
  std::vector<const char *> words;
};

const Refused kRefused[] = {
    {"no mode holds the picture, and the source goes on as before",
     "",
     1024,
     768,
     {"1024x768", "800x600"}},
    {"the mode that the user named is not the new display's",
     "mode=1280x720",
     640,
     480,
     {"1280x720", "800x600"}},
};

} // namespace

// An error says what the display has and what was wanted.
GST_START_TEST(test_refused_by_the_new_display)
{
  const Refused &row = kRefused[__i__];
  g_print("# %s\n", row.name);
  Replugged r(row.properties, row.width, row.height);
  r.show.start();
  r.replug({k800x600});
  GstFlowReturn flow = GST_FLOW_OK;
  for (unsigned i = 0; i < 100 && flow == GST_FLOW_OK; i++)
    flow = r.show.sink.push(to_dmabuf(r.show.info, r.show.noise.get(), Shape::Tight).release());
  ck_assert_int_eq(flow, GST_FLOW_NOT_NEGOTIATED);
  const std::string error = r.show.sink.await_message(GST_MESSAGE_ERROR);
  gstdrm::test::say(error);
  for (const char *word : row.words)
    ck_assert_msg(error.find(word) != std::string::npos, "no %s in: %s", word, error.c_str());
}
GST_END_TEST

static Suite *kms_other_display_suite(void)
{
  Suite *s = suite_create("kms-other-display");
  TCase *tc = tcase_create("displays");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 100);
  tcase_add_test(tc, test_other_modes);
  tcase_add_test(tc, test_changed_in_one_event);
  tcase_add_test(tc, test_smaller_display);
  tcase_add_loop_test(tc, test_refused_by_the_new_display, 0, G_N_ELEMENTS(kRefused));
  return s;
}

GST_DRM_CHECK_MAIN(kms_other_display)
