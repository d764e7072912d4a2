// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracer drmverify: GStreamer's hooks, which tell a Trace what goes through which pad. A hook
// asks no pad and no element anything but its links, its name and its caps, and sends nothing: it
// runs on the threads of the application, under whatever locks they hold.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include <gst/allocators/allocators.h>
#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>
#include <gst/gsttracer.h>

#include "element/gstmapwatch.hpp"
#include "engine/trace.hpp"
#include "engine/trace_file.hpp"

GST_DEBUG_CATEGORY_STATIC(drm_verify_debug);
#define GST_CAT_DEFAULT drm_verify_debug

namespace gstdrm::verify {

namespace {

using PadPtr = GstPtr<GstPad>;
using ElementPtr = GstPtr<GstElement>;

std::string take(gchar *text)
{
  std::string result = text ? text : "";
  g_free(text);
  return result;
}

std::int64_t now_ns()
{
  return g_get_monotonic_time() * 1000;
}

// Where a source pad of an element leads. Kept with the pad, and used by the thread that pushes.
struct PadLink {
  GstPad *peer = nullptr; // borrowed, and only compared
  Id link = kNone;
  bool is_sink = false;
  std::atomic<bool> stale{true};
};

GQuark link_quark()
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-verify-link");
  return quark;
}

PadLink &link_of(GstPad *pad)
{
  if (auto *link = static_cast<PadLink *>(g_object_get_qdata(G_OBJECT(pad), link_quark())))
    return *link;
  // another thread may send an event through the same pad
  auto added = std::make_unique<PadLink>();
  if (g_object_replace_qdata(
          G_OBJECT(pad), link_quark(), nullptr, added.get(),
          [](gpointer data) noexcept { delete static_cast<PadLink *>(data); }, nullptr))
    return *added.release();
  return *static_cast<PadLink *>(g_object_get_qdata(G_OBJECT(pad), link_quark()));
}

// The pad of an element that is no bin, behind the ghost pads of bins.
PadPtr sink_pad_of(GstPad *pad)
{
  PadPtr peer = PadPtr::adopt(gst_pad_get_peer(pad));
  while (peer && GST_IS_PROXY_PAD(peer.get())) {
    const auto inner = GstPtr<GstProxyPad>::adopt(
        gst_proxy_pad_get_internal(reinterpret_cast<GstProxyPad *>(peer.get())));
    peer = inner ? PadPtr::adopt(gst_pad_get_peer(GST_PAD_CAST(inner.get()))) : PadPtr();
  }
  return peer;
}

std::string name_of(GstPad *pad)
{
  return take(gst_object_get_name(GST_OBJECT_CAST(pad)));
}

bool has_stats(GstElement *element)
{
  return g_object_class_find_property(G_OBJECT_GET_CLASS(element), "drm-stats") != nullptr;
}

struct WeakElement {
  WeakElement() { g_weak_ref_init(&ref, nullptr); }
  WeakElement(const WeakElement &) = delete;
  WeakElement &operator=(const WeakElement &) = delete;
  ~WeakElement() { g_weak_ref_clear(&ref); }
  GWeakRef ref{};
};

// Whom the hooks and the replaced map functions report to.
class Verifier {
public:
  Verifier(std::string path, std::uint64_t frames_wanted)
      : file_(trace_, std::move(path), [this] { read_all_stats(); }), frames_wanted_(frames_wanted)
  {
  }

  void push(GstPad *pad, GstBuffer *buffer);
  void push(GstPad *pad, GstBufferList *list);
  void pushed(GstPad *pad);
  void changed(GstPad *pad);
  void ask(GstPad *pad, GstQuery *query);
  void answered(GstPad *pad, GstQuery *query);
  void created(GstObject *object);
  void stopped(GstElement *element);
  void mapped(GstMemory *memory, bool writes, gsize bytes);
  void finish() noexcept { file_.finish(); }

private:
  Id element_of(GstPad *pad, GstElement *element);
  void remember(GstElement *element);
  void read_all_stats();
  void resolve(GstPad *pad, PadLink &link);
  Frame frame_of(GstBuffer *buffer);
  void look_at_fences(const PadLink &link, GstBuffer *buffer, std::int64_t now);
  void count(const PadLink &link, std::uint64_t frames);

  Trace trace_;
  std::mutex counting_lock_; // guards the next; no element is called while it is held
  std::map<GstElement *, WeakElement>
      counting_; // with drm-stats; by address, which another may get
  TraceFile file_;
  const std::uint64_t frames_wanted_; // 0: no end
  std::atomic<bool> ended_{false};
};

Id Verifier::element_of(GstPad *pad, GstElement *element)
{
  if (!element) // a pad of an application's own
    return trace_.element("pad " + name_of(pad), name_of(pad), "", GST_PAD_IS_SINK(pad));
  const GstElementFactory *factory = gst_element_get_factory(element);
  return trace_.element(take(gst_object_get_path_string(GST_OBJECT_CAST(element))),
                        take(gst_object_get_name(GST_OBJECT_CAST(element))),
                        factory ? GST_OBJECT_NAME(factory) : G_OBJECT_TYPE_NAME(element),
                        GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK));
}

