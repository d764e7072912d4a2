// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload, dmabufdownload and the elements of EGL: queries and events that nobody should send,
// at every pad in every state. The tests of kmsdmabufsink and vadmabufsrc do the same with theirs.
#include "support/odd_peers.hpp"

#include <memory>

#include "support/bus_handler.hpp"
#include "support/no_display_server.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

enum class Stage { Null, Ready, Paused, WithCaps, PassThrough };

struct PadRow {
  const char *element;
  const char *pad;
  Stage stage;
};

constexpr PadRow kPads[] = {
    {"dmabufupload allocator=memfd", "sink", Stage::Null},
    {"dmabufupload allocator=memfd", "sink", Stage::Ready},
    {"dmabufupload allocator=memfd", "sink", Stage::Paused},
    {"dmabufupload allocator=memfd", "sink", Stage::WithCaps},
    {"dmabufupload allocator=memfd", "sink", Stage::PassThrough},
    {"dmabufupload allocator=memfd", "src", Stage::Null},
    {"dmabufupload allocator=memfd", "src", Stage::Ready},
    {"dmabufupload allocator=memfd", "src", Stage::Paused},
    {"dmabufupload allocator=memfd", "src", Stage::WithCaps},
    {"dmabufupload allocator=memfd", "src", Stage::PassThrough},
    {"dmabufdownload", "sink", Stage::Null},
    {"dmabufdownload", "sink", Stage::Ready},
    {"dmabufdownload", "sink", Stage::Paused},
    {"dmabufdownload", "sink", Stage::WithCaps},
    {"dmabufdownload", "sink", Stage::PassThrough},
    {"dmabufdownload", "src", Stage::Null},
    {"dmabufdownload", "src", Stage::Ready},
    {"dmabufdownload", "src", Stage::Paused},
    {"dmabufdownload", "src", Stage::WithCaps},
    {"dmabufdownload", "src", Stage::PassThrough},
    {"egldmabufupload", "sink", Stage::Null},
    {"egldmabufupload", "sink", Stage::Ready},
    {"egldmabufupload", "sink", Stage::Paused},
    {"egldmabufupload", "sink", Stage::WithCaps},
    {"egldmabufupload", "src", Stage::Null},
    {"egldmabufupload", "src", Stage::Ready},
    {"egldmabufupload", "src", Stage::Paused},
    {"egldmabufupload", "src", Stage::WithCaps},
    {"egldmabufdownload", "sink", Stage::Null},
    {"egldmabufdownload", "sink", Stage::Ready},
    {"egldmabufdownload", "sink", Stage::Paused},
    {"egldmabufdownload", "sink", Stage::WithCaps},
    {"egldmabufdownload", "src", Stage::Null},
    {"egldmabufdownload", "src", Stage::Ready},
    {"egldmabufdownload", "src", Stage::Paused},
    {"egldmabufdownload", "src", Stage::WithCaps},
};

bool is_of_egl(const PadRow &row)
{
  return g_str_has_prefix(row.element, "egl");
}

// The elements of EGL may be left out of a build.
bool exists(const PadRow &row)
{
  if (!is_of_egl(row))
    return true;
  const auto factory = GstPtr<GstElementFactory>::adopt(gst_element_factory_find(row.element));
  if (!factory)
    g_print("# there is no %s here\n", row.element);
  return static_cast<bool>(factory);
}

// What a CAPS event of GL memory brings is no GstDrmVideoInfo.
auto may_accept(const PadRow &row)
{
  const char *gl_side = g_str_equal(row.element, "egldmabufupload") ? "src" : "sink";
  return is_of_egl(row) && g_str_equal(row.pad, gl_side) ? could_be_sent : can_be_honoured;
}

