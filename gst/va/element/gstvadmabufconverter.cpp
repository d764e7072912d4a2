// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufconverter.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <gst/drm/core/reasons.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>
#include <gst/drm/gstdrmdevicequery.h>

#include "gstvadmabufallocator.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvaelement.hpp"
#include "gstvamachine.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gst_va_dmabuf_convert_debug

namespace gstdrm::va {
namespace {

// Number of frames in a row that may be dropped because memory or descriptors are short; then the
// stream ends with an error.
constexpr unsigned kMostLost = 10;

// Removes the orientation from a tag event, so that elements downstream do not turn the pictures
// again. `event` is (transfer full).
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

constexpr const char *kPaddedRows =
    "downstream reads no GstVideoMeta, and the driver's rows are padded";

// Frames that are read while upstream makes the next one: kMostHeld of ConvertFrames, and the
// current one.
constexpr guint kBuffersHeld = 3;

Result<GstDrmVideoInfo> info_of(GstCaps *caps, ImplicitModifier implicit_modifier)
{
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    return take_error(error, ErrorCode::Caps);
  resolve_implicit(info, implicit_modifier);
  return info;
}

std::optional<Orientation> orientation_of(GstVideoOrientationMethod method)
{
  switch (method) {
  case GST_VIDEO_ORIENTATION_IDENTITY:
    return Orientation::Identity;
  case GST_VIDEO_ORIENTATION_90R:
    return Orientation::Right90;
  case GST_VIDEO_ORIENTATION_180:
    return Orientation::Half;
  case GST_VIDEO_ORIENTATION_90L:
    return Orientation::Left90;
  case GST_VIDEO_ORIENTATION_HORIZ:
    return Orientation::FlipHorizontal;
  case GST_VIDEO_ORIENTATION_VERT:
    return Orientation::FlipVertical;
  default:
    return std::nullopt;
  }
}

// Adds the failed pair to `out`, or all pairs of its fourcc if its colours failed.
void take_out(const FormatSet &formats, const Format &failed, ErrorCode code, FormatSet &out)
{
  for (const Format &pair : formats.pairs())
    if (pair == failed || (code == ErrorCode::Format && pair.fourcc == failed.fourcc))
      out.add(pair);
}

// GStreamer 1.22 scales a region of interest and leaves its parameters, such as a detector's
// confidence, behind (gstvideometa.c, gst_video_region_of_interest_meta_transform()).
void copy_parameters(const GstMeta *meta, GstBuffer *out)
{
  // GstMeta is the first member
  const auto *from =
      static_cast<const GstVideoRegionOfInterestMeta *>(static_cast<const void *>(meta));
  gpointer state = nullptr;
  GstVideoRegionOfInterestMeta *last = nullptr;
  while (GstMeta *other = gst_buffer_iterate_meta_filtered(
             out, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto *region = static_cast<GstVideoRegionOfInterestMeta *>(static_cast<void *>(other));
    if (region->id == from->id && region->roi_type == from->roi_type && !region->params)
      last = region;
  }
  for (const GList *at = last ? from->params : nullptr; at; at = at->next)
    gst_video_region_of_interest_meta_add_param(
        last, gst_structure_copy(static_cast<const GstStructure *>(at->data)));
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
  failure_.watch_caps(element->sinkpad);
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
  plain_pool_.set_flushing(flushing);
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
  stats_.begin(GST_ELEMENT(element_));
  failure_.reset();
  refusals_.restart();
  pairs_.reset();
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

// GstBaseTransform negotiates when an ALLOCATION query comes, at any time, under the stream lock of
// the sink pad: so that lock is taken here.
void DmabufConverter::stop()
{
  std::shared_ptr<const Device> last;
  std::deque<Answered> answers;
  {
    // Declared before the locks, so destroyed without them: its thread may sleep in the driver.
    std::shared_ptr<SyncWorker> idle;
    const StreamLock stream(element_->sinkpad);
    const std::lock_guard lock(lock_);
    last = std::move(device_);
    idle = std::move(worker_);
    std::swap(answers, answers_);
  }
  const StreamLock stream(element_->sinkpad);
  frames_.end(nullptr);
  drop_pools();
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
  const bool answered = query_transform(element_, base_, direction, query);
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN && direction == GST_PAD_SINK)
    forget_imports(true); // upstream wants its memory back
  return answered;
}

void DmabufConverter::answer_caps(GstPadDirection direction, GstQuery *query)
{
  const bool in = direction == GST_PAD_SINK;
  GstCaps *filter = nullptr;
  gst_query_parse_caps(query, &filter);
  // no filter: the elements on the way would compare it with their caps string by string
  const auto peer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(in ? element_->srcpad : element_->sinkpad, nullptr));
  const auto device = this->device();
  if (!device) { // not remembered: the property device may change
    gst_query_set_caps_result(query, make_answer(direction, peer.get(), filter).get());
    return;
  }
  Answered asked{direction,
                 peer,
                 GstPtr<GstCaps>::share(filter),
                 pairs_.known(*device),
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
    Answered old; // declared before the lock, so freed without it
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

// The caps of the open device, or those of the property device before it is open.
GstPtr<GstCaps> DmabufConverter::whole_caps() const
{
  const auto device = this->device();
  const ConvertSettings wanted = settings();
  return device ? device_caps(device->capabilities,
                              producer_formats(pairs_.known(*device), wanted.implicit_modifier))
                : idle_caps(wanted.device, GST_PAD_SRC, wanted.implicit_modifier);
}

GstPtr<GstCaps> DmabufConverter::input_caps() const
{
  const auto device = this->device();
  const ConvertSettings wanted = settings();
  if (!device)
    return idle_caps(wanted.device, GST_PAD_SINK, wanted.implicit_modifier);
  const auto known = readable(device->capabilities, pairs_.known(*device));
  const std::lock_guard lock(lock_);
  const auto offered =
      with_implicit(FormatSet::subtract(known, refused_.pairs), wanted.implicit_modifier);
  return device_caps(device->capabilities, FormatSet::subtract(offered, refused_.pairs));
}

// A driver that takes a list of modifiers but lists none may make untried pairs: any modifier that
// downstream lists for a fourcc that the driver makes.
GstPtr<GstCaps> DmabufConverter::possible_caps(const GstCaps *downstream) const
{
  const auto device = this->device();
  auto caps = whole_caps();
  if (!device || !device->capabilities.takes_modifiers || device->capabilities.lists_modifiers)
    return caps;
  if (downstream) {
    const auto known = pairs_.known(*device);
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

// --- negotiation ---------------------------------------------------------------------------------

std::optional<Orientation> DmabufConverter::orientation() const
{
  const auto wanted = settings().direction;
  return orientation_of(wanted == GST_VIDEO_ORIENTATION_AUTO ? tagged_ : wanted);
}

// The algorithm of the property; for `auto` the best of the driver's that need only one frame.
// `auto` never chooses weaving, which leaves combs on moving objects, nor an algorithm that reads
// earlier frames, because a producer with few buffers would wait forever for the held frames.
std::optional<DeinterlaceMethod> DmabufConverter::deinterlacing() const
{
  const auto wanted = settings().deinterlace;
  const auto device = this->device();
  const auto *node = device ? nullptr : find_machine_node(settings().device);
  const Capabilities *capabilities = device ? &device->capabilities
                                     : node ? &node->capabilities
                                            : nullptr;
  if (!capabilities || wanted == Deinterlace::Off)
    return std::nullopt;
  const auto algorithm =
      static_cast<Deinterlacing>(static_cast<int>(wanted) - static_cast<int>(Deinterlace::Weave));
  const auto is_meant = [&](const DeinterlaceMethod &method) {
    return wanted == Deinterlace::Auto
               ? method.before == 0 && method.algorithm != Deinterlacing::Weave
               : method.algorithm == algorithm;
  };
  const auto &list = capabilities->deinterlacing; // best last
  const auto found = std::find_if(list.rbegin(), list.rend(), is_meant);
  return found != list.rend() ? std::optional(*found) : std::nullopt;
}

// kmsdmabufsink accepts all caps of its template, to post itself what is wrong with others: its
// answer to a caps query is what it takes.
bool DmabufConverter::peer_lists(const GstCaps *caps) const
{
  const auto peer = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), nullptr));
  const auto common =
      GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(peer.get(), const_cast<GstCaps *>(caps))));
  return !gst_caps_is_empty(common.get());
}

// Returns true if frames pass unchanged: downstream takes them, the source pad's template has them
// (a device may only read some formats), and no property asks to turn or deinterlace them.
bool DmabufConverter::passes(GstCaps *in_caps) const
{
  const auto wanted = settings().deinterlace;
  const bool asked = wanted != Deinterlace::Off && wanted != Deinterlace::Auto && deinterlacing();
  const auto possible =
      GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(GST_BASE_TRANSFORM_SRC_PAD(element_)));
  const auto leaves = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(in_caps, possible.get())));
  return !gst_caps_is_empty(leaves.get()) && orientation() == Orientation::Identity &&
         !(asked && is_interlaced(in_caps)) &&
         gst_pad_peer_query_accept_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), in_caps) &&
         peer_lists(in_caps) &&
         !(names_dma_drm(in_caps) &&
           (leads_through_filter_without_dma_drm(GST_BASE_TRANSFORM_SRC_PAD(element_)) ||
            leads_to_refused_crop(GST_BASE_TRANSFORM_SRC_PAD(element_))));
}

