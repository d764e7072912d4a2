// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetisinferer.hpp"

#include <array>
#include <string>
#include <utility>

#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

#include "engine/model_file.hpp"
#include "gstmetistensors.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_metis_dmabuf_infer_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_metis_dmabuf_infer_debug

namespace gstdrm::metis {

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
  options.timeout = std::chrono::milliseconds(settings.timeout_ms);
  options.open_timeout = std::chrono::milliseconds(settings.open_timeout_ms);
  auto backend = open_backend(settings.backend, options, kBackends);
  if (!backend)
    return backend.error();
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
  stats_.reset();
  counters_.reset();
  passed_through_ = 0;
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
      counters_.import_hits.load(), "waits", G_TYPE_UINT64, counters_.waits.load(), "waiting-ns",
      G_TYPE_UINT64, counters_.waiting_ns.load(), "preprocessing-ns", G_TYPE_UINT64,
      counters_.preprocessing_ns.load(), "device-ns", G_TYPE_UINT64, counters_.device_ns.load(),
      "inferences", G_TYPE_UINT64, counters_.inferences.load(), "passed-through", G_TYPE_UINT64,
      passed_through_.load(), "in-flight", G_TYPE_UINT64, counters_.in_flight.load(), nullptr);
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
  if (wanted) {
    auto made = frames_.item_of(std::move(buffer), stats_);
    if (!made)
      return flow_ == GST_FLOW_FLUSHING ? GST_FLOW_FLUSHING : fail(made.error());
    item = std::move(*made);
  } else {
    item.payload = payload_of(std::make_unique<QueuedData>(std::move(buffer)));
  }
  if (queue_->push(std::move(item)) == InferenceQueue::Passage::Done)
    return GST_FLOW_OK;
  const GstFlowReturn flow = flow_; // why the queue is flushing
  return flow == GST_FLOW_OK ? GST_FLOW_FLUSHING : flow;
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
  if (settings_.interval == 1 && !settings_.leaky &&
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
  stats_.frames++;
  GstPtr<GstBuffer> buffer = std::move(data.buffer);
  if (!outcome.notice.empty())
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("%s", outcome.notice.c_str()), (nullptr));
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
  if (outcome.error || !outcome.was_frame)
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
