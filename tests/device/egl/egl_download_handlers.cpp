// SPDX-License-Identifier: LGPL-2.1-or-later
// An application's handlers that call back into egldmabufdownload, from within a message, an event,
// a query, a frame and the signal of a property, on the thread that has it and on another one that
// it waits for. A lock that is held meanwhile, or a thread that waits for itself, stops the test.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "egl_download_pixels.hpp"
#include "egl_download_support.hpp"
#include "support/held_locks.hpp"
#include "support/odd_queries.hpp"

namespace gstdrm::test {
namespace {

// What a handler may be called of.
enum Kind { kMessage, kEvent, kQuery, kFrame, kSignal, kKinds };
constexpr const char *kNames[kKinds] = {"a message", "an event", "a query", "a frame", "a signal"};

class CallsBack {
public:
  // `ends`: the first that happens after arm() has another thread end the pipeline.
  CallsBack(const Download &download, bool ends)
      : element_(download.element("d")),
        sink_(GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), "sink"))),
        src_(GstPtr<GstPad>::adopt(gst_element_get_static_pad(element_.get(), "src"))), ends_(ends),
        pipeline_(GstPtr<GstElement>::share(GST_ELEMENT(GST_OBJECT_PARENT(element_.get())))),
        bus_(GstPtr<GstBus>::adopt(gst_pipeline_get_bus(GST_PIPELINE(pipeline_.get()))))
  {
    gst_bus_set_sync_handler(bus_.get(), on_message, this, nullptr);
    for (const auto *pad : {&sink_, &src_}) {
      constexpr auto kAll = GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_BOTH |
                            GST_PAD_PROBE_TYPE_EVENT_FLUSH | GST_PAD_PROBE_TYPE_QUERY_BOTH;
      gst_pad_add_probe(pad->get(), static_cast<GstPadProbeType>(kAll), on_passing, this, nullptr);
      g_signal_connect(pad->get(), "notify::caps", G_CALLBACK(on_signal), this);
    }
    g_signal_connect(element_.get(), "notify", G_CALLBACK(on_signal), this);
  }
  CallsBack(const CallsBack &) = delete;
  CallsBack &operator=(const CallsBack &) = delete;
  ~CallsBack()
  {
    stop(); // nobody calls any more
    if (ender_.joinable())
      ender_.join();
    gst_bus_set_sync_handler(bus_.get(), nullptr, nullptr, nullptr);
    g_signal_handlers_disconnect_by_data(element_.get(), this);
    for (const auto *pad : {&sink_, &src_})
      g_signal_handlers_disconnect_by_data(pad->get(), this);
  }
  void arm() noexcept { armed_ = true; }
  [[nodiscard]] int calls(Kind kind) const { return calls_[kind]; }
  void await_end()
  {
    while (!ended_)
      g_usleep(1000);
  }

private:
  static GstBusSyncReply on_message(GstBus *, GstMessage *message, gpointer self) noexcept
  {
    auto *handler = static_cast<CallsBack *>(self);
    constexpr auto kTold =
        static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING | GST_MESSAGE_INFO);
    if (GST_MESSAGE_SRC(message) == GST_OBJECT(handler->element_.get()) &&
        (GST_MESSAGE_TYPE(message) & kTold) != 0)
      handler->handle(kMessage, GST_MESSAGE_TYPE_NAME(message), true);
    return GST_BUS_PASS;
  }
  static GstPadProbeReturn on_passing(GstPad *, GstPadProbeInfo *info, gpointer self) noexcept
  {
    auto *handler = static_cast<CallsBack *>(self);
    if (info->type & GST_PAD_PROBE_TYPE_BUFFER) {
      handler->handle(kFrame, "a frame", true);
    } else if (info->type & GST_PAD_PROBE_TYPE_QUERY_BOTH) {
      GstQuery *query = GST_PAD_PROBE_INFO_QUERY(info);
      handler->handle(kQuery, GST_QUERY_TYPE_NAME(query),
                      GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION);
    } else {
      GstEvent *event = GST_PAD_PROBE_INFO_EVENT(info);
      handler->handle(kEvent, GST_EVENT_TYPE_NAME(event), GST_EVENT_TYPE(event) == GST_EVENT_CAPS);
    }
    return GST_PAD_PROBE_OK;
  }
  static void on_signal(GObject *, GParamSpec *spec, gpointer self) noexcept
  {
    static_cast<CallsBack *>(self)->handle(kSignal, spec->name, false);
  }

  // `streams`: on the streaming thread, which may send what is serialized with the frames.
  void handle(Kind kind, const char *what, bool streams)
  {
    static thread_local bool inside = false;
    locks_.check(what);
    const bool may_be_inside = kind == kSignal || kind == kMessage;
    if (may_be_inside)
      calls_[kind]++; // most are those of the properties that are set below, or of its caps queries
    if (inside)
      return; // what is done below is seen here as well
    inside = true;
    pass_through(GST_OBJECT_GET_LOCK(element_.get()));
    call_everything(streams);
    std::thread([this] {
      inside = true;
      call_everything(false);
    }).join();
    if (!may_be_inside)
      calls_[kind]++;
    if (ends_ && armed_ && !ending_.exchange(true))
      ender_ = std::thread([this] {
        stop();
        ended_ = true;
      });
    inside = false;
  }
  void call_everything(bool streams)
  {
    touch_properties(G_OBJECT(element_.get()));
    gst_util_set_object_arg(G_OBJECT(element_.get()), "zero-copy", "prefer");
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(
        "video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48,texture-target=2D"));
    for (const auto *pad : {&sink_, &src_}) {
      ask_caps(pad->get(), nullptr, "no filter");
      ask_whether_accepted(pad->get(), caps.get(), "RGBA", could_be_sent);
      const auto latency = GstPtr<GstQuery>::adopt(gst_query_new_latency());
      gst_pad_query(pad->get(), latency.get());
    }
    if (streams)
      ask_allocation_of(sink_.get(), caps.get(), "RGBA", could_be_sent);
  }

  void stop() const { gst_element_set_state(pipeline_.get(), GST_STATE_NULL); }

  const GstPtr<GstElement> element_;
  const GstPtr<GstPad> sink_, src_;
  const NoLocks locks_;
  const bool ends_;
  const GstPtr<GstElement> pipeline_;
  const GstPtr<GstBus> bus_;
  std::atomic<int> calls_[kKinds]{};
  std::atomic<bool> armed_{false}, ending_{false}, ended_{false};
  std::thread ender_;
};

