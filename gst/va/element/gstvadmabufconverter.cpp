// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufconvert: opening and closing the device, queries, events, frames.
#include "gstvadmabufconverter.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>

#include "gstvaconvertcaps.hpp"
#include "gstvadmabufallocator.hpp"
#include "gstvadmabufcaps.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvafailures.hpp"
#include "gstvamachine.hpp"

#define GST_CAT_DEFAULT gst_va_dmabuf_convert_debug

namespace gstdrm::va {
namespace {

// Frames that are lost where memory or descriptors are short, without an import between them, until
// that is an error.
constexpr unsigned kMostLost = 10;

// Whether a CAPS event could have them.
bool can_be_set(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         gst_drm_video_info_from_caps(&info, caps);
}

// The pictures that leave are upright: nobody downstream turns them again. Takes the event.
GstEvent *without_orientation(GstEvent *event)
{
  GstTagList *tags = nullptr;
  gst_event_parse_tag(event, &tags);
  if (gst_tag_list_get_tag_size(tags, GST_TAG_IMAGE_ORIENTATION) == 0)
    return event;
  GstTagList *rest = gst_tag_list_copy(tags);
  gst_tag_list_remove_tag(rest, GST_TAG_IMAGE_ORIENTATION);
  GstEvent *passed = gst_event_new_tag(rest);
  gst_event_set_seqnum(passed, gst_event_get_seqnum(event));
  gst_event_unref(event);
  return passed;
}

} // namespace

DmabufConverter::DmabufConverter(GstBaseTransform *element, GstBaseTransformClass *klass)
    : element_(element), base_(klass), context_(GST_ELEMENT(element), gst_va_dmabuf_convert_debug),
      producer_(GST_ELEMENT(element), gst_va_dmabuf_convert_debug),
      refusals_(GST_ELEMENT(element), GST_BASE_TRANSFORM_SINK_PAD(element), GST_CAT_DEFAULT,
                {"The VA-API driver",
                 "Put an element between that converts, such as dmabufdownload, or choose another "
                 "device."}),
      frames_(GST_ELEMENT(element), stats_)
{
  failure_.watch(element->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
}

ConvertSettings DmabufConverter::settings() const
{
  const std::lock_guard lock(lock_);
  return settings_;
}

void DmabufConverter::change_settings(const std::function<void(ConvertSettings &)> &change)
{
  const std::lock_guard lock(lock_);
  change(settings_);
}

std::shared_ptr<SyncWorker> DmabufConverter::worker() const
{
  const std::lock_guard lock(lock_);
  return worker_;
}

std::shared_ptr<const Device> DmabufConverter::device() const
{
  const std::lock_guard lock(lock_);
  return device_;
}

GstStructure *DmabufConverter::stats_structure() const
{
  const auto device = this->device();
  return display_stats(stats_, device ? device->display.get() : nullptr);
}

void DmabufConverter::set_flushing(bool flushing)
{
  flushing ? interrupt_.raise() : interrupt_.clear();
  pool_.set_flushing(flushing);
  const std::lock_guard lock(lock_);
  if (worker_)
    worker_->set_cancelled(flushing);
}

// --- start and stop ------------------------------------------------------------------------------

bool DmabufConverter::start()
{
  const auto wanted = settings();
  auto device = context_.open(wanted.device);
  if (device && !device->capabilities.has_vpp)
    device = Error{ErrorCode::Device, device->display->node() + " (" + device->display->vendor() +
                                          ") has no video processing"};
  if (!device) {
    post_no_device(GST_ELEMENT(element_), device.error(), wanted.device);
    return false;
  }
  GST_INFO_OBJECT(element_, "%s (%s), %zu formats", device->display->node().c_str(),
                  device->display->vendor().c_str(), device->capabilities.formats.size());
  auto shared = std::make_shared<const Device>(std::move(device).value());
  allocator_ = GstPtr<GstDrmAllocator>::adopt(new_allocator(shared));
  auto worker = std::make_shared<SyncWorker>();
  stats_.reset();
  failure_.reset();
  refusals_.restart();
  learner_.reset();
  warned_of_device_ = false;
  warned_of_colours_ = false;
  tagged_ = GST_VIDEO_ORIENTATION_IDENTITY;
  upstream_ = {};
  lost_ = 0;
  imports_ = 0;
  {
    const std::lock_guard lock(lock_);
    device_ = std::move(shared);
    refused_ = {};
    worker_ = std::move(worker);
  }
  set_flushing(false);
  return true;
}

// An ALLOCATION query may come at any time, and has GstBaseTransform negotiate: under the lock of
// the sink pad's stream, as frames do.
void DmabufConverter::stop()
{
  std::shared_ptr<const Device> last;
  std::deque<Answered> answers;
  {
    std::shared_ptr<SyncWorker> idle; // ends without the locks: its thread may sleep in the driver
    const StreamLock stream(element_->sinkpad);
    const std::lock_guard lock(lock_);
    last = std::move(device_);
    idle = std::move(worker_);
    std::swap(answers, answers_);
  }
  const StreamLock stream(element_->sinkpad);
  frames_.end(nullptr);
  pool_.drop();
  producer_.forget();
  allocator_.reset();
}

// --- queries -------------------------------------------------------------------------------------

bool DmabufConverter::query(GstPadDirection direction, GstQuery *query)
{
  if (context_.answer(query, device()))
    return true;
  if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
    answer_caps(direction, query);
    return true;
  }
  return query_transform(element_, base_, direction, query, can_be_set);
}

void DmabufConverter::answer_caps(GstPadDirection direction, GstQuery *query)
{
  const bool in = direction == GST_PAD_SINK;
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  // without the filter, which elements on the way would intersect string by string
  const auto peer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(in ? element_->srcpad : element_->sinkpad, nullptr));
  const auto device = this->device();
  if (!device) { // what other devices can do may change at any time
    gst_query_set_caps_result(query, make_answer(direction, peer.get(), filter).get());
    return;
  }
  Answered asked{direction,
                 peer,
                 GstPtr<GstCaps>::share(filter),
                 learner_.known(*device),
                 {},
                 deinterlacing().has_value(),
                 {}};
  const auto is_same = [&asked](const Answered &one) {
    return one.direction == asked.direction && one.deinterlaces == asked.deinterlaces &&
           !one.filter == !asked.filter && caps_are_same(one.peer.get(), asked.peer.get()) &&
           (!one.filter || caps_are_same(one.filter.get(), asked.filter.get())) &&
           one.known == asked.known && one.refused == asked.refused;
  };
  {
    const std::lock_guard lock(lock_);
    asked.refused = refused_.pairs;
    const auto found = std::find_if(answers_.begin(), answers_.end(), is_same);
    if (found != answers_.end())
      asked.answer = found->answer;
  }
  if (!asked.answer) {
    asked.answer = make_answer(direction, peer.get(), filter);
    Answered old; // freed without the lock
    const std::lock_guard lock(lock_);
    if (answers_.size() >= kMostAnswers) {
      old = std::move(answers_.front());
      answers_.pop_front();
    }
    answers_.push_back(asked);
  }
  gst_query_set_caps_result(query, asked.answer.get());
}

