// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssink.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/gstdrm-compat-private.h>
#include <gst/drm/gstdrm-guard-private.hpp>

#include "engine/card/kms_event_loop.hpp"
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// Frames that the base class left out because their time had passed.
guint64 base_sink_dropped(GstBaseSink *sink)
{
  GstStructure *stats = gst_base_sink_get_stats(sink);
  guint64 dropped = 0;
  gst_structure_get_uint64(stats, "dropped", &dropped);
  gst_structure_free(stats);
  return dropped;
}

// GST_CLOCK_TIME_NONE if the caps say no rate.
GstClockTime frame_duration(const GstVideoInfo &info)
{
  return GST_VIDEO_INFO_FPS_N(&info) > 0
             ? gst_util_uint64_scale_int(GST_SECOND, GST_VIDEO_INFO_FPS_D(&info),
                                         GST_VIDEO_INFO_FPS_N(&info))
             : GST_CLOCK_TIME_NONE;
}

// A flip takes one refresh: after this time something is stuck.
constexpr std::int64_t kDrainTimeout_ns = 2'000'000'000;

// After a frame that the base class has dropped as late: longer than the frames of a stream take,
// all of which may be late, and short for a viewer.
constexpr std::int64_t kPause_ns = 100'000'000;

// Held by the streaming thread while it shows a frame, and let go while it waits.
class PrerollLock {
public:
  explicit PrerollLock(GstBaseSink *sink) : mutex_(GST_BASE_SINK_GET_PREROLL_LOCK(sink)) {}
  ~PrerollLock()
  {
    if (held_)
      g_mutex_unlock(mutex_);
  }
  PrerollLock(const PrerollLock &) = delete;
  PrerollLock &operator=(const PrerollLock &) = delete;
  void lock() noexcept
  {
    g_mutex_lock(mutex_);
    held_ = true;
  }
  bool try_lock() noexcept { return held_ = g_mutex_trylock(mutex_) != FALSE; }

private:
  GMutex *mutex_;
  bool held_ = false;
};

} // namespace

KmsSink::KmsSink(GstVideoSink *element)
    : element_(element), fences_(GST_ELEMENT(element)), negotiation_(element, display_),
      frames_(GST_ELEMENT(element), display_, fences_, stats_)
{
}

bool KmsSink::open()
{
  if (Result<void> opened = display_.open(*this); !opened) {
    post_failure(GST_ELEMENT(element_),
                 Failure({}, opened.error()).add("device", display_.settings().device.path));
    return false;
  }
  GST_INFO_OBJECT(element_, "opened %s", display_.get()->describe().c_str());
  return true;
}

void KmsSink::warn(GstResourceError code, const std::string &text, const Error &why,
                   const char *more) const
{
  GST_WARNING_OBJECT(element_, "%s (errno %d)", text.c_str(), why.sys_errno);
  gst_element_message_full(
      GST_ELEMENT(element_), GST_MESSAGE_WARNING, GST_RESOURCE_ERROR, code, g_strdup(text.c_str()),
      g_strdup_printf("errno %d%s", why.sys_errno, more), __FILE__, GST_FUNCTION, __LINE__);
}

void KmsSink::warn_of_cursor(const Result<void> &set)
{
  if (!set)
    warn(GST_RESOURCE_ERROR_SETTINGS, set.error().message, set.error());
}

void KmsSink::set_cursor_image(GstSample *image)
{
  warn_of_cursor(display_.set_cursor_image(image));
}

bool KmsSink::start()
{
  stats_.begin(GST_ELEMENT(element_));
  negotiation_.restart();
  display_.change(
      [](SinkSettings &settings) { settings.tag_direction = GST_VIDEO_ORIENTATION_IDENTITY; });
  failure_.reset();
  lost_announced_ = stall_announced_ = false;
  frames_.restart();
  prerolled_ = {};
  display_warned_ = false;
  const SinkSettings settings = display_.settings();
  fences_.start(settings.sync_mode, settings.fence_timeout);
  const Result<void> started = start_display();
  if (!started)
    post_error(GST_ELEMENT(element_), started.error());
  const std::lock_guard repeats(repeat_lock_);
  started_ = static_cast<bool>(started);
  return started_;
}

