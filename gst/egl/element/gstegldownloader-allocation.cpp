// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the buffers of egldmabufdownload come from, and what becomes of each frame.
#include <algorithm>
#include <utility>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/reasons.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/advice.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/format_sets.hpp>

#include "gstegldownloadcaps.hpp"
#include "gstegldownloader.hpp"
#include "gstegldownloadpool.hpp"

GST_DEBUG_CATEGORY_EXTERN(egl_dmabuf_download_debug);
#define GST_CAT_DEFAULT egl_dmabuf_download_debug

namespace gstdrm {
namespace {

constexpr const char *kFields = "the picture has fields, whose chroma OpenGL would mix";
constexpr const char *kNoImport = "OpenGL here imports no dma-bufs, or none of the agreed format";
constexpr const char *kNoShader =
    "the OpenGL driver does not compile the shader that would draw it";

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

} // namespace

// --- allocation ----------------------------------------------------------------------------------

void EglDownloader::compare_devices(GstQuery *query)
{
  guint64 other = 0;
  if (warned_of_device_ || !thread_ || !gst_drm_query_get_device(query, &other))
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
  if (thread_)
    needs.device = thread_->device()->driver().node;
  if (thread_ && way_ == Way::Draw)
    needs.permissions = GST_DRM_ACCESS_WRITE;
  else
    needs.cpu_access = GST_DRM_ACCESS_WRITE;
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
    stream.copy_reason = has_fields(out_caps_.get()) && thread_ ? kFields : kNoImport;
  stream.takes_fences = takes_fences_;
  return stream;
}

// Tries downstream's allocators, then those of this element, until GL draws into a buffer of the
// pool that was made.
Result<void> EglDownloader::open_pool(Way way, GstQuery *query)
{
  if (auto begun = frames_.begin(way == Way::Draw ? thread_ : nullptr, stream_of(way)); !begun)
    return begun;
  const Format format{out_info_.drm_fourcc, out_info_.drm_modifier};
  auto allocators = downstream_allocators(query, format);
  allocators.insert(allocators.end(), allocators_.begin(), allocators_.end());
  const bool plain = !gst_caps_features_contains(gst_caps_get_features(out_caps_.get(), 0),
                                                 GST_CAPS_FEATURE_MEMORY_DMABUF);
  const bool video_meta =
      !plain || gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  // A driver lays its tiles out as it likes; GBM takes no alignment for them.
  const bool linear = format.modifier == kModLinear;
  const GstPtr<GstCaps> pool_caps = resolved_caps(out_caps_.get(), implicit_modifier_);
  const DownloadPoolSetup setup = {pool_caps.get(),
                                   MAX(buffers_kept(query), needs_.buffers_held),
                                   video_meta,
                                   linear ? needs_.stride_align : 0,
                                   linear ? needs_.offset_align : 0,
                                   linear ? needs_.least_stride : 0,
                                   needs_.most_buffers};
  Error refusals{ErrorCode::Allocation, {}, 0};
  for (const auto &allocator : allocators) {
    auto made = open_download_pool(GST_ELEMENT(element_), allocator.get(), setup);
    auto opened = made ? Result<void>() : Result<void>(made.error());
    if (made) {
      pool_.keep(std::move(*made));
      GstPtr<GstBuffer> first;
      const GstFlowReturn flow = pool_.acquire(first);
      if (flow == GST_FLOW_FLUSHING)
        return Error{ErrorCode::Allocation, "The stream is flushing", 0};
      if (flow != GST_FLOW_OK)
        opened = Error{ErrorCode::Allocation, "The pool gives no buffer", 0};
      else if (auto unmet =
                   unmet_need(needs_, out_info_, first.get(), GST_OBJECT_NAME(allocator.get())))
        opened = Error{ErrorCode::Allocation, std::move(unmet.why), 0};
      else
        opened = frames_.prove(first.get());
    }
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
    if (zero_copy() == ZeroCopy::Require && can_copy_instead())
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
  if (!thread_)
    way_ = Way::Copy;
  auto opened = open_pool(way_, query);
  if (!opened && way_ == Way::Draw && zero_copy() != ZeroCopy::Require && can_copy_instead()) {
    GST_INFO_OBJECT(element_, "no draw: %s", opened.error().message.c_str());
    why_undrawn_ = opened.error().code == ErrorCode::Device ? kNoShader : kNoImport;
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
  const GlThread *thread = any_thread();
  if (thread && thread->device()->is_lost()) { // with all that was imported into the context
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
  GlThread *thread = any_thread();
  if (frames_.copies() && thread && thread->device()->reports_resets())
    if (const auto asked = thread->run([](egl::Device &) { return Result<void>(); }); !asked)
      return fail(asked.error());
  return *made ? GST_FLOW_OK : GST_FLOW_FLUSHING;
}

} // namespace gstdrm