GstPtr<GstCaps> DmabufConverter::make_answer(GstPadDirection direction, GstCaps *peer,
                                             const GstCaps *filter)
{
  const bool in = direction == GST_PAD_SINK;
  const auto made =
      GstPtr<GstCaps>::adopt(transform_caps(in ? GST_PAD_SRC : GST_PAD_SINK, peer, nullptr));
  const auto offer = GstPtr<GstCaps>::adopt(
      gst_pad_get_pad_template_caps(in ? element_->sinkpad : element_->srcpad));
  return offered_caps(direction, peer, made.get(), offer.get(), filter);
}

// What is drawn by the open device; before there is one, by the node that the element is set to.
GstPtr<GstCaps> DmabufConverter::whole_caps() const
{
  const auto device = this->device();
  const ConvertSettings wanted = settings();
  return device ? device_caps(device->capabilities,
                              producer_formats(learner_.known(*device), wanted.implicit_modifier))
                : idle_caps(wanted.device, GST_PAD_SRC, wanted.implicit_modifier);
}

GstPtr<GstCaps> DmabufConverter::input_caps() const
{
  const auto device = this->device();
  const ConvertSettings wanted = settings();
  if (!device)
    return idle_caps(wanted.device, GST_PAD_SINK, wanted.implicit_modifier);
  const auto known = readable(device->capabilities, learner_.known(*device));
  const std::lock_guard lock(lock_);
  const auto offered =
      with_implicit(FormatSet::subtract(known, refused_.pairs), wanted.implicit_modifier);
  return device_caps(device->capabilities, FormatSet::subtract(offered, refused_.pairs));
}

