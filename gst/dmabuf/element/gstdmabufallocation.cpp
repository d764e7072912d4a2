// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufallocation.hpp"

#include <string>
#include <utility>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/video/video.h>

#include "gstdmabufcaps.hpp"

GST_DEBUG_CATEGORY_EXTERN(dmabuf_upload_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_upload_debug

namespace gstdrm {

namespace {

// Dumb and GBM buffers come in whole frames.
bool makes_whole_frames(const GstPtr<GstDrmAllocator> &allocator)
{
  return GST_OBJECT_FLAG_IS_SET(allocator.get(), GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

// The value of the property allocator: "dma-heap".
std::string name_of(GstDrmAllocatorKind kind)
{
  auto *const values = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  const GEnumValue *const value = g_enum_get_value(values, kind);
  const std::string name = value ? value->value_nick : "";
  g_type_class_unref(values);
  return name;
}

// The allocator that downstream's answer to an allocation query offers, if it makes frames of this
// linear fourcc that devices can import; `may_pad` is false where rows must not be padded.
// Downstream's own allocator knows best where its device can read. Its pool is left alone: one pool
// cannot serve both upstream and the copies here, nor hold caps of both dialects, an allocator can.
GstPtr<GstDrmAllocator> downstream_allocator(GstQuery *query, guint32 fourcc, bool may_pad)
{
  const auto usable = [=](GstDrmAllocator *allocator) {
    if (gst_drm_allocator_get_kind(allocator) == GST_DRM_ALLOCATOR_KIND_MEMFD)
      return false;
    if (!may_pad && GST_OBJECT_FLAG_IS_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC))
      return false; // whole frames only, with the rows that its device wants
    GstDrmFormatSet *formats = gst_drm_allocator_get_formats(allocator);
    const bool found = gst_drm_format_set_contains(formats, fourcc, GST_DRM_MODIFIER_LINEAR);
    gst_drm_format_set_unref(formats);
    return found;
  };
  for (GstPtr<GstDrmAllocator> &allocator : allocators_offered(query))
    if (usable(allocator.get()))
      return std::move(allocator);
  return {};
}

} // namespace

AllocationSettings UploadAllocation::settings() const
{
  const std::lock_guard lock(settings_lock_);
  return settings_;
}

// --- start and caps ------------------------------------------------------------------------------

void UploadAllocation::forget_copies()
{
  copies_.drop();
  offer_ = Offer::NotAsked;
}

void UploadAllocation::begin(const GstDrmVideoInfo &info, GstCaps *plain_caps, bool plain_output)
{
  info_ = info;
  plain_caps_ = GstPtr<GstCaps>::share(plain_caps);
  plain_output_ = plain_output;
}

void UploadAllocation::start()
{
  set_flushing(false);
  messages_->reset();
}

void UploadAllocation::stop()
{
  copies_.drop();
  allocator_.reset();
  plain_caps_.reset();
  memfd_announced_ = false;
}

// --- downstream ----------------------------------------------------------------------------------

void UploadAllocation::announce_memfd()
{
  if (std::exchange(memfd_announced_, true))
    return;
  GST_ELEMENT_WARNING(element_, RESOURCE, NOT_FOUND,
                      ("%s found nothing on this machine that exports dma-bufs, and uses shared "
                       "memory (memfd), which no "
                       "device can import. Load udmabuf or a dma-heap (modprobe udmabuf), or check "
                       "the permissions of "
                       "/dev/udmabuf and /dev/dma_heap.",
                       GST_OBJECT_NAME(element_)),
                      ("allocator=auto chose memfd"));
}

bool UploadAllocation::choose_allocator(GstQuery *query)
{
  const AllocationSettings wanted = settings();
  const bool open = wanted.kind == GST_DRM_ALLOCATOR_KIND_AUTO && wanted.device.empty();
  auto theirs = open ? downstream_allocator(query, info_.drm_fourcc, may_pad_rows())
                     : GstPtr<GstDrmAllocator>();
  if (theirs && !unmet_memory(needs_, GST_ALLOCATOR(theirs.get()), "")) {
    allocator_ = std::move(theirs);
    GST_INFO_OBJECT(element_, "using downstream's allocator %" GST_PTR_FORMAT, allocator_.get());
    return true;
  }
  const char *device = wanted.device.empty() ? nullptr : wanted.device.c_str();
  g_autoptr(GError) error = nullptr;
  allocator_ =
      open ? open_agreed_allocator(needs_, &error)
           : GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(wanted.kind, device, &error));
  if (!allocator_) {
    if (negotiation_.claim()) {
      const std::string asked_by = unmet_memory(needs_, nullptr, "").asked_by;
      Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE},
                      std::string(GST_OBJECT_NAME(element_)) +
                          " has nothing to allocate dma-bufs from" +
                          (asked_by.empty() ? "" : " in the memory that " + asked_by + " asks for"),
                      take_error(g_steal_pointer(&error)));
      failure.advise("Choose another one with the property allocator.");
      failure.add_property("allocator", name_of(wanted.kind))
          .add("device", wanted.device)
          .add("receiver", asked_by);
      post_failure(GST_ELEMENT(element_), failure);
    }
    return false;
  }
  if (wanted.kind == GST_DRM_ALLOCATOR_KIND_AUTO &&
      gst_drm_allocator_get_kind(allocator_.get()) == GST_DRM_ALLOCATOR_KIND_MEMFD)
    announce_memfd();
  GST_INFO_OBJECT(element_, "using %" GST_PTR_FORMAT, allocator_.get());
  return true;
}