Result<ConvertStream> DmabufConverter::stream_of(GstCaps *in_caps, GstCaps *out_caps,
                                                 ColourPolicy colours) const
{
  const ImplicitModifier implicit_modifier = settings().implicit_modifier;
  const auto in = info_of(in_caps, implicit_modifier);
  const auto out = info_of(out_caps, implicit_modifier);
  if (!in || !out)
    return in ? out.error() : in.error();
  const auto turned = orientation();
  if (!turned)
    return Error{ErrorCode::Unsupported,
                 "Pictures are not flipped at a diagonal, and not turned freely. Choose another "
                 "video-direction"};
  ConvertStream stream;
  stream.in = *in;
  stream.out = *out;
  stream.takes_release_fences = upstream_.takes_release_fences;
  stream.conversion.orientation = *turned;
  const PictureSize frame = picture_of(out->vinfo, Orientation::Identity);
  const Rect area = picture_area(picture_of(in->vinfo, *turned), frame, settings().add_borders);
  stream.conversion.target_fourcc = out->drm_fourcc;
  stream.conversion.target = {0, 0, static_cast<std::uint32_t>(frame.width),
                              static_cast<std::uint32_t>(frame.height)};
  stream.conversion.area = area;
  stream.conversion.borders = area.width != static_cast<std::uint32_t>(frame.width) ||
                              area.height != static_cast<std::uint32_t>(frame.height);
  if (is_interlaced(in_caps))
    stream.conversion.deinterlacing = deinterlacing();
  const auto device = this->device();
  auto drawn =
      read_colours(*in, *out, device ? device->capabilities.colours : ColourRules(), colours);
  if (!drawn)
    return drawn.error();
  stream.conversion.colours = drawn->told;
  stream.colours_off = std::move(drawn->off);
  return stream;
}

