// SPDX-License-Identifier: LGPL-2.1-or-later
// How vadmabufconvert and its neighbours agree: size, format, modifier, colours, pool.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <gst/drm/core/reasons.hpp>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/gstdrmdevicequery.h>

#include "gstvaconvertcaps.hpp"
#include "gstvaconvertcolours.hpp"
#include "gstvadmabufcaps.hpp"
#include "gstvadmabufconverter.hpp"
#include "gstvadmabufpool.hpp"
#include "gstvafailures.hpp"
#include "gstvamachine.hpp"

#define GST_CAT_DEFAULT gst_va_dmabuf_convert_debug

namespace gstdrm::va {
namespace {

// Frames that are read while upstream makes the next one (kMostHeld of ConvertFrames, and the one
// at hand).
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

// Takes the pair that failed; where it is the format's colours, the format.
void take_out(const FormatSet &formats, const Format &failed, ErrorCode code, FormatSet &out)
{
  for (const Format &pair : formats.pairs())
    if (pair == failed || (code == ErrorCode::Format && pair.fourcc == failed.fourcc))
      out.add(pair);
}

} // namespace

std::optional<Orientation> DmabufConverter::orientation() const
{
  const auto wanted = settings().direction;
  return orientation_of(wanted == GST_VIDEO_ORIENTATION_AUTO ? tagged_ : wanted);
}

// The best of the driver's algorithms that need one frame alone, or the one that is asked for.
// Weaving keeps the combs of moving things, so it is never chosen by itself; and neither is what
// looks back, for a producer with few buffers would wait for ever for those that are kept.
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

// Frames that downstream takes as they are stay so, but those with fields where an algorithm is
// asked for, and those that the source pad's template does not have: the device reads them alone.
bool DmabufConverter::passes(GstCaps *in_caps) const
{
  const auto wanted = settings().deinterlace;
  const bool asked = wanted != Deinterlace::Off && wanted != Deinterlace::Auto && deinterlacing();
  const auto possible =
      GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(GST_BASE_TRANSFORM_SRC_PAD(element_)));
  const auto leaves = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(in_caps, possible.get())));
  return !gst_caps_is_empty(leaves.get()) && orientation() == Orientation::Identity &&
         !(asked && is_interlaced(in_caps)) &&
         gst_pad_peer_query_accept_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), in_caps);
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

// Draws a frame once, at the size and in the pair that were agreed on.
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

// The pair of the formats that downstream takes at this size and the device draws.
GstPtr<GstCaps> DmabufConverter::agree_on_size(const Device &device, GstCaps *in_caps,
                                               const PictureSize &size, ColourPolicy colours,
                                               Error &refusals)
{
  const ImplicitModifier implicit_modifier = settings().implicit_modifier;
  const auto in = info_of(in_caps, implicit_modifier);
  FormatSet not_drawn;
  while (in) {
    learner_.learn(GST_ELEMENT(element_), GST_BASE_TRANSFORM_SRC_PAD(element_), device,
                   {size.width, size.height}, not_drawn);
    const auto formats =
        producer_formats(FormatSet::subtract(learner_.known(device), not_drawn), implicit_modifier);
    if (formats.empty())
      return {};
    const auto own = with_size(output_caps(in_caps, device.capabilities, formats), size);
    auto agreement = producer_.agree(GST_BASE_TRANSFORM_SRC_PAD(element_), own.get(), formats,
                                     allocator_.get(), implicit_modifier);
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
    // what no other format changes
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
    learner_.learn(GST_ELEMENT(element_), GST_BASE_TRANSFORM_SRC_PAD(element_), device,
                   {picture.width, picture.height}, {});
    const auto own = output_caps(in_caps, device.capabilities,
                                 producer_formats(learner_.known(device), implicit_modifier));
    const auto peer = GstPtr<GstCaps>::adopt(
        gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), nullptr));
    const auto common = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(own.get(), peer.get())));
    const auto sizes = sizes_for(picture, common.get());
    // A format with the right colours comes before every one without.
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
  // GstBaseTransform does not set caps again that are those before; what is done to the frames may
  // be something else all the same.
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
  pool_.drop();
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
  auto pool =
      make_largest_pool(GST_ELEMENT(element_), allocator_.get(),
                        resolved_caps(caps, settings().implicit_modifier).get(), wanted, with_meta);
  if (!pool)
    return pool.error();
  pool_.keep(std::move(pool).value());
  return {};
}

bool DmabufConverter::decide_allocation(GstQuery *query)
{
  const auto device = this->device();
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (!device || !caps)
    return false;
  compare_devices(GST_ELEMENT(element_), *device->display, query, warned_of_device_);
  pool_.drop();
  Needs own;
  own.device = device->display->node();
  own.permissions = GST_DRM_ACCESS_WRITE;
  own.buffers_held = 1; // the one that is drawn
  own.most_buffers = kMostKept + 1;
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, stream_.out, own, [this] { return failure_.claim(); },
          needs_))
    return false;
  const auto opened = open_pool(query, caps);
  remove_offers(query); // the base class would activate a pool that is left
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
    // Not of upstream's own accord: its pool may be too small for what is kept from now on. After
    // an error, a source that is asked to reconfigure would go on without one of its own.
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
  if (!decide_query || !device) // downstream has answered
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

} // namespace gstdrm::va
