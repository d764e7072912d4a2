// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries, caps, and the text of a negotiation that fails.
#include <utility>
#include <vector>

#include <fcntl.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/advice.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/needs.hpp>

#include "gstegldmabufupload.hpp"
#include "gsteglformats.hpp"
#include "gstegluploader.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

GstPad *other_pad(GstGLBaseFilter *element, GstPadDirection direction) noexcept
{
  return direction == GST_PAD_SINK ? GST_BASE_TRANSFORM_SRC_PAD(element)
                                   : GST_BASE_TRANSFORM_SINK_PAD(element);
}

// Caps that a CAPS event could have. Those of any features are not fixed.
bool can_be_sent(const GstCaps *caps)
{
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps);
}

// Caps that a CAPS event could bring to the sink pad.
bool can_be_set(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return can_be_sent(caps) && gst_drm_video_info_from_caps(&info, caps);
}

GstPtr<GstCaps> fixed_structure(const GstCaps *caps, guint index)
{
  return GstPtr<GstCaps>::adopt(gst_caps_fixate(gst_caps_copy_nth(caps, index)));
}

// RGB that the GPU makes of YUV has the same primaries and transfer function.
void set_rgb_colorimetry(GstCaps *out, const GstDrmVideoInfo &in, const TextureForm &form)
{
  if (form.format != GST_VIDEO_FORMAT_RGBA || !fourcc_is_yuv(in.drm_fourcc) ||
      gst_structure_has_field(gst_caps_get_structure(out, 0), "colorimetry"))
    return;
  const GstVideoColorimetry rgb = rgb_colorimetry(in.vinfo.colorimetry);
  if (g_autofree gchar *text = gst_video_colorimetry_to_string(&rgb))
    gst_caps_set_simple(out, "colorimetry", G_TYPE_STRING, text, nullptr);
}

// Whether GL memory of these caps has the frame's own format.
bool has_format(const GstCaps *out, const GstDrmVideoInfo &in)
{
  const char *format = gst_structure_get_string(gst_caps_get_structure(out, 0), "format");
  return g_strcmp0(format, gst_video_format_to_string(name_of(in.drm_fourcc))) == 0;
}

// The rows that the driver wants, in the fields that GStreamer has for a GstVideoAlignment.
GstStructure *row_alignment(guint stride_align)
{
  const guint mask = stride_align - 1;
  return gst_structure_new("video-meta", "padding-top", G_TYPE_UINT, 0U, "padding-bottom",
                           G_TYPE_UINT, 0U, "padding-left", G_TYPE_UINT, 0U, "padding-right",
                           G_TYPE_UINT, 0U, "stride-align0", G_TYPE_UINT, mask, "stride-align1",
                           G_TYPE_UINT, mask, "stride-align2", G_TYPE_UINT, mask, "stride-align3",
                           G_TYPE_UINT, mask, nullptr);
}

std::string suggest_for_device(const GstCaps *sent, const GstCaps *taken, ImplicitModifier setting)
{
  if (gst_caps_is_empty(taken))
    return "Set mode=auto and zero-copy=prefer, so that linear frames are copied, or choose "
           "another OpenGL driver.";
  if (is_field_each(sent))
    return kWeave;
  if (sent && setting != ImplicitModifier::Linear && promises_dmabuf(sent) &&
      !gst_drm_is_dma_drm_caps(sent))
    return advise_implicit(setting, true);
  return "Have upstream choose among these, or put a converter of its device before it.";
}

std::string suggest_for_downstream(const GstCaps *, const GstCaps *)
{
  return "Put glcolorconvert after it, or gldownload where downstream does not use OpenGL.";
}

} // namespace

// --- queries -------------------------------------------------------------------------------------

