// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploader.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>

#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/transform_query.hpp>

#include "gsteglformats.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_egl_dmabuf_upload_debug);
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

// Caps of frames that have a layout, or of textures, which need none.
bool can_be_taken(const GstCaps *caps)
{
  GstDrmVideoInfo info;
  return can_be_sent(caps) && (promises_textures(caps) || read_frame_info(info, caps));
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

// Without the textures that need no driver.
GstPtr<GstCaps> frames_alone(GstPtr<GstCaps> caps)
{
  caps.reset(gst_caps_make_writable(caps.release()));
  gst_caps_filter_and_map_in_place(
      caps.get(),
      [](GstCapsFeatures *features, GstStructure *, gpointer) noexcept -> gboolean {
        return !gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
      },
      nullptr);
  return caps;
}

std::string suggest_for_device(const GstCaps *sent, const GstCaps *taken, ImplicitModifier setting)
{
  if (gst_caps_is_empty(taken))
    return "Set mode=auto and zero-copy=prefer, so that linear frames are copied, or choose "
           "another OpenGL driver.";
  if (sent && setting != ImplicitModifier::Linear && promises_dmabuf(sent) &&
      !gst_drm_is_dma_drm_caps(sent))
    return advise_implicit(setting, true);
  return "Have upstream choose among these, or put a converter of its device before it.";
}

std::string suggest_for_downstream(const GstCaps *, const GstCaps *)
{
  return "Put glcolorconvert after it, or gldownload where downstream does not use OpenGL.";
}

egl::ColorHints hints_of(const GstDrmVideoInfo &in, const TextureForm &form)
{
  return form.shape == egl::Shape::OneImage
             ? color_hints(in.vinfo.colorimetry, in.vinfo.chroma_site)
             : egl::ColorHints{};
}

} // namespace

EglUploader::EglUploader(GstGLBaseFilter *element, GstBaseTransformClass *base)
    : element_(element), base_(base), failed_(),
      refusals_(GST_ELEMENT(element), GST_BASE_TRANSFORM_SINK_PAD(element), GST_CAT_DEFAULT,
                {"The OpenGL driver",
                 "Choose a size or format that both can do, or set mode=auto and "
                 "zero-copy=prefer, so that linear frames are copied."}),
      frames_(GST_ELEMENT(element), stats_)
{
  failed_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                [this](const GstCaps *filter) { return mismatch(filter); });
}

// --- properties ----------------------------------------------------------------------------------

void EglUploader::change_settings(const std::function<void(UploadSettings &)> &change)
{
  if (offer_.change_settings(change))
    offer_changed();
}

GstStructure *EglUploader::stats() const
{
  GstStructure *structure = stats_.to_structure();
  gst_structure_set(structure, "draws", G_TYPE_UINT64, frames_.draws(), "hops", G_TYPE_UINT64,
                    hops_->load(), "fallbacks", G_TYPE_UINT64, fallbacks_.load(), nullptr);
  return structure;
}

// --- context -------------------------------------------------------------------------------------

// The GL thread of the pipeline's context; nullptr if there is no context yet, or none that can be
// used: then an error was posted. It stays the same until the element stops, or the base class may
// have another context (look_for_context_again()). Asks the neighbours: call it without a lock.
std::shared_ptr<GlThread> EglUploader::find_device()
{
  std::shared_ptr<GlThread> thread = offer_.thread();
  if (thread && !context_may_differ_)
    return thread;
  bool changed = false;
  thread = take_context(thread, changed);
  if (!thread)
    context_may_differ_ = true; // the device that is offered, if any, is not the present one
  if (changed)
    offer_changed();
  return thread;
}

std::shared_ptr<GlThread> EglUploader::take_context(const std::shared_ptr<GlThread> &before,
                                                    bool &changed)
{
  // Read before the display: a change to NULL clears the display first and begins another
  // generation afterwards, so that a context that is missing for it is not missing in the next
  // start.
  const std::uint64_t generation = offer_.generation();
  const ContextLock::Reader reader(context_lock_);
  if (!reader || !element_->display)
    return nullptr;
  context_may_differ_ = false;
  const GstPtr<GstGLContext> context = find_context(generation);
  if (!context)
    return nullptr;
  if (before && before->context() == context.get())
    return before;
  const Result<std::shared_ptr<GlThread>> opened = GlThread::open(context.get(), hops_);
  if (!opened) {
    unusable_context_.post(GST_ELEMENT(element_), opened.error());
    return nullptr;
  }
  changed = offer_.take(*opened, generation);
  std::shared_ptr<GlThread> present = offer_.thread();
  if (present != *opened) // another thread was first, or the element was stopped meanwhile
    return present;
  const egl::Device &device = *present->device();
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " is %s%s%s", context.get(),
                  device.driver().describe().c_str(), device.import_refusal().empty() ? "" : ": ",
                  device.import_refusal().c_str());
  return present;
}