Result<void> KmsSink::start_display()
{
  Result<void> started = display_.get()->start(fences_.rules());
  if (started)
    warn_of_cursor(display_.show_wanted_cursor());
  return started;
}

// Before a frame. Returns the display that shows it: the chosen one, or where another sink has
// taken that output in the meantime, one with another output. Error: EBUSY where none is free.
Result<std::shared_ptr<kms::Display>>
KmsSink::take_output(const std::shared_ptr<kms::Display> &chosen)
{
  const Result<void> taken = chosen->take_output();
  if (taken)
    return chosen;
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(element_)));
  const std::lock_guard repeats(repeat_lock_); // no frame is repeated meanwhile
  if (!display_.open_another(*this))
    return taken.error();
  std::shared_ptr<kms::Display> display = display_.get();
  GST_INFO_OBJECT(element_, "shows on %s now", display->describe().c_str());
  if (Result<void> started = start_display(); !started)
    return started.error();
  const Result<SinkStream> stream = negotiation_.accept(*display, caps.get());
  if (!stream)
    return stream.error();
  frames_.begin(*stream);
  request_choice(); // the formats may be others
  return display;
}

// Once from start() to close().
void KmsSink::warn_of_display(const Result<void> &put_back)
{
  if (!put_back && !std::exchange(display_warned_, true))
    warn(GST_RESOURCE_ERROR_FAILED, put_back.error().message, put_back.error());
}

void KmsSink::close()
{
  warn_of_display(display_.close());
  display_warned_ = false;
}

// Every buffer is given back, and the display is as it was before.
void KmsSink::stop()
{
  Result<void> stopped;
  {
    const std::lock_guard repeats(repeat_lock_);
    started_ = false;
    kept_.reset();
    late_.reset();
    stopped = display_.get()->stop();
    frames_.stop();
  }
  warn_of_display(stopped);
}

bool KmsSink::is_started()
{
  const std::lock_guard repeats(repeat_lock_);
  return started_;
}

void KmsSink::set_flushing(bool flushing)
{
  frames_.set_flushing(flushing);
  failure_.set_flushing(flushing);
  if (const std::shared_ptr<kms::Display> display = display_.get())
    display->set_flushing(flushing);
}

bool KmsSink::set_caps(GstCaps *caps)
{
  const std::shared_ptr<kms::Display> display = display_.get();
  if (!display)
    return false; // the sink is being shut down
  if (negotiation_.has_refused(caps))
    return false;
  const DeferMessages deferred(
      *this); // the base class holds the preroll lock around each CAPS event
  Result<SinkStream> stream = Error{ErrorCode::Caps, "", 0};
  {
    const std::lock_guard repeats(repeat_lock_); // no frame of the old caps meanwhile
    stream = negotiation_.accept(*display, caps);
    if (stream) {
      kept_.reset();
      late_.reset();
      frames_.begin(*stream);
      fences_.set_release_fences(false); // until the producer of this stream says so
    }
  }
  negotiation_.settle(*display, caps, stream);
  return static_cast<bool>(stream);
}

void KmsSink::begin_stream()
{
  display_.change([](SinkSettings &settings) {
    settings.tag_direction = GST_VIDEO_ORIENTATION_IDENTITY;
  }); // its own tag, if any, follows
  if (fences_.set_release_fences(false))
    request_choice(); // the same producer asks again, and says again that it waits
}

bool KmsSink::propose_allocation(GstQuery *query)
{
  const bool answered = negotiation_.propose_allocation(query);
  fences_.set_release_fences(answered && gst_drm_query_has_release_fences(query));
  return answered;
}