// The caps that the pad can take or send now. The peer is asked without a filter: with a list of
// pairs it would compare each string with each.
GstPtr<GstCaps> EglUploader::answer_caps(GstPadDirection direction, GstCaps *filter)
{
  find_device();
  const auto peer =
      GstPtr<GstCaps>::adopt(gst_pad_peer_query_caps(other_pad(element_, direction), nullptr));
  if (direction == GST_PAD_SINK)
    answered_ = true;
  const std::shared_ptr<const CapsParts> allowed =
      answers_.allowed(direction, peer.get(), offer_.formats());
  const auto answer = GstPtr<GstCaps>::adopt(
      filter && !gst_caps_is_any(filter)
          ? put_together(filter_parts(direction, *allowed, take_apart(filter)))
          : put_together(*allowed));
  GST_LOG_OBJECT(element_, "%s: filter %" GST_PTR_FORMAT ", answer %" GST_PTR_FORMAT,
                 direction == GST_PAD_SINK ? "sink" : "src", filter, answer.get());
  return answer;
}

bool EglUploader::accepts(GstPadDirection direction, const GstCaps *caps)
{
  if (direction == GST_PAD_SINK ? !can_be_set(caps) : !can_be_sent(caps))
    return false;
  find_device();
  return !upload_parts(direction, caps, *offer_.formats()).empty();
}

bool EglUploader::query(GstPadDirection direction, GstQuery *query)
{
  GstCaps *caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    gst_query_parse_caps(query, &caps);
    gst_query_set_caps_result(query, answer_caps(direction, caps).get());
    return true;
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps(query, &caps);
    gst_query_set_accept_caps_result(query, accepts(direction, caps));
    return true;
  case GST_QUERY_ALLOCATION:
    gst_query_parse_allocation(query, &caps, nullptr);
    if (!can_be_set(caps))
      return false;
    break;
  case GST_QUERY_DRAIN: // upstream wants its memory back; downstream lets go of its textures first
    if (direction == GST_PAD_SINK) {
      const bool answered = base_->query(GST_BASE_TRANSFORM(element_), direction, query) != FALSE;
      frames_.forget_imports();
      return answered;
    }
    break;
  default:
    break;
  }
  return base_->query(GST_BASE_TRANSFORM(element_), direction, query) != FALSE;
}

GstCaps *EglUploader::transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  CapsParts parts = upload_parts(direction, caps, *offer_.formats());
  if (filter && !gst_caps_is_any(filter))
    parts = intersect_parts(take_apart(filter), parts);
  return put_together(std::move(parts));
}

bool EglUploader::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  if (!base_->propose_allocation(GST_BASE_TRANSFORM(element_), decide_query, query))
    return false;
  takes_release_fences_ = gst_drm_query_has_release_fences(query) != FALSE;
  const guint stride_align = stride_align_;
  if (!gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) {
    g_autoptr(GstStructure) rows = stride_align > 1 ? row_alignment(stride_align) : nullptr;
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, rows);
  }
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  const std::shared_ptr<GlThread> thread = offer_.thread();
  const std::string node = thread ? thread->device()->driver().node : "";
  // O_PATH: the node's number is all that is said
  if (const UniqueFd fd(node.empty() ? -1 : ::open(node.c_str(), O_PATH | O_CLOEXEC)); fd)
    gst_drm_query_add_device(query, fd.get());
  add_needs(GST_ELEMENT(element_), query, {node, stride_align, held_, 0, GST_DRM_ACCESS_READ});
  return true;
}

// Textures are not made in a pool, so none is left for the base class to activate.
bool EglUploader::decide_allocation(GstQuery *query)
{
  held_ = buffers_kept(query);
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  const bool decided = base_->decide_allocation(GST_BASE_TRANSFORM(element_), query) != FALSE;
  look_for_context_again(); // as the base class did
  return decided;
}

// --- caps ----------------------------------------------------------------------------------------

// Buffers of plain caps are in system memory until one is not.
std::optional<TextureForm> EglUploader::choose_form(const GstDrmVideoInfo &in,
                                                    const GstCaps *in_caps,
                                                    const GstCaps *out_caps) const
{
  const std::shared_ptr<const UploadFormats> formats = offer_.formats();
  if (!promises_dmabuf(in_caps) && !plain_is_dmabuf_ && is_copy_form(in, out_caps, *formats))
    return std::nullopt;
  return texture_form(in, out_caps, *formats);
}

