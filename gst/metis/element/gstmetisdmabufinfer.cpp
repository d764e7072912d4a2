// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-metisdmabufinfer
 * @title: metisdmabufinfer
 *
 * Runs a model on each frame, on an Axelera Metis or on the CPU, and attaches the result tensors to
 * the frame's buffer. The frame passes through untouched.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! metisdmabufinfer model=blazeface.onnx backend=cpu !
 * drmtensordecode ! fakesink
 * ]|
 */
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-log-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>
#include <gst/gst.h>

#include "engine/inference_queue.hpp"
#include "engine/model_file.hpp"
#include "gstmetisinferframes.hpp"
#include "gstmetisinferlatency.hpp"
#include "gstmetistensors.hpp"

GST_DEBUG_CATEGORY(gst_metis_dmabuf_infer_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_metis_dmabuf_infer_debug

namespace gstdrm::metis {

// metisdmabufinfer without GObject. start() and stop() run while the pads are inactive. The
// streaming thread calls chain(), and sink_event() with serialized events; the source pad's task
// calls loop(); any thread calls the rest. Frames and serialized events leave in the order in which
// they came.
class Inferer {
public:
  Inferer(GstElement *element, GstPad *sink, GstPad *src);

  bool start(const InferSettings &settings);
  void stop();
  bool activate_src(GstPadMode mode, bool active);
  // Deactivation wakes a streaming thread that sleeps in chain().
  bool activate_sink(GstPadMode mode, bool active);

  GstFlowReturn chain(GstBuffer *taken);
  bool sink_event(GstEvent *event);
  // The result of the last push downstream.
  [[nodiscard]] GstFlowReturn flow() const { return flow_; }
  void explain_refused_caps(GstEvent *caps);
  bool src_event(GstEvent *event);
  bool sink_query(GstQuery *query);
  bool src_query(GstQuery *query);

  [[nodiscard]] GstStructure *stats() const;

private:
  void set_flushing(bool flushing);
  bool resume();
  static void run_task(gpointer inferer) noexcept;
  void loop();
  bool flush_start(GstEvent *event);
  bool flush_stop(GstEvent *event);
  bool start_task_again();
  void pause_task();
  bool take_caps(GstEvent *event);
  [[nodiscard]] Mismatch explain(const GstCaps *caps) const;
  bool queue_event(GstEvent *event);
  bool answer_caps(GstPad *pad, GstQuery *query);
  bool answer_accept_caps(GstQuery *query);
  bool answer_allocation(GstQuery *query);
  [[nodiscard]] GstPtr<GstCaps> own_caps() const;
  [[nodiscard]] bool is_late(GstBuffer *buffer) const;
  void forget_qos() { earliest_ = GST_CLOCK_TIME_NONE; }
  Result<std::unique_ptr<InferenceQueue>> open(const InferSettings &settings);
  void set_queue(std::shared_ptr<InferenceQueue> queue, GstPtr<GstCaps> caps);
  [[nodiscard]] std::shared_ptr<InferenceQueue> queue_of_any_thread() const;
  GstFlowReturn push_event(QueuedData &data);
  GstFlowReturn push_frame(Outcome outcome);
  Result<bool> push_regions(GstBuffer *buffer);
  GstFlowReturn fail_frame(const Error &error);
  void end_task(GstFlowReturn flow);
  GstFlowReturn fail(const Error &error);

  GstElement *const element_;
  GstPad *const sink_, *const src_;
  // Guarded by the sink pad's stream lock, because GStreamer sends serialized queries to an
  // inactive pad, too. queue_ changes under the object's lock as well, for threads without the
  // stream lock.
  InferSettings settings_;
  std::shared_ptr<InferenceQueue> queue_;
  std::atomic<unsigned> places_{1}; // InferenceSetup::places
  GstPtr<GstCaps> caps_;            // of the back end; guarded by the object's lock
  InferFrames frames_;
  FailedNegotiation negotiation_;
  InferLatency latency_;
  Stats stats_;
  InferenceCounters counters_;
  std::atomic<std::uint64_t> passed_through_{0};
  std::atomic<GstFlowReturn> flow_{GST_FLOW_FLUSHING};
  std::atomic<bool> failed_{false}; // an error was posted since the last flush
  std::atomic<bool> eos_{false};    // upstream has sent EOS
  bool has_format_ = false;         // streaming thread
  std::uint64_t frame_number_ = 0;  // streaming thread, for `interval`
  std::uint64_t region_frames_ = 0; // streaming thread: QueuedData::number of the last one
  std::vector<Outcome> regions_;    // the task's, of the frame that comes next
  std::atomic<std::uint64_t> regions_left_out_{0};
  GstSegment segment_{}; // streaming thread
  // With `leaky`: frames up to this running time would be too late downstream.
  std::atomic<GstClockTime> earliest_{GST_CLOCK_TIME_NONE};
  std::atomic<bool> warned_{false}; // that frames pass without results
};

namespace {

// The back ends of this build, in the order in which BackendKind::Auto tries them.
constexpr std::array kBackends{
    BackendWay{BackendKind::Axl, "axl", open_axl},
#ifdef HAVE_AXRUNTIME
    BackendWay{BackendKind::AxRuntime, "axruntime", open_axruntime},
#endif
    BackendWay{BackendKind::Cpu, "cpu", open_cpu},
};

// The macros GST_EVENT_IS_SERIALIZED() and GST_QUERY_IS_SERIALIZED() mix two enumerations, which is
// deprecated in C++20.
bool is_serialized(GstEvent *event)
{
  return (static_cast<guint>(GST_EVENT_TYPE(event)) &
          static_cast<guint>(GST_EVENT_TYPE_SERIALIZED)) != 0;
}

bool is_serialized(GstQuery *query)
{
  return (static_cast<guint>(GST_QUERY_TYPE(query)) &
          static_cast<guint>(GST_QUERY_TYPE_SERIALIZED)) != 0;
}

// Frames that wait inside with `leaky` while one is inferred: those of a quarter of a second at 30
// frames a second. Where an inference takes longer, upstream waits.
constexpr unsigned kLeakyPlaces = 8;

// Regions of a frame that are inferred; bounds its time.
constexpr std::size_t kMostRegions = 32;

unsigned places_for(const InferSettings &settings)
{
  return settings.leaky ? kLeakyPlaces : settings.max_in_flight * settings.interval;
}

class StreamLock {
public:
  explicit StreamLock(GstPad *pad) : pad_(pad) { GST_PAD_STREAM_LOCK(pad_); }
  ~StreamLock() { GST_PAD_STREAM_UNLOCK(pad_); }
  StreamLock(const StreamLock &) = delete;
  StreamLock &operator=(const StreamLock &) = delete;

private:
  GstPad *const pad_;
};

} // namespace

Inferer::Inferer(GstElement *element, GstPad *sink, GstPad *src)
    : element_(element), sink_(sink), src_(src), frames_(element)
{
  negotiation_.watch(sink, [this](const GstCaps *filter) { return explain(filter); });
}

// --- start and stop ------------------------------------------------------------------------------

Result<std::unique_ptr<InferenceQueue>> Inferer::open(const InferSettings &settings)
{
  if (settings.model.empty())
    return Error{ErrorCode::Device,
                 "No model is set. Set the property model to the path of a model file.", ENOENT};
  Result<Model> model = read_model(settings.model);
  if (!model)
    return model.error();
  BackendOptions options;
  options.device = settings.device;
  options.model = std::move(*model);
  options.cpu_threads = settings.cpu_threads;
  options.max_in_flight = settings.max_in_flight;
  options.dmabuf_input = settings.import_mode == ImportMode::DmaBuf;
  options.dmabuf_output = settings.output_mode == OutputMode::DmaBuf;
  options.cache_imports = settings.cache_imports;
  options.releases = &counters_.releases;
  options.timeout = std::chrono::milliseconds(settings.timeout_ms);
  options.open_timeout = std::chrono::milliseconds(settings.open_timeout_ms);
  auto backend = open_backend(settings.backend, options, kBackends);
  if (!backend)
    return backend.error();
  if (settings.region == InferenceRegion::Regions) {
    const bool whole = (*backend)->takes() == Backend::Takes::Frames;
    if (whole || settings.leaky)
      return Error{ErrorCode::Unsupported,
                   whole ? std::string("The back end ") + (*backend)->name() +
                               " reads whole frames; inference-region=regions needs one that takes "
                               "tensors, such as backend=cpu."
                         : "inference-region=regions and leaky=true are both set; set leaky on the "
                           "element that finds the regions.",
                   0};
  }
  const bool copies =
      (*backend)->takes() == Backend::Takes::Frames && settings.import_mode == ImportMode::Copy;
  if (copies && settings.zero_copy == ZeroCopy::Require)
    return Error{ErrorCode::Unsupported,
                 "zero-copy=require and import-mode=copy contradict each other; set "
                 "import-mode=dmabuf.",
                 0};
  InferenceSetup setup;
  auto inputs = TensorPool::open((*backend)->takes_dmabuf_input() ? TensorMemory::DmaBuf
                                                                  : TensorMemory::System);
  // a device that reads frames writes its outputs to dma-bufs only
  const bool wants_dmabuf = settings.output_mode == OutputMode::DmaBuf;
  const bool needs_dmabuf = (*backend)->takes() == Backend::Takes::Frames;
  auto outputs =
      TensorPool::open(wants_dmabuf || needs_dmabuf ? TensorMemory::DmaBuf : TensorMemory::System);
  if (!inputs || !outputs)
    return inputs ? outputs.error() : inputs.error();
  setup.inputs = std::move(*inputs);
  setup.outputs = std::move(*outputs);
  if (needs_dmabuf && !wants_dmabuf) {
    auto results = TensorPool::open(TensorMemory::System);
    if (!results)
      return results.error();
    setup.results = std::move(*results);
  }
  setup.max_in_flight = settings.max_in_flight;
  setup.places = places_for(settings);
  setup.leaky = settings.leaky;
  setup.timeout = options.timeout;
  setup.cache_maps = settings.cache_imports;
  setup.backend = std::move(*backend);
  return InferenceQueue::start(std::move(setup), counters_);
}

// Destroys the old queue without the object's lock, because that waits for its worker.
void Inferer::set_queue(std::shared_ptr<InferenceQueue> queue, GstPtr<GstCaps> caps)
{
  GST_OBJECT_LOCK(element_);
  std::swap(queue_, queue);
  std::swap(caps_, caps);
  GST_OBJECT_UNLOCK(element_);
}

std::shared_ptr<InferenceQueue> Inferer::queue_of_any_thread() const
{
  GST_OBJECT_LOCK(element_);
  auto queue = queue_;
  GST_OBJECT_UNLOCK(element_);
  return queue;
}

bool Inferer::start(const InferSettings &settings)
{
  stats_.begin(GST_ELEMENT(element_));
  counters_.reset();
  passed_through_ = 0;
  regions_left_out_ = 0;
  eos_ = false;
  warned_ = false;
  auto queue = open(settings);
  if (!queue) {
    post_failure(element_, Failure({}, queue.error())
                               .add_property("model", settings.model)
                               .add("device", settings.device));
    return false;
  }
  GstPtr<GstCaps> caps = infer_caps((*queue)->backend(), settings);
  GST_INFO_OBJECT(element_, "model %s on back end %s", settings.model.c_str(),
                  (*queue)->backend().name());
  const StreamLock lock(sink_);
  settings_ = settings;
  places_ = places_for(settings);
  negotiation_.reset();
  latency_.reset();
  frame_number_ = 0;
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  forget_qos();
  has_format_ = false;
  set_queue(std::move(*queue), std::move(caps));
  return true;
}

void Inferer::stop()
{
  const StreamLock lock(sink_);
  set_queue(nullptr, {});
  frames_.reset();
}

GstStructure *Inferer::stats() const
{
  GstStructure *stats = stats_.to_structure();
  gst_structure_set(
      stats, "imports", G_TYPE_UINT64, counters_.imports.load(), "import-hits", G_TYPE_UINT64,
      counters_.import_hits.load(), "releases", G_TYPE_UINT64, counters_.releases.load(), "waits",
      G_TYPE_UINT64, counters_.waits.load(), "waiting-ns", G_TYPE_UINT64,
      counters_.waiting_ns.load(), "preprocessing-ns", G_TYPE_UINT64,
      counters_.preprocessing_ns.load(), "device-ns", G_TYPE_UINT64, counters_.device_ns.load(),
      "inferences", G_TYPE_UINT64, counters_.inferences.load(), "passed-through", G_TYPE_UINT64,
      passed_through_.load(), "regions-left-out", G_TYPE_UINT64, regions_left_out_.load(),
      "in-flight", G_TYPE_UINT64, counters_.in_flight.load(), nullptr);
  return stats;
}

GstFlowReturn Inferer::fail(const Error &error)
{
  failed_ = true;
  const std::string sender = peer_name(sink_);
  Failure failure(
      std::string(GST_OBJECT_NAME(element_)) + " cannot infer from a frame of " + sender, error);
  post_failure(element_, failure.add("sender", sender).add("device", settings_.device));
  return GST_FLOW_ERROR;
}

// --- sink pad ------------------------------------------------------------------------------------

GstFlowReturn Inferer::chain(GstBuffer *taken)
{
  auto buffer = GstPtr<GstBuffer>::adopt(taken);
  if (const GstFlowReturn flow = flow_; flow != GST_FLOW_OK)
    return flow;
  if (!has_format_) {
    negotiation_.post(element_,
                      Error{ErrorCode::Caps,
                            "A buffer came before its caps. Upstream has to send caps first.", 0});
    return GST_FLOW_NOT_NEGOTIATED;
  }
  Item item;
  bool wanted = frame_number_++ % settings_.interval == 0 && !is_late(buffer.get());
  if (wanted) {
    if (const auto waited = frames_.wait_before_copy(buffer.get()); !waited) {
      if (flow_ == GST_FLOW_FLUSHING)
        return GST_FLOW_FLUSHING;
      if (const GstFlowReturn flow = fail_frame(waited.error()); flow != GST_FLOW_OK)
        return flow;
      wanted = false;
    }
  }
  const bool regions = settings_.region == InferenceRegion::Regions;
  if (regions) {
    region_frames_++;
    if (wanted) {
      const auto pushed = push_regions(buffer.get());
      if (!pushed)
        return flow_ == GST_FLOW_FLUSHING ? GST_FLOW_FLUSHING : fail(pushed.error());
    }
  }
  if (wanted && !regions) {
    auto made = frames_.item_of(std::move(buffer), stats_);
    if (!made)
      return flow_ == GST_FLOW_FLUSHING ? GST_FLOW_FLUSHING : fail(made.error());
    item = std::move(*made);
  } else {
    item.payload = payload_of(std::make_unique<QueuedData>(std::move(buffer)));
    data_in(item.payload).number = region_frames_;
  }
  if (queue_->push(std::move(item)) == InferenceQueue::Passage::Done)
    return GST_FLOW_OK;
  const GstFlowReturn flow = flow_; // why the queue is flushing
  return flow == GST_FLOW_OK ? GST_FLOW_FLUSHING : flow;
}

// Pushes the regions of a frame, which itself comes after them. Returns false while flushing.
Result<bool> Inferer::push_regions(GstBuffer *buffer)
{
  auto regions = frames_.regions_of(buffer, settings_);
  if (regions.size() > kMostRegions) {
    regions_left_out_ += regions.size() - kMostRegions;
    regions.resize(kMostRegions);
  }
  for (const Region &region : regions) {
    auto item = frames_.item_of(buffer, region, queue_->backend().model(), stats_);
    if (!item)
      return item.error();
    data_in(item->payload).number = region_frames_;
    if (queue_->push(std::move(*item)) != InferenceQueue::Passage::Done)
      return false;
  }
  return true;
}

// By the last QoS event: downstream shows no frame as old as this one.
bool Inferer::is_late(GstBuffer *buffer) const
{
  const GstClockTime earliest = earliest_;
  if (!settings_.leaky || !GST_CLOCK_TIME_IS_VALID(earliest) ||
      segment_.format != GST_FORMAT_TIME || !GST_BUFFER_PTS_IS_VALID(buffer))
    return false;
  const GstClockTime time =
      gst_segment_to_running_time(&segment_, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  return GST_CLOCK_TIME_IS_VALID(time) && time <= earliest;
}

// As GstBaseTransform and GstVideoDecoder do, reads QoS events on their way upstream.
bool Inferer::src_event(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    GstClockTimeDiff late = 0;
    GstClockTime time = GST_CLOCK_TIME_NONE;
    gst_event_parse_qos(event, nullptr, nullptr, &late, &time);
    const bool is_any_late =
        GST_CLOCK_TIME_IS_VALID(time) && (late >= 0 || time > -static_cast<GstClockTime>(late));
    earliest_ = is_any_late ? time + static_cast<GstClockTime>(late) : GST_CLOCK_TIME_NONE;
  }
  return gst_pad_event_default(src_, GST_OBJECT(element_), event) != FALSE;
}

bool Inferer::sink_event(GstEvent *event)
{
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_FLUSH_START:
    return flush_start(event);
  case GST_EVENT_FLUSH_STOP:
    return flush_stop(event);
  case GST_EVENT_CAPS:
    return negotiation_.take(
        element_, event, [this](GstEvent *caps) { return take_caps(caps); },
        [this](const GstCaps *caps) { return explain(caps); });
  case GST_EVENT_SEGMENT:
    gst_event_copy_segment(event, &segment_);
    forget_qos();
    return queue_event(event);
  case GST_EVENT_STREAM_START:
    eos_ = false;
    return queue_event(event);
  case GST_EVENT_EOS:
    eos_ = true;
    return queue_event(event);
  default:
    return is_serialized(event) ? queue_event(event) : gst_pad_push_event(src_, event) != FALSE;
  }
}

bool Inferer::queue_event(GstEvent *event)
{
  auto owned = GstPtr<GstEvent>::adopt(event);
  if (!queue_)
    return false;
  Item item;
  item.takes_place = false;
  item.payload = payload_of(std::make_unique<QueuedData>(std::move(owned), src_));
  return queue_->push(std::move(item)) == InferenceQueue::Passage::Done;
}

void Inferer::explain_refused_caps(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const bool intersect = caps_meet(own_caps().get(), caps);
  const Result<void> checked = intersect ? check_frame_caps(caps) : Result<void>();
  if (intersect && checked)
    return;
  has_format_ = false;
  negotiation_.begin(caps);
  if (!checked)
    negotiation_.post(element_, Failure({}, checked.error()).add("caps", caps));
  else if (negotiation_.claim())
    post_mismatch(element_, explain(caps));
}

// With the element's own caps first, because the back end may be the one that refuses.
Mismatch Inferer::explain(const GstCaps *caps) const
{
  gchar *name = gst_object_get_name(GST_OBJECT(element_));
  std::vector<Restriction> receivers = restrictions_after(src_);
  receivers.insert(receivers.begin(),
                   {std::string(name) + " (metisdmabufinfer)", "takes", own_caps(), false});
  g_free(name);
  return describe_mismatch(
      {nothing_in_common(element_), {origin_name(sink_), "has", caps}, std::move(receivers)},
      suggest_for_infer);
}

// Drains the queue and sends the caps downstream on the streaming thread, so that upstream learns
// whether downstream takes them.
bool Inferer::take_caps(GstEvent *event)
{
  auto owned = GstPtr<GstEvent>::adopt(event);
  if (!queue_ || queue_->drain() == InferenceQueue::Passage::Flushing) {
    negotiation_.interrupt();
    return false;
  }
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const auto refuse = [this, caps](const Error &error) {
    negotiation_.post(element_, Failure({}, error).add("caps", caps));
    has_format_ = false;
    return false;
  };
  auto format = format_of_caps(caps, queue_->backend(), settings_.implicit_modifier);
  if (!format)
    return refuse(format.error());
  const auto taken = GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(src_, nullptr));
  if (!caps_meet(taken.get(), caps))
    return false;
  auto sent = with_tensors(format->caps, taken.get(), queue_->backend().model());
  if (!sent)
    return refuse(sent.error());
  if (sent->get() != caps) {
    const guint32 seqnum = gst_event_get_seqnum(owned.get());
    owned.reset(gst_event_new_caps(sent->get()));
    gst_event_set_seqnum(owned.get(), seqnum);
  }
  const GstVideoInfo &info = format->info.vinfo;
  latency_.set_frame_duration(
      info.fps_n > 0 ? gst_util_uint64_scale_int(GST_SECOND, info.fps_d, info.fps_n) : 0);
  const bool copies = queue_->backend().takes() == Backend::Takes::Frames &&
                      settings_.import_mode == ImportMode::Copy;
  frames_.set_format(std::move(*format), copies, std::chrono::milliseconds(settings_.timeout_ms));
  queue_->forget_imports(Forget::All); // upstream has another pool now
  has_format_ = true;
  return gst_pad_push_event(src_, owned.release()) != FALSE;
}

