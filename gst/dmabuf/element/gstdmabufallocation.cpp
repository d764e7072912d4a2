// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufallocation.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <sys/resource.h>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/element/allocation_query.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/pool_watch.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/video/video.h>

#include "gstdmabufcaps.hpp"

GST_DEBUG_CATEGORY_EXTERN(dmabuf_upload_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_upload_debug

namespace gstdrm {

// The messages of an element's pools, each once after reset(). Any thread that waits for a buffer
// posts them, as long as the element is there: pools may outlive it.
class PoolMessages : public std::enable_shared_from_this<PoolMessages> {
public:
  enum class Use { Copies, Upstream };

  explicit PoolMessages(GstElement *element) { g_weak_ref_init(&element_, element); }
  ~PoolMessages() { g_weak_ref_clear(&element_); }
  PoolMessages(const PoolMessages &) = delete;
  PoolMessages &operator=(const PoolMessages &) = delete;

  // Posts what goes wrong in this pool from now on.
  void watch(GstBufferPool *pool, Use use);
  // A start: every message may be posted again.
  void reset() noexcept;
  // A frame has left: memory that ends after it is another failure.
  void end_failure() noexcept { failed_ = false; }
  // The allocator's notice as an info message.
  void tell_notice(GstDrmAllocator *allocator);

private:
  struct Watch;
  GstPtr<GstElement> element();
  static void on_exhausted(GstBufferPool *pool, gpointer data);
  static void on_failed(GstBufferPool *pool, const GError *error, gpointer data);

  GWeakRef element_{};
  std::atomic<bool> told_exhausted_{false};
  std::atomic<bool> told_notice_{false};
  std::atomic<bool> failed_{false};
};

namespace {

// Buffers of this size that one pool may make where the user names no number: what half of the
// process's descriptors and half of the machine's memory hold, and never so few that a decoder with
// all its reference frames waits for itself. `min` is what downstream keeps, and one.
guint automatic_bound(gsize frame_bytes, guint min)
{
  // H.264 and H.265 keep 16 reference frames at most (ITU-T H.264 A.3.1, H.265 A.4.2); the rest is
  // for a decoder's threads.
  constexpr guint kFewest = 16 + 4;
  constexpr guint64 kMost = 1U << 16;
  guint64 bound = kMost;
  struct rlimit descriptors = {};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur != RLIM_INFINITY)
    bound = std::min<guint64>(bound, descriptors.rlim_cur / 2); // one for each buffer
  bound = std::min(bound, frames_in_half_of_memory(frame_bytes));
  return static_cast<guint>(std::max<guint64>(bound, min + kFewest));
}

struct PoolNumbers {
  guint64 frames = 0;
  guint64 bytes = 0;
  guint64 out = 0;
};

PoolNumbers numbers_of(GstBufferPool *pool)
{
  PoolNumbers numbers;
  GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(pool));
  if (!stats) // out of memory, which is what the message is about
    return numbers;
  gst_structure_get(stats, "frames", G_TYPE_UINT64, &numbers.frames, "bytes", G_TYPE_UINT64,
                    &numbers.bytes, "out", G_TYPE_UINT64, &numbers.out, nullptr);
  gst_structure_free(stats);
  return numbers;
}

// "24.9 MiB"
std::string mebibytes(guint64 bytes)
{
  const guint64 tenths = (bytes * 10 + (1U << 19)) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MiB";
}

// "queue0 (queue) or what follows it": who holds buffers of a pool. Upstream holds those that it
// writes into as well.
std::string holders(GstElement *element, PoolMessages::Use use)
{
  std::string text = holders_downstream(element);
  if (use == PoolMessages::Use::Upstream)
    text += ", and " + peer_name(GST_BASE_TRANSFORM_SINK_PAD(element)) +
            " where it keeps frames to decode others";
  return text;
}

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

// --- messages ------------------------------------------------------------------------------------

// What a handler of a pool's signals knows.
struct PoolMessages::Watch {
  std::shared_ptr<PoolMessages> messages;
  Use use;
};

GstPtr<GstElement> PoolMessages::element()
{
  return GstPtr<GstElement>::adopt(static_cast<GstElement *>(g_weak_ref_get(&element_)));
}

void PoolMessages::on_exhausted(GstBufferPool *pool, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || is_normal_wait(element.get()) || watch->messages->told_exhausted_.exchange(true))
    return;
  const PoolNumbers numbers = numbers_of(pool);
  const std::string who = holders(element.get(), watch->use);
  GST_ELEMENT_WARNING(element.get(), RESOURCE, NO_SPACE_LEFT,
                      ("%s waits for a free buffer: it made %" G_GUINT64_FORMAT
                       " (%s), as many as it may, %" G_GUINT64_FORMAT
                       " are in use, and none came back for a second. They are held by %s. Let go "
                       "of frames sooner there (drop old samples, shorten queues), or raise "
                       "max-buffers.",
                       GST_OBJECT_NAME(element.get()), numbers.frames,
                       mebibytes(numbers.bytes).c_str(), numbers.out, who.c_str()),
                      ("pool %s", GST_OBJECT_NAME(pool)));
}