// Draws one frame with these caps.
Result<void> DmabufConverter::try_caps(const Device &device, GstCaps *in_caps, GstCaps *out_caps,
                                       ColourPolicy colours)
{
  const auto stream = stream_of(in_caps, out_caps, colours);
  if (!stream)
    return stream.error();
  if (auto begun = frames_.begin(device, in_caps, *stream, *worker()); !begun)
    return begun;
  auto drawn = frames_.try_draw(device);
  if (!drawn)
    return Error{ErrorCode::Allocation, drawn.error().message, drawn.error().sys_errno};
  return {};
}

// Chooses the format and modifier at this size. Empty if downstream takes none that the device
// draws.
GstPtr<GstCaps> DmabufConverter::agree_on_size(const Device &device, GstCaps *in_caps,
                                               const PictureSize &size, ColourPolicy colours,
                                               Error &refusals)
{
  const ImplicitModifier implicit_modifier = settings().implicit_modifier;
  const auto in = info_of(in_caps, implicit_modifier);
  // v4l2sink of GStreamer before 1.24 lists RGB and refuses the colorimetry that it has.
  const bool may_keep = gstreamer_has_dma_drm() ||
                        !leads_to_import_without_meta(GST_BASE_TRANSFORM_SRC_PAD(element_));
  FormatSet not_drawn;
  while (in) {
    pairs_.learn(GST_ELEMENT(element_), GST_BASE_TRANSFORM_SRC_PAD(element_), device,
                 {size.width, size.height}, not_drawn);
    const auto formats =
        producer_formats(FormatSet::subtract(pairs_.known(device), not_drawn), implicit_modifier);
    if (formats.empty())
      return {};
    const auto own = with_size(output_caps(in_caps, device.capabilities, formats), size);
    auto agreement =
        producer_.agree(GST_BASE_TRANSFORM_SRC_PAD(element_), own.get(), formats, allocator_.get(),
                        implicit_modifier, may_keep ? in->drm_fourcc : 0);
    if (agreement.outcome == Producer::Outcome::NotAllocated)
      add_reason(refusals, agreement.refusals);
    if (agreement.outcome != Producer::Outcome::Agreed)
      return {};
    auto complete = with_colours(agreement.caps.get(), *in, device.capabilities.colours);
    if (!gst_pad_peer_query_accept_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), complete.get()))
      complete = std::move(agreement.caps);
    const auto tried = try_caps(device, in_caps, complete.get(), colours);
    if (tried)
      return complete;
    GST_DEBUG_OBJECT(element_, "%" GST_PTR_FORMAT " is not drawn: %s", complete.get(),
                     tried.error().message.c_str());
    add_reason(refusals, tried.error());
    const auto out = info_of(complete.get(), implicit_modifier);
    producer_.forget();
    const Format pair = out ? Format{out->drm_fourcc, out->drm_modifier} : Format{};
    // no other format can help
    if (tried.error().code == ErrorCode::Unsupported || !formats.contains(pair))
      return {};
    take_out(formats, pair, tried.error().code, not_drawn);
  }
  return {};
}

