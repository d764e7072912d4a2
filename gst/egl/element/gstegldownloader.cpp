// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegldownloader.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <sys/resource.h>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/reasons.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/element/format_sets.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/element/transform_query.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "gsteglformats.hpp"
#include "gstglfiltercontext.hpp"

GST_DEBUG_CATEGORY_EXTERN(egl_dmabuf_download_debug);
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

namespace gstdrm {
namespace {

constexpr const char *kFields = "the picture has fields, whose chroma OpenGL would mix";
constexpr const char *kNoImport = "OpenGL here imports no dma-bufs, or none of the agreed format";
constexpr const char *kNoTarget =
    "the OpenGL driver does not draw into frames of this size and format (see the log)";
constexpr const char *kNoShader =
    "the OpenGL driver does not compile the shader that would draw it";

// Whether a CAPS event could bring them to that pad. Textures have no layout.
bool can_be_set_at(GstPadDirection direction, const GstCaps *caps)
{
  return direction == GST_PAD_SRC ? can_be_set(caps)
                                  : caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps);
}

egl::Target target_of(const GstCaps *caps)
{
  const gchar *text = gst_structure_get_string(gst_caps_get_structure(caps, 0), "texture-target");
  return g_strcmp0(text, GST_GL_TEXTURE_TARGET_EXTERNAL_OES_STR) == 0 ? egl::Target::External
                                                                      : egl::Target::Texture2D;
}

std::string suggest_before(const GstCaps *, const GstCaps *)
{
  return "Put glcolorconvert before it for another format, or glcolorscale for another size; or "
         "upload the picture with glupload first.";
}

// What to do where no frame of a format can be made. An errno that names what the process lacks has
// its advice already.
const char *no_frame_advice(const Error &error)
{
  return error.sys_errno != 0
             ? "Try another size, or another format with a capsfilter."
             : "Try another size, or another format with a capsfilter; or raise the limits of the "
               "process (ulimit -n, -v).";
}

bool can_make(GstDrmAllocator *allocator, Format format)
{
  if (gst_drm_allocator_get_kind(allocator) == GST_DRM_ALLOCATOR_KIND_MEMFD)
    return false;
  const FormatSetPtr set(gst_drm_allocator_get_formats(allocator));
  return set && gst_drm_format_set_contains(set.get(), format.fourcc, format.modifier);
}

// Downstream's own allocators that can make such frames.
std::vector<GstPtr<GstDrmAllocator>> downstream_allocators(GstQuery *query, Format format)
{
  std::vector<GstPtr<GstDrmAllocator>> found = allocators_offered(query);
  std::erase_if(found, [&](const auto &allocator) { return !can_make(allocator.get(), format); });
  return found;
}

// More than any decoder or muxer downstream holds. A frame takes a descriptor, and the driver that
// draws into it another one: with a quarter of the process's as the bound, half are left to others.
guint most_buffers(guint kept_downstream)
{
  constexpr rlim_t kMost = 64;
  rlim_t most = kMost;
  struct rlimit descriptors = {};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY)
    most = std::min(most, descriptors.rlim_cur / 4);
  return std::max<guint>(static_cast<guint>(most), kept_downstream + 2);
}

// GstBufferPool says no more of a failure; what a process lacks most often is found out.
Error without_buffers(const char *what)
{
  const int lack = out_of_descriptors(kDescriptorsOfFrame);
  return Error{ErrorCode::Allocation, what + text_of_lack(lack), lack};
}

} // namespace

EglDownloader::EglDownloader(GstGLBaseFilter *element, GstBaseTransformClass *klass)
    : element_(element),
      base_(klass), drawing_{Producer(GST_ELEMENT(element), egl_dmabuf_download_debug), {}},
      copying_{Producer(GST_ELEMENT(element), egl_dmabuf_download_debug), {}},
      frames_(GST_ELEMENT(element), stats_)
{
  failure_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                 [this](const GstCaps *filter) { return mismatch(filter); });
  failure_.watch_caps(GST_BASE_TRANSFORM_SINK_PAD(element));
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
  stats_.begin(GST_ELEMENT(element_));
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
  allocators_.clear();
  forget_thread();
  context_.reset();
  out_caps_.reset();
  colours_.reset();
  {
    const std::lock_guard lock(formats_lock_);
    known_.reset();
  }
  return base_->stop(GST_BASE_TRANSFORM(element_)) != FALSE;
}