GstStructure *KmsSink::stats_structure() const
{
  GstStructure *stats = stats_.to_structure();
  kms::FlipQueue::Counters counters;
  kms::Display::OverlayCounters overlays;
  std::uint64_t releases = 0;
  if (const std::shared_ptr<kms::Display> display = display_.get()) {
    counters = display->counters();
    overlays = display->overlay_counters();
    releases = display->releases();
  }
  gst_structure_set(
      stats, "releases", G_TYPE_UINT64, releases, "waits", G_TYPE_UINT64,
      stats_.waits.load() + counters.waits, "shown", G_TYPE_UINT64, counters.shown, "dropped",
      G_TYPE_UINT64,
      counters.dropped + base_sink_dropped(GST_BASE_SINK(element_)) + negotiation_.dropped(),
      "late", G_TYPE_UINT64, counters.late, "commits", G_TYPE_UINT64, counters.commits, "held",
      G_TYPE_UINT, counters.held, "fence-timeouts", G_TYPE_UINT64, counters.fence_timeouts,
      "fence-errors", G_TYPE_UINT64, counters.fence_errors, "release-fences", G_TYPE_UINT64,
      counters.release_fences, "last-flip-sequence", G_TYPE_UINT, counters.last_sequence,
      "last-flip-time", G_TYPE_UINT64,
      counters.last_flip_ns < 0 ? GST_CLOCK_TIME_NONE : static_cast<guint64>(counters.last_flip_ns),
      "overlays", G_TYPE_UINT64, overlays.shown, "overlays-blended", G_TYPE_UINT64,
      frames_.overlays_blended(), "overlays-left-out", G_TYPE_UINT64, overlays.left_out,
      "overlay-refusals", G_TYPE_UINT64, overlays.refusals, nullptr);
  return stats;
}

GstSample *KmsSink::snapshot()
{
  const std::shared_ptr<kms::Display> display = display_.get();
  Result<kms::Snapshot> snapshot =
      display ? display->snapshot()
              : Result<kms::Snapshot>(
                    Error{ErrorCode::Device, "No device is open: the sink is in NULL.", 0});
  if (!snapshot) {
    warn(GST_RESOURCE_ERROR_READ, "No snapshot: " + snapshot.error().message, snapshot.error());
    return nullptr;
  }
  // BGRx for AR24 too: what was scanned out has no transparency.
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_simple(
      "video/x-raw", "format", G_TYPE_STRING, "BGRx", "width", G_TYPE_INT,
      static_cast<gint>(snapshot->width), "height", G_TYPE_INT, static_cast<gint>(snapshot->height),
      "framerate", GST_TYPE_FRACTION, 0, 1, nullptr));
  const auto buffer = GstPtr<GstBuffer>::adopt(
      gst_buffer_new_memdup(snapshot->pixels.data(), snapshot->pixels.size()));
  return gst_sample_new(buffer.get(), caps.get(), nullptr, nullptr);
}

bool KmsSink::DeferMessages::send() noexcept
{
  current_ = std::exchange(outer_, nullptr);
  if (messages_.empty() && !asks_for_choice_)
    return false;
  GstBaseSink *sink = GST_BASE_SINK(sink_.element_);
  GST_BASE_SINK_PREROLL_UNLOCK(sink);
  for (GstPtr<GstMessage> &message : std::exchange(messages_, {}))
    gst_element_post_message(GST_ELEMENT(sink), message.release());
  if (std::exchange(asks_for_choice_, false))
    sink_.negotiation_.request_choice();
  GST_BASE_SINK_PREROLL_LOCK(sink);
  return true;
}

bool KmsSink::keep_message(GstMessage *message)
{
  DeferMessages *deferred = DeferMessages::of(*this);
  if (deferred)
    deferred->add(message);
  return deferred != nullptr;
}

void KmsSink::request_choice()
{
  if (DeferMessages *deferred = DeferMessages::of(*this))
    deferred->add_choice();
  else
    negotiation_.request_choice();
}

// While messages are deferred. The base class signals only who waits already: what has changed
// while the lock was released is looked at here.
GstFlowReturn KmsSink::wait_preroll()
{
  GstBaseSink *sink = GST_BASE_SINK(element_);
  DeferMessages *deferred = DeferMessages::of(*this);
  const bool let_go = deferred->send();
  GstFlowReturn ret = GST_FLOW_OK;
  if (let_go && sink->flushing)
    ret = GST_FLOW_FLUSHING;
  else if (!let_go || sink->need_preroll)
    ret = gst_base_sink_wait_preroll(sink);
  deferred->resume();
  return ret;
}

void KmsSink::get_times(GstBuffer *buffer, GstClockTime *start, GstClockTime *end)
{
  *start = GST_BUFFER_PTS_IS_VALID(buffer) ? GST_BUFFER_PTS(buffer) : GST_BUFFER_DTS(buffer);
  *end = GST_CLOCK_TIME_NONE;
  if (!GST_CLOCK_TIME_IS_VALID(*start))
    return;
  const GstClockTime duration = GST_BUFFER_DURATION_IS_VALID(buffer)
                                    ? GST_BUFFER_DURATION(buffer)
                                    : frame_duration(frames_.video_info());
  if (GST_CLOCK_TIME_IS_VALID(duration))
    *end = *start + duration;
  keep_if_late(buffer);
}