// --- queries -------------------------------------------------------------------------------------

GstPtr<GstCaps> Inferer::own_caps() const
{
  GST_OBJECT_LOCK(element_);
  auto caps = caps_;
  GST_OBJECT_UNLOCK(element_);
  return caps ? caps : GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(sink_));
}

// Both pads have the same caps, so each pad answers what the peer of the other and the back end
// take.
bool Inferer::answer_caps(GstPad *pad, GstQuery *query)
{
  if (answer_in_null(element_, pad, query))
    return true;
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  GstPad *other = pad == sink_ ? src_ : sink_;
  const auto peer =
      without_tensors(GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(other, nullptr)));
  const auto both = GstPtr<GstCaps>::adopt(gst_drm_caps_intersect(peer.get(), own_caps().get()));
  const auto answer =
      GstPtr<GstCaps>::adopt(filter_caps(GST_PAD_DIRECTION(pad), both.get(), filter));
  gst_query_set_caps_result(query, answer.get());
  return true;
}

bool Inferer::answer_accept_caps(GstQuery *query)
{
  GstCaps *caps = nullptr;
  gst_query_parse_accept_caps(query, &caps);
  const bool accepted = caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
                        caps_meet(own_caps().get(), caps) && check_frame_caps(caps);
  gst_query_set_accept_caps_result(query, accepted);
  return true;
}