GstPtr<GstCaps> DmabufConverter::agree(const Device &device, GstCaps *in_caps)
{
  const ImplicitModifier implicit_modifier = settings().implicit_modifier;
  const auto in = info_of(in_caps, implicit_modifier);
  const auto turned = orientation();
  Error refusals;
  if (in) {
    const PictureSize picture = picture_of(in->vinfo, turned.value_or(Orientation::Identity));
    pairs_.learn(GST_ELEMENT(element_), GST_BASE_TRANSFORM_SRC_PAD(element_), device,
                 {picture.width, picture.height}, {});
    const auto own = output_caps(in_caps, device.capabilities,
                                 producer_formats(pairs_.known(device), implicit_modifier));
    const auto peer = GstPtr<GstCaps>::adopt(
        gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), nullptr));
    const auto common = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(own.get(), peer.get())));
    const auto sizes = sizes_for(picture, common.get());
    // Try all formats with exact colours before any format without.
    for (const ColourPolicy colours : {ColourPolicy::Exact, ColourPolicy::Any}) {
      if (colours != ColourPolicy::Exact && colours != settings().colours)
        break;
      refusals = {ErrorCode::Allocation, {}, 0};
      for (const PictureSize &size : sizes)
        if (auto caps = agree_on_size(device, in_caps, size, colours, refusals))
          return caps;
    }
  }
  if (is_flushing(GST_ELEMENT(element_)) || !failure_.claim())
    return {};
  if (refusals.message.empty())
    post_mismatch(GST_ELEMENT(element_), mismatch(in_caps));
  else
    post_not_allocated(GST_ELEMENT(element_), *device.display, refusals, in_caps);
  return {};
}

GstPtr<GstCaps> DmabufConverter::fixate_caps(GstPadDirection direction, GstCaps *in_caps,
                                             GstCaps *others)
{
  auto offered = GstPtr<GstCaps>::adopt(others);
  if (direction == GST_PAD_SRC)
    return GstPtr<GstCaps>::adopt(gst_caps_fixate(offered.release()));
  const auto device = this->device();
  auto chosen = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  if (!device || !gst_caps_is_fixed(in_caps))
    return chosen;
  if (passes(in_caps))
    chosen = GstPtr<GstCaps>::share(in_caps);
  else if (auto caps = agree(*device, in_caps))
    chosen = std::move(caps);
  // GstBaseTransform does not call set_caps() for unchanged caps, but properties may have changed
  // the conversion.
  const auto is_current = [](GstPad *pad, const GstCaps *caps) {
    const auto current = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad));
    return current && gst_caps_is_equal(current.get(), caps);
  };
  if (is_current(element_->sinkpad, in_caps) && is_current(element_->srcpad, chosen.get()) &&
      !set_caps(in_caps, chosen.get()))
    chosen.reset(gst_caps_new_empty());
  return chosen;
}

bool DmabufConverter::set_caps(GstCaps *in_caps, GstCaps *out_caps)
{
  const auto device = this->device();
  if (!device)
    return false;
  const bool unchanged =
      orientation() == Orientation::Identity && gst_caps_is_equal(in_caps, out_caps);
  gst_base_transform_set_passthrough(element_, unchanged);
  drop_pools();
  if (unchanged) {
    frames_.end(worker().get());
    refusals_.begin("");
    return true;
  }
  const auto stream = stream_of(in_caps, out_caps, settings().colours);
  const auto begun =
      stream ? frames_.begin(*device, in_caps, *stream, *worker()) : Result<void>(stream.error());
  if (!begun) {
    failure_.post(GST_ELEMENT(element_), begun.error());
    return false;
  }
  stream_ = *stream;
  warn_of_colours();
  refusals_.begin("");
  return true;
}