// GstGLBaseFilter has an error for a context that it cannot make, each time that it is asked. If
// stop() on another thread takes away the context that was found, none is returned, without an
// error message.
GstPtr<GstGLContext> EglUploader::find_context(std::uint64_t generation)
{
  auto context = GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element_));
  if (context || no_context_in_ == generation)
    return context;
  FoundContext found = find_gl_context(element_);
  const bool is_news = !found.context && offer_.generation() == generation &&
                       no_context_in_.exchange(generation) != generation;
  if (is_news && found.failure && no_context_.claim())
    post_failure(GST_ELEMENT(element_), *found.failure);
  return std::move(found.context);
}

// Waits until the GL thread has done what it was given, so that nothing of this element is left
// there.
void EglUploader::forget_device()
{
  offer_.forget();
  no_context_.reset();
  unusable_context_.reset();
}

// Upstream that has asked before chooses again.
void EglUploader::offer_changed()
{
  if (answered_.exchange(false))
    refusals_.request_choice();
}

// What a thread finds that still reads is stale, or belongs to the next start: UploadOffer::take()
// discards it.
auto EglUploader::without_readers(const auto &change)
{
  const ContextLock::Writer writer(context_lock_);
  if (!writer.is_alone())
    GST_WARNING_OBJECT(element_, "the state changes while another thread still looks for an "
                                 "OpenGL context: that thread waits for the change, or hangs");
  return change();
}

// --- states --------------------------------------------------------------------------------------

bool EglUploader::start()
{
  stats_.begin(GST_ELEMENT(element_));
  fallbacks_ = 0;
  frames_.reset_draws();
  *hops_ = 0;
  failed_.reset();
  refusals_.restart();
  refusal_.clear();
  answered_ = false; // before this nobody could choose: whoever linked the pads asked
  plain_is_dmabuf_ = false;
  stride_align_ = 1;
  takes_release_fences_ = false;
  return base_->start(GST_BASE_TRANSFORM(element_)) != FALSE;
}

bool EglUploader::stop()
{
  frames_.end();
  form_.reset();
  in_caps_.reset();
  caps_are_plain_ = false;
  out_caps_.reset();
  held_segment_.reset();
  stream_is_old_ = true;
  test_imports_.forget();
  thread_.reset();
  answered_ = false;
  return without_readers([this] {
    const bool stopped = base_->stop(GST_BASE_TRANSFORM(element_)) != FALSE;
    forget_device(); // last, or a query could take the base class's context once more
    return stopped;
  });
}

// A wait of the streaming thread ends before the pads are deactivated, as that waits for the
// thread.
GstStateChangeReturn EglUploader::change_state(GstStateChange transition,
                                               const std::function<GstStateChangeReturn()> &change)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    frames_.set_flushing(true);
  else if (transition == GST_STATE_CHANGE_READY_TO_PAUSED)
    frames_.set_flushing(false);
  if (transition != GST_STATE_CHANGE_READY_TO_NULL)
    return change();
  const GstStateChangeReturn ret = without_readers(change);
  forget_device(); // a caps query in READY may have found a context, and no stop() comes then
  return ret;
}

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
  const std::shared_ptr<const CapsParts> allowed = offer_.allowed(direction, peer.get());
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
  if (direction == GST_PAD_SINK ? !can_be_taken(caps) : !can_be_sent(caps))
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
    // where frames may be copied, something else is wrong with what is refused
    if (const auto thread = offer_.thread();
        direction == GST_PAD_SINK && thread && !settings().may_copy())
      if (const std::string &refusal = thread->device()->import_refusal(); !refusal.empty())
        add_reason(query, refusal);
    return true;
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps(query, &caps);
    gst_query_set_accept_caps_result(query, accepts(direction, caps));
    return true;
  case GST_QUERY_ALLOCATION:
    gst_query_parse_allocation(query, &caps, nullptr);
    if (!can_be_taken(caps))
      return false;
    if (direction == GST_PAD_SINK) { // the base class may negotiate before it answers
      const bool negotiates = needs_negotiation();
      const bool answered = base_->query(GST_BASE_TRANSFORM(element_), direction, query) != FALSE;
      if (negotiates)
        follow_offer();
      return answered;
    }
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
  if (!decide_query) // textures pass: downstream has answered
    return true;
  takes_release_fences_ = gst_drm_query_has_release_fences(query) != FALSE;
  const guint stride_align = stride_align_;
  if (!gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr)) {
    g_autoptr(GstStructure) rows = stride_align > 1 ? row_alignment(stride_align) : nullptr;
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, rows);
  }
  gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
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
  if (direction != GST_PAD_SINK || promises_textures(caps) || !read_frame_info(in, caps))
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