// Downstream answers, because it gets the same buffers. The element adds the buffers that it holds,
// and GstDrmSyncMeta if it waits for the acquire fence of each frame.
bool Inferer::answer_allocation(GstQuery *query)
{
  if (!queue_ || queue_->drain() == InferenceQueue::Passage::Flushing)
    return false;
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstDrmVideoInfo info;
  if (!caps || gst_caps_is_any(caps) || !gst_caps_is_fixed(caps) ||
      !gst_drm_video_info_from_caps(&info, caps))
    return false;
  // Before downstream is asked, so that a producer gets it even if downstream does not answer.
  const guint held = places_;
  add_needs(element_, query, {"", 0, held, 0, GST_DRM_ACCESS_READ});
  if (!gst_pad_peer_query(src_, query))
    return false;
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); i++) {
    GstBufferPool *pool = nullptr;
    guint size = 0;
    guint min = 0;
    guint max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    const auto owned = GstPtr<GstBufferPool>::adopt(pool);
    const guint wanted = max == 0 ? min + held : MIN(min + held, max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, wanted, max);
  }
  if (settings_.interval == 1 && !settings_.leaky && settings_.region == InferenceRegion::Frame &&
      !gst_query_find_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  return true;
}

bool Inferer::sink_query(GstQuery *query)
{
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_caps(sink_, query);
  case GST_QUERY_ACCEPT_CAPS:
    return answer_accept_caps(query);
  case GST_QUERY_ALLOCATION:
    return answer_allocation(query);
  default:
    break;
  }
  if (is_serialized(query) && (!queue_ || queue_->drain() == InferenceQueue::Passage::Flushing))
    return false;
  const bool answered = gst_pad_query_default(sink_, GST_OBJECT(element_), query) != FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN) // upstream wants its memory back
    queue_->forget_imports(Forget::All);
  return answered;
}

