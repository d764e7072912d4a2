// SPDX-License-Identifier: LGPL-2.1-or-later
// How egldmabufdownload and its neighbours agree: context, format, modifier.
#include "gstegldownloader.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/reasons.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/advice.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "gstegldownloadcaps.hpp"
#include "gsteglformats.hpp"
#include "gstglfiltercontext.hpp"

GST_DEBUG_CATEGORY_EXTERN(egl_dmabuf_download_debug);
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

namespace gstdrm {
namespace {

// Whether a CAPS event could have them at that pad.
bool can_be_set(GstPadDirection direction, const GstCaps *caps)
{
  GstDrmVideoInfo made;
  return caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps) &&
         (direction == GST_PAD_SINK || gst_drm_video_info_from_caps(&made, caps));
}

egl::Target target_of(const GstCaps *caps)
{
  const gchar *text = gst_structure_get_string(gst_caps_get_structure(caps, 0), "texture-target");
  return g_strcmp0(text, GST_GL_TEXTURE_TARGET_EXTERNAL_OES_STR) == 0 ? egl::Target::External
                                                                      : egl::Target::Texture2D;
}

std::string suggest_before(const GstCaps *sent, const GstCaps *)
{
  if (is_field_each(sent))
    return kWeave;
  return "Put glcolorconvert before it for another format, or glcolorscale for another size; or "
         "upload the picture with glupload first.";
}

} // namespace

EglDownloader::EglDownloader(GstGLBaseFilter *element, GstBaseTransformClass *klass)
    : element_(element), base_(klass),
      draw_producer_(GST_ELEMENT(element), egl_dmabuf_download_debug),
      copy_producer_(GST_ELEMENT(element), egl_dmabuf_download_debug),
      frames_(GST_ELEMENT(element), stats_)
{
  failure_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                 [this](const GstCaps *filter) { return mismatch(filter); });
}

GstStructure *EglDownloader::stats() const
{
  GstStructure *structure = stats_.to_structure();
  gst_structure_set(structure, "draws", G_TYPE_UINT64, frames_.draws(), "hops", G_TYPE_UINT64,
                    frames_.hops(), nullptr);
  return structure;
}

void EglDownloader::set_flushing(bool flushing)
{
  frames_.set_flushing(flushing);
  pool_.set_flushing(flushing);
}

// --- start and stop ------------------------------------------------------------------------------

bool EglDownloader::start()
{
  stats_.reset();
  frames_.reset_counters();
  failure_.reset();
  no_context_.reset();
  warned_of_device_ = false;
  set_flushing(false);
  return base_->start(GST_BASE_TRANSFORM(element_)) != FALSE;
}

bool EglDownloader::stop()
{
  frames_.end();
  pool_.drop();
  draw_allocator_.reset();
  copy_allocator_.reset();
  draw_producer_.forget();
  copy_producer_.forget();
  allocators_.clear();
  forget_threads();
  context_.reset();
  out_caps_.reset();
  colours_.reset();
  {
    const std::lock_guard lock(formats_lock_);
    knows_formats_ = false;
    drawn_ = {};
    copied_ = {};
    max_size_ = 0;
  }
  return base_->stop(GST_BASE_TRANSFORM(element_)) != FALSE;
}

// --- the device ----------------------------------------------------------------------------------

void EglDownloader::forget_threads()
{
  if (GlThread *thread = any_thread())
    thread->retire();
  thread_.reset();
  reader_.reset();
}

void EglDownloader::learn_device(GstGLContext *context)
{
  frames_.end();
  forget_threads();
  why_copy_.clear();
  no_memory_.clear();
  draw_producer_.forget();
  copy_producer_.forget();
  context_ = GstPtr<GstGLContext>::share(context);
  auto opened = GlThread::open(context);
  const std::uint32_t max_size =
      opened ? std::min((*opened)->device()->max_texture_size(), kMaxFrameSize) : kMaxFrameSize;
  if (!opened)
    why_copy_ = opened.error().message;
  else
    why_copy_ = (*opened)->device()->import_refusal();
  if (opened)
    (why_copy_.empty() ? thread_ : reader_) = std::move(*opened);
  allocators_ = own_allocators(thread_ ? thread_->device().get() : nullptr, no_memory_);
  FormatSet drawn;
  if (thread_) {
    drawn = makeable_formats(egl::drawable_formats(thread_->device()->formats()), allocators_);
    if (drawn.empty())
      why_copy_ = thread_->device()->driver().describe() +
                  " draws into no format that can be allocated here";
    draw_allocator_ = proving_allocator(allocators_, thread_);
  }
  copy_allocator_ = proving_allocator(allocators_, nullptr);
  FormatSet copied = FormatSet::subtract(makeable_formats(copy_formats(), allocators_), drawn);
  GST_INFO_OBJECT(element_, "%zu pairs can be drawn, %zu more copied; %s", drawn.size(),
                  copied.size(), why_copy_.empty() ? "GL imports" : why_copy_.c_str());
  const std::lock_guard lock(formats_lock_);
  drawn_ = std::move(drawn);
  copied_ = std::move(copied);
  max_size_ = max_size;
  knows_formats_ = true;
}