// Returns false if the caps cannot be read, which is posted.
bool EglUploader::read_caps(const GstCaps *caps, GstDrmVideoInfo &info)
{
  GError *error = nullptr;
  if (read_frame_info(info, caps, &error))
    return true;
  failed_.post(GST_ELEMENT(element_), unreadable_caps(GST_BASE_TRANSFORM_SINK_PAD(element_),
                                                      take_error(error, ErrorCode::Caps), caps));
  return false;
}

bool EglUploader::set_caps(GstCaps *in_caps, GstCaps *out_caps)
{
  textures_pass_ = promises_textures(in_caps);
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(element_), textures_pass_);
  if (!textures_pass_ && !read_caps(in_caps, info_))
    return false;
  resolve_implicit(info_, settings().implicit_modifier);
  in_caps_ = GstPtr<GstCaps>::share(in_caps);
  caps_are_plain_ = !promises_dmabuf(in_caps);
  out_caps_ = GstPtr<GstCaps>::share(out_caps);
  frames_.end();
  stream_is_old_ = true;
  if (!textures_pass_ && !choose_way())
    return false; // the offer has changed meanwhile; the message names both sides
  if (!textures_pass_ && !form_ && !refusal_.empty())
    fallbacks_++;
  refusals_.begin("");
  GST_INFO_OBJECT(element_, "%s of %" GST_PTR_FORMAT " to %" GST_PTR_FORMAT,
                  textures_pass_ ? "passing"
                  : form_        ? "import"
                                 : "copy",
                  in_caps, out_caps);
  return true;
}

// The way into GL, by the present offer. Returns false if there is none to textures of these caps.
bool EglUploader::choose_way()
{
  formats_ = offer_.formats();
  form_ = choose_form(info_, in_caps_.get(), out_caps_.get());
  return form_ || is_copy_form(info_, out_caps_.get(), *formats_);
}

bool EglUploader::needs_negotiation() const
{
  return GST_PAD_NEEDS_RECONFIGURE(GST_BASE_TRANSFORM_SRC_PAD(element_));
}

// GstBaseTransform does not call set_caps() where it negotiates the caps that it has. Another offer
// may have another way to textures of the same caps all the same.
void EglUploader::follow_offer()
{
  if (offer_.formats() != formats_)
    stream_is_old_ = true;
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
  if (offer_.has_refused({in.drm_fourcc, in.drm_modifier}))
    return "the EGL driver does not import upstream's DMA buffers";
  return "downstream takes no texture that the OpenGL driver makes of the format";
}