bool Inferer::src_query(GstQuery *query)
{
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_caps(src_, query);
  case GST_QUERY_ACCEPT_CAPS:
    return answer_accept_caps(query);
  case GST_QUERY_LATENCY:
    if (!gst_pad_peer_query(sink_, query))
      return false;
    latency_.add_to(query, places_);
    return true;
  default:
    return gst_pad_query_default(src_, GST_OBJECT(element_), query) != FALSE;
  }
}

// --- flushing and the task -----------------------------------------------------------------------

void Inferer::set_flushing(bool flushing)
{
  flow_ = flushing ? GST_FLOW_FLUSHING : GST_FLOW_OK;
  failed_ = false;
  if (flushing)
    frames_.waits.raise();
  else
    frames_.waits.clear();
  if (const auto queue = queue_of_any_thread())
    queue->set_flushing(flushing);
}

bool Inferer::activate_src(GstPadMode mode, bool active)
{
  if (mode != GST_PAD_MODE_PUSH)
    return false;
  if (active && !queue_of_any_thread()) // activated by hand before the element was started
    return false;
  set_flushing(!active);
  if (active)
    return gst_pad_start_task(src_, run_task, this, nullptr) != FALSE;
  return gst_pad_stop_task(src_) != FALSE;
}

bool Inferer::flush_start(GstEvent *event)
{
  const bool passed = gst_pad_push_event(src_, event) != FALSE;
  set_flushing(true);
  gst_pad_pause_task(src_);
  return passed;
}