// Elements that go on when the trace ends do not come by in stopped().
void Verifier::remember(GstElement *element)
{
  if (!element || !has_stats(element))
    return;
  const std::lock_guard lock(counting_lock_);
  g_weak_ref_set(&counting_[element].ref, element);
}

void Verifier::read_all_stats()
{
  std::vector<ElementPtr> elements;
  {
    const std::lock_guard lock(counting_lock_);
    for (auto &[address, weak] : counting_)
      elements.push_back(ElementPtr::adopt(static_cast<GstElement *>(g_weak_ref_get(&weak.ref))));
  }
  for (const ElementPtr &element : elements)
    if (element)
      stopped(element.get());
}

void Verifier::resolve(GstPad *pad, PadLink &link)
{
  link.peer = GST_PAD_PEER(pad);
  link.link = kNone;
  const PadPtr sink = sink_pad_of(pad);
  if (!sink)
    return;
  const ElementPtr from = ElementPtr::adopt(gst_pad_get_parent_element(pad));
  const ElementPtr to = ElementPtr::adopt(gst_pad_get_parent_element(sink.get()));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad));
  LinkFacts facts;
  facts.from_pad = name_of(pad);
  facts.to_pad = name_of(sink.get());
  if (caps) {
    facts.caps = take(gst_caps_to_string(caps.get()));
    facts.is_video = gst_caps_get_size(caps.get()) > 0 &&
                     gst_structure_has_name(gst_caps_get_structure(caps.get(), 0), "video/x-raw");
  }
  link.link = trace_.link(element_of(pad, from.get()), element_of(sink.get(), to.get()), facts);
  remember(from.get());
  remember(to.get());
  link.is_sink = to && GST_OBJECT_FLAG_IS_SET(to.get(), GST_ELEMENT_FLAG_SINK);
  file_.start();
}

Frame Verifier::frame_of(GstBuffer *buffer)
{
  Frame frame;
  const guint n_memory = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n_memory; i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (i == 0 && memory->allocator && memory->allocator->mem_type) {
      frame.memory = memory->allocator->mem_type;
      frame.first_memory = memory->parent ? memory->parent : memory;
    }
    if (frame.n_dmabufs == frame.dmabufs.size() || !gst_is_dmabuf_memory(memory))
      continue;
    watch_maps(memory->allocator);
    const Id dmabuf = trace_.dmabuf(gst_dmabuf_memory_get_fd(memory));
    if (dmabuf != kNone)
      frame.dmabufs[frame.n_dmabufs++] = dmabuf;
  }
  if (GST_BUFFER_PTS_IS_VALID(buffer))
    frame.pts_ns = static_cast<std::int64_t>(GST_BUFFER_PTS(buffer));
  return frame;
}

// One poll() for each dma-buf, and one for the fence in a GstDrmSyncMeta.
void Verifier::look_at_fences(const PadLink &link, GstBuffer *buffer, std::int64_t now)
{
  if (GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer)) {
    UniqueFd fence(gst_drm_sync_meta_dup_acquire_fence(meta));
    if (fence && fence_is_pending(fence.get())) {
      trace_.pending(link.link, std::move(fence), now);
      return;
    }
  }
  const guint n_memory = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n_memory; i++) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    if (!gst_is_dmabuf_memory(memory))
      continue;
    const gint fd = gst_dmabuf_memory_get_fd(memory);
    // a dma-buf becomes readable when all that write into it are done (dma-buf.c, dma_buf_poll())
    if (!fence_is_pending(fd))
      continue;
    Result<UniqueFd> fence = dmabuf_export_fence(fd, DmaBufAccess::Read);
    trace_.pending(link.link, fence ? std::move(*fence) : UniqueFd(), now);
    return;
  }
}

void Verifier::push(GstPad *pad, GstBuffer *buffer)
{
  if (GST_IS_PROXY_PAD(pad) || file_.has_ended())
    return; // a bin's, within the push of an element's pad
  PadLink &link = link_of(pad);
  if (link.stale.exchange(false, std::memory_order_relaxed) || link.peer != GST_PAD_PEER(pad))
    resolve(pad, link);
  if (link.link == kNone) {
    trace_.enter(kNone, {}, 0);
    return;
  }
  const std::int64_t now = now_ns();
  const Frame frame = frame_of(buffer);
  if (frame.n_dmabufs > 0)
    look_at_fences(link, buffer, now);
  count(link, trace_.enter(link.link, frame, now));
}