// A driver that takes a list of modifiers and shows none may make pairs that nobody has tried yet:
// whatever downstream lists, of the formats that it makes.
GstPtr<GstCaps> DmabufConverter::possible_caps(const GstCaps *downstream) const
{
  const auto device = this->device();
  auto caps = whole_caps();
  if (!device || !device->capabilities.takes_modifiers || device->capabilities.lists_modifiers)
    return caps;
  if (downstream) {
    const auto known = learner_.known(*device);
    const auto untried = untried_pairs(downstream, device->capabilities, known, {});
    return device_caps(device->capabilities, producer_formats(FormatSet::unite(known, untried),
                                                              settings().implicit_modifier));
  }
  for (guint i = 0; i < gst_caps_get_size(caps.get()); ++i)
    gst_structure_remove_field(gst_caps_get_structure(caps.get(), i), "drm-format");
  return caps;
}

GstCaps *DmabufConverter::transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  auto other = direction == GST_PAD_SINK
                   ? convertible_caps(caps, input_caps(), possible_caps(nullptr),
                                      deinterlacing() ? Interlacing::Removed : Interlacing::Kept)
                   : convertible_caps(caps, possible_caps(caps), input_caps(),
                                      deinterlacing() ? Interlacing::Added : Interlacing::Kept);
  GST_LOG_OBJECT(element_, "%s %" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT,
                 direction == GST_PAD_SINK ? "sink" : "src", caps, other.get());
  return filter ? made(gst_drm_caps_intersect(filter, other.get())) : other.release();
}

// --- events --------------------------------------------------------------------------------------

Mismatch DmabufConverter::mismatch(const GstCaps *in_caps) const
{
  const auto sendable =
      convertible_caps(in_caps, input_caps(), whole_caps(),
                       deinterlacing() ? Interlacing::Removed : Interlacing::Kept);
  return describe_mismatch(
      {nothing_in_common(GST_ELEMENT(element_)),
       {origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_)), "has", in_caps, sendable.get()},
       restrictions_after(GST_BASE_TRANSFORM_SRC_PAD(element_))},
      [&](const GstCaps *sent, const GstCaps *) -> std::string {
        GstDrmVideoInfo info;
        if (gst_caps_is_empty(sendable.get()) && sent &&
            gst_drm_video_info_from_caps(&info, sent) && info.drm_modifier == kModImplicit)
          return advise_implicit(settings().implicit_modifier, true);
        return "Let more formats through the capsfilters, or choose another device.";
      });
}

bool DmabufConverter::sink_event(GstEvent *event)
{
  switch (GST_EVENT_TYPE(event)) {
  case GST_EVENT_FLUSH_START:
    set_flushing(true);
    break;
  case GST_EVENT_FLUSH_STOP:
    set_flushing(false);
    frames_.forget_before();
    failure_.reset(); // the application tries again
    break;
  case GST_EVENT_TAG: {
    GstTagList *tags = nullptr;
    gst_event_parse_tag(event, &tags);
    GstVideoOrientationMethod tagged = GST_VIDEO_ORIENTATION_IDENTITY;
    if (gst_video_orientation_from_tag(tags, &tagged) && tagged != tagged_) {
      tagged_ = tagged;
      if (settings().direction == GST_VIDEO_ORIENTATION_AUTO)
        gst_base_transform_reconfigure_src(element_);
    }
    if (settings().direction == GST_VIDEO_ORIENTATION_AUTO)
      event = without_orientation(event);
    break;
  }
  default:
    break;
  }
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return base_->sink_event(element_, event) != FALSE;
  reconsider_pairs(event);
  upstream_ = {.asks_next = true}; // an ALLOCATION query follows the caps
  const bool taken = failure_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return base_->sink_event(element_, passed) != FALSE; },
      [this](const GstCaps *caps) { return mismatch(caps); });
  upstream_.asks_next = false;
  return taken;
}