// When the frame should be on screen, on CLOCK_MONOTONIC, whatever clock the pipeline has; nullopt
// if it is shown as soon as possible.
std::optional<KmsSink::DueTime> KmsSink::due_time(GstBuffer *buffer) const
{
  GstBaseSink *sink = GST_BASE_SINK(element_);
  if (!gst_base_sink_get_sync(sink) || !GST_BUFFER_PTS_IS_VALID(buffer))
    return std::nullopt;
  GST_OBJECT_LOCK(sink);
  const GstClockTime running =
      gst_segment_to_running_time(&sink->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  const GstClockTime base_time = GST_ELEMENT(sink)->base_time;
  const auto clock = GstPtr<GstClock>::share(GST_ELEMENT_CLOCK(sink));
  GST_OBJECT_UNLOCK(sink);
  if (!clock)
    return std::nullopt;
  const GstClockTime now = gst_clock_get_time(clock.get());
  if (!GST_CLOCK_TIME_IS_VALID(running) || !GST_CLOCK_TIME_IS_VALID(now))
    return std::nullopt;
  const GstClockTimeDiff left = GST_CLOCK_DIFF(now, base_time + running) +
                                static_cast<GstClockTimeDiff>(gst_base_sink_get_latency(sink)) +
                                gst_base_sink_get_ts_offset(sink);
  return DueTime{kms::monotonic_now_ns() + left, running};
}

// The base class does not tell that it drops a buffer as late. So each one that is late is kept
// until a frame is shown, and is shown itself if none is for a while: the last of a burst is seen.
void KmsSink::keep_if_late(GstBuffer *buffer)
{
  GstBaseSink *sink = GST_BASE_SINK(element_);
  const gint64 max_lateness = gst_base_sink_get_max_lateness(sink);
  const bool is_on_screen = prerolled_ == Picture{buffer, GST_BUFFER_PTS(buffer)};
  if (sink->need_preroll || max_lateness < 0 || is_on_screen)
    return;
  const std::optional<DueTime> due = due_time(buffer);
  const std::int64_t now = kms::monotonic_now_ns();
  if (!due || now - due->time_ns <= max_lateness)
    return;
  late_ = GstPtr<GstBuffer>::share(buffer);
  if (const std::shared_ptr<kms::Display> display = display_.get())
    display->want_repaint_at(now + kPause_ns);
}

GstFlowReturn KmsSink::fail(const Error &error)
{
  Failure failure({}, error);
  const std::string sender = peer_name(GST_VIDEO_SINK_PAD(element_));
  if (error.code == ErrorCode::Layout)
    failure.advise(advice_on(error, sender)).add("sender", sender);
  else if (error.code == ErrorCode::Allocation)
    failure.advise("Choose a smaller size, or raise the limits of the process (ulimit -n, -v).");
  post_failure(GST_ELEMENT(element_), failure);
  return GST_FLOW_ERROR;
}

// Hands the frame to the display. A flush in PLAYING only interrupts until preroll is over.
GstFlowReturn KmsSink::show(kms::Display &display, GstBuffer *buffer, kms::Frame &frame,
                            kms::FlipQueue::Overflow overflow)
{
  while (true) {
    const Result<kms::Shown> shown = display.show(frame, overflow);
    if (!shown && shown.error().code == ErrorCode::Unsupported && frames_.shift_instead_of(frame)) {
      GST_INFO_OBJECT(element_, "no part of a frame: %s", shown.error().message.c_str());
      Result<kms::Frame> shifted = make_frame(display, buffer);
      if (!shifted)
        return fail(shifted.error());
      shifted->due_ns = frame.due_ns;
      shifted->stamp = frame.stamp;
      frame = std::move(*shifted);
      continue;
    }
    if (!shown &&
        (shown.error().code == ErrorCode::Unsupported || shown.error().code == ErrorCode::Caps))
      return negotiation_.refuse(display, shown.error());
    if (!shown)
      return fail(shown.error());
    if (*shown == kms::Shown::Yes || *shown == kms::Shown::Dropped)
      return GST_FLOW_OK;
    if (*shown == kms::Shown::Failed) {
      if (const std::optional<Error> failure = display.failure())
        failure_.post(GST_ELEMENT(element_), *failure);
      return GST_FLOW_ERROR;
    }
    if (const GstFlowReturn ret = wait_preroll(); ret != GST_FLOW_OK)
      return ret;
  }
}

// A GstVideoCropMeta may show less than the caps say, as GStreamer's own sinks take it: the display
// is set up as for caps of that size.
Result<kms::Frame> KmsSink::make_frame(kms::Display &display, GstBuffer *buffer)
{
  const Result<GstVideoRectangle> part = frames_.shown_part(buffer);
  if (!part)
    return part.error();
  const kms::Origin origin{static_cast<std::uint32_t>(part->x),
                           static_cast<std::uint32_t>(part->y)};
  const GstVideoInfo &shown = frames_.video_info();
  if (part->w == GST_VIDEO_INFO_WIDTH(&shown) && part->h == GST_VIDEO_INFO_HEIGHT(&shown))
    return frames_.make(display, buffer, origin);
  const auto current =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(element_)));
  if (!current)
    return Error{ErrorCode::Caps, "The pad is being deactivated.", 0};
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_copy(current.get()));
  gst_caps_set_simple(caps.get(), "width", G_TYPE_INT, part->w, "height", G_TYPE_INT, part->h,
                      nullptr);
  const Result<SinkStream> stream = negotiation_.accept(display, caps.get());
  if (!stream)
    return stream.error();
  frames_.show_parts(*stream);
  return frames_.make(display, buffer, origin);
}