// Beyond a case that failed: libcheck jumps out of it, and its pipeline is ended later.
std::unique_ptr<CallsBack> called;

struct Context {
  Download &download;
  CallsBack &handler;
};

// Frames until there is one whose caps have that text; false where the stream has ended.
bool await_caps(Context &c, const char *text)
{
  while (const auto sample = c.download.pull("out")) {
    g_autofree gchar *caps = gst_caps_to_string(gst_sample_get_caps(sample.get()));
    if (contains(caps, text))
      return true;
  }
  return false;
}

void set_filter(Context &c, const char *name, const std::string &text)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  g_object_set(c.download.element(name).get(), "caps", caps.get(), nullptr);
}

void play(Context &c)
{
  c.handler.arm();
  c.download.play();
  for (int i = 0; i < 5; i++)
    (void)c.download.pull("out");
}

void change_format(Context &c)
{
  c.download.play();
  (void)c.download.pull("out");
  c.handler.arm();
  set_filter(c, "filter", dma_drm("NV12"));
  (void)await_caps(c, "NV12");
}

void change_size(Context &c)
{
  c.download.play();
  (void)c.download.pull("out");
  c.handler.arm();
  set_filter(c, "in", "video/x-raw(memory:GLMemory),format=RGBA,width=95,height=33");
  (void)await_caps(c, "width=(int)95");
}

void change_to_refused(Context &c)
{
  c.download.play();
  (void)c.download.pull("out");
  c.handler.arm();
  set_filter(c, "filter", dma_drm("XR24:0x0100000000000001"));
  (void)await_caps(c, "0x0100000000000001");
}

GstPadProbeReturn take_texture(GstPad *, GstPadProbeInfo *info, gpointer)
{
  GstBuffer *without = gst_buffer_new_allocate(nullptr, 64 * 48 * 4, nullptr);
  gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
  info->data = without;
  return GST_PAD_PROBE_OK;
}

void send_odd_frame(Context &c)
{
  c.download.play();
  (void)c.download.pull("out");
  c.handler.arm();
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(c.download.element("d").get(), "sink"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER, take_texture, nullptr, nullptr);
  while (c.download.pull("out")) {
  }
}

struct Row {
  const char *name;
  const char *drm_format;
  void (*happens)(Context &c);
  const char *said; // the error; nullptr: none
  bool has_frames = true;
  bool has_message = false;
};
const Row kRows[] = {
    {"frames", "XR24", play, nullptr},
    {"the first copy", "YUYV", play, nullptr, true, true},
    {"another format", "XR24", change_format, nullptr},
    {"another size", "NV12", change_size, nullptr},
    {"caps that nobody can fill", "XR24:0x0100000000000001", play, "INTEL_X_TILED", false, true},
    {"the same in mid-stream", "XR24", change_to_refused, "INTEL_X_TILED", true, true},
    {"a frame that breaks its caps", "NV12", send_odd_frame, "no OpenGL texture", true, true},
};

void check_handlers(const Row &row, bool ends)
{
  g_print("# %s%s\n", row.name, ends ? ", another thread ends the pipeline" : "");
  Download download("gltestsrc ! capsfilter name=in caps-change-mode=delayed "
                    "caps=video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
                    "egldmabufdownload name=d ! capsfilter name=filter caps-change-mode=delayed "
                    "caps=" +
                    dma_drm(row.drm_format) + " ! appsink name=out sync=false max-buffers=1");
  called = std::make_unique<CallsBack>(download, ends);
  CallsBack &handler = *called;
  Context context{download, handler};
  row.happens(context);
  if (ends) {
    handler.await_end();
    called.reset();
    return;
  }
  if (row.said) {
    const std::string said = download.outcome();
    fail_unless(contains(said, row.said), "%s: %s", row.name, said.c_str());
  }
  for (const Kind kind : {kMessage, kEvent, kQuery, kFrame, kSignal}) {
    const bool is_due = kind == kMessage ? row.has_message : kind != kFrame || row.has_frames;
    fail_unless(!is_due || handler.calls(kind) > 0, "%s: %s calls nobody", row.name, kNames[kind]);
  }
  called.reset();
}

} // namespace

GST_START_TEST(test_handler_calls_back)
{
  check_handlers(kRows[__i__], false);
}
GST_END_TEST

GST_START_TEST(test_handler_ends_the_pipeline)
{
  check_handlers(kRows[__i__], true);
}
GST_END_TEST

void add_download_handler_cases(TCase *tcase, TCase *ended)
{
  tcase_add_loop_test(tcase, test_handler_calls_back, 0, G_N_ELEMENTS(kRows));
  tcase_add_loop_test(ended, test_handler_ends_the_pipeline, 0, G_N_ELEMENTS(kRows));
}

} // namespace gstdrm::test
