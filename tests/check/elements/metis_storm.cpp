// SPDX-License-Identifier: LGPL-2.1-or-later
// metisdmabufinfer, drmtensordecode and drmoverlay in one pipeline while several threads send frames, flush, seek, change
// states, ask, set properties and answer messages, all at once; and where no descriptor is left.
#include "metis_line.hpp"

#include <atomic>
#include <functional>
#include <random>

#include <sys/resource.h>

#include <gst/drm/gstdrmtensormeta.h>

#include "support/bus_handler.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using gstdrm::test::line::infer;

using Messages = std::vector<std::string>;

// --- threads -------------------------------------------------------------------------------------

const char *const kStreams[] = {"NV12", "BGRx", "RGB", "NV12_10LE32"}; // the last one is refused

class Storm {
public:
  Storm()
  {
    const std::string description = "appsrc name=src stream-type=seekable format=time max-buffers=4 leaky-type=upstream ! " + infer("name=infer max-in-flight=3 interval=2") +
                                    " ! drmtensordecode name=decode post-messages=true ! drmoverlay name=overlay ! fakesink name=sink async=false sync=false";
    pipeline_ = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), nullptr));
    fail_unless(static_cast<bool>(pipeline_));
    src_ = child("src");
    g_signal_connect(src_.get(), "seek-data", G_CALLBACK(agree), nullptr);
    bus_ = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_.get()));
    gst_bus_set_sync_handler(bus_.get(), on_message, this, nullptr);
  }
  Storm(const Storm &) = delete;
  Storm &operator=(const Storm &) = delete;
  ~Storm()
  {
    gst_bus_set_sync_handler(bus_.get(), nullptr, nullptr, nullptr);
    gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  [[nodiscard]] GstPtr<GstElement> child(const char *name) const
  {
    return GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline_.get()), name));
  }
  void set(GstState state) const { gst_element_set_state(pipeline_.get(), state); }

  void send_frames(int n) const
  {
    for (int i = 0; i < n; i++) {
      const std::string caps = plain_caps(kStreams[i / 9 % 4], 16 + i % 5, 12 + i % 3);
      GstBuffer *frame = new_frame(caps, static_cast<guint>(i));
      gst_buffer_add_video_region_of_interest_meta(frame, "thing", 1, 1, 8, 8);
      GstSample *sample = gst_sample_new(frame, caps_of(caps).get(), nullptr, nullptr);
      GstFlowReturn flow = GST_FLOW_OK;
      g_signal_emit_by_name(src_.get(), "push-sample", sample, &flow);
      gst_sample_unref(sample);
      gst_buffer_unref(frame);
    }
  }
  void seek(int n) const
  {
    for (int i = 0; i < n; i++) {
      gst_element_send_event(pipeline_.get(), gst_event_new_seek(1.0 + i % 2, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, i * GST_MSECOND, GST_SEEK_TYPE_NONE, 0));
      gst_element_send_event(child("infer").get(), gst_event_new_reconfigure());
    }
  }
  void change_states(int n) const
  {
    static constexpr GstState kStates[] = {GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_READY, GST_STATE_PLAYING, GST_STATE_NULL};
    for (int i = 0; i < n; i++)
      set(kStates[i % 6]);
  }
  void ask(int n) const
  {
    for (int i = 0; i < n; i++)
      for (const char *name : {"infer", "decode", "overlay"}) {
        const auto element = child(name);
        touch_properties(G_OBJECT(element.get()));
        for (const char *pad_name : {"sink", "src"}) {
          const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element.get(), pad_name));
          ask_everything_else(pad.get());
          const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
        }
      }
  }
  // The stream after the storm: results come as if nothing had been.
  void check_calm() const
  {
    set(GST_STATE_NULL);
    gst_bus_set_sync_handler(bus_.get(), nullptr, nullptr, nullptr);
    std::atomic<guint> found{0};
    const auto sink = child("sink");
    g_object_set(sink.get(), "signal-handoffs", TRUE, nullptr);
    g_signal_connect(sink.get(), "handoff", G_CALLBACK(count_results), &found);
    set(GST_STATE_PLAYING);
    const std::string caps = plain_caps("NV12", 64, 48);
    g_object_set(src_.get(), "leaky-type", 0, "max-buffers", guint64{0}, nullptr);
    for (guint i = 0; i < 6; i++) {
      const auto frame = GstPtr<GstBuffer>::adopt(new_frame(caps, i));
      const auto sample = gst_sample_new(frame.get(), caps_of(caps).get(), nullptr, nullptr);
      GstFlowReturn flow = GST_FLOW_OK;
      g_signal_emit_by_name(src_.get(), "push-sample", sample, &flow);
      gst_sample_unref(sample);
      fail_unless_equals_int(flow, GST_FLOW_OK);
    }
    GstFlowReturn flow = GST_FLOW_OK;
    g_signal_emit_by_name(src_.get(), "end-of-stream", &flow);
    const auto end = GstPtr<GstMessage>::adopt(gst_bus_timed_pop_filtered(bus_.get(), 60 * GST_SECOND, GST_MESSAGE_EOS));
    fail_unless(static_cast<bool>(end), "no end of the stream");
    fail_unless_equals_int(static_cast<int>(found), 3); // of every second frame
  }