// As its buffers one after the other, of which the last is in the element until pushed().
void Verifier::push(GstPad *pad, GstBufferList *list)
{
  const guint length = gst_buffer_list_length(list);
  if (length == 0 && !GST_IS_PROXY_PAD(pad) && !file_.has_ended())
    trace_.enter(kNone, {}, 0);
  for (guint i = 0; i < length; i++) {
    push(pad, gst_buffer_list_get(list, i));
    if (i + 1 < length)
      pushed(pad);
  }
}

void Verifier::pushed(GstPad *pad)
{
  if (!GST_IS_PROXY_PAD(pad) && !file_.has_ended())
    trace_.leave();
}

// Ctrl-C, as a user would press it, lets any program end in its own way.
void Verifier::count(const PadLink &link, std::uint64_t frames)
{
  if (frames_wanted_ != 0 && link.is_sink && frames >= frames_wanted_ && !ended_.exchange(true))
    ::kill(::getpid(), SIGINT);
}

void Verifier::changed(GstPad *pad)
{
  if (!GST_IS_PROXY_PAD(pad) && GST_PAD_IS_SRC(pad))
    link_of(pad).stale = true;
}

// Of all queries those in which elements allocate, or copy the frame that they keep
// (gst_base_sink_drain() in gstbasesink.c).
bool is_about_memory(GstPad *pad, GstQuery *query)
{
  return !GST_IS_PROXY_PAD(pad) && (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION ||
                                    GST_QUERY_TYPE(query) == GST_QUERY_DRAIN);
}

void Verifier::ask(GstPad *pad, GstQuery *query)
{
  if (file_.has_ended() || !is_about_memory(pad, query))
    return;
  const ElementPtr element = ElementPtr::adopt(gst_pad_get_parent_element(pad));
  trace_.ask(element_of(pad, element.get()), pad);
}

void Verifier::answered(GstPad *pad, GstQuery *query)
{
  if (!file_.has_ended() && is_about_memory(pad, query))
    trace_.answered(pad);
}

// An allocator's functions are in place now, and no memory of it exists.
void Verifier::created(GstObject *object)
{
  if (GST_IS_FD_ALLOCATOR(object))
    watch_maps(GST_ALLOCATOR_CAST(object));
}

void Verifier::stopped(GstElement *element)
{
  if (!has_stats(element))
    return;
  GstStructure *raw = nullptr;
  g_object_get(element, "drm-stats", &raw, nullptr);
  if (!raw)
    return;
  const std::unique_ptr<GstStructure, decltype(&gst_structure_free)> stats(raw, gst_structure_free);
  ElementStats found;
  for (gint i = 0; i < gst_structure_n_fields(raw); i++) {
    const gchar *name = gst_structure_nth_field_name(raw, static_cast<guint>(i));
    if (guint64 value = 0; gst_structure_get_uint64(raw, name, &value))
      found.counters.emplace_back(name, value);
  }
  if (const gchar *reason = gst_structure_get_string(raw, "last-copy-reason"))
    found.copy_reason = reason;
  trace_.stats(element_of(nullptr, element), std::move(found));
}

void Verifier::mapped(GstMemory *memory, bool writes, gsize bytes)
{
  if (file_.has_ended() || !gst_is_dmabuf_memory(memory))
    return;
  const Id dmabuf = trace_.dmabuf(gst_dmabuf_memory_get_fd(memory));
  if (dmabuf != kNone)
    trace_.mapped(dmabuf, writes, bytes);
}

} // namespace

} // namespace gstdrm::verify

using gstdrm::verify::Verifier;

struct GstDrmVerify {
  GstTracer parent;
  Verifier *verifier;
};
struct GstDrmVerifyClass {
  GstTracerClass parent_class;
};

GType gst_drm_verify_get_type(void);
G_DEFINE_TYPE(GstDrmVerify, gst_drm_verify, GST_TYPE_TRACER)

namespace {

// The tracer of the process: a second one would count everything twice.
std::atomic<Verifier *> active{nullptr};

Verifier &verifier_of(gpointer tracer)
{
  return *static_cast<GstDrmVerify *>(tracer)->verifier;
}

void on_push(GObject *self, GstClockTime, GstPad *pad, GstBuffer *buffer)
{
  verifier_of(self).push(pad, buffer);
}
void on_push_list(GObject *self, GstClockTime, GstPad *pad, GstBufferList *list)
{
  verifier_of(self).push(pad, list);
}
void on_pushed(GObject *self, GstClockTime, GstPad *pad, GstFlowReturn)
{
  verifier_of(self).pushed(pad);
}
void on_event(GObject *self, GstClockTime, GstPad *pad, GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS)
    verifier_of(self).changed(pad);
}
void on_query(GObject *self, GstClockTime, GstPad *pad, GstQuery *query)
{
  verifier_of(self).ask(pad, query);
}
void on_answer(GObject *self, GstClockTime, GstPad *pad, GstQuery *query, gboolean)
{
  verifier_of(self).answered(pad, query);
}
void on_created(GObject *self, GstClockTime, GstObject *object)
{
  verifier_of(self).created(object);
}
void on_state(GObject *self, GstClockTime, GstElement *element, GstStateChange change,
              GstStateChangeReturn)
{
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY)
    verifier_of(self).stopped(element);
}
void on_map(GstMemory *memory, bool writes, gsize bytes) noexcept
try {
  if (Verifier *verifier = active.load(std::memory_order_acquire))
    verifier->mapped(memory, writes, bytes);
} catch (...) {
  gstdrm::caught(__func__);
}