// The element of a row in its state, between two pads of the test, and its pad.
class Odd {
public:
  explicit Odd(const PadRow &row)
  {
    if (row.stage == Stage::Null) {
      element_ =
          GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(make_element(row.element))));
    } else {
      harness_ = std::make_unique<Harness>(row.element);
      element_ = GstPtr<GstElement>::share(harness_->element());
      gst_element_set_state(element_.get(), GST_STATE_READY);
      if (row.stage != Stage::Ready)
        gst_harness_play(harness_->get());
      if (row.stage == Stage::WithCaps && is_of_egl(row)) // refused where there is no OpenGL
        (void)harness_->negotiate(g_str_equal(row.element, "egldmabufdownload")
                                      ? "video/x-raw(memory:GLMemory), format=(string)RGBA, "
                                        "width=(int)64, height=(int)48, "
                                        "framerate=(fraction)30/1, texture-target=(string)2D"
                                      : plain_caps("NV12", 64, 48));
      else if (row.stage == Stage::WithCaps)
        fail_unless(harness_->negotiate(plain_caps("NV12", 64, 48)));
      if (row.stage == Stage::PassThrough)
        fail_unless(harness_->negotiate(dmabuf_caps("NV12", 64, 48)));
    }
    pad_ = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), row.pad));
  }
  [[nodiscard]] GstPad *pad() const { return pad_.get(); }

private:
  std::unique_ptr<Harness> harness_;
  GstPtr<GstElement> element_;
  GstPtr<GstPad> pad_;
};

GST_START_TEST(test_queries)
{
  const PadRow &row = kPads[__i__];
  if (!exists(row))
    return;
  const Odd odd(row);
  ask_everything(odd.pad(), may_accept(row), may_accept(row));
}
GST_END_TEST

bool is_gl(const OddCaps &caps)
{
  return caps.text && g_strstr_len(caps.text, -1, "GLMemory");
}

GST_START_TEST(test_events)
{
  const PadRow &row = kPads[__i__];
  if (!exists(row))
    return;
  const Odd odd(row);
  send_odd_events(odd.pad());
  if (GST_PAD_IS_SINK(odd.pad()))
    for (const OddCaps &caps : kOddCaps)
      if (may_accept(row) == can_be_honoured || !is_gl(caps))
        send_odd_caps(odd.pad(), caps);
}
GST_END_TEST

// Downstream answers with odd caps: no CRITICAL, and one message at most for what is refused.
void try_peer(const GstPtr<GstCaps> &answer)
{
  for (const char *element : {"dmabufupload allocator=memfd", "dmabufdownload"})
    try_odd_peer(element, answer);
}

GST_START_TEST(test_odd_peer)
{
  const auto answer = odd_caps(kOddCaps[__i__]);
  if (answer) // a harness without caps answers ANY
    try_peer(answer);
}
GST_END_TEST

GST_START_TEST(test_peer_with_null_string)
{
  try_peer(caps_with_null_string(__i__ == 0 ? "format" : "drm-format"));
}
GST_END_TEST

// A message of each kind: a copy, a bad frame, caps that are refused, an allocator that is not there.
const MessageRow kMessages[] = {
    {"dmabufupload allocator=memfd", "ANY", "NV12"},
    {"dmabufupload allocator=memfd", "ANY", "NV12", cut},
    {"dmabufupload allocator=memfd zero-copy=require", "ANY", "NV12"},
    {"dmabufupload", "ANY", "NV12"},
    {"dmabufupload allocator=dumb device=/dev/null", "ANY", "NV12"},
    {"dmabufupload allocator=memfd", "audio/x-raw", "NV12"},
    {"dmabufdownload", "ANY", "NV12", cut},
    {"dmabufdownload", "audio/x-raw", "NV12"},
};

GST_START_TEST(test_bus_handler)
{
  const MessageRow &row = kMessages[__i__];
  call_back_within(row, row.element);
}
GST_END_TEST

Suite *odd_queries_suite()
{
  Suite *suite = suite_create("odd-queries");
  TCase *tcase = tcase_create("odd queries");
  suite_add_tcase(suite, tcase);
  const int n_pads = static_cast<int>(G_N_ELEMENTS(kPads));
  tcase_add_loop_test(tcase, test_queries, 0, n_pads);
  tcase_add_loop_test(tcase, test_events, 0, n_pads);
  tcase_add_loop_test(tcase, test_bus_handler, 0, static_cast<int>(G_N_ELEMENTS(kMessages)));
  tcase_add_loop_test(tcase, test_odd_peer, 0, kOddCapsCount);
  tcase_add_loop_test(tcase, test_peer_with_null_string, 0, 2);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return gstdrm::test::run_suite(odd_queries_suite());
}