private:
  static gboolean agree(GstElement *, guint64, gpointer) noexcept { return TRUE; }
  static void count_results(GstElement *, GstBuffer *buffer, GstPad *, gpointer found) noexcept
  {
    if (gst_buffer_get_drm_tensor_meta(buffer, nullptr))
      (*static_cast<std::atomic<guint> *>(found))++;
  }
  // On the thread of the element: calls every element.
  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR || GST_MESSAGE_TYPE(message) == GST_MESSAGE_INFO)
      static_cast<const Storm *>(self)->ask(1);
    gst_message_unref(message);
    return GST_BUS_DROP;
  }

  GstPtr<GstElement> pipeline_, src_;
  GstPtr<GstBus> bus_;
};

GST_START_TEST(test_storm)
{
  const Storm storm;
  storm.set(GST_STATE_PLAYING);
  std::vector<std::function<void()>> jobs{[&] { storm.send_frames(300); }, [&] { storm.seek(60); }, [&] { storm.ask(20); }};
  if (__i__ == 1)
    jobs.emplace_back([&] { storm.change_states(36); });
  at_once(jobs);
  storm.check_calm();
}
GST_END_TEST

// --- descriptors ---------------------------------------------------------------------------------

// The process can open so many descriptors more.
class FewDescriptors {
public:
  explicit FewDescriptors(rlim_t more)
  {
    fail_unless_equals_int(getrlimit(RLIMIT_NOFILE, &usual_), 0);
    const int next = dup(0); // the lowest that is free
    close(next);
    rlimit low = usual_;
    low.rlim_cur = static_cast<rlim_t>(next) + more;
    fail_unless_equals_int(setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  FewDescriptors(const FewDescriptors &) = delete;
  FewDescriptors &operator=(const FewDescriptors &) = delete;
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &usual_); }

private:
  rlimit usual_{};
};

// A frame comes out, or an error is said on the thread that would push it.
bool comes(const Harness &h, Messages &errors)
{
  while (errors.empty()) {
    if (h.try_pull())
      return true;
    errors = h.messages(GST_MESSAGE_ERROR);
    g_usleep(1000);
  }
  return false;
}

// Starts, negotiates and sends frames; whether each one came out.
bool plays(const Harness &h, const std::vector<GstBuffer *> &frames, const std::string &caps, Messages &errors)
{
  bool all = gst_element_set_state(h.element(), GST_STATE_PLAYING) == GST_STATE_CHANGE_SUCCESS && h.negotiate(caps);
  for (GstBuffer *frame : frames) {
    if (!all)
      gst_buffer_unref(frame);
    else if (gst_harness_push(h.get(), frame) == GST_FLOW_OK)
      all = comes(h, errors);
    else
      all = false;
  }
  return all;
}

std::vector<GstBuffer *> two_frames(const std::string &plain, bool dmabuf)
{
  if (!dmabuf)
    return {new_frame(plain, 1), new_frame(plain, 2)};
  return {new_dmabuf_frame("memfd", plain, 1), new_dmabuf_frame("memfd", plain, 2)};
}

// With each number of descriptors that is too small the element says one error, and closes all that it opened. UBSan looks at
// memory through a pipe: where it can open none, it prints that objects have an invalid vptr, and goes on.
GST_START_TEST(test_no_descriptors)
{
  const bool dmabuf = __i__ == 1;
  const std::string plain = plain_caps("NV12", 64, 48);
  const std::string caps = dmabuf ? dmabuf_caps("NV12", 64, 48) : plain;
  rlim_t more = 0;
  for (bool came = false; !came; more++) {
    fail_unless(more < 60, "no number of descriptors is enough");
    const Harness h(infer("max-in-flight=1"));
    const std::vector<GstBuffer *> frames = two_frames(plain, dmabuf);
    const unsigned before = count_fds();
    Messages errors;
    {
      const FewDescriptors limit(more);
      came = plays(h, frames, caps, errors);
    }
    for (const std::string &error : h.messages(GST_MESSAGE_ERROR))
      errors.push_back(error);
    fail_unless_equals_int(static_cast<int>(errors.size()), came ? 0 : 1);
    if (!came)
      say(std::to_string(more) + ": " + errors.front());
    gst_element_set_state(h.element(), GST_STATE_NULL);
    while (h.try_pull())
      ;
    fail_unless(count_fds() <= before, "%u descriptors: %u open, and %u before", static_cast<unsigned>(more), count_fds(), before);
  }
}
GST_END_TEST

Suite *metis_storm_suite()
{
  Suite *suite = suite_create("metis-storm");
  TCase *tcase = tcase_create("storm");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_storm, 0, 2);
  tcase_add_loop_test(tcase, test_no_descriptors, 0, 2);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(metis_storm)