template <auto Function, typename R, typename... Args> GCallback hook_of(R (*)(Args...)) noexcept
{
  R (*const call)(Args...) = gstdrm::logging<Function>;
  return G_CALLBACK(call);
}
template <auto Function> void hook(GstTracer *tracer, const char *name) noexcept
{
  gst_tracing_register_hook(tracer, name, hook_of<Function>(Function));
}

// Programs that end without gst_deinit(): the threads that use the verifier may still run.
void finish_at_exit() noexcept
{
  if (Verifier *verifier = active.load(std::memory_order_acquire))
    verifier->finish();
}

// "file" and "frames" of GST_TRACERS="drmverify(file=...,frames=...)". "%p" in the path is the
// number of the process.
std::unique_ptr<Verifier> make_verifier(GstTracer *tracer)
{
  gchar *params = nullptr;
  g_object_get(tracer, "params", &params, nullptr);
  const std::string text = "drmverify," + gstdrm::verify::take(params);
  std::string path = "gst-drm-trace-%p.json";
  gint frames = 0;
  if (GstStructure *structure = gst_structure_from_string(text.c_str(), nullptr)) {
    if (const gchar *file = gst_structure_get_string(structure, "file"))
      path = file;
    gst_structure_get_int(structure, "frames", &frames);
    gst_structure_free(structure);
  } else {
    GST_WARNING_OBJECT(tracer, "cannot read the parameters: %s", text.c_str());
  }
  if (const gchar *file = g_getenv("GST_DRM_VERIFY_FILE"))
    path = file;
  if (const std::size_t at = path.find("%p"); at != std::string::npos)
    path.replace(at, 2, std::to_string(::getpid()));
  GST_INFO_OBJECT(tracer, "writes %s", path.c_str());
  return std::make_unique<Verifier>(std::move(path),
                                    frames > 0 ? static_cast<std::uint64_t>(frames) : 0);
}

void constructed(GObject *object)
{
  G_OBJECT_CLASS(gst_drm_verify_parent_class)->constructed(object);
  auto *tracer = reinterpret_cast<GstTracer *>(object);
  std::unique_ptr<Verifier> made = make_verifier(tracer);
  Verifier *none = nullptr;
  if (!active.compare_exchange_strong(none, made.get())) {
    GST_WARNING_OBJECT(tracer, "drmverify traces this process already");
    return;
  }
  reinterpret_cast<GstDrmVerify *>(object)->verifier = made.release();
  gstdrm::verify::report_maps(on_map);
  static const int registered = std::atexit(finish_at_exit);
  (void)registered;
  hook<on_push>(tracer, "pad-push-pre");
  hook<on_push_list>(tracer, "pad-push-list-pre");
  hook<on_pushed>(tracer, "pad-push-post");
  hook<on_pushed>(tracer, "pad-push-list-post");
  hook<on_event>(tracer, "pad-push-event-pre");
  hook<on_query>(tracer, "pad-query-pre");
  hook<on_answer>(tracer, "pad-query-post");
  hook<on_created>(tracer, "object-created");
  hook<on_state>(tracer, "element-change-state-post");
}

GstDebugCategory *log_category() noexcept
{
  return drm_verify_debug;
}

} // namespace

static void gst_drm_verify_finalize(GObject *object) noexcept
{
  if (Verifier *verifier = reinterpret_cast<GstDrmVerify *>(object)->verifier) {
    gstdrm::verify::report_maps(nullptr);
    active = nullptr;
    verifier->finish();
    delete verifier;
  }
  G_OBJECT_CLASS(gst_drm_verify_parent_class)->finalize(object);
}

static void gst_drm_verify_class_init(GstDrmVerifyClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(drm_verify_debug, "drmverify", 0, "verification of zero-copy");
  gstdrm::connect_log<log_category>();
  G_OBJECT_CLASS(klass)->constructed = gstdrm::logging<constructed>;
  G_OBJECT_CLASS(klass)->finalize = gst_drm_verify_finalize;
}

static void gst_drm_verify_init(GstDrmVerify *) {}