void DmabufConverter::warn_of_colours()
{
  if (stream_.colours_off.empty() || std::exchange(warned_of_colours_, true))
    return;
  GST_ELEMENT_WARNING(element_, STREAM, FORMAT,
                      ("%s: the colours of the picture are not those that its caps say "
                       "(colour-conversion=any).",
                       stream_.colours_off.c_str()),
                      (nullptr));
}

// --- allocation ----------------------------------------------------------------------------------

guint DmabufConverter::buffers_held() const
{
  const auto &method = stream_.conversion.deinterlacing;
  return kBuffersHeld + (method ? method->before : 0);
}

Result<void> DmabufConverter::open_pool(GstQuery *query, GstCaps *caps)
{
  const bool with_meta =
      gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) ||
      gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf");
  const guint wanted =
      surfaces_for(std::max(settings().num_surfaces, frames_kept(query, needs_) + 1), needs_);
  const auto resolved = resolved_caps(caps, settings().implicit_modifier);
  auto pool =
      make_largest_pool(GST_ELEMENT(element_), allocator_.get(), resolved.get(), wanted, with_meta);
  const bool copies = !pool && pool.error().sys_errno == 0 && !with_meta &&
                      settings().zero_copy != ZeroCopy::Require;
  if (copies)
    pool = make_largest_pool(GST_ELEMENT(element_), allocator_.get(), resolved.get(), wanted, true);
  if (!pool)
    return pool.error();
  pool_.keep(std::move(pool).value());
  return copies ? open_plain_pool(caps) : Result<void>{};
}

Result<void> DmabufConverter::open_plain_pool(GstCaps *caps)
{
  auto pool = GstPtr<GstBufferPool>::adopt(gst_buffer_pool_new());
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(
      config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&stream_.out.vinfo)), 0, 0);
  if (!gst_buffer_pool_set_config(pool.get(), config) ||
      !gst_buffer_pool_set_active(pool.get(), TRUE))
    return Error{ErrorCode::Allocation, "there is no memory for copies", 0};
  plain_pool_.keep(std::move(pool));
  copies_out_ = true;
  return {};
}

void DmabufConverter::drop_pools()
{
  pool_.drop();
  plain_pool_.drop();
  copies_out_ = false;
}

bool DmabufConverter::decide_allocation(GstQuery *query)
{
  const auto device = this->device();
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!device || !caps)
    return false;
  compare_devices(GST_ELEMENT(element_), *device->display, query, warned_of_device_);
  drop_pools();
  Needs own;
  own.device = device->display->node();
  own.permissions = GST_DRM_ACCESS_WRITE;
  own.buffers_held = 1; // the one being drawn
  own.most_buffers = kMostKept + 1;
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, stream_.out, own, [this] { return failure_.claim(); },
          needs_))
    return false;
  const auto opened = open_pool(query, caps);
  remove_offers(query);
  if (opened)
    return check_pool(*device);
  if (failure_.claim())
    post_no_pool(GST_ELEMENT(element_), allocator_.get(), *device->display, stream_.out, caps,
                 opened.error());
  return false;
}

bool DmabufConverter::check_pool(const Device &device)
{
  const Unmet unmet = unmet_by(pool_.get().get(), needs_, stream_.out, *device.display);
  if (!unmet) {
    // Upstream's pool may be too small for the frames held from now on. While upstream's caps are
    // handled, its query follows anyway. Not after an error, which would make a source negotiate
    // again instead of stopping.
    if (!upstream_.asks_next && buffers_held() > upstream_.buffers_held)
      gst_base_transform_reconfigure_sink(element_);
    return true;
  }
  if (failure_.claim())
    post_unmet(GST_ELEMENT(element_), unmet, nullptr, device.display->node());
  return false;
}