GstFlowReturn KmsSink::show_frame(GstBuffer *buffer)
{
  GstFlowReturn ret = GST_FLOW_ERROR;
  {
    const DeferMessages deferred(*this);
    ret = show_now(buffer);
  }
  // A flush may have come while a message was posted; the base class does not look again.
  return ret == GST_FLOW_OK && GST_BASE_SINK(element_)->flushing ? GST_FLOW_FLUSHING : ret;
}

GstFlowReturn KmsSink::show_now(GstBuffer *buffer)
{
  const std::shared_ptr<kms::Display> chosen = display_.get();
  if (!chosen)
    return GST_FLOW_FLUSHING;
  const bool is_prerolled =
      std::exchange(prerolled_, {}) == Picture{buffer, GST_BUFFER_PTS(buffer)};
  if (!in_preroll_ && is_prerolled)
    return GST_FLOW_OK; // on screen since preroll
  kept_.reset();
  late_.reset();
  // Until PLAYING, when its frames have to be shown, the sink waits for whoever has the display.
  const Result<std::shared_ptr<kms::Display>> display = take_output(chosen);
  if (!display)
    return in_preroll_ && display.error().sys_errno == EBUSY ? GST_FLOW_OK : fail(display.error());
  stats_.frames++;
  if (negotiation_.refuses())
    return negotiation_.drop();
  Result<kms::Frame> frame = make_frame(**display, buffer);
  if (!frame && frame.error().code == ErrorCode::Unsupported)
    return negotiation_.refuse(**display, frame.error());
  if (!frame)
    return fail(frame.error());
  const bool sync = gst_base_sink_get_sync(GST_BASE_SINK(element_)) != FALSE;
  if (const auto due = in_preroll_ ? std::nullopt : due_time(buffer)) {
    frame->due_ns = due->time_ns;
    frame->stamp = due->running;
  }
  const GstFlowReturn ret =
      show(**display, buffer, *frame,
           sync ? kms::FlipQueue::Overflow::Replace : kms::FlipQueue::Overflow::Wait);
  if (in_preroll_ && ret == GST_FLOW_OK)
    prerolled_ = {buffer, GST_BUFFER_PTS(buffer)};
  return ret;
}

void KmsSink::forget_frames()
{
  PrerollLock preroll(GST_BASE_SINK(element_));
  preroll.lock();
  prerolled_ = {};
  kept_.reset();
  late_.reset();
  if (const std::shared_ptr<kms::Display> display = display_.get())
    display->forget_unused_imports();
}