bool Inferer::flush_stop(GstEvent *event)
{
  const bool passed = gst_pad_push_event(src_, event) != FALSE;
  frame_number_ = 0;
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  forget_qos();
  eos_ = false;
  const bool resumed = resume();
  if (queue_)
    queue_->forget_imports(Forget::Unused);
  return resumed && passed;
}

bool Inferer::activate_sink(GstPadMode mode, bool active)
{
  if (mode != GST_PAD_MODE_PUSH)
    return false;
  if (active)
    return resume();
  set_flushing(true);
  return true;
}

// Lets the sink pad take buffers again. Does nothing while the source pad is inactive.
bool Inferer::resume()
{
  if (GST_PAD_MODE(src_) != GST_PAD_MODE_PUSH)
    return true;
  set_flushing(false);
  return start_task_again();
}

// Holds the pad's lock, because another thread may deactivate the pad, which ends its task.
bool Inferer::start_task_again()
{
  GST_OBJECT_LOCK(src_);
  GstTask *task = GST_PAD_TASK(src_);
  const bool started = task && gst_task_start(task);
  GST_OBJECT_UNLOCK(src_);
  return started;
}

// Called by the task. A flush on another thread may have ended, and started the task, before it
// pauses here.
void Inferer::pause_task()
{
  gst_pad_pause_task(src_);
  if (flow_ == GST_FLOW_OK)
    start_task_again();
}