// The first structure that the driver imports to, in the order of downstream; else the first that
// is copied to.
GstCaps *EglUploader::fixate_caps(GstPadDirection direction, GstCaps *caps, GstCaps *othercaps)
{
  const auto others = GstPtr<GstCaps>::adopt(othercaps);
  if (gst_caps_is_empty(others.get()))
    return gst_caps_new_empty();
  GstDrmVideoInfo in;
  if (direction != GST_PAD_SINK || !gst_drm_video_info_from_caps(&in, caps))
    return fixed_structure(others.get(), 0).release();
  resolve_implicit(in, settings().implicit_modifier);
  refusal_.clear();
  stride_align_ = 1;
  std::vector<GstPtr<GstCaps>> structures;
  for (guint i = 0; i < gst_caps_get_size(others.get()); i++)
    structures.push_back(fixed_structure(others.get(), i));
  // frames that will be copied anyhow keep their format, where downstream takes it
  const auto copy = [&]() -> GstCaps * {
    for (const bool keeps_format : {true, false})
      for (const GstPtr<GstCaps> &out : structures)
        if (is_copy_form(in, out.get(), *offer_.formats()) &&
            (!keeps_format || has_format(out.get(), in)))
          return gst_caps_ref(out.get());
    return nullptr;
  };
  if (!promises_dmabuf(caps) && !plain_is_dmabuf_)
    if (GstCaps *out = copy())
      return out;
  for (const GstPtr<GstCaps> &out : structures) {
    const std::optional<TextureForm> form = choose_form(in, caps, out.get());
    if (form && prove(in, *form)) {
      if (!std::exchange(refusal_, {}).empty()) // of another form, and this one takes its place
        fallbacks_++;
      set_rgb_colorimetry(out.get(), in, *form);
      return gst_caps_ref(out.get());
    }
  }
  GstCaps *out = copy();
  return out ? out : gst_caps_new_empty();
}

bool EglUploader::set_caps(GstCaps *in_caps, GstCaps *out_caps)
{
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info_, in_caps, &error)) {
    failed_.post(GST_ELEMENT(element_),
                 unreadable_caps(GST_BASE_TRANSFORM_SINK_PAD(element_),
                                 take_error(error, ErrorCode::Caps), in_caps));
    return false;
  }
  resolve_implicit(info_, settings().implicit_modifier);
  in_caps_ = GstPtr<GstCaps>::share(in_caps);
  out_caps_ = GstPtr<GstCaps>::share(out_caps);
  form_ = choose_form(info_, in_caps, out_caps);
  if (!form_ && !is_copy_form(info_, out_caps, *offer_.formats()))
    return false; // the offer has changed meanwhile; the message names both sides
  if (!form_ && !refusal_.empty())
    fallbacks_++;
  refusals_.begin("");
  frames_.end();
  stream_is_old_ = true;
  GST_INFO_OBJECT(element_, "%s of %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT,
                  form_ ? "import" : "copy", in_caps, out_caps);
  return true;
}

// Why every frame of the stream is copied. A literal: drm-stats keeps it.
const char *EglUploader::copy_reason(const GstDrmVideoInfo &in, const GstCaps *in_caps) const
{
  if (settings().mode == UploadMode::Copy)
    return "mode=copy is set";
  const std::shared_ptr<GlThread> thread = offer_.thread();
  if (!promises_dmabuf(in_caps) && !plain_is_dmabuf_)
    return "the frames are in system memory";
  if (thread && thread->device()->display() == EGL_NO_DISPLAY)
    return "the OpenGL context is not one of EGL: set GST_GL_PLATFORM=egl in the environment";
  if (!thread || !thread->device()->import_refusal().empty())
    return "the OpenGL driver imports no DMA buffers";
  if (!refusal_.empty())
    return "the OpenGL driver refused a test import of the format and size";
  if (!thread->device()->formats().all().contains({in.drm_fourcc, in.drm_modifier}))
    return "the OpenGL driver does not list the format";
  return "downstream takes no texture that the OpenGL driver makes of the format";
}

// --- events --------------------------------------------------------------------------------------

bool EglUploader::sink_event(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS)
    return take_caps(event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    frames_.set_flushing(true);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    frames_.set_flushing(false);
    frames_.forget_unused_imports();
    held_segment_.reset();
  } else if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT && lacks_output_caps()) {
    held_segment_.reset(event);
    return true;
  }
  return base_->sink_event(GST_BASE_TRANSFORM(element_), event) != FALSE;
}

