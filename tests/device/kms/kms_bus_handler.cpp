// SPDX-License-Identifier: LGPL-2.1-or-later
// A synchronous bus handler that calls back into the sink from each message, on the thread that
// posts it, and one that ends the sink there. A lock that is held meanwhile, or a thread that waits
// for itself, stops the test.
#include <atomic>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/video/videooverlay.h>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "support/held_locks.hpp"
#include "support/sw_sync.hpp"
#include "support/threads.hpp"

using namespace gstdrm::test;
using gstdrm::UniqueFd;

namespace {

constexpr int kWidth = 640, kHeight = 480;

// Reads all, and writes the same values back.
void touch_properties(GstElement *element)
{
  guint n = 0;
  GParamSpec **specs = g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &n);
  for (guint i = 0; i < n; i++) {
    if ((specs[i]->flags & G_PARAM_READABLE) == 0 || specs[i]->owner_type == GST_TYPE_OBJECT)
      continue;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, specs[i]->value_type);
    g_object_get_property(G_OBJECT(element), specs[i]->name, &value);
    if ((specs[i]->flags & G_PARAM_WRITABLE) && !(specs[i]->flags & G_PARAM_CONSTRUCT_ONLY))
      g_object_set_property(G_OBJECT(element), specs[i]->name, &value);
    g_value_unset(&value);
  }
  g_free(specs);
}

enum class End {
  No,
  Here,      // set_state(NULL) in the handler
  Elsewhere, // by a thread that the handler starts: the streaming thread cannot end itself
  AtOnce,    // in the handler, while the test's thread does the same
};

class CallsBack {
public:
  CallsBack(Sink &sink, End end)
      : element_(sink.element()), end_(end), bus_(gst_element_get_bus(element_))
  {
    gst_bus_set_sync_handler(
        bus_,
        [](GstBus *, GstMessage *message, gpointer self) {
          static_cast<CallsBack *>(self)->handle(message);
          return GST_BUS_PASS;
        },
        this, nullptr);
  }
  CallsBack(const CallsBack &) = delete;
  CallsBack &operator=(const CallsBack &) = delete;
  ~CallsBack()
  {
    gst_bus_set_sync_handler(bus_, nullptr, nullptr, nullptr);
    gst_object_unref(bus_);
  }
  void await_message()
  {
    if (end_ == End::AtOnce)
      end_too();
    while (handled_ == 0)
      g_usleep(2000);
    if (end_ == End::No)
      return;
    while (!ended_)
      g_usleep(2000);
  }
  void join()
  {
    if (ender_.joinable())
      ender_.join();
  }

private:
  void end_too()
  {
    while (!ending_)
      g_usleep(2000);
    ending_too_ = gettid();
    gst_element_set_state(element_, GST_STATE_NULL);
    ending_too_ = 0;
  }
  // Until the test's thread has the state lock, and waits; or has done without waiting.
  void await_other()
  {
    while (ending_too_ == -1)
      g_usleep(2000);
    for (pid_t thread = ending_too_; thread != 0 && state_of_thread(thread) != 'S';
         thread = ending_too_)
      g_usleep(2000);
  }
  void handle(GstMessage *message)
  {
    static thread_local bool inside = false;
    const auto told = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING |
                                                  GST_MESSAGE_INFO | GST_MESSAGE_ELEMENT);
    if ((GST_MESSAGE_TYPE(message) & told) == 0 || inside)
      return; // what is done below posts messages as well
    inside = true;
    // taken by whoever sends it, here or on another thread
    locks_.check(GST_MESSAGE_TYPE_NAME(message));
    pass_through(GST_OBJECT_GET_LOCK(element_));
    pass_through(GST_BASE_SINK_GET_PREROLL_LOCK(element_));
    call_everything();
    if (end_ != End::No && !ending_.exchange(true)) {
      const auto end = [this] {
        gst_element_set_state(element_, GST_STATE_NULL);
        ended_ = true;
      };
      if (end_ == End::AtOnce)
        await_other();
      if (end_ == End::Here || end_ == End::AtOnce)
        end();
      else
        ender_ = std::thread(end);
    }
    inside = false;
    handled_++;
  }
  void call_everything()
  {
    touch_properties(element_);
    GstVideoOverlay *overlay = GST_VIDEO_OVERLAY(element_);
    gst_video_overlay_set_render_rectangle(overlay, 8, 8, 320, 240);
    gst_video_overlay_expose(overlay);
    gst_video_overlay_set_render_rectangle(overlay, 0, 0, -1, -1);
    g_object_set(element_, "rotation", 1 << 2, "cursor-x", 5, "cursor-image", nullptr, nullptr);
    g_object_set(element_, "rotation", 1 << 0, nullptr);
    gst_video_overlay_expose(overlay);
    GstSample *sample = nullptr;
    g_signal_emit_by_name(element_, "snapshot", &sample);
    if (sample)
      gst_sample_unref(sample);
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_, "sink"));
    gst_caps_unref(gst_pad_query_caps(pad.get(), nullptr));
  }

  GstElement *element_;
  const NoLocks locks_;
  const End end_;
  GstBus *bus_;
  std::atomic<int> handled_{0};
  std::atomic<bool> ending_{false}, ended_{false};
  std::atomic<pid_t> ending_too_{-1}; // the test's thread in set_state(); 0: it is done
  std::thread ender_;
};

GstPtr<GstBuffer> picture()
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  return to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight);
}

struct Context {
  Sink &sink;
  ConfigfsDevice &device;
  int fd;
  Timeline &timeline;
};