// After an exception nobody pops items any more: upstream must not wait for a place.
void Inferer::run_task(gpointer inferer) noexcept
{
  auto &self = *static_cast<Inferer *>(inferer);
  try {
    self.loop();
  } catch (...) {
    post_exception(self.element_, "Inferer::loop");
    self.flow_ = GST_FLOW_ERROR;
    self.queue_->set_flushing(true);
    gst_pad_pause_task(self.src_);
  }
}

void Inferer::loop()
{
  // GStreamer takes the thread out of a pool. Reading what activate_src() wrote last makes all that
  // start() wrote visible to it, without relying on the locks of that pool.
  if (flow_ == GST_FLOW_FLUSHING)
    return pause_task();
  std::optional<Outcome> outcome = queue_->pop();
  if (!outcome)
    return pause_task();
  QueuedData &data = data_in(outcome->payload);
  const GstFlowReturn flow = data.event ? push_event(data) : push_frame(std::move(*outcome));
  if (flow != GST_FLOW_OK)
    end_task(flow);
}

GstFlowReturn Inferer::push_event(QueuedData &data)
{
  // Ignores a refusal: the next buffer fails and says why.
  gst_pad_push_event(src_, data.event.release());
  return GST_FLOW_OK;
}

GstFlowReturn Inferer::push_frame(Outcome outcome)
{
  QueuedData &data = data_in(outcome.payload);
  // No release fence is needed, because the device has read the frame before it is pushed.
  data.unmap();
  GstBuffer *read = data.copy ? data.copy.get() : data.buffer.get();
  for (const auto &token : outcome.liveness)
    for (guint i = 0; i < gst_buffer_n_memory(read); i++)
      hold_while_alive(gst_buffer_peek_memory(read, i), token);
  data.copy.reset();
  if (!outcome.notice.empty())
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("%s", outcome.notice.c_str()), (nullptr));
  if (data.region) {
    data.buffer.reset(); // or the frame would not be writable
    regions_.push_back(std::move(outcome));
    return GST_FLOW_OK;
  }
  stats_.frames++;
  GstPtr<GstBuffer> buffer = std::move(data.buffer);
  if (outcome.error) {
    if (const GstFlowReturn flow = fail_frame(*outcome.error); flow != GST_FLOW_OK)
      return flow;
  } else if (outcome.was_frame) {
    if (Result<void> attached = attach_tensors(buffer, queue_->backend().model(), outcome);
        !attached)
      return fail(attached.error());
    if (latency_.note(outcome.inside))
      gst_element_post_message(element_, gst_message_new_latency(GST_OBJECT(element_)));
  }
  bool passed = outcome.error || !outcome.was_frame;
  for (Outcome &region : std::exchange(regions_, {})) {
    const QueuedData &its = data_in(region.payload);
    if (its.number != data.number) // of a frame that a flush dropped
      continue;
    if (region.error) {
      if (const GstFlowReturn flow = fail_frame(*region.error); flow != GST_FLOW_OK)
        return flow;
      continue;
    }
    if (Result<void> attached =
            attach_tensors(buffer, queue_->backend().model(), region, its.region);
        !attached)
      return fail(attached.error());
    passed = false;
    if (latency_.note(region.inside))
      gst_element_post_message(element_, gst_message_new_latency(GST_OBJECT(element_)));
  }
  if (passed)
    passed_through_++;
  return gst_pad_push(src_, buffer.release());
}

// With on-device-lost=passthrough the frame goes on without a result; the first one posts a
// warning.
GstFlowReturn Inferer::fail_frame(const Error &error)
{
  if (settings_.on_device_lost == OnDeviceLost::Error)
    return fail(error);
  if (!warned_.exchange(true))
    GST_ELEMENT_WARNING(element_, RESOURCE, FAILED,
                        ("Frames pass without results: %s", error.message.c_str()), (nullptr));
  return GST_FLOW_OK;
}

// Upstream gets `flow` with its next buffer. After EOS it sends none, so the element posts the
// error.
void Inferer::end_task(GstFlowReturn flow)
{
  GST_DEBUG_OBJECT(element_, "the task ends: %s", gst_flow_get_name(flow));
  flow_ = flow;
  queue_->set_flushing(true);
  gst_pad_pause_task(src_);
  if (eos_ && (flow == GST_FLOW_NOT_LINKED || flow < GST_FLOW_EOS)) {
    if (!failed_)
      post_failure(element_, stopped_stream(element_, src_, flow));
    gst_pad_push_event(src_, gst_event_new_eos());
  }
}

} // namespace gstdrm::metis

// --- the GObject ---------------------------------------------------------------------------------

using namespace gstdrm;
using namespace gstdrm::metis;

G_DECLARE_FINAL_TYPE(GstMetisDmabufInfer, gst_metis_dmabuf_infer, GST, METIS_DMABUF_INFER,
                     GstElement)