// Whether upstream's caps were refused and no others have gone downstream, where a segment must not
// come before caps.
bool EglUploader::lacks_output_caps() const
{
  if (!refusals_.refuses())
    return false;
  GstPad *src = GST_BASE_TRANSFORM_SRC_PAD(element_);
  return !GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(src));
}

bool EglUploader::take_caps(GstEvent *event)
{
  GstCaps *parsed = nullptr;
  gst_event_parse_caps(event, &parsed);
  const auto caps = GstPtr<GstCaps>::share(parsed);
  GstDrmVideoInfo info;
  if (can_be_set(caps.get()) && gst_drm_video_info_from_caps(&info, caps.get()) &&
      offer_.resize(static_cast<std::uint32_t>(info.vinfo.width),
                    static_cast<std::uint32_t>(info.vinfo.height)))
    offer_changed();
  refusal_.clear();
  refusals_.begin("");
  const bool taken = failed_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return negotiate(passed) || ends_in_refusal(caps.get()); },
      [this](const GstCaps *refused) { return mismatch(refused); });
  if (taken && held_segment_ && !refusals_.refuses())
    base_->sink_event(GST_BASE_TRANSFORM(element_), held_segment_.release());
  return taken;
}

// Whether the negotiation failed for the driver's refusal of a test import. The stream goes on
// then: upstream has been asked to choose again, and its frames are dropped until it has.
bool EglUploader::ends_in_refusal(const GstCaps *caps)
{
  if (refusal_.empty())
    return false;
  GST_DEBUG_OBJECT(element_, "frames of %" GST_PTR_FORMAT " are dropped", caps);
  refusals_.begin(refusal_);
  refusal_is_new_ = true;
  return true;
}

// --- failures ------------------------------------------------------------------------------------

// Whether upstream can send something else that is taken. An upstream that says ANY does not know.
bool EglUploader::upstream_may_choose_again()
{
  const auto theirs = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SINK_PAD(element_), nullptr));
  if (gst_caps_is_any(theirs.get()))
    return false;
  return !gst_caps_is_empty(answer_caps(GST_PAD_SINK, theirs.get()).get());
}

Mismatch EglUploader::mismatch(const GstCaps *upstream)
{
  GstPad *src = GST_BASE_TRANSFORM_SRC_PAD(element_);
  const std::string origin = origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  const std::shared_ptr<const UploadFormats> formats = offer_.formats();
  const GstPtr<GstCaps> sendable = upload_transform(GST_PAD_SINK, upstream, *formats);
  std::string headline = nothing_in_common(GST_ELEMENT(element_));
  if (!gst_caps_is_empty(sendable.get()))
    return describe_mismatch(
        {headline, {origin, "has", upstream, sendable.get()}, restrictions_after(src)},
        suggest_for_downstream);
  const std::shared_ptr<GlThread> thread = offer_.thread();
  const egl::Device *device = thread ? thread->device().get() : nullptr;
  if (device && !device->import_refusal().empty())
    headline = device->import_refusal() + ".";
  if (!settings().may_copy())
    headline += settings().mode == UploadMode::Import ? " mode=import forbids a copy."
                                                      : " zero-copy=require forbids a copy.";
  const auto any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  const std::string side = device ? device->driver().describe() : "The OpenGL driver";
  return describe_mismatch(
      {headline,
       {origin, "has", upstream},
       {{side, "takes", upload_transform(GST_PAD_SRC, any.get(), *formats), false}}},
      [this](const GstCaps *sent, const GstCaps *taken) {
        return suggest_for_device(sent, taken, settings().implicit_modifier);
      });
}

void EglUploader::explain_refused_caps(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (accepts(GST_PAD_SINK, caps))
    return;
  failed_.begin(caps);
  GstDrmVideoInfo info;
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    failed_.post(GST_ELEMENT(element_), unreadable_caps(GST_BASE_TRANSFORM_SINK_PAD(element_),
                                                        take_error(error, ErrorCode::Caps), caps));
  else if (failed_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps));
}

} // namespace gstdrm