// The CPU writes the copies; whoever else writes has its own say in its own queries.
Needs UploadAllocation::own_needs() const
{
  Needs needs;
  needs.stride_align = static_cast<guint>(alignment());
  needs.cpu_access = GST_DRM_ACCESS_WRITE;
  needs.buffers_held = 1; // the one that is being written
  needs.most_buffers = kMostFramesHeld + 1;
  return needs;
}

bool UploadAllocation::decide(GstQuery *query)
{
  copies_.drop();
  takes_video_meta_ = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  takes_crop_meta_ = gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  if (!agree_on_needs(
          GST_ELEMENT(element_), query, info_, own_needs(), [this] { return negotiation_.claim(); },
          needs_))
    return false;
  held_downstream_ = MAX(buffers_kept(query), needs_.buffers_held);
  if (!choose_allocator(query))
    return false;
  remove_offers(query);
  return check(unmet_memory(needs_, GST_ALLOCATOR(allocator_.get()), allocator_name()));
}

std::string UploadAllocation::allocator_name() const
{
  return "the allocator " + name_of(gst_drm_allocator_get_kind(allocator_.get()));
}

bool UploadAllocation::check(const Unmet &unmet)
{
  if (unmet && negotiation_.claim())
    post_unmet(GST_ELEMENT(element_), unmet, plain_caps_.get());
  return !unmet;
}

bool UploadAllocation::suits_consumers(GstBuffer *frame) const
{
  return !unmet_need(needs_, info_, frame, "");
}

// The most that a consumer wants to see is obeyed before what another one would like to keep.
guint UploadAllocation::fewest_buffers() const noexcept
{
  const guint fewest = MAX(held_downstream_ + 1, needs_.fewest_buffers);
  return needs_.most_buffers > 0 ? MIN(fewest, needs_.most_buffers) : fewest;
}

// --- upstream ------------------------------------------------------------------------------------

guint UploadAllocation::most_buffers() const
{
  const guint min = fewest_buffers();
  const guint named = settings().max_buffers;
  const guint most =
      named > 0 ? MAX(named, min) : automatic_bound(GST_VIDEO_INFO_SIZE(&info_.vinfo), min);
  const bool limited = needs_.most_buffers > 0 && needs_.most_buffers <= kMostFramesHeld;
  return limited ? MIN(most, needs_.most_buffers) : most;
}

bool UploadAllocation::propose(GstQuery *query)
{
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  if (!caps || !allocator_ || is_dmabuf_caps(caps))
    return false;
  const guint min = fewest_buffers();
  const guint max = most_buffers();
  guint size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info_.vinfo));
  GstPtr<GstBufferPool> pool;
  if (need_pool) {
    // Whoever can read a GstVideoMeta adds the option; others keep GStreamer's default layout.
    auto made = configure_pool(allocator_.get(), {caps, min, max, false});
    if (!made && may_pad_rows()) // dumb and GBM buffers have the rows that their device wants
      made = configure_pool(allocator_.get(), pool_setup(caps));
    if (!made)
      return false;
    pool = std::move(made->pool);
    size = made->size;
    messages_->watch(pool.get(), PoolMessages::Use::Upstream);
    {
      const std::lock_guard lock(offered_lock_);
      offered_ = pool;
    }
    messages_->tell_notice(allocator_.get());
  }
  gst_query_add_allocation_pool(query, pool.get(), size, min, max);
  offer_ = need_pool ? Offer::Made : Offer::Declined;
  // For a decoder with a pool of its own. An allocator of whole frames has no such call.
  if (!makes_whole_frames(allocator_))
    gst_query_add_allocation_param(query, GST_ALLOCATOR(allocator_.get()), nullptr);
  if (may_pad_rows() && !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  if (may_pad_rows() &&
      !gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr))
    gst_query_add_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  GST_DEBUG_OBJECT(element_, "offering %" GST_PTR_FORMAT " to %s", pool.get(),
                   peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_)).c_str());
  return true;
}