void KmsSink::repeat_frame()
{
  const std::shared_ptr<kms::Display> open = display_.get();
  if (!open)
    return;
  // The streaming thread may hold the preroll lock and post the message that the caller handles,
  // or wait for a flip, which the event thread reports.
  PrerollLock preroll(GST_BASE_SINK(element_));
  if (!open->on_event_thread() && preroll.try_lock())
    repeat_now();
  else if (!repeat_asked_.exchange(true))
    GST_DRM_ELEMENT_CALL_ASYNC(element_, [](auto *element, gpointer) {
      GST_KMS_DMABUF_SINK(element)->sink->repeat_later();
    });
}

// On a thread of GStreamer's, which nobody waits for.
void KmsSink::repeat_later() noexcept
try {
  PrerollLock preroll(GST_BASE_SINK(element_));
  preroll.lock();
  repeat_asked_ = false; // what is asked for from now on has not been shown
  repeat_now();
} catch (...) {
  post_exception(element_, __func__);
}

// With the preroll lock held.
void KmsSink::repeat_now()
{
  const DeferMessages deferred(*this); // until the next lock is let go as well
  // A thread that changes the caps or stops the display holds this lock, and may wait for the
  // present thread.
  const std::unique_lock repeats(repeat_lock_, std::try_to_lock);
  if (repeats && started_)
    show_last(*display_.get());
}

// With the preroll lock held, and messages deferred. Between two caps there is nothing to show.
void KmsSink::show_last(kms::Display &display)
{
  if (late_)
    kept_ = std::exchange(late_, {});
  GstPtr<GstBuffer> buffer = kept_;
  if (!buffer) {
    const auto last =
        GstPtr<GstSample>::adopt(gst_base_sink_get_last_sample(GST_BASE_SINK(element_)));
    const auto current =
        GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_VIDEO_SINK_PAD(element_)));
    if (!last || !current || !gst_caps_is_equal(current.get(), gst_sample_get_caps(last.get())))
      return;
    buffer = GstPtr<GstBuffer>::share(gst_sample_get_buffer(last.get()));
  }
  if (negotiation_.refuses())
    return;
  Result<kms::Frame> frame = make_frame(display, buffer.get());
  const Result<kms::Shown> shown = frame ? display.show(*frame, kms::FlipQueue::Overflow::Replace)
                                         : Result<kms::Shown>(frame.error());
  if (!shown)
    GST_WARNING_OBJECT(element_, "not repeated: %s", shown.error().message.c_str());
  if (!gst_base_sink_is_last_sample_enabled(GST_BASE_SINK(element_)))
    kept_.reset(); // the application wants no buffer held for another showing
}

// At the end of the stream.
void KmsSink::drain()
{
  const std::shared_ptr<kms::Display> display = display_.get();
  if (!display)
    return;
  if (late_)
    repeat_now();
  display->drain(kDrainTimeout_ns);
}

void KmsSink::give_back()
{
  PrerollLock preroll(GST_BASE_SINK(element_)); // keeps whoever repeats a frame away
  preroll.lock();
  const DeferMessages deferred(*this);
  const std::shared_ptr<kms::Display> display = display_.get();
  if (!display || !is_started())
    return;
  if (late_)
    show_last(*display);
  display->drain(kDrainTimeout_ns);
  if (GST_BASE_SINK(element_)->flushing)
    return; // the query is of no use any more
  const std::shared_ptr<void> owner = display->shown_owner();
  auto *shown = static_cast<GstBuffer *>(owner.get());
  if (shown && !frames_.is_own(shown)) {
    Result<GstPtr<GstBuffer>> copied = frames_.keep(*display, shown);
    Result<kms::Frame> frame =
        copied ? frames_.make(*display, copied->get(), {}) : Result<kms::Frame>(copied.error());
    const Result<kms::Shown> kept = frame ? display->show(*frame, kms::FlipQueue::Overflow::Wait)
                                          : Result<kms::Shown>(frame.error());
    if (kept && *kept == kms::Shown::Yes) {
      kept_ = std::move(*copied);
      display->drain(kDrainTimeout_ns);
    } else if (kept && *kept == kms::Shown::Flushing) {
      return; // likewise
    } else {
      GST_INFO_OBJECT(element_, "dark until the next frame: %s",
                      kept ? "the copy was not shown" : kept.error().message.c_str());
      display->blank();
    }
  }
  display->forget_imports();
}

