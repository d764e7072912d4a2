// SPDX-License-Identifier: LGPL-2.1-or-later
// Elements whose state changes while other threads ask, flush and set properties: GStreamer asks serialized queries of
// an inactive pad, too, and hands out-of-band events to a pad that is being closed.
#include <memory>

#include "metis_line.hpp"
#include "support/bus_handler.hpp"
#include "support/no_display_server.hpp"
#include "support/odd_queries.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kElements[] = {
    "dmabufupload allocator=memfd", "dmabufdownload",  "egldmabufupload", "egldmabufdownload",
    "metisdmabufinfer",             "drmtensordecode", "drmoverlay",
};

// Parts may be left out of a build.
bool exists(const std::string &description)
{
  const std::string name = description.substr(0, description.find(' '));
  const auto factory = GstPtr<GstElementFactory>::adopt(gst_element_factory_find(name.c_str()));
  if (!factory)
    g_print("# there is no %s here\n", name.c_str());
  return static_cast<bool>(factory);
}

// Which caps each element takes is looked at by other tests.
bool anything(const GstCaps *)
{
  return true;
}

void ask(GstPad *pad)
{
  ask_everything(pad, could_be_sent, anything);
}

GST_START_TEST(test_restless)
{
  if (!exists(kElements[__i__]))
    return;
  const bool of_gl = g_str_has_prefix(kElements[__i__], "egl");
  const Harness h(line::described(kElements[__i__]));
  GstElement *element = h.element();
  gst_harness_play(h.get());
  const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "sink"));
  const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "src"));
  std::atomic<bool> done{false};
  const auto until_done = [&done](const auto &act) {
    return [&done, act] {
      do
        act();
      while (!done);
    };
  };
  // GStreamer 1.22 ends EGL with each GstGLDisplay that goes in NULL, under those that messages and
  // queries still hold: Mesa crashes at their end (support/keep_egl.cpp, which 1.22 cannot have).
  const GstState lowest = of_gl && !GST_CHECK_VERSION(1, 24, 0) ? GST_STATE_READY : GST_STATE_NULL;
  const auto change_states = [&] {
    const GstState states[] = {GST_STATE_PAUSED, GST_STATE_READY, GST_STATE_PLAYING, lowest};
    for (int i = 0; i < 80; i++)
      gst_element_set_state(element, states[i % 4]);
    done = true;
  };
  at_once({change_states, until_done([&] { ask(sink.get()); }), until_done([&] { ask(src.get()); }),
           until_done([&] { send_odd_events(sink.get()); }),
           until_done([&] {
             if (!of_gl) // GstGLBaseFilter reads its property `context` without a lock
               touch_properties(G_OBJECT(element));
           })});
  gst_element_set_state(element, GST_STATE_NULL);
  ask(sink.get());
}
GST_END_TEST

Suite *suite()
{
  Suite *s = suite_create("restless");
  TCase *tc = tcase_create("restless");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_restless, 0, G_N_ELEMENTS(kElements));
  return s;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(suite());
}
