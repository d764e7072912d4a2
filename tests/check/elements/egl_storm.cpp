// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload and egldmabufupload in one pipeline while several threads change its states, seek, flush, renegotiate and ask:
// no element may say that a format was refused where the stream was only being stopped, and each start is a new one.
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <gst/gl/gl.h>

#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct StormRow {
  const char *name;
  const char *behind; // what stands behind egldmabufupload
};

const StormRow kStorms[] = {
    {"a sink alone", "fakesink name=sink async=false sync=false"},
    {"a queue", "queue name=queue max-size-buffers=2 ! capsfilter name=after ! fakesink name=sink async=false sync=false"},
};

class Storm {
public:
  explicit Storm(const StormRow &row)
  {
    const std::string description = std::string("videotestsrc name=src ! capsfilter name=filter caps-change-mode=delayed ! dmabufupload name=dma ! egldmabufupload name=upload ! ") + row.behind;
    pipeline_ = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), nullptr));
    fail_unless(static_cast<bool>(pipeline_));
    bus_ = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_.get()));
    gst_bus_set_sync_handler(bus_.get(), on_message, this, nullptr);
    choose_caps(0);
  }
  Storm(const Storm &) = delete;
  Storm &operator=(const Storm &) = delete;
  ~Storm()
  {
    set(GST_STATE_NULL);
    gst_bus_set_sync_handler(bus_.get(), nullptr, nullptr, nullptr);
  }
  [[nodiscard]] GstPtr<GstElement> child(const char *name) const
  {
    return GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline_.get()), name));
  }
  void set(GstState state) const
  {
    const Interruption interruption(interruptions_, state < GST_STATE_PAUSED);
    gst_element_set_state(pipeline_.get(), state);
  }
  void change_states(int n) const
  {
    static constexpr GstState kStates[] = {GST_STATE_PLAYING, GST_STATE_READY, GST_STATE_PLAYING, GST_STATE_PAUSED, GST_STATE_PLAYING, GST_STATE_NULL};
    for (int i = 0; i < n; i++) {
      set(kStates[i % 6]);
      g_usleep(static_cast<gulong>(1000 * (i % 5)));
    }
  }
  void seek(int n) const
  {
    for (int i = 0; i < n; i++) {
      {
        const Interruption interruption(interruptions_, true);
        gst_element_send_event(pipeline_.get(), gst_event_new_seek(1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, i * GST_MSECOND, GST_SEEK_TYPE_NONE, 0));
      }
      g_usleep(500);
    }
  }
  // Other formats and sizes, each of which all elements take.
  void choose_caps(int i) const
  {
    static constexpr const char *kFormats[] = {"BGRx", "RGBA", "NV12", "I420"};
    g_object_set(child("filter").get(), "caps", caps_of(plain_caps(kFormats[i % 4], 32 + 2 * (i % 3), 32)).get(), nullptr);
  }
  void renegotiate(int n) const
  {
    for (int i = 0; i < n; i++) {
      choose_caps(i);
      gst_element_send_event(child("sink").get(), gst_event_new_reconfigure());
      g_usleep(300);
    }
  }
  void ask(int n) const
  {
    for (int i = 0; i < n; i++) {
      for (const char *pad_name : {"sink", "src"}) {
        const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(child("upload").get(), pad_name));
        const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
      }
      g_usleep(1000);
    }
  }
  [[nodiscard]] std::string errors() const
  {
    const std::lock_guard guard(lock_);
    return errors_;
  }

  // Nothing of what happened before is left in the next start.
  void play_once_more() const
  {
    set(GST_STATE_NULL);
    set(GST_STATE_PLAYING);
    for (GstPtr<GstSample> sample; !sample && errors().empty(); g_usleep(1000)) {
      GstSample *last = nullptr;
      g_object_get(child("sink").get(), "last-sample", &last, nullptr);
      sample = GstPtr<GstSample>::adopt(last);
    }
  }

private:
  // Counts the stops and flushing seeks that are under way.
  class Interruption {
  public:
    Interruption(std::atomic<int> &count, bool interrupts) : count_(count), by_(interrupts ? 1 : 0) { count_ += by_; }
    Interruption(const Interruption &) = delete;
    Interruption &operator=(const Interruption &) = delete;
    ~Interruption() { count_ -= by_; }

  private:
    std::atomic<int> &count_;
    const int by_;
  };

  // A stop deactivates an element's source pad before its sink pad. What reaches the sink pad in between is refused by GstBaseTransform, of
  // which capsfilter is one too: GstPad makes not-negotiated of a CAPS event that is refused and an error of any other event. The source
  // says so before the call ends that stops or seeks.
  [[nodiscard]] bool is_interrupted(GstMessage *message) const
  {
    return interruptions_ > 0 && g_str_equal(GST_MESSAGE_SRC_NAME(message), "src");
  }
  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    auto *storm = static_cast<Storm *>(self);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR && !storm->is_interrupted(message)) {
      GError *error = nullptr;
      g_autofree gchar *debug = nullptr;
      gst_message_parse_error(message, &error, &debug);
      const std::lock_guard guard(storm->lock_);
      storm->errors_ += std::string(GST_MESSAGE_SRC_NAME(message)) + ": " + error->message + " (" + (debug ? debug : "") + ")\n";
      g_error_free(error);
    }
    gst_message_unref(message);
    return GST_BUS_DROP;
  }

  GstPtr<GstElement> pipeline_;
  GstPtr<GstBus> bus_;
  mutable std::atomic<int> interruptions_{0};
  mutable std::mutex lock_;
  std::string errors_;
};

GST_START_TEST(test_storm)
{
  const Storm storm(kStorms[__i__]);
  storm.set(GST_STATE_PLAYING);
  at_once({[&] { storm.change_states(60); }, [&] { storm.seek(120); }, [&] { storm.renegotiate(200); }, [&] { storm.ask(60); }});
  storm.play_once_more();
  fail_unless(storm.errors().empty(), "%s: %s", kStorms[__i__].name, storm.errors().substr(0, 2000).c_str());
}
GST_END_TEST

Suite *egl_storm_suite()
{
  Suite *suite = suite_create("egl-storm");
  TCase *tcase = tcase_create("storm");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_storm, 0, G_N_ELEMENTS(kStorms));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return run_suite(egl_storm_suite());
}