// --- the device ----------------------------------------------------------------------------------

void EglDownloader::forget_thread()
{
  for (Agreeing *way : {&drawing_, &copying_}) {
    way->producer.forget();
    way->allocator.reset();
  }
  if (thread_)
    thread_->retire();
  thread_.reset();
}

void EglDownloader::learn_device(GstGLContext *context)
{
  frames_.end();
  forget_thread();
  no_memory_.clear();
  context_ = GstPtr<GstGLContext>::share(context);
  Known known;
  known.max_size = kMaxFrameSize;
  if (auto opened = GlThread::open(context)) {
    thread_ = std::move(*opened);
    known.max_size = std::min(thread_->device()->max_texture_size(), kMaxFrameSize);
    why_copy_ = thread_->device()->import_refusal();
  } else {
    why_copy_ = opened.error().message;
  }
  allocators_ = own_allocators(imports() ? thread_->device().get() : nullptr, no_memory_);
  if (imports()) {
    known.drawn =
        makeable_formats(egl::drawable_formats(thread_->device()->formats()), allocators_);
    if (known.drawn.empty())
      why_copy_ = thread_->device()->driver().describe() +
                  " draws into no format that can be allocated here";
    drawing_.allocator = proving_allocator(allocators_, thread_);
  }
  copying_.allocator = proving_allocator(allocators_, nullptr);
  known.copied = FormatSet::subtract(makeable_formats(copy_formats(), allocators_), known.drawn);
  GST_INFO_OBJECT(element_, "%zu pairs can be drawn, %zu more copied; %s", known.drawn.size(),
                  known.copied.size(), why_copy_.empty() ? "GL imports" : why_copy_.c_str());
  const std::lock_guard lock(formats_lock_);
  known_ = std::move(known);
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
  const ImplicitModifier setting = implicit_modifier;
  if (!known_)
    return {nullptr, nullptr, 0, setting};
  return {&known_->drawn, zero_copy == ZeroCopy::Require ? nullptr : &known_->copied,
          known_->max_size, setting};
}

GstPtr<GstCaps> EglDownloader::possible_caps(GstPadDirection direction, const GstCaps *caps) const
{
  const std::lock_guard lock(formats_lock_);
  return download_transform(direction, caps, known_formats());
}