struct _GstMetisDmabufInfer {
  GstElement parent;
  GstPad *sink, *src;      // owned by the element
  InferSettings *settings; // guarded by the object's lock
  Inferer *inferer;        // both made in init, deleted in finalize
};

G_DEFINE_TYPE(GstMetisDmabufInfer, gst_metis_dmabuf_infer, GST_TYPE_ELEMENT)
GST_ELEMENT_REGISTER_DEFINE(metisdmabufinfer, "metisdmabufinfer", GST_RANK_NONE,
                            gst_metis_dmabuf_infer_get_type())

namespace {

GstMetisDmabufInfer *self_of(gpointer object)
{
  return GST_METIS_DMABUF_INFER(object);
}

Inferer &inferer_of(gpointer object)
{
  return *self_of(object)->inferer;
}

GType backend_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(BackendKind::Auto), "The first of axl, axruntime and cpu that works",
       "auto"},
      {static_cast<gint>(BackendKind::Axl), "A driver with the kernel interface of docs/axl.md",
       "axl"},
      {static_cast<gint>(BackendKind::AxRuntime), "Axelera's libaxruntime.so", "axruntime"},
      {static_cast<gint>(BackendKind::Cpu), "the CPU, by ONNX Runtime or OpenCV's dnn", "cpu"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferBackend", values);
  return type;
}

GType import_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(ImportMode::DmaBuf), "The device reads the frame's own memory", "dmabuf"},
      {static_cast<gint>(ImportMode::Copy), "The device reads a copy, which the CPU makes", "copy"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferImportMode", values);
  return type;
}

GType output_mode_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(OutputMode::DmaBuf), "Results lie in dma-bufs", "dmabuf"},
      {static_cast<gint>(OutputMode::System), "Results lie in system memory", "system"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferOutputMode", values);
  return type;
}

GType on_device_lost_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(OnDeviceLost::Error), "The stream ends with an error", "error"},
      {static_cast<gint>(OnDeviceLost::Passthrough), "Frames go on without results", "passthrough"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferOnDeviceLost", values);
  return type;
}

