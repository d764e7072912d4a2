// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc: opening and closing the device, and pushing frames.
#include "gstvadmabufsrc-source.hpp"

#include <algorithm>

#include <gst/drm/element/base_errors.hpp>
#include <gst/drm/gstdrmformatset.h>

#include "gstvadmabufallocator.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvafailures.hpp"
#include "gstvamachine.hpp"

#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

class ObjectLock {
public:
  explicit ObjectLock(gpointer object) : object_(object) { GST_OBJECT_LOCK(object_); }
  ObjectLock(const ObjectLock &) = delete;
  ObjectLock &operator=(const ObjectLock &) = delete;
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }

private:
  gpointer object_;
};

} // namespace

std::shared_ptr<const Device> Source::device()
{
  const ObjectLock lock(element_);
  return device_;
}

Properties Source::copy_properties()
{
  const ObjectLock lock(element_);
  return properties;
}

void Source::post(const char *what, const Error &error)
{
  GST_WARNING_OBJECT(element_, "%s: %s", what, error.message.c_str());
  Failure failure(what, error);
  post_failure(GST_ELEMENT(element_), failure.advise(advice_on_frame(error, device().get(), "")));
}

// GstBaseSrc posts an error of its own for each failure, which says no more than that there is one.
bool Source::replace(GstMessage *message)
{
  GstElement *element = GST_ELEMENT(element_);
  const auto base = base_error_in(element, message);
  if (!base) {
    if (is_own_error(element, message))
      failed_ = true;
    return false;
  }
  if (failed_)
    return true;
  Failure failure = base->flow != GST_FLOW_OK
                        ? stopped_stream(element, GST_BASE_SRC_PAD(element_), base->flow)
                        : Failure(base->on_bus, std::string(GST_OBJECT_NAME(element)) + " failed",
                                  Error{ErrorCode::Device, base->text, 0});
  post_failure(element, failure.add("base-class", base->debug));
  return true;
}

bool Source::start()
{
  failed_ = false;
  const auto wanted = copy_properties();
  auto device = context_.open(wanted.device);
  if (!device) {
    post_no_device(GST_ELEMENT(element_), device.error(), wanted.device);
    return false;
  }
  for (const auto &refused : device->capabilities.refused)
    GST_DEBUG_OBJECT(element_, "not offered: %s", refused.c_str());
  GST_INFO_OBJECT(element_, "%s (%s), %zu formats, video processing: %d",
                  device->display->node().c_str(), device->display->vendor().c_str(),
                  device->capabilities.formats.size(), device->capabilities.has_vpp);
  auto shared = std::make_shared<const Device>(std::move(device).value());
  allocator_ = GstPtr<GstDrmAllocator>::adopt(new_allocator(shared));
  auto worker = std::make_shared<SyncWorker>();
  stats.reset();
  timeline_ = {};
  sought_.reset();
  next_frame_ = 0;
  warned_of_device_ = false;
  learner_.reset();
  const ObjectLock lock(element_);
  device_ = std::move(shared);
  worker_ = std::move(worker);
  return true;
}

void Source::stop()
{
  prepared_ = {};
  frames_.reset();
  producer_.forget();
  made_for_ = {};
  allocator_ = {};
  // Both end without the lock: the worker's thread may sleep in the driver.
  std::shared_ptr<const Device> last;
  std::shared_ptr<SyncWorker> idle;
  const ObjectLock lock(element_);
  last = std::move(device_);
  idle = std::move(worker_);
}

void Source::set_cancelled(bool cancelled)
{
  std::shared_ptr<SyncWorker> worker;
  {
    const ObjectLock lock(element_);
    worker = worker_;
  }
  if (worker)
    worker->set_cancelled(cancelled);
}

GstCaps *Source::query_caps(GstCaps *filter)
{
  const auto device = this->device();
  const auto wanted = copy_properties();
  auto caps = device ? device_caps(device->capabilities, producer_formats(learner_.known(*device),
                                                                          wanted.implicit_modifier))
                     : idle_caps(wanted.device, GST_PAD_SRC, wanted.implicit_modifier);
  if (filter)
    caps.reset(made(gst_drm_caps_intersect(filter, caps.get())));
  return caps.release();
}

// The pattern and its colour may change between two frames.
bool Source::follow_pattern()
{
  {
    const ObjectLock lock(element_);
    if (properties.pattern == drawn_pattern_ && properties.argb == drawn_argb_)
      return true;
  }
  const auto wanted = copy_properties();
  auto frames = FrameSource::create(GST_ELEMENT(element_), *device(), info_, wanted.pattern,
                                    wanted.argb, stats, *worker_);
  if (!frames) {
    post("The pattern cannot be prepared", frames.error());
    return false;
  }
  frames_ = std::move(frames).value();
  drawn_pattern_ = wanted.pattern;
  drawn_argb_ = wanted.argb;
  return true;
}

