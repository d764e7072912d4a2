// SPDX-License-Identifier: LGPL-2.1-or-later
// KmsSink between NULL and PLAYING: states, caps, statistics and snapshots.
#include "gstkmssink.hpp"

#include <mutex>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>

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

} // namespace

KmsSink::KmsSink(GstVideoSink *element)
    : element_(element), reports_(*this, GST_ELEMENT(element)), fences_(GST_ELEMENT(element)),
      negotiation_(element, display_), frames_(GST_ELEMENT(element), display_, fences_, stats_)
{
}

bool KmsSink::open()
{
  if (Result<void> opened = display_.open(reports_); !opened) {
    post_failure(GST_ELEMENT(element_),
                 Failure({}, opened.error()).add("device", display_.settings().device.path));
    return false;
  }
  GST_INFO_OBJECT(element_, "opened %s", display_.get()->describe().c_str());
  return true;
}

void KmsSink::warn_of_cursor(const Result<void> &set)
{
  if (!set)
    GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS, ("%s", set.error().message.c_str()),
                        ("errno %d", set.error().sys_errno));
}

void KmsSink::set_cursor_image(GstSample *image)
{
  warn_of_cursor(display_.set_cursor_image(image));
}

bool KmsSink::start()
{
  stats_.reset();
  negotiation_.restart();
  display_.set_tag_direction(GST_VIDEO_ORIENTATION_IDENTITY);
  reports_.restart();
  frames_.restart();
  prerolled_ = nullptr;
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
  const std::shared_ptr<kms::Display> display = display_.get();
  display->set_fence_rules(fences_.rules());
  Result<void> started = display->start();
  if (started)
    warn_of_cursor(display_.restore_cursor());
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
  if (!display_.open_another(reports_))
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
    GST_ELEMENT_WARNING(element_, RESOURCE, FAILED, ("%s", put_back.error().message.c_str()),
                        ("errno %d", put_back.error().sys_errno));
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
  reports_.set_flushing(flushing);
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
  const MessagesKept kept(*this); // the base class holds the preroll lock around each CAPS event
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
  display_.set_tag_direction(GST_VIDEO_ORIENTATION_IDENTITY); // its own tag, if any, follows
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
  if (const std::shared_ptr<kms::Display> display = display_.get()) {
    counters = display->counters();
    overlays = display->overlay_counters();
  }
  gst_structure_set(
      stats, "waits", G_TYPE_UINT64, stats_.waits.load() + counters.waits, "shown", G_TYPE_UINT64,
      counters.shown, "dropped", G_TYPE_UINT64,
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
    GST_ELEMENT_WARNING(element_, RESOURCE, READ,
                        ("No snapshot: %s", snapshot.error().message.c_str()),
                        ("errno %d", snapshot.error().sys_errno));
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

} // namespace gstdrm