// --- frames --------------------------------------------------------------------------------------

GstFlowReturn DmabufConverter::fail(const Error &error)
{
  const std::string sender = peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot convert a frame of " + sender,
                  error);
  failure.advise(advice_on_frame(error, device().get(), sender));
  failure_.post(GST_ELEMENT(element_), failure.add("sender", sender));
  return GST_FLOW_ERROR;
}

// The driver does not import what its probe or upstream let expect. The pair leaves the offer, the
// frame is lost, and upstream chooses again; where it has no other, the stream ends.
GstFlowReturn DmabufConverter::refuse_pair(const Error &error)
{
  const Format pair{stream_.in.drm_fourcc, stream_.in.drm_modifier};
  {
    const std::lock_guard lock(lock_);
    refused_ = {GST_VIDEO_INFO_WIDTH(&stream_.in.vinfo), GST_VIDEO_INFO_HEIGHT(&stream_.in.vinfo),
                FormatSet::unite(refused_.pairs, FormatSet::from_pairs({pair}))};
  }
  const GstFlowReturn flow = refusals_.refuse(
      std::string(GST_OBJECT_NAME(element_)) + " cannot convert a frame of " +
      peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_)) + ". " + error.message + ".");
  if (flow != GST_FLOW_OK)
    return flow;
  refusals_.request_choice();
  return GST_BASE_TRANSFORM_FLOW_DROPPED;
}

// What a driver imports depends on the frame's size.
void DmabufConverter::reconsider_pairs(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  gint width = 0;
  gint height = 0;
  const std::lock_guard lock(lock_);
  if (gst_structure_get_int(structure, "width", &width) &&
      gst_structure_get_int(structure, "height", &height) &&
      (width != refused_.width || height != refused_.height))
    refused_ = {};
}

// After a RECONFIGURE the caps are chosen again here, without an event that sink_event() would see.
GstFlowReturn DmabufConverter::submit_input_buffer(bool discont, GstBuffer *buffer)
{
  if (refusals_.refuses()) {
    gst_buffer_unref(buffer);
    return refusals_.drop();
  }
  const GstFlowReturn flow = base_->submit_input_buffer(element_, discont, buffer);
  if (flow != GST_FLOW_NOT_NEGOTIATED || is_flushing(GST_ELEMENT(element_)) || !failure_.claim())
    return flow;
  const auto caps =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)));
  if (caps)
    post_mismatch(GST_ELEMENT(element_), mismatch(caps.get()));
  return flow;
}

GstFlowReturn DmabufConverter::prepare_output(GstBuffer *in, GstBuffer **out)
{
  if (gst_base_transform_is_passthrough(element_)) {
    stats_.frames.fetch_add(1, std::memory_order_relaxed);
    *out = in;
    return GST_FLOW_OK;
  }
  GstPtr<GstBuffer> buffer;
  const GstFlowReturn flow = pool_.acquire(buffer);
  if (flow != GST_FLOW_OK)
    return flow;
  *out = buffer.release();
  GST_BASE_TRANSFORM_GET_CLASS(element_)->copy_metadata(element_, in, *out);
  GST_BUFFER_FLAG_UNSET(*out, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF |
                                  GST_VIDEO_BUFFER_FLAG_RFF | GST_VIDEO_BUFFER_FLAG_ONEFIELD);
  return flow;
}

GstFlowReturn DmabufConverter::transform(GstBuffer *in, GstBuffer *out)
{
  const auto worker = this->worker();
  const auto done = frames_.convert(in, out, settings().zero_copy, *worker, interrupt_);
  if (!done && done.error().code == ErrorCode::Allocation && ++lost_ < kMostLost) {
    GST_WARNING_OBJECT(element_, "a frame is lost: %s", done.error().message.c_str());
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  if (!done)
    return done.error().code == ErrorCode::Import ? refuse_pair(done.error()) : fail(done.error());
  if (!*done)
    return GST_FLOW_FLUSHING;
  // A buffer that was imported before says nothing of the next one.
  if (const auto imports = stats_.imports.load(); imports != std::exchange(imports_, imports))
    lost_ = 0;
  failure_.succeed();
  return GST_FLOW_OK;
}

} // namespace gstdrm::va