bool EglDownloader::query(GstPadDirection direction, GstQuery *query)
{
  return query_transform(
      GST_BASE_TRANSFORM(element_), base_, direction, query,
      [direction](const GstCaps *caps) { return can_be_set_at(direction, caps); });
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
  if (refusals.message.empty() && zero_copy == ZeroCopy::Require && !why_copy_.empty()) {
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
  const FormatSet makes =
      draws ? known_->drawn
            : makeable_formats(FormatSet::intersect(FormatSet::unite(known_->drawn, known_->copied),
                                                    copy_formats()),
                               allocators_);
  if (makes.empty())
    return {};
  const ImplicitModifier setting = implicit_modifier;
  const DownloadFormats makeable{draws ? &makes : nullptr, draws ? nullptr : &makes,
                                 known_->max_size, setting};
  Agreeing &agreeing = draws ? drawing_ : copying_;
  // Another format than the textures' would lose chroma or alpha. v4l2sink of GStreamer before 1.24
  // lists RGB and refuses the colorimetry that it has.
  GstVideoInfo textures;
  const bool may_keep = gstreamer_has_dma_drm();
  const std::uint32_t own =
      may_keep && gst_video_info_from_caps(&textures, in_caps)
          ? gst_drm_format_from_video_format(GST_VIDEO_INFO_FORMAT(&textures), nullptr)
          : 0;
  auto agreement = agreeing.producer.agree(
      GST_BASE_TRANSFORM_SRC_PAD(element_),
      download_transform(GST_PAD_SINK, in_caps, makeable).get(), producer_formats(makes, setting),
      agreeing.allocator.get(), setting, own);
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
  if (zero_copy != ZeroCopy::Require)
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
  resolve_implicit(out_info_, implicit_modifier);
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

// --- allocation ----------------------------------------------------------------------------------

void EglDownloader::compare_devices(GstQuery *query)
{
  guint64 other = 0;
  if (warned_of_device_ || !imports() || !gst_drm_query_get_device(query, &other))
    return;
  const egl::Driver &driver = thread_->device()->driver();
  if (driver.device == 0 || driver.is_software)
    return; // not known, or the CPU draws
  g_autoptr(GError) unknown = nullptr;
  if (gst_drm_device_is_same(other, driver.device, &unknown))
    return;
  if (unknown)
    GST_DEBUG_OBJECT(element_, "taken for another device: %s", unknown->message);
  warned_of_device_ = true;
  GST_ELEMENT_WARNING(element_, RESOURCE, SETTINGS,
                      ("OpenGL draws on %s, downstream imports frames on %s, another device: each "
                       "frame crosses the bus, or the import fails. Choose that device for OpenGL "
                       "(DRI_PRIME, GST_GL_WINDOW), or another one downstream.",
                       driver.node.c_str(), drm_node_path(other).c_str()),
                      ("drm-device %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                       static_cast<guint64>(driver.device), other));
}

// Either OpenGL writes the frames or the CPU.
Needs EglDownloader::own_needs() const
{
  Needs needs;
  if (imports())
    needs.device = thread_->device()->driver().node;
  if (imports() && way_ == Way::Draw)
    needs.permissions = GST_DRM_ACCESS_WRITE;
  else
    needs.cpu_access = GST_DRM_ACCESS_WRITE;
  if (out_info_.drm_modifier == GST_DRM_MODIFIER_LINEAR)
    needs.stride_align = kDeviceStrideAlign;
  needs.buffers_held = 1; // the one that is drawn
  needs.most_buffers = kMostFramesHeld + 1;
  return needs;
}

DownloadStream EglDownloader::stream_of(Way way) const
{
  DownloadStream stream;
  stream.in = in_info_;
  stream.in_target = in_target_;
  stream.out = out_info_;
  stream.conversion = conversion_of(colours_.get());
  stream.colorimetry = out_info_.vinfo.colorimetry;
  const GstStructure *structure = gst_caps_get_structure(colours_.get(), 0);
  if (const gchar *text = gst_structure_get_string(structure, "colorimetry"))
    gst_video_colorimetry_from_string(&stream.colorimetry, text);
  if (way == Way::Copy && why_undrawn_)
    stream.copy_reason = why_undrawn_;
  else if (way == Way::Copy)
    stream.copy_reason = has_fields(out_caps_.get()) && imports() ? kFields : kNoImport;
  stream.takes_fences = takes_fences_;
  return stream;
}

// A pool of that allocator, which may outlive the element in downstream's buffers. Its first buffer
// is as downstream asks for, and GL draws into it.
Result<void> EglDownloader::try_pool(GstDrmAllocator *allocator, const PoolSetup &setup)
{
  auto made = configure_pool(allocator, setup);
  if (!made)
    return made.error();
  watch_pool(made->pool.get(), GST_ELEMENT(element_), PoolSignals::All);
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return without_buffers("The pool cannot be activated");
  pool_.keep(std::move(made->pool));
  GstPtr<GstBuffer> first;
  const GstFlowReturn flow = pool_.acquire(first);
  if (flow == GST_FLOW_FLUSHING)
    return Error{ErrorCode::Allocation, "The stream is flushing", 0};
  if (flow != GST_FLOW_OK)
    return without_buffers("The pool gives no buffer");
  if (auto unmet = unmet_need(needs_, out_info_, first.get(), GST_OBJECT_NAME(allocator)))
    return Error{ErrorCode::Allocation, std::move(unmet.why), 0};
  return frames_.prove(first.get());
}

// Tries downstream's allocators, then those of this element, until GL draws into a buffer of the
// pool that was made.
Result<void> EglDownloader::open_pool(Way way, GstQuery *query)
{
  if (auto begun = frames_.begin(way == Way::Draw ? thread_ : nullptr, stream_of(way)); !begun)
    return begun;
  const Format format{out_info_.drm_fourcc, out_info_.drm_modifier};
  auto allocators = downstream_allocators(query, format);
  const bool plain = !gst_caps_features_contains(gst_caps_get_features(out_caps_.get(), 0),
                                                 GST_CAPS_FEATURE_MEMORY_DMABUF);
  const auto own = allocators.insert(allocators.end(), allocators_.begin(), allocators_.end());
  // A GPU's memory may be slow for the CPU to read: of another device, or not cached.
  if (plain || (needs_.cpu_access & GST_DRM_ACCESS_READ) != 0)
    std::stable_partition(own, allocators.end(), [](const GstPtr<GstDrmAllocator> &allocator) {
      return gst_drm_allocator_get_kind(allocator.get()) != GST_DRM_ALLOCATOR_KIND_GBM;
    });
  GstPtr<GstCaps> pool_caps = resolved_caps(out_caps_.get(), implicit_modifier);
  GstVideoInfo video; // of linear frames
  const bool has_own_rows = format.modifier == kModLinear &&
                            leads_to_import_without_meta(GST_BASE_TRANSFORM_SRC_PAD(element_)) &&
                            gst_drm_video_info_to_video_info(&out_info_, &video);
  if (has_own_rows)
    pool_caps.reset(gst_video_info_to_caps(&video));
  const guint most = most_buffers(MAX(buffers_kept(query), needs_.buffers_held));
  PoolSetup setup{pool_caps.get()};
  setup.max_buffers = needs_.most_buffers > 0 ? MIN(most, needs_.most_buffers) : most;
  setup.video_meta =
      !has_own_rows &&
      (!plain || gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  // A driver lays its tiles out as it likes; GBM takes no alignment for them.
  if (format.modifier == kModLinear)
    setup.constraints = needs_.constraints.get();
  Error refusals{ErrorCode::Allocation, {}, 0};
  for (const auto &allocator : allocators) {
    const Result<void> opened = try_pool(allocator.get(), setup);
    if (opened) {
      GST_INFO_OBJECT(element_, "buffers come from %" GST_PTR_FORMAT, allocator.get());
      return {};
    }
    GST_DEBUG_OBJECT(element_, "%" GST_PTR_FORMAT ": %s", allocator.get(),
                     opened.error().message.c_str());
    add_reason(refusals, opened.error());
    pool_.drop();
  }
  if (refusals.message.empty())
    refusals.message = no_memory_;
  return refusals;
}

// The CPU reads 2D textures alone, none of a context that is lost, and writes rows alone.
bool EglDownloader::can_copy_instead() const
{
  return out_info_.drm_modifier == kModLinear && in_target_ == egl::Target::Texture2D &&
         !thread_->device()->is_lost();
}

void EglDownloader::post_unfilled(const Error &error)
{
  const std::string name = GST_OBJECT_NAME(element_);
  const std::string frames = std::to_string(out_info_.vinfo.width) + "x" +
                             std::to_string(out_info_.vinfo.height) + " " +
                             describe_format({out_info_.drm_fourcc, out_info_.drm_modifier});
  if (error.code == ErrorCode::Device) { // whose own sentence says what to do
    Failure failure(name + " cannot draw frames of " + frames, error);
    if (zero_copy == ZeroCopy::Require && can_copy_instead())
      failure.advise("Or set zero-copy=prefer, which copies.").add_property("zero-copy", "require");
    post_failure(GST_ELEMENT(element_), failure.add("caps", out_caps_.get()));
    return;
  }
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  name + " has no buffers of " + frames + " that it can fill", error);
  failure.advise(no_frame_advice(error));
  post_failure(GST_ELEMENT(element_), failure.add("caps", out_caps_.get()));
}

bool EglDownloader::decide_allocation(GstQuery *query)
{
  frames_.end();
  pool_.drop();
  why_undrawn_ = nullptr;
  if (!out_caps_ || !take_context())
    return false;
  compare_devices(query);
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, out_info_, own_needs(), [this] { return failure_.claim(); },
          needs_))
    return false;
  takes_fences_ =
      gst_query_find_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr) != FALSE;
  if (!imports())
    way_ = Way::Copy;
  auto opened = open_pool(way_, query);
  if (!opened && way_ == Way::Draw && zero_copy != ZeroCopy::Require && can_copy_instead()) {
    GST_INFO_OBJECT(element_, "no draw: %s", opened.error().message.c_str());
    why_undrawn_ = opened.error().code == ErrorCode::Device        ? kNoShader
                   : opened.error().code == ErrorCode::Unsupported ? kNoTarget
                                                                   : kNoImport;
    opened = open_pool(Way::Copy, query);
  }
  remove_offers(query);
  if (opened)
    return true;
  if (!is_flushing(GST_ELEMENT(element_)) && failure_.claim())
    post_unfilled(opened.error());
  return false;
}

// No pool: upstream renders into textures of its own.
bool EglDownloader::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  if (!base_->propose_allocation(GST_BASE_TRANSFORM(element_), decide_query, query))
    return false;
  for (const GType api : {GST_VIDEO_META_API_TYPE, GST_GL_SYNC_META_API_TYPE})
    if (!gst_query_find_allocation_meta(query, api, nullptr))
      gst_query_add_allocation_meta(query, api, nullptr);
  return true;
}