void PoolMessages::on_failed(GstBufferPool *pool, const GError *error, gpointer data)
{
  const auto *watch = static_cast<const Watch *>(data);
  const GstPtr<GstElement> element = watch->messages->element();
  if (!element || watch->messages->failed_.exchange(true))
    return;
  const PoolNumbers numbers = numbers_of(pool);
  const std::string who = holders(element.get(), watch->use);
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element.get())) + " cannot make another buffer",
                  take_error(g_error_copy(error)));
  failure.advise("It has made " + std::to_string(numbers.frames) + " (" + mebibytes(numbers.bytes) +
                 "), " + std::to_string(numbers.out) + " are in use, held by " + who +
                 ". Let go of frames sooner there, set max-buffers to what there is room for, or "
                 "raise the limit (ulimit -n for descriptors).");
  failure.add("buffers", numbers.frames).add("bytes", numbers.bytes).add("in-use", numbers.out);
  failure.add("holders", who).add("pool", GST_OBJECT_NAME(pool));
  post_failure(element.get(), failure);
}

void PoolMessages::watch(GstBufferPool *pool, Use use)
{
  constexpr GClosureNotify free_watch = [](gpointer watch, GClosure *) noexcept {
    delete static_cast<Watch *>(watch);
  };
  g_signal_connect_data(pool, "exhausted", G_CALLBACK(logging<on_exhausted>),
                        new Watch{shared_from_this(), use}, free_watch,
                        static_cast<GConnectFlags>(0));
  g_signal_connect_data(pool, "allocation-failed", G_CALLBACK(logging<on_failed>),
                        new Watch{shared_from_this(), use}, free_watch,
                        static_cast<GConnectFlags>(0));
}

void PoolMessages::reset() noexcept
{
  told_exhausted_ = false;
  told_notice_ = false;
  failed_ = false;
}

void PoolMessages::tell_notice(GstDrmAllocator *allocator)
{
  g_autofree gchar *notice = gst_drm_allocator_get_notice(allocator);
  const GstPtr<GstElement> element = this->element();
  if (!notice || !element || told_notice_.exchange(true))
    return;
  const std::string text = std::string(GST_OBJECT_NAME(element.get())) + ": " + notice + ".";
  GST_ELEMENT_INFO(element.get(), RESOURCE, SETTINGS, ("%s", text.c_str()), ("%s", text.c_str()));
}

// --- settings ------------------------------------------------------------------------------------

UploadAllocation::UploadAllocation(GstBaseTransform *element, FailedNegotiation &negotiation)
    : element_(element), negotiation_(negotiation),
      messages_(std::make_shared<PoolMessages>(GST_ELEMENT(element)))
{
}

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
  needs.stride_align = plain_output_ ? 1 : kDeviceStrideAlign;
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
  has_own_rows_ = leads_to_import_without_meta(GST_BASE_TRANSFORM_SRC_PAD(element_));
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
  guint index = 0; // of what downstream says, which comes through
  if (has_own_rows_ && gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, &index))
    gst_query_remove_nth_allocation_meta(query, index);
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

void UploadAllocation::end_failure() noexcept
{
  messages_->end_failure();
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
  return MAX(plain_output_ ? 1 : kDeviceStrideAlign, needs_.stride_align);
}

bool UploadAllocation::made_as_bytes(const GstMemory *memory) const
{
  return memory->allocator == GST_ALLOCATOR_CAST(allocator_.get()) &&
         !makes_whole_frames(allocator_);
}

PoolSetup UploadAllocation::pool_setup(GstCaps *caps) const
{
  PoolSetup setup{caps, fewest_buffers(), most_buffers(), may_pad_rows()};
  setup.constraints = needs_.constraints.get();
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
