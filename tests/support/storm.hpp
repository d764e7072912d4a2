// SPDX-License-Identifier: LGPL-2.1-or-later
// A pipeline from an element "src" to an element "sink", for tests in which several threads change its states, seek, flush and
// renegotiate at once, and in which no element may say that something failed where the stream was only being stopped.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "support/dmabuf_elements.hpp"

namespace gstdrm::test {

class Storm {
public:
  explicit Storm(const std::string &description)
  {
    GError *error = nullptr;
    pipeline_ = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), &error));
    fail_unless(pipeline_ && !error, "%s", error ? error->message : "");
    bus_ = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline_.get()));
    gst_bus_set_sync_handler(bus_.get(), on_message, this, nullptr);
  }
  Storm(const Storm &) = delete;
  Storm &operator=(const Storm &) = delete;
  virtual ~Storm()
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
  void renegotiate(int n) const
  {
    for (int i = 0; i < n; i++) {
      choose_caps(i);
      gst_element_send_event(child("sink").get(), gst_event_new_reconfigure());
      g_usleep(300);
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

protected:
  // Lets the stream have other formats and sizes, each of which all elements take.
  virtual void choose_caps(int i) const = 0;

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
  mutable std::mutex lock_; // guards errors_, which streaming threads add to
  std::string errors_;
};

} // namespace gstdrm::test