bool DmabufConverter::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  const auto device = this->device();
  if (!base_->propose_allocation(element_, decide_query, query))
    return false;
  if (!decide_query || !device) // passthrough: downstream has answered
    return true;
  upstream_.takes_release_fences = gst_drm_query_has_release_fences(query) != FALSE;
  frames_.take_release_fences(upstream_.takes_release_fences);
  for (const GType api :
       {GST_VIDEO_META_API_TYPE, GST_VIDEO_CROP_META_API_TYPE, GST_DRM_SYNC_META_API_TYPE})
    if (!gst_query_find_allocation_meta(query, api, nullptr))
      gst_query_add_allocation_meta(query, api, nullptr);
  const UniqueFd node(::open(device->display->node().c_str(), O_RDWR | O_CLOEXEC));
  if (node)
    (void)gst_drm_query_add_device(query, node.get());
  const guint held = upstream_.buffers_held = buffers_held();
  gst_query_add_allocation_pool(
      query, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&stream_.in.vinfo)), held, 0);
  Needs needs;
  needs.device = device->display->node();
  needs.buffers_held = held;
  needs.permissions = GST_DRM_ACCESS_READ;
  add_needs(GST_ELEMENT(element_), query, needs);
  return true;
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
        if (gst_caps_is_empty(sendable.get()) && sent && is_interlaced(sent) && !deinterlacing())
          return "The frames are interlaced, and the driver does not deinterlace them, or may not: "
                 "put deinterlace before it.";
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
    forget_imports(false);
    failure_.reset();
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

void DmabufConverter::forget_imports(bool all)
{
  if (const auto worker = this->worker())
    frames_.forget_imports(*worker, all);
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

// The driver cannot import frames of the agreed format and modifier. Removes the pair from the
// offer, drops the frame and asks upstream to choose again; if upstream has no other pair, the
// stream ends.
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

// The pairs that a driver imports depend on the frame's size.
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

// After a RECONFIGURE the base class negotiates here, without a CAPS event for sink_event().
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
  const GstFlowReturn flow = copies_out_ ? plain_pool_.acquire(buffer) : pool_.acquire(buffer);
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
  GstPtr<GstBuffer> surface; // no second reference to `out`: it would not be writable
  if (copies_out_)
    if (const GstFlowReturn flow = pool_.acquire(surface); flow != GST_FLOW_OK)
      return flow;
  const auto done =
      frames_.convert(in, surface ? surface.get() : out, settings().zero_copy, *worker, interrupt_);
  if (!done && done.error().code == ErrorCode::Allocation && ++lost_ < kMostLost) {
    GST_WARNING_OBJECT(element_, "a frame is lost: %s", done.error().message.c_str());
    return GST_BASE_TRANSFORM_FLOW_DROPPED;
  }
  if (!done)
    return done.error().code == ErrorCode::Import ? refuse_pair(done.error()) : fail(done.error());
  if (!*done)
    return GST_FLOW_FLUSHING;
  // Reset the count only after a new import: a cached import does not show that memory is back.
  if (const auto imports = stats_.imports.load(); imports != std::exchange(imports_, imports))
    lost_ = 0;
  if (surface)
    if (const GstFlowReturn flow = copy_out(surface.get(), out); flow != GST_FLOW_OK)
      return flow;
  failure_.succeed();
  return GST_FLOW_OK;
}

GstFlowReturn DmabufConverter::copy_out(GstBuffer *surface, GstBuffer *out)
{
  const auto waited = wait_for_device(GST_ELEMENT(element_), surface, stats_, interrupt_);
  if (!waited)
    return fail(waited.error());
  if (*waited == Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  const auto copied = copy_frame(out, surface, stream_.out.vinfo);
  if (!copied)
    return fail(copied.error());
  stats_.count_copy(GST_ELEMENT(element_), *copied, kPaddedRows);
  return GST_FLOW_OK;
}

bool DmabufConverter::transform_meta(GstBuffer *out, GstMeta *meta, GstBuffer *in)
{
  const GType api = meta->info->api;
  if (api == GST_VIDEO_META_API_TYPE || api == GST_VIDEO_CROP_META_API_TYPE ||
      api == GST_PARENT_BUFFER_META_API_TYPE ||
      gst_meta_api_type_has_tag(api, _gst_meta_tag_memory))
    return false;
  static const GQuark size_tag = g_quark_from_static_string(GST_META_TAG_VIDEO_SIZE_STR);
  if (!gst_meta_api_type_has_tag(api, size_tag))
    return true;
  const Conversion &conversion = stream_.conversion;
  if (conversion.orientation != Orientation::Identity || conversion.borders ||
      gst_buffer_get_video_crop_meta(in) || !meta->info->transform_func)
    return false;
  GstVideoInfo from = stream_.in.vinfo; // GStreamer does not say const
  GstVideoInfo to = stream_.out.vinfo;
  GstVideoMetaTransform scale = {&from, &to};
  if (meta->info->transform_func(out, meta, in, gst_video_meta_transform_scale_get_quark(),
                                 &scale) &&
      api == GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)
    copy_parameters(meta, out);
  return false;
}

} // namespace gstdrm::va