// What makes the sink post a message, and whose thread posts it.
struct Row {
  const char *name;
  End end;
  void (*happens)(Context &c);
};

void copy(Context &c)
{
  ck_assert(c.sink.set_caps(plain_caps("BGRx", kWidth, kHeight)));
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  c.sink.push(make_noise(info, 1).release());
}

void unplug(Context &c)
{
  c.device.plug(0, false);
}

void other_view(Context &c)
{
  g_object_set(c.sink.element(), "zpos", 3, nullptr); // vkms has none
  c.sink.push(picture().release());
}

void other_caps(Context &c)
{
  ck_assert(!c.sink.set_caps(
      dma_drm_caps("NV12:0x0100000000000001", kWidth, kHeight))); // vkms lists linear alone
}

void lose_master(Context &c)
{
  ck_assert_int_eq(drmDropMaster(c.fd), 0);
  for (int i = 0; i < 3; i++)
    c.sink.push(picture().release());
}

void hang(Context &c)
{
  const GstPtr<GstBuffer> buffer = picture();
  ck_assert(gst_drm_sync_meta_add_acquire_fence(gst_buffer_add_drm_sync_meta(buffer.get()),
                                                c.timeline.fence(1), nullptr));
  c.sink.push(gst_buffer_ref(buffer.get()));
}

void remove_device(Context &c)
{
  c.device.remove();
}

void remove_while_frames_come(Context &c)
{
  c.device.remove();
  while (c.sink.push(picture().release()) == GST_FLOW_OK) {
  }
}

const Row kRows[] = {
    {"the first copy, by the streaming thread", End::Elsewhere, copy},
    {"a view that is refused, by the streaming thread", End::Elsewhere, other_view},
    {"caps that are refused, by the streaming thread", End::Elsewhere, other_caps},
    {"the loss of master, by the streaming thread", End::Elsewhere, lose_master},
    {"a frame that is lost, by the event thread", End::Here, hang},
    {"a cable, by the hotplug thread", End::Here, unplug},
    {"the end of the device, by any thread", End::Here, remove_device},
    {"the end of the device, while frames come", End::Here, remove_while_frames_come},
};

} // namespace

GST_START_TEST(test_a_handler_calls_back)
{
  const Row &row = kRows[__i__ / 3];
  const End ends[] = {End::No, row.end,
                      row.end == End::Here && row.happens != remove_while_frames_come ? End::AtOnce
                                                                                      : row.end};
  const End end = ends[__i__ % 3];
  if (__i__ % 3 == 2 && end != End::AtOnce)
    return; // the streaming thread, or its part is the test's
  g_print("# %s%s%s\n", row.name, end == End::No ? "" : ", ends the sink",
          end == End::AtOnce ? " as another thread does" : "");
  ConfigfsDevice device("two", {{0, true, true}, {0, false, true}});
  const unsigned before = count_fds();
  UniqueFd fd(open(device.path().c_str(), O_RDWR | O_CLOEXEC));
  {
    Timeline timeline;
    Sink sink(("fence-timeout=50000000 fd=" + std::to_string(fd.get())).c_str());
    ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
    ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
    CallsBack handler(sink, end);
    Context context{sink, device, fd.get(), timeline};
    row.happens(context);
    handler.await_message();
    handler.join();
    if (end == End::No)
      sink.push(picture().release()); // the thread goes on
    ck_assert(sink.set_state(GST_STATE_NULL));
  }
  fd.reset();
  while (count_fds() > before) // a thread that ended its own sink leaves last
    g_usleep(2000);
}
GST_END_TEST

namespace {

struct Asked {
  GstElement *sink;
  int times = 0;
  bool is_free = true; // the preroll lock
};

GstPadProbeReturn look_at_lock(GstPad *, GstPadProbeInfo *info, gpointer data)
{
  auto *asked = static_cast<Asked *>(data);
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_RECONFIGURE)
    return GST_PAD_PROBE_OK;
  asked->times++;
  GMutex *preroll = GST_BASE_SINK_GET_PREROLL_LOCK(asked->sink);
  const bool is_free = g_mutex_trylock(preroll) != FALSE; // by this thread, the only one there is
  if (is_free)
    g_mutex_unlock(preroll);
  asked->is_free &= is_free;
  gst_video_overlay_expose(GST_VIDEO_OVERLAY(asked->sink)); // as an application may
  return GST_PAD_PROBE_OK;
}

} // namespace

// A picture that is turned has no overlays, so that the offer changes with the frame that is
// turned, and with one that is shown again.
GST_START_TEST(test_upstream_is_asked_without_a_lock)
{
  Sink sink("enable-last-sample=true mode=1024x768");
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
  Asked asked{sink.element()};
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_EVENT_UPSTREAM, look_at_lock, &asked, nullptr);
  ck_assert(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  const int before = asked.times;
  g_object_set(sink.element(), "rotation", 1 << 1, nullptr);
  ck_assert_int_eq(sink.push(picture().release()), GST_FLOW_OK);
  ck_assert_int_eq(asked.times, before + 1);
  g_object_set(sink.element(), "rotation", 1 << 0, nullptr);
  gst_video_overlay_expose(GST_VIDEO_OVERLAY(sink.element()));
  ck_assert_int_eq(asked.times, before + 2);
  ck_assert(asked.is_free);
}
GST_END_TEST

static Suite *kms_bus_handler_suite(void)
{
  Suite *s = suite_create("kms-bus-handler");
  TCase *tc = tcase_create("calls back");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, test_upstream_is_asked_without_a_lock);
  tcase_add_loop_test(tc, test_a_handler_calls_back, 0, 3 * G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_bus_handler)