// --- frames --------------------------------------------------------------------------------------

GstFlowReturn EglDownloader::fail(const Error &error)
{
  if (thread_ && thread_->device()->is_lost()) { // with all that was imported into the context
    frames_.end();
    gst_base_transform_reconfigure_src(GST_BASE_TRANSFORM(element_));
  }
  const std::string sender = peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot turn a frame of " + sender +
                      " into DMA buffers",
                  error);
  failure.advise(advice_on(error, sender)).add("sender", sender).add("caps", out_caps_.get());
  (void)failure_.claim(); // caps that are refused for it are no failure of their own
  post_failure(GST_ELEMENT(element_), failure);
  return GST_FLOW_ERROR;
}

// After a RECONFIGURE the caps are chosen again here, without an event that sink_event() would see.
GstFlowReturn EglDownloader::submit_input_buffer(bool discont, GstBuffer *buffer)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(element_);
  // a context that took the place of another one draws into buffers that it imported itself
  const auto context = GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element_));
  if (context && context_ && context.get() != context_.get())
    gst_base_transform_reconfigure_src(trans);
  const GstFlowReturn flow = base_->submit_input_buffer(trans, discont, buffer);
  if (flow == GST_FLOW_NOT_NEGOTIATED && !is_flushing(GST_ELEMENT(element_))) {
    const auto caps =
        GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(trans)));
    if (caps)
      explain(caps.get(), {});
  }
  return flow;
}

GstFlowReturn EglDownloader::prepare_output(GstBuffer *in, GstBuffer **out)
{
  GstPtr<GstBuffer> buffer;
  if (const GstFlowReturn flow = pool_.acquire(buffer); flow != GST_FLOW_OK)
    return flow;
  GstBaseTransform *trans = GST_BASE_TRANSFORM(element_);
  GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, in, buffer.get());
  *out = buffer.release();
  return GST_FLOW_OK;
}

GstFlowReturn EglDownloader::transform(GstBuffer *in, GstBuffer *out)
{
  const auto made = frames_.make(in, out);
  if (!made)
    return fail(made.error());
  // A context that is lost gives the CPU nothing to read, and says so only when it is asked.
  if (frames_.copies() && thread_ && thread_->device()->reports_resets())
    if (const auto asked = thread_->run([](egl::Device &) { return Result<void>(); }); !asked)
      return fail(asked.error());
  return *made ? GST_FLOW_OK : GST_FLOW_FLUSHING;
}

} // namespace gstdrm