// GstBufferPool warns of a flush of a pool that upstream has deactivated.
void UploadAllocation::set_flushing(bool flushing)
{
  copies_.set_flushing(flushing);
  const std::lock_guard lock(offered_lock_);
  if (std::exchange(flushing_, flushing) == flushing)
    return;
  if (!flushing)
    end_failure(); // the application tries again
  if (offered_ && gst_buffer_pool_is_active(offered_.get()))
    gst_buffer_pool_set_flushing(offered_.get(), flushing);
}

void UploadAllocation::leave_upstream()
{
  const std::lock_guard lock(offered_lock_);
  if (flushing_ && offered_ && gst_buffer_pool_is_active(offered_.get()))
    gst_buffer_pool_set_flushing(offered_.get(), FALSE);
  offered_.reset();
}

// --- frames --------------------------------------------------------------------------------------

// GPUs ask for rows of a multiple of this many bytes, and for a picture that begins at one
// (docs/library.md); whoever reads with the CPU asks for nothing.
gsize UploadAllocation::alignment() const noexcept
{
  constexpr gsize kDeviceAlign = 256;
  return MAX(plain_output_ ? 1 : kDeviceAlign, gsize{needs_.stride_align});
}

bool UploadAllocation::made_as_bytes(const GstMemory *memory) const
{
  return memory->allocator == GST_ALLOCATOR_CAST(allocator_.get()) &&
         !makes_whole_frames(allocator_);
}

PoolSetup UploadAllocation::pool_setup(GstCaps *caps) const
{
  PoolSetup setup{caps, fewest_buffers(), most_buffers(), may_pad_rows()};
  setup.stride_align = needs_.stride_align;
  setup.offset_align = needs_.offset_align;
  setup.least_stride = needs_.least_stride;
  return setup;
}

// An Error without a message where the pool has logged the reason.
Result<void> UploadAllocation::make_copy_pool()
{
  auto made = configure_pool(allocator_.get(), pool_setup(plain_caps_.get()));
  if (!made)
    return made.error();
  messages_->watch(made->pool.get(), PoolMessages::Use::Copies);
  if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return Error{ErrorCode::Allocation, {}, out_of_descriptors(kDescriptorsOfFrame)};
  copies_.keep(std::move(made->pool));
  messages_->tell_notice(allocator_.get());
  return {};
}

// The pool only logs its reason, so one more frame is allocated for an Error.
std::string UploadAllocation::reason_without_pool() const
{
  g_autoptr(GError) error = nullptr;
  const auto frame = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator_.get(), info_.drm_fourcc, static_cast<guint>(info_.vinfo.width),
      static_cast<guint>(info_.vinfo.height), &info_.drm_modifier, 1, nullptr, nullptr, &error));
  if (error)
    return error->message;
  if (!may_pad_rows())
    return "one could be made, but not without padded rows, and downstream reads no GstVideoMeta";
  return "one could be made, but not the " + std::to_string(fewest_buffers()) + " that are needed";
}

GstFlowReturn UploadAllocation::fail_without_pool(const Error &why)
{
  const std::string format = gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info_.vinfo));
  Failure failure(
      {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
      std::string(GST_OBJECT_NAME(element_)) + " cannot allocate dma-bufs of " +
          std::to_string(info_.vinfo.width) + "x" + std::to_string(info_.vinfo.height) + " " +
          format,
      Error{ErrorCode::Allocation,
            why.sys_errno != 0 && !why.message.empty() ? why.message : reason_without_pool(),
            why.sys_errno});
  failure.advise("Choose another allocator with the property allocator, or see the log "
                 "(GST_DEBUG=drmallocator:5).");
  failure.add_property("allocator", name_of(gst_drm_allocator_get_kind(allocator_.get())));
  failure.add("device", settings().device).add("caps", plain_caps_.get());
  post_failure(GST_ELEMENT(element_), failure);
  return GST_FLOW_ERROR;
}

GstFlowReturn UploadAllocation::acquire(GstPtr<GstBuffer> &buffer)
{
  const bool is_new = !copies_.get();
  if (is_new)
    if (const auto made = make_copy_pool(); !made)
      return fail_without_pool(made.error());
  const GstFlowReturn ret = copies_.acquire(buffer);
  if (ret == GST_FLOW_OK && is_new &&
      !check(unmet_need(needs_, info_, buffer.get(), allocator_name()))) {
    buffer.reset();
    copies_.drop();
    return GST_FLOW_ERROR;
  }
  return ret;
}

} // namespace gstdrm