GstFlowReturn Source::create(GstBuffer **buffer)
{
  const auto pool = GstPtr<GstBufferPool>::adopt(gst_base_src_get_buffer_pool(element_));
  if (!frames_ || !pool)
    return GST_FLOW_NOT_NEGOTIATED;
  if (timeline_.rate_n == 0 && next_frame_ > timeline_.first_frame)
    return GST_FLOW_EOS; // a still picture is one frame
  if (!follow_pattern())
    return GST_FLOW_ERROR;
  auto produced = frames_->produce(pool.get(), next_frame_, timeline_);
  if (!produced) {
    post("A frame could not be drawn", produced.error());
    return GST_FLOW_ERROR;
  }
  if (produced->flow != GST_FLOW_OK)
    return produced->flow;
  failed_ = false;
  GstBuffer *frame = produced->buffer.release();
  GST_BUFFER_PTS(frame) = timeline_.at(next_frame_);
  GST_BUFFER_DTS(frame) = GST_CLOCK_TIME_NONE;
  GST_BUFFER_DURATION(frame) = timeline_.rate_n > 0
                                   ? timeline_.at(next_frame_ + 1) - GST_BUFFER_PTS(frame)
                                   : GST_CLOCK_TIME_NONE;
  GST_BUFFER_OFFSET(frame) = next_frame_;
  GST_BUFFER_OFFSET_END(frame) = next_frame_ + 1;
  ++next_frame_;
  *buffer = frame;
  return GST_FLOW_OK;
}

// The frame that is shown at `position`, in a stream of this rate from its beginning on.
void Source::go_to(GstClockTime position, int rate_n, int rate_d)
{
  next_frame_ = rate_n > 0 ? gst_util_uint64_scale(position, static_cast<guint64>(rate_n),
                                                   GST_SECOND * static_cast<guint64>(rate_d))
                           : 0;
  timeline_ = {0, rate_n > 0 ? 0 : position, rate_n, rate_d};
  // The base class counts what it has pushed, and not where the stream is.
  if (element_->num_buffers >= 0)
    element_->num_buffers_left = static_cast<gint>(
        static_cast<guint64>(element_->num_buffers) -
        std::min<guint64>(next_frame_, static_cast<guint64>(element_->num_buffers)));
}

bool Source::seek(GstSegment *segment)
{
  if (segment->format != GST_FORMAT_TIME || segment->rate < 0)
    return false;
  segment->time = segment->start;
  if (!frames_) {
    sought_ = segment->position;
    return true;
  }
  frames_->drop_ahead();
  go_to(segment->position, timeline_.rate_n, timeline_.rate_d);
  return true;
}

bool Source::answer(GstQuery *query)
{
  if (context_.answer(query, device()))
    return true;
  const bool latency = GST_QUERY_TYPE(query) == GST_QUERY_LATENCY;
  if (!latency && GST_QUERY_TYPE(query) != GST_QUERY_DURATION)
    return false;
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_SRC_PAD(element_)));
  gint rate_n = 0;
  gint rate_d = 1;
  if (!caps ||
      !gst_structure_get_fraction(gst_caps_get_structure(caps.get(), 0), "framerate", &rate_n,
                                  &rate_d) ||
      rate_n <= 0)
    return false;
  const auto frames_last = [rate_n, rate_d](guint64 frames) {
    return gst_util_uint64_scale(frames, GST_SECOND * static_cast<guint64>(rate_d),
                                 static_cast<guint64>(rate_n));
  };
  if (latency) {
    gst_query_set_latency(query, gst_base_src_is_live(element_), frames_last(1),
                          GST_CLOCK_TIME_NONE);
    return true;
  }
  GstFormat format = GST_FORMAT_UNDEFINED;
  gint buffers = -1;
  gst_query_parse_duration(query, &format, nullptr);
  g_object_get(element_, "num-buffers", &buffers, nullptr);
  if (format != GST_FORMAT_TIME || buffers < 0)
    return false;
  gst_query_set_duration(query, format,
                         static_cast<gint64>(frames_last(static_cast<guint64>(buffers))));
  return true;
}

GstStructure *Source::stats_structure()
{
  const auto device = this->device();
  return display_stats(stats, device ? device->display.get() : nullptr);
}

} // namespace gstdrm::va