// The base class sends a QoS event for each frame that it renders, with the time at which the frame
// was handed over. Upstream has to know of a frame that reached the screen late all the same.
GstEvent *KmsSink::with_flip_time(GstEvent *event)
{
  const std::shared_ptr<kms::Display> display = display_.get();
  const std::optional<kms::LateFrame> late = display ? display->take_late() : std::nullopt;
  if (!late)
    return nullptr;
  GstQOSType type;
  gdouble proportion = 1.0;
  GstClockTimeDiff jitter = 0;
  GstClockTime timestamp = 0;
  gst_event_parse_qos(event, &type, &proportion, &jitter, &timestamp);
  if (jitter >= late->late_ns)
    return nullptr;
  double slower = proportion;
  // The time of so many frames went by for each frame that was shown.
  if (const GstClockTime duration = frame_duration(frames_.video_info());
      GST_CLOCK_TIME_IS_VALID(duration) && duration > 0)
    slower = 1.0 + static_cast<double>(late->late_ns) / static_cast<double>(duration);
  return gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, std::max(proportion, slower), late->late_ns,
                           late->stamp);
}

void KmsSink::connector_changed(const std::string &connector, bool connected)
{
  const auto alive = GstPtr<GstElement>::share(GST_ELEMENT(element_)); // the handler may let it go
  GST_INFO_OBJECT(element_, "%s was %s", connector.c_str(), connected ? "plugged in" : "unplugged");
  GstStructure *structure =
      gst_structure_new("kms-hotplug", "connector", G_TYPE_STRING, connector.c_str(), "connected",
                        G_TYPE_BOOLEAN, connected ? TRUE : FALSE, nullptr);
  gst_element_post_message(GST_ELEMENT(element_),
                           gst_message_new_element(GST_OBJECT(element_), structure));
  // In PAUSED, or between the slides of a show, the next frame may be far away.
  if (connected)
    repeat_frame();
}

void KmsSink::report(const kms::Report &report) noexcept
try {
  using What = kms::Report::What;
  const Error &why = report.error;
  const std::string &text = why.message;
  switch (report.what) {
  case What::Failed:
    return failure_.post(GST_ELEMENT(element_), why);
  case What::FormatsChanged:
    return request_choice();
  case What::RepaintWanted: // while no frames come; one that comes later finds everything shown
    return repeat_frame();
  case What::Unplugged:
  case What::PluggedIn:
    return connector_changed(report.text, report.what == What::PluggedIn);
  // One message on the bus from start to stop; each stall and each lost frame in the log.
  case What::Stalled:
    if (stall_announced_.exchange(true))
      GST_WARNING_OBJECT(element_, "%s", text.c_str());
    else
      warn(GST_RESOURCE_ERROR_FAILED, text, why);
    return;
  case What::FrameLost:
    if (lost_announced_.exchange(true))
      GST_WARNING_OBJECT(element_, "%s", text.c_str());
    else
      warn(GST_RESOURCE_ERROR_SYNC, text, why, "; drm-stats counts them");
    return;
  case What::MasterLost:
    return warn(GST_RESOURCE_ERROR_NOT_AUTHORIZED,
                "Frames are dropped until the display is this program's again. " + text, why);
  case What::MasterRegained:
    GST_INFO_OBJECT(element_, "the display is this program's again");
    return;
  case What::OutputDark:
    return warn(GST_RESOURCE_ERROR_NOT_FOUND, text, why);
  case What::OutputLit:
    GST_INFO_OBJECT(element_, "the display is on again");
    return;
  case What::PicturePlaced:
    GST_INFO_OBJECT(element_, "showing on %s", report.text.c_str());
    return;
  case What::OverlayRefused: // upstream is asked to blend by itself: FormatsChanged comes too
    return warn(GST_RESOURCE_ERROR_SETTINGS, text, why, "; drm-stats counts refusals and copies");
  case What::ViewRefused:
    return warn(GST_RESOURCE_ERROR_SETTINGS, "The picture stays as it was. " + text, why);
  case What::TurnLeftOut:
    return warn(GST_RESOURCE_ERROR_SETTINGS,
                "The picture is shown without the turn that its stream asks for. " + text, why);
  }
} catch (...) {
  post_exception(element_, __func__);
}

} // namespace gstdrm
