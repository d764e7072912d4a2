// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload and dmabufdownload: queries and events that nobody should send, at every pad in
// every state. The tests of kmsdmabufsink and vadmabufsrc do the same with theirs.
#include "support/odd_queries.hpp"

#include <memory>

#include "support/bus_handler.hpp"
#include "support/dmabuf_elements.hpp"

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
};

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
      if (row.stage == Stage::WithCaps)
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
  const Odd odd(kPads[__i__]);
  ask_everything(odd.pad());
}
GST_END_TEST

GST_START_TEST(test_events)
{
  const Odd odd(kPads[__i__]);
  send_odd_events(odd.pad());
  if (GST_PAD_IS_SINK(odd.pad()))
    for (const OddCaps &row : kOddCaps)
      send_odd_caps(odd.pad(), row);
}
GST_END_TEST

// Downstream answers with odd caps: no CRITICAL, and one message at most for what is refused.
void try_peer(const GstPtr<GstCaps> &answer)
{
  for (const char *element : {"dmabufupload allocator=memfd", "dmabufdownload"}) {
    const Harness h(element);
    gst_harness_set_sink_caps(h.get(), gst_caps_ref(answer.get()));
    gst_harness_play(h.get());
    for (const OddCaps &filter : kOddCaps)
      ask_caps(GST_PAD_PEER(h.get()->srcpad), odd_caps(filter).get(), filter.name);
    fail_unless(h.messages(GST_MESSAGE_WARNING).size() <= 1);
    h.negotiate(dmabuf_caps("XR24", 64, 48));
    fail_unless(h.messages(GST_MESSAGE_ERROR).size() <= 1);
  }
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

struct MessageRow {
  const char *element;
  const char *downstream; // takes these
  const char *caps;
  bool bad_frame;
};

// A message of each kind: a copy, a bad frame, caps that are refused, an allocator that is not there.
const MessageRow kMessages[] = {
    {"dmabufupload allocator=memfd", "ANY", "NV12", false},
    {"dmabufupload allocator=memfd", "ANY", "NV12", true},
    {"dmabufupload allocator=memfd zero-copy=require", "ANY", "NV12", false},
    {"dmabufupload", "ANY", "NV12", false},
    {"dmabufupload allocator=dumb device=/dev/null", "ANY", "NV12", false},
    {"dmabufupload allocator=memfd", "audio/x-raw", "NV12", false},
    {"dmabufdownload", "ANY", "NV12", true},
    {"dmabufdownload", "audio/x-raw", "NV12", false},
};

// The handler is called on the streaming thread, within the element, and calls the element.
GST_START_TEST(test_bus_handler)
{
  const MessageRow &row = kMessages[__i__];
  const Harness h(row.element);
  gst_harness_set_sink_caps(h.get(), caps_of(row.downstream).release());
  const CallsBack handler(h);
  const std::string caps = plain_caps(row.caps, 64, 48);
  if (h.negotiate(caps))
    gst_harness_push(h.get(), new_frame(row.bad_frame ? plain_caps(row.caps, 32, 32) : caps));
  fail_unless(handler.calls() > 0);
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

GST_DRM_CHECK_MAIN(odd_queries)