// Imports a test frame of this size. Returns false if the driver refuses it, which leaves the
// offer.
bool EglUploader::prove(const GstDrmVideoInfo &in, const TextureForm &form)
{
  const std::shared_ptr<GlThread> thread = offer_.thread();
  if (!thread || !settings().prove)
    return true;
  const TestImports::Frame frame{{in.drm_fourcc, in.drm_modifier},
                                 static_cast<std::uint32_t>(in.vinfo.width),
                                 static_cast<std::uint32_t>(in.vinfo.height),
                                 form.shape,
                                 form.target,
                                 hints_of(in, form)};
  const egl::Probe probe = test_imports_.run(thread, frame);
  if (probe.outcome != egl::Probe::Outcome::Refused) {
    stride_align_ = probe.stride_align;
    GST_DEBUG_OBJECT(element_, "%s, rows of a multiple of %u bytes%s%s",
                     describe_format(frame.format).c_str(), probe.stride_align,
                     probe.reason.empty() ? "" : "; not proved: ", probe.reason.c_str());
    return true;
  }
  refusal_ = thread->device()->driver().describe() + " lists " + describe_format(frame.format) +
             ", but refused a test import of " + std::to_string(in.vinfo.width) + "x" +
             std::to_string(in.vinfo.height) + ": " + probe.reason + ".";
  GST_WARNING_OBJECT(element_, "%s", refusal_.c_str());
  if (offer_.refuse(form.shape, {frame.format, frame.width, frame.height, probe.reason}))
    offer_changed();
  return false;
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
  if (can_be_sent(caps.get()) && read_frame_info(info, caps.get()) &&
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

// --- negotiation ---------------------------------------------------------------------------------

// GstBaseTransform asks the element three times in one negotiation (transform_caps, fixate_caps,
// set_caps). If another thread changes the offer in between, by a property or by a query that
// notices another OpenGL context, a failure is no refusal: the negotiation is repeated.

void EglUploader::repeat_if_spoiled(const auto &negotiate_once)
{
  // in case the application changes settings in a loop
  constexpr unsigned kMostAttempts = 8;
  for (unsigned attempt = 1;; attempt++) {
    const std::shared_ptr<const UploadFormats> before = offer_.formats();
    if (negotiate_once() || attempt == kMostAttempts)
      return;
    // a refused test import changes the offer as well, and is the reason for the failure itself
    if (!refusal_.empty() || offer_.formats() == before)
      return;
    GST_DEBUG_OBJECT(element_, "the offer has changed meanwhile: once more");
  }
}

// Consumes the CAPS event.
bool EglUploader::negotiate(GstEvent *event)
{
  const auto owned = GstPtr<GstEvent>::adopt(event);
  bool taken = false;
  repeat_if_spoiled([&] {
    taken = base_->sink_event(GST_BASE_TRANSFORM(element_), gst_event_ref(event)) != FALSE;
    if (taken)
      follow_offer();
    if (taken || find_device())
      return taken;
    // why there is no context is on the bus, or the element is being stopped
    failed_.interrupt();
    return true;
  });
  return taken;
}

// Consumes the buffer. The base class negotiates again before it takes one, where downstream asked
// for that.
GstFlowReturn EglUploader::submit(bool discont, GstBuffer *buffer)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(element_);
  if (!needs_negotiation())
    return base_->submit_input_buffer(trans, discont, buffer);
  const auto owned = GstPtr<GstBuffer>::adopt(buffer);
  GstFlowReturn ret = GST_FLOW_OK;
  repeat_if_spoiled([&] {
    ret = base_->submit_input_buffer(trans, discont, gst_buffer_ref(buffer));
    if (ret == GST_FLOW_OK)
      follow_offer();
    return ret != GST_FLOW_NOT_NEGOTIATED;
  });
  return ret;
}

// --- frames --------------------------------------------------------------------------------------

// Plain caps do not say where a frame is, and what downstream gets of it may depend on that: the
// negotiation is done again where another kind of memory comes than before. A frame in system
// memory among DMA buffers is copied to textures of the present caps where that is possible.
void EglUploader::notice_memory(GstBuffer *buffer)
{
  if (!caps_are_plain_)
    return;
  const bool dmabuf = memory_kind(buffer) == MemoryKind::DmaBuf;
  if (dmabuf == plain_is_dmabuf_ ||
      (!dmabuf && is_copy_form(info_, out_caps_.get(), *offer_.formats())))
    return;
  plain_is_dmabuf_ = dmabuf;
  stream_is_old_ = true;
  gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
}

GstFlowReturn EglUploader::submit_input_buffer(bool discont, GstBuffer *buffer)
{
  if (refusals_.refuses()) {
    gst_buffer_unref(buffer);
    const bool is_new = std::exchange(refusal_is_new_, false);
    return is_new ? refusals_.refuse(std::string(refusal_)) : refusals_.drop();
  }
  if (textures_pass_)
    return submit(discont, buffer);
  notice_memory(buffer);
  // a context that took the place of another one has formats of its own
  if (const auto thread = find_device(); thread && thread_ && thread != thread_)
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  const GstFlowReturn ret = submit(discont, buffer);
  if (ret != GST_FLOW_NOT_NEGOTIATED)
    return ret;
  const auto caps =
      GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(element_)));
  if (caps && ends_in_refusal(caps.get())) {
    refusal_is_new_ = false;
    return refusals_.refuse(std::string(refusal_));
  }
  // downstream changed its mind; a source that has other caps chooses anew when it is told so
  if (caps && upstream_may_choose_again())
    GST_INFO_OBJECT(element_, "no longer taken: %" GST_PTR_FORMAT, caps.get());
  else if (caps && find_device() && !is_flushing(GST_ELEMENT(element_)) && failed_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps.get()));
  return ret;
}