// The GL context of the pipeline, which may be another one than before.
bool EglDownloader::take_context()
{
  FoundContext found = find_gl_context(element_);
  if (!found.context) {
    if (found.failure && no_context_.claim())
      failure_.post(GST_ELEMENT(element_), *found.failure);
    else
      (void)failure_.claim(); // caps that are refused for it are no failure of their own
    return false;
  }
  if (found.context.get() != context_.get())
    learn_device(found.context.get());
  return true;
}

// --- caps ----------------------------------------------------------------------------------------

DownloadFormats EglDownloader::known_formats() const
{
  const ImplicitModifier setting = implicit_modifier_;
  if (!knows_formats_)
    return {nullptr, nullptr, 0, setting};
  return {&drawn_, zero_copy_ == ZeroCopy::Require ? nullptr : &copied_, max_size_, setting};
}

GstPtr<GstCaps> EglDownloader::possible_caps(GstPadDirection direction, const GstCaps *caps) const
{
  const std::lock_guard lock(formats_lock_);
  return download_transform(direction, caps, known_formats());
}

bool EglDownloader::query(GstPadDirection direction, GstQuery *query)
{
  return query_transform(GST_BASE_TRANSFORM(element_), base_, direction, query,
                         [direction](const GstCaps *caps) { return can_be_set(direction, caps); });
}

GstCaps *EglDownloader::transform_caps(GstPadDirection direction, GstCaps *caps, GstCaps *filter)
{
  const GstPtr<GstCaps> other = possible_caps(direction, caps);
  GST_DEBUG_OBJECT(element_, "%" GST_PTR_FORMAT " becomes %" GST_PTR_FORMAT, caps, other.get());
  return filter ? gst_drm_caps_intersect(filter, other.get()) : gst_caps_ref(other.get());
}

Mismatch EglDownloader::mismatch(const GstCaps *in_caps) const
{
  const GstPtr<GstCaps> any = download_sink_template();
  const GstCaps *sent = in_caps ? in_caps : any.get();
  const GstPtr<GstCaps> sendable = possible_caps(GST_PAD_SINK, sent);
  const std::string headline = nothing_in_common(GST_ELEMENT(element_));
  const std::string origin = origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  if (gst_caps_is_empty(sendable.get()) || !caps_meet(sent, any.get())) {
    const auto every = GstPtr<GstCaps>::adopt(gst_caps_new_any());
    return describe_mismatch(
        {headline,
         {origin, "has", sent},
         {{GST_OBJECT_NAME(element_), "takes", possible_caps(GST_PAD_SRC, every.get()), false}}},
        suggest_before);
  }
  return describe_mismatch({headline,
                            {origin, "has", sent, sendable.get()},
                            restrictions_after(GST_BASE_TRANSFORM_SRC_PAD(element_))},
                           [](const GstCaps *, const GstCaps *) {
                             return "Put an element after it that converts dma-bufs, or let more "
                                    "formats through the capsfilters.";
                           });
}

void EglDownloader::explain(const GstCaps *in_caps, const Error &refusals)
{
  if (!failure_.claim())
    return;
  const std::string name = GST_OBJECT_NAME(element_);
  if (refusals.message.empty() && zero_copy() == ZeroCopy::Require && !why_copy_.empty()) {
    Failure failure({GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    name + " cannot draw into dma-bufs, and zero-copy=require forbids the copy",
                    Error{ErrorCode::Unsupported, why_copy_, 0});
    failure.advise("Use a driver that imports dma-bufs, or zero-copy=prefer.");
    failure.add_property("zero-copy", "require").add("caps", in_caps);
    post_failure(GST_ELEMENT(element_), failure);
    return;
  }
  if (allocators_.empty() || !refusals.message.empty()) {
    Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                    name + " has no memory that it could fill in a format that downstream takes",
                    Error{ErrorCode::Allocation,
                          refusals.message.empty() ? no_memory_ : refusals.message,
                          refusals.sys_errno});
    failure.advise(no_frame_advice(refusals));
    post_failure(GST_ELEMENT(element_), failure.add("caps", in_caps));
    return;
  }
  post_mismatch(GST_ELEMENT(element_), mismatch(in_caps));
}