GType inference_region_type()
{
  static const GEnumValue values[] = {
      {static_cast<gint>(InferenceRegion::Frame), "The whole frame", "frame"},
      {static_cast<gint>(InferenceRegion::Regions), "Each region of interest in the frame",
       "regions"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstMetisDmabufInferRegion", values);
  return type;
}

// The property of a row's place here: property_rows.hpp. The first two are common ones.
const auto &infer_properties()
{
  using S = InferSettings;
  constexpr auto flags = kReadyProperty;
  static constexpr std::array rows{
      common_property<&S::zero_copy>(),
      common_property<&S::implicit_modifier>(),
      property<&S::model>(
          "model", "Model",
          "Path of the model's file; its description, a modelinfo file, lies beside it", flags),
      property<&S::device>("device", "Device",
                           "Name of the device, such as metis-0:1:0; none: the first one", flags),
      property<&S::backend>("backend", "Back end", "What runs the model", flags,
                            {.type = backend_type}),
      property<&S::import_mode>("import-mode", "Import mode", "How the device gets at a frame",
                                flags, {.type = import_mode_type}),
      property<&S::output_mode>("output-buffer-mode", "Output buffer mode", "Where results lie",
                                flags, {.type = output_mode_type}),
      property<&S::max_in_flight>("max-in-flight", "Most in flight",
                                  "Inferences that may be under way at once", flags,
                                  {1, InferenceSetup::kMostInFlight}),
      property<&S::timeout_ms>(
          "timeout", "Timeout",
          "Milliseconds that one inference, or the fences of one frame, may take", flags,
          {1, 60000}),
      property<&S::open_timeout_ms>(
          "open-timeout", "Timeout of opening",
          "Milliseconds that a runtime may take to open the model on its device", flags,
          {1, 3600000}),
      property<&S::on_device_lost>(
          "on-device-lost", "On device lost",
          "What becomes of frames whose inference fails, is late or has no device", flags,
          {.type = on_device_lost_type}),
      property<&S::interval>("interval", "Interval",
                             "Infer every n-th frame, and pass the others on", flags, {1, 1000}),
      property<&S::region>("inference-region", "Inference region",
                           "What the model sees: the frame, or its regions of interest one by one",
                           flags, {.type = inference_region_type}),
      property<&S::region_class>("region-class", "Region class",
                                 "The label of the regions that are inferred, or several, "
                                 "separated by commas; unset: all regions",
                                 flags),
      property<&S::min_region_size>("min-region-size", "Least region size",
                                    "Regions that are narrower or lower, in pixels, are left out",
                                    flags, {1, G_MAXINT}),
      property<&S::leaky>("leaky", "Leaky",
                          "For live streams: infer the newest frame, one at a time, and pass on "
                          "those that came meanwhile, and those that are late (QoS)",
                          flags),
      property<&S::cpu_threads>("cpu-threads", "CPU threads",
                                "Threads of the back end cpu; 0: as many as it likes", flags,
                                {0, 1024}),
      property<&S::cache_imports>("cache-imports", "Cache imports",
                                  "Keep a frame's import as long as its memory lives; otherwise "
                                  "import each frame anew",
                                  flags),
  };
  return rows;
}

InferSettings copy_settings(GstMetisDmabufInfer *self)
{
  const ObjectLock lock(self);
  return *self->settings;
}

} // namespace

static void gst_metis_dmabuf_infer_set_property(GObject *object, guint id, const GValue *value,
                                                GParamSpec *spec)
{
  gstdrm::set_property(object, infer_properties(), id, value, spec, [object](const auto &set) {
    const ObjectLock lock(object);
    set(*self_of(object)->settings);
  });
}

static void gst_metis_dmabuf_infer_get_property(GObject *object, guint id, GValue *value,
                                                GParamSpec *spec)
{
  if (id == kStatsId)
    g_value_take_boxed(value, inferer_of(object).stats());
  else
    gstdrm::get_property(object, infer_properties(), id, value, spec,
                         copy_settings(self_of(object)));
}

// Returns the flow of a refusal: GStreamer turns a plain FALSE into an error, even if downstream
// only flushes.
static GstFlowReturn gst_metis_dmabuf_infer_sink_event(GstPad *, GstObject *parent, GstEvent *event)
{
  const bool is_caps = GST_EVENT_TYPE(event) == GST_EVENT_CAPS;
  Inferer &inferer = inferer_of(parent);
  if (inferer.sink_event(event))
    return GST_FLOW_OK;
  if (const GstFlowReturn flow = inferer.flow(); flow != GST_FLOW_OK)
    return flow;
  return is_caps ? GST_FLOW_NOT_NEGOTIATED : GST_FLOW_ERROR;
}

static GstStateChangeReturn gst_metis_dmabuf_infer_change_state(GstElement *element,
                                                                GstStateChange transition)
{
  Inferer &inferer = inferer_of(element);
  if (transition == GST_STATE_CHANGE_READY_TO_PAUSED &&
      !inferer.start(copy_settings(self_of(element))))
    return GST_STATE_CHANGE_FAILURE;
  const GstStateChangeReturn result =
      GST_ELEMENT_CLASS(gst_metis_dmabuf_infer_parent_class)->change_state(element, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (transition == GST_STATE_CHANGE_READY_TO_PAUSED && result == GST_STATE_CHANGE_FAILURE))
    inferer.stop(); // the pads are inactive now
  return result;
}

static void gst_metis_dmabuf_infer_finalize(GObject *object) noexcept
{
  delete self_of(object)->inferer;
  delete self_of(object)->settings;
  G_OBJECT_CLASS(gst_metis_dmabuf_infer_parent_class)->finalize(object);
}

static GstDebugCategory *debug_category() noexcept
{
  return gst_metis_dmabuf_infer_debug;
}

static void gst_metis_dmabuf_infer_class_init(GstMetisDmabufInferClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(gst_metis_dmabuf_infer_debug, "metisdmabufinfer", 0,
                          "Inference on DMA buffers");
  connect_log<debug_category>(); // of the engine
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  object_class->set_property = logging<gst_metis_dmabuf_infer_set_property>;
  object_class->get_property = logging<gst_metis_dmabuf_infer_get_property>;
  object_class->finalize = gst_metis_dmabuf_infer_finalize;
  install_properties(object_class, infer_properties());
  install_common_properties(
      object_class,
      {row_id<0>, "What to do where a frame would have to be copied", kStatsId,
       "Counters since start: frames, imports, import-hits, releases, copies, bytes-copied, "
       "last-copy-reason, waits, waiting-ns, preprocessing-ns, device-ns, inferences, "
       "passed-through, regions-left-out, in-flight",
       row_id<1>,
       "Caps that name no modifier (memory:DMABuf without DMA_DRM): of linear frames "
       "(linear), or never taken (all others: no driver is asked)"});
  gst_element_class_set_static_metadata(
      element_class, "Inference on DMA buffers", "Filter/Analyzer/Video/Hardware",
      "Runs a model on frames in DMA buffers and attaches the result tensors",
      "gst-drm contributors");
  const GstPtr<GstCaps> caps = infer_template();
  for (const auto &[name, direction] : {std::pair("sink", GST_PAD_SINK), {"src", GST_PAD_SRC}})
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
  element_class->change_state = posting<gst_metis_dmabuf_infer_change_state>;
}

static GstPad *add_pad(GstMetisDmabufInfer *self, const char *name)
{
  GstPad *pad = gst_pad_new_from_template(
      gst_element_class_get_pad_template(GST_ELEMENT_GET_CLASS(self), name), name);
  gst_element_add_pad(GST_ELEMENT(self), pad);
  return pad;
}

static void gst_metis_dmabuf_infer_init(GstMetisDmabufInfer *self)
{
  self->sink = add_pad(self, "sink");
  self->src = add_pad(self, "src");
  gst_pad_set_chain_function(self->sink, (posting<inferer_of, &Inferer::chain>));
  gst_pad_set_event_full_function(self->sink, posting<gst_metis_dmabuf_infer_sink_event>);
  watch_caps_events<inferer_of, &Inferer::explain_refused_caps>(self->sink, self);
  gst_pad_set_query_function(self->sink, (logging<inferer_of, &Inferer::sink_query>));
  gst_pad_set_activatemode_function(self->sink, (logging<inferer_of, &Inferer::activate_sink>));
  gst_pad_set_event_function(self->src, (logging<inferer_of, &Inferer::src_event>));
  gst_pad_set_query_function(self->src, (logging<inferer_of, &Inferer::src_query>));
  gst_pad_set_activatemode_function(self->src, (logging<inferer_of, &Inferer::activate_src>));
  self->settings = new InferSettings;
  self->inferer = new Inferer(GST_ELEMENT(self), self->sink, self->src);
}