Result<void> EglUploader::begin_stream(std::shared_ptr<GlThread> thread)
{
  UploadStream stream;
  stream.in = info_;
  stream.out_caps = out_caps_;
  stream.form = form_;
  if (form_)
    stream.hints = hints_of(info_, *form_);
  stream.colours = yuv_colours(info_.vinfo.colorimetry, info_.vinfo.chroma_site);
  stream.is_plain = caps_are_plain_;
  stream.copies_system_memory =
      stream.is_plain && is_copy_form(info_, out_caps_.get(), *offer_.formats());
  stream.may_copy = settings().may_copy();
  stream.copy_reason = copy_reason(info_, in_caps_.get());
  if (settings().mode != UploadMode::Copy)
    stream.import_refusal = refusal_.empty() ? thread->device()->import_refusal() : refusal_;
  stream.kept_downstream = held_;
  stream.takes_release_fences = takes_release_fences_;
  thread_ = thread;
  Result<void> begun = frames_.begin(std::move(thread), std::move(stream));
  stream_is_old_ = !begun;
  return begun;
}

GstFlowReturn EglUploader::generate_output(GstBuffer **out)
{
  auto in =
      GstPtr<GstBuffer>::adopt(std::exchange(GST_BASE_TRANSFORM(element_)->queued_buf, nullptr));
  *out = nullptr;
  if (!in || textures_pass_) {
    *out = in.release();
    return GST_FLOW_OK;
  }
  std::shared_ptr<GlThread> thread = offer_.thread();
  if (!thread)
    return GST_FLOW_NOT_NEGOTIATED; // what is wrong with the context is on the bus
  if (stream_is_old_ || thread != thread_) {
    if (!choose_way()) { // the offer has changed since the negotiation, which is done again
      gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
      return GST_FLOW_OK;
    }
    if (const Result<void> begun = begin_stream(std::move(thread)); !begun)
      return fail(begun.error());
  }
  frames_.set_release_fences(takes_release_fences_);
  Result<GstPtr<GstBuffer>> made = frames_.upload(in.get());
  if (const std::optional<Error> refusal = frames_.take_refusal())
    note_refusal(*refusal);
  if (!made)
    return made.error().code == ErrorCode::Import && !frames_.tried_copy()
               ? give_up_import(made.error())
               : fail(made.error());
  if (!*made)
    return GST_FLOW_FLUSHING;
  *out = made->release();
  return GST_FLOW_OK;
}

GstFlowReturn EglUploader::fail(const Error &error)
{
  if (thread_ && thread_->device()->is_lost()) { // its textures and what was learnt of it are gone
    frames_.end();
    test_imports_.forget();
    stream_is_old_ = true;
  }
  const std::string sender = peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot take a frame of " + sender,
                  error);
  const std::string advice = frames_.advice();
  failure.advise(advice.empty() ? advice_on(error, sender) : advice);
  failure.add("sender", sender).add("caps", in_caps_.get());
  post_failure(GST_ELEMENT(element_), failure);
  return GST_FLOW_ERROR;
}

// The driver refuses a frame of a pair that it lists, and that passed the proof. The pair leaves
// the offer, and upstream may choose again.
void EglUploader::note_refusal(const Error &error)
{
  fallbacks_++;
  const Refusal refusal{{info_.drm_fourcc, info_.drm_modifier},
                        static_cast<std::uint32_t>(info_.vinfo.width),
                        static_cast<std::uint32_t>(info_.vinfo.height),
                        error.message};
  answered_ = true; // upstream has chosen this pair, also where it did not ask again
  if (offer_.refuse(form_->shape, refusal))
    offer_changed();
}

// The frame is lost, because other caps have to go downstream first; another way into GL is taken
// where there is one, and upstream chooses again where there is none.
GstFlowReturn EglUploader::give_up_import(const Error &error)
{
  if (!form_)
    return fail(error);
  note_refusal(error);
  const GstPtr<GstCaps> left = upload_transform(GST_PAD_SINK, in_caps_.get(), *offer_.formats());
  const auto taken = GstPtr<GstCaps>::adopt(
      gst_pad_peer_query_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), nullptr));
  if (!caps_meet(left.get(), taken.get()))
    return refusals_.refuse(error.message + ".");
  GST_WARNING_OBJECT(element_, "another way into OpenGL is taken: %s", error.message.c_str());
  gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  return GST_FLOW_OK;
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
       {{side, "takes", frames_alone(upload_transform(GST_PAD_SRC, any.get(), *formats)), false}}},
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
  if ((promises_textures(caps) || read_caps(caps, info)) && failed_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps));
}

} // namespace gstdrm