GstPtr<GstCaps> EglDownloader::agree_on(Way way, GstCaps *in_caps, Error &refusals)
{
  const bool draws = way == Way::Draw;
  const FormatSet formats = draws ? drawn_ : FormatSet::unite(drawn_, copied_);
  const FormatSet &makes =
      draws ? formats
            : makeable_formats(FormatSet::intersect(formats, copy_formats()), allocators_);
  if (makes.empty())
    return {};
  const ImplicitModifier setting = implicit_modifier_;
  const DownloadFormats makeable{draws ? &makes : nullptr, draws ? nullptr : &makes, max_size_,
                                 setting};
  Producer &producer = draws ? draw_producer_ : copy_producer_;
  auto agreement = producer.agree(GST_BASE_TRANSFORM_SRC_PAD(element_),
                                  download_transform(GST_PAD_SINK, in_caps, makeable).get(),
                                  producer_formats(makes, setting),
                                  draws ? draw_allocator_.get() : copy_allocator_.get(), setting);
  if (agreement.outcome == Producer::Outcome::NotAllocated)
    add_reason(refusals, agreement.refusals);
  if (agreement.outcome != Producer::Outcome::Agreed)
    return {};
  way_ = way;
  return std::move(agreement.caps);
}

GstPtr<GstCaps> EglDownloader::agree(GstCaps *in_caps)
{
  Error refusals;
  if (auto caps = agree_on(Way::Draw, in_caps, refusals))
    return caps;
  if (!refusals.message.empty())
    GST_INFO_OBJECT(element_, "no draw: %s", refusals.message.c_str());
  if (zero_copy() != ZeroCopy::Require)
    if (auto caps = agree_on(Way::Copy, in_caps, refusals))
      return caps;
  if (!is_flushing(GST_ELEMENT(element_)))
    explain(in_caps, refusals);
  return {};
}

GstPtr<GstCaps> EglDownloader::fixate_caps(GstPadDirection direction, GstCaps *caps,
                                           GstCaps *others)
{
  auto offered = GstPtr<GstCaps>::adopt(others);
  if (direction == GST_PAD_SRC)
    return GstPtr<GstCaps>::adopt(gst_caps_fixate(offered.release()));
  auto none = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  if (!gst_caps_is_fixed(caps) || !take_context())
    return none;
  auto chosen = agree(caps);
  if (!chosen)
    return none;
  auto complete = with_colours(chosen.get());
  if (!gst_caps_is_equal(complete.get(), chosen.get()) &&
      gst_pad_peer_query_accept_caps(GST_BASE_TRANSFORM_SRC_PAD(element_), complete.get()))
    return complete;
  return chosen;
}

bool EglDownloader::set_caps(GstCaps *in_caps, GstCaps *out_caps)
{
  GError *error = nullptr;
  gst_drm_video_info_init(&out_info_);
  if (!gst_drm_video_info_from_caps_full(&out_info_, out_caps, &error)) {
    Failure failure({}, take_error(error, ErrorCode::Caps));
    failure.advise("Mend the capsfilters after " + std::string(GST_OBJECT_NAME(element_)) + ".");
    failure_.post(GST_ELEMENT(element_), failure.add("caps", out_caps));
    return false;
  }
  resolve_implicit(out_info_, implicit_modifier_);
  if (!gst_video_info_from_caps(&in_info_, in_caps)) {
    const Error no_video{ErrorCode::Caps, "The caps describe no video: " + text_of(in_caps), 0};
    failure_.post(GST_ELEMENT(element_),
                  unreadable_caps(GST_BASE_TRANSFORM_SINK_PAD(element_), no_video, in_caps));
    return false;
  }
  in_target_ = target_of(in_caps);
  out_caps_ = GstPtr<GstCaps>::share(out_caps);
  colours_ = with_colours(out_caps);
  GST_INFO_OBJECT(element_, "%s %" GST_PTR_FORMAT, way_ == Way::Draw ? "drawing" : "copying to",
                  out_caps);
  return base_->set_caps(GST_BASE_TRANSFORM(element_), in_caps, out_caps) != FALSE;
}

// --- events --------------------------------------------------------------------------------------

void EglDownloader::explain_refused_caps(GstEvent *event)
{
  GstCaps *caps = nullptr;
  gst_event_parse_caps(event, &caps);
  if (gst_pad_query_accept_caps(GST_BASE_TRANSFORM_SINK_PAD(element_), caps))
    return;
  failure_.begin(caps);
  if (failure_.claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(caps));
}

bool EglDownloader::sink_event(GstEvent *event)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(element_);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    set_flushing(true);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    set_flushing(false);
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return base_->sink_event(trans, event) != FALSE;
  return failure_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return base_->sink_event(trans, passed) != FALSE; },
      [this](const GstCaps *caps) { return mismatch(caps); });
}

} // namespace gstdrm
