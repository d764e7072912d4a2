// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkframes.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <gst/drm/core/frame_fences.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/video/video.h>

#include "engine/commit/kms_fence_wait.hpp"
#include "gstkmsdmabufsink.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// Four that the display holds, and the one that is filled.
constexpr guint kCopyBuffers = 5;

// A framebuffer of the whole frame cannot be had, and one of its part may.
bool is_refused(const Error &error)
{
  return error.code == ErrorCode::Import || error.code == ErrorCode::Unsupported ||
         error.code == ErrorCode::Layout;
}

} // namespace

SinkFrames::SinkFrames(GstElement *element, const SinkDisplay &display, SinkFences &fences,
                       Stats &stats)
    : element_(element), display_(display), fences_(fences), stats_(stats)
{
  gst_drm_video_info_init(&stream_.info);
  gst_video_info_init(&whole_);
}

void SinkFrames::begin(const SinkStream &stream)
{
  whole_ = stream.info.vinfo;
  show_parts(stream);
}

void SinkFrames::show_parts(const SinkStream &stream)
{
  stream_ = stream;
  imports_refused_ = false;
  shifts_ = false;
  part_ = {};
  is_between_caps_ = true;
  release_pool();
}

void SinkFrames::restart()
{
  interrupt_.clear();
  overlays_blended_ = 0;
  left_out_announced_ = false;
}

void SinkFrames::stop()
{
  compositions_.forget();
  release_pool();
}

void SinkFrames::release_pool()
{
  close_pool(pool_);
  close_pool(kept_pool_);
}

// Makes the planes of a frame that make() has checked begin at the picture's first pixel.
Result<void> SinkFrames::crop(GstPtr<GstBuffer> &frame) const
{
  if (!is_padded_frame(frame.get(), video_info()) || crop_in_place(frame, video_info(), 1))
    return {};
  return Error{ErrorCode::Layout,
               "The picture of a frame begins among pixels that share chroma, or not at the first "
               "pixel of a tiled frame. Crop at even pixels, or upstream in the decoder.",
               0};
}

// A frame of GStreamer's default layout, of which a part is shown, with a GstVideoMeta that says
// so.
GstPtr<GstBuffer> SinkFrames::with_whole_size(GstBuffer *buffer) const
{
  if (!gst_buffer_get_video_crop_meta(buffer) || gst_buffer_get_video_meta(buffer) ||
      GST_VIDEO_INFO_N_PLANES(&whole_) == 0)
    return GstPtr<GstBuffer>::share(buffer);
  auto whole = shallow_copy(buffer);
  if (!whole)
    return GstPtr<GstBuffer>::share(buffer);
  GstVideoInfo info = whole_; // GStreamer 1.22 takes offsets and strides without const
  gst_buffer_add_video_meta_full(whole.get(), GST_VIDEO_FRAME_FLAG_NONE,
                                 GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)),
                                 GST_VIDEO_INFO_N_PLANES(&info), info.offset, info.stride);
  return whole;
}

// Compositions are laid out for the caps' size. Where a GstVideoCropMeta shows a part of that, the
// buffer with such that are laid out for the part.
GstPtr<GstBuffer> SinkFrames::with_overlays_of_part(GstBuffer *buffer, kms::Origin part)
{
  const GstVideoInfo &shown = video_info();
  const bool is_part = GST_VIDEO_INFO_WIDTH(&shown) != GST_VIDEO_INFO_WIDTH(&whole_) ||
                       GST_VIDEO_INFO_HEIGHT(&shown) != GST_VIDEO_INFO_HEIGHT(&whole_);
  if (!is_part || part == kms::Origin{})
    return GstPtr<GstBuffer>::share(buffer);
  auto copy = shallow_copy(buffer);
  if (!copy)
    return GstPtr<GstBuffer>::share(buffer);
  compositions_.lay_out_for_part(copy.get(), part);
  return copy;
}

Result<kms::Frame> SinkFrames::make(kms::Display &display, GstBuffer *given, kms::Origin part)
{
  const GstPtr<GstBuffer> whole = with_whole_size(given);
  if (compositions_of(whole.get()).empty())
    return make_plain(display, whole.get(), part);
  const GstPtr<GstBuffer> own = with_overlays_of_part(whole.get(), part);
  GstBuffer *buffer = own.get();
  const std::vector<GstVideoOverlayComposition *> compositions = compositions_of(buffer);
  if (compositions.empty()) // none of its rectangles can be read
    return make_plain(display, buffer, part);
  const bool by_plane = display.can_overlay();
  if (!by_plane && may_copy())
    return blend(display, buffer, part, compositions);
  if (!by_plane && !left_out_announced_.exchange(true))
    GST_ELEMENT_WARNING(element_, STREAM, FORMAT,
                        ("Frames are shown without their overlay: no plane shows it, and the CPU "
                         "may not draw on a copy of %s.",
                         describe_format(stream_.format).c_str()),
                        ("zero-copy and modifier decide; drm-stats counts them"));
  Result<kms::Frame> frame = make_plain(display, buffer, part);
  if (frame)
    frame->overlay = compositions_.overlay_of(compositions);
  return frame;
}

// A copy of the frame with its overlay drawn on it.
Result<kms::Frame> SinkFrames::blend(kms::Display &display, GstBuffer *buffer, kms::Origin part,
                                     const std::vector<GstVideoOverlayComposition *> &compositions)
{
  const Result<Waited> ready = wait_for_device(element_, buffer, stats_, interrupt_);
  if (!ready)
    return ready.error();
  if (*ready == Waited::Interrupted)
    return make_plain(display, buffer, part); // for a flush or a stop: the device may still write
  Result<GstPtr<GstBuffer>> copied =
      copy(display, buffer, pool_, kCopyBuffers, "no plane shows the overlay over the frame");
  if (!copied)
    return copied.error();
  const bool blended = blend_compositions(copied->get(), video_info(), compositions);
  Result<kms::Frame> frame = import(display, copied->get(), {});
  if (blended)
    overlays_blended_++;
  else if (frame) // counted as left out
    frame->overlay = compositions_.overlay_of(compositions);
  return frame;
}

// A decoder's frames are larger than the picture: 1088 lines for 1080. Where the picture begins at
// the first pixel, the framebuffer is of the picture alone. Elsewhere it is of the whole frame, and
// the plane shows the part: at any pixel, of any layout, and with one framebuffer for a part that
// moves.
Result<kms::Frame> SinkFrames::make_plain(kms::Display &display, GstBuffer *buffer,
                                          kms::Origin part)
{
  const char *reason = "system memory";
  if (memory_kind(buffer) == MemoryKind::DmaBuf) {
    if (!imports_refused_ && !shifts_ && part != kms::Origin{}) {
      Result<kms::Frame> frame = import(display, buffer, part);
      if (frame || !is_refused(frame.error()))
        return frame;
      GST_INFO_OBJECT(element_, "the picture's part alone: %s", frame.error().message.c_str());
      shifts_ = frame.error().code != ErrorCode::Layout; // which is this frame's
    }
    if (!imports_refused_) {
      // where the part moves, each place has a framebuffer of its own, and none is kept
      if (std::exchange(part_, part) != part)
        display.forget_imports();
      auto visible = GstPtr<GstBuffer>::share(buffer);
      if (const Result<void> cropped = crop(visible); !cropped)
        return cropped.error();
      Result<kms::Frame> frame = import(display, visible.get(), {});
      const bool imports = frame || (frame.error().code != ErrorCode::Import &&
                                     frame.error().code != ErrorCode::Unsupported);
      if (imports || !may_copy())
        return frame;
      GST_WARNING_OBJECT(element_, "copying from now on: %s", frame.error().message.c_str());
      imports_refused_ = true;
    }
    reason = "the display driver does not import upstream's DMA buffers";
  } else if (!stream_.plain) {
    return Error{ErrorCode::Layout,
                 "The caps say memory:DMABuf, but a buffer has other memory. Upstream must send "
                 "DMA buffers, or plain video/x-raw caps.",
                 0};
  }
  Result<GstPtr<GstBuffer>> copied = copy(display, buffer, pool_, kCopyBuffers, reason);
  if (!copied)
    return copied.error();
  return import(display, copied->get(), {});
}

bool SinkFrames::may_copy() const
{
  return display_.setting<&SinkSettings::zero_copy>() == ZeroCopy::Prefer &&
         GST_VIDEO_INFO_FORMAT(&video_info()) != GST_DRM_VIDEO_FORMAT_DMA_DRM &&
         (stream_.format.modifier == kModLinear || stream_.format.modifier == kModImplicit);
}

// The buffer as a frame, without a copy. Where the picture begins at `origin` the buffer is the
// whole frame.
Result<kms::Frame> SinkFrames::import(kms::Display &display, GstBuffer *buffer, kms::Origin origin)
{
  GstDrmVideoInfo info = stream_.info;
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (origin != kms::Origin{} && meta->width <= G_MAXINT && meta->height <= G_MAXINT) {
    GST_VIDEO_INFO_WIDTH(&info.vinfo) = static_cast<gint>(meta->width);
    GST_VIDEO_INFO_HEIGHT(&info.vinfo) = static_cast<gint>(meta->height);
  } // else the sizes are the same, or an error is certain
  Result<FrameLayout> layout = frame_layout_of(buffer, info);
  if (!layout)
    return layout.error();
  layout->format = stream_.format;
  Result<kms::FramebufferCache::Import> import = display.import(*layout);
  if (!import)
    return import.error();
  (import->hit ? stats_.import_hits : stats_.imports)++;
  for (guint i = 0; i < gst_buffer_n_memory(buffer); i++)
    hold_while_alive(gst_buffer_peek_memory(buffer, i), import->liveness);

  kms::Frame frame;
  frame.framebuffer = std::move(import->imported);
  frame.origin = origin;
  if (const Result<void> attached = fences_.attach(display, buffer, *layout, frame); !attached)
    return attached.error();
  frame.owner = std::shared_ptr<GstBuffer>(gst_buffer_ref(buffer),
                                           [](GstBuffer *held) { gst_buffer_unref(held); });
  is_between_caps_ = false;
  return frame;
}

bool SinkFrames::is_own(const GstBuffer *buffer) const noexcept
{
  return buffer->pool && (buffer->pool == pool_.get() || buffer->pool == kept_pool_.get());
}

Result<GstPtr<GstBuffer>> SinkFrames::keep(const kms::Display &display, GstBuffer *shown)
{
  if (is_between_caps_ || !may_copy())
    return Error{ErrorCode::Unsupported, "The CPU may not copy the frame on screen.", 0};
  const Result<Waited> ready = wait_for_device(element_, shown, stats_, interrupt_);
  if (!ready)
    return ready.error();
  Result<GstPtr<GstBuffer>> copied =
      copy(display, shown, kept_pool_, 1, "upstream takes its buffers back and the picture stays");
  if (!copied)
    return copied;
  for (GstVideoOverlayComposition *composition : compositions_of(shown))
    gst_buffer_add_video_overlay_composition_meta(copied->get(), composition);
  return copied;
}

// A copy of the buffer in scanout memory, of `pool`, which is made when it is needed first.
Result<GstPtr<GstBuffer>> SinkFrames::copy(const kms::Display &display, GstBuffer *buffer,
                                           GstPtr<GstBufferPool> &pool, guint buffers,
                                           const char *reason)
{
  if (!pool) {
    const auto caps = GstPtr<GstCaps>::adopt(gst_drm_video_info_to_caps(&stream_.info));
    const auto least_size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&video_info()));
    Result<ConfiguredPool> made = make_scanout_pool(display, caps.get(), least_size, buffers);
    if (!made)
      return made.error();
    if (!gst_buffer_pool_set_active(made->pool.get(), TRUE))
      return Error{ErrorCode::Allocation,
                   display.device().name() + " has no memory for " + std::to_string(buffers) +
                       " scanout buffers of " + std::to_string(made->size) + " bytes.",
                   ENOMEM};
    pool = std::move(made->pool);
  }
  GstBuffer *acquired = nullptr;
  if (gst_buffer_pool_acquire_buffer(pool.get(), &acquired, nullptr) != GST_FLOW_OK)
    return Error{ErrorCode::Allocation,
                 "No scanout buffer of " + display.device().name() + " is free.", ENOMEM};
  auto copied = GstPtr<GstBuffer>::adopt(acquired);
  if (Result<void> done = copy_pixels(copied.get(), buffer); !done)
    return done.error();
  stats_.count_copy(element_, GST_VIDEO_INFO_SIZE(&video_info()), reason);
  return copied;
}

Result<void> SinkFrames::copy_pixels(GstBuffer *to, GstBuffer *from) const
{
  const GstVideoInfo &vinfo = video_info();
  auto visible = GstPtr<GstBuffer>::share(from);
  if (const Result<void> cropped = crop(visible); !cropped)
    return cropped.error();
  const auto named = with_named_format(visible.get(), vinfo);
  if (const Result<void> checked = check_mappable_frame(named.get(), vinfo); !checked)
    return Error{checked.error().code, checked.error().message + ".", 0};
  if (const Result<std::uint64_t> copied = copy_frame(to, named.get(), vinfo); !copied)
    return Error{copied.error().code, copied.error().message + ".", 0};
  return {};
}

Result<ConfiguredPool> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                         guint least_size, guint min_buffers)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(GST_DRM_ALLOCATOR_KIND_DUMB,
                                                            display.device().memory_fd(), &error);
  if (!allocator)
    return take_error(error, ErrorCode::Allocation);
  const auto owned = GstPtr<GstDrmAllocator>::adopt(allocator);
  auto made = configure_pool(allocator, {caps, min_buffers, 0, true, least_size});
  if (!made)
    return Error{made.error().code, display.device().name() + ": " + made.error().message,
                 made.error().sys_errno};
  return made;
}

namespace {

// A flip takes one refresh: a display that needs longer hangs for good.
constexpr GstClockTime kLastResort = 1 * GST_SECOND;

// The commit that replaces this buffer was made: the buffer may be given back, with the fence of
// that commit. The kernel's fence is refused only where it cannot be merged with another reader's.
void on_replaced(void *owner, UniqueFd fence) noexcept
{
  auto *buffer = static_cast<GstBuffer *>(owner);
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
  const Result<UniqueFd> others = dup_release_fence(meta);
  const UniqueFd spare = others && *others ? fence.dup() : UniqueFd();
  if (!others || (*others && !spare)) { // a merged fence would need one more
    GST_WARNING_OBJECT(buffer->pool, "a buffer is kept until its flip: no file descriptor is left");
    gst_drm_fence_wait(fence.get(), kLastResort, nullptr, nullptr);
    return;
  }
  GError *error = nullptr;
  if (gst_drm_sync_meta_add_release_fence(meta, fence.release(), &error))
    return;
  GST_WARNING_OBJECT(buffer->pool, "a buffer is kept until its flip: %s", error->message);
  g_error_free(error);
  if (spare)
    gst_drm_fence_wait(spare.get(), kLastResort, nullptr, nullptr);
}

} // namespace

void SinkFences::start(SyncMode mode, guint64 timeout_ns) noexcept
{
  mode_ = mode;
  timeout_ns_ = timeout_ns;
}

kms::FenceRules SinkFences::rules() const noexcept
{
  kms::FenceRules rules;
  rules.kernel_gets_fences = mode_ != SyncMode::Implicit;
  rules.timeout_ns = timeout_ns_ == 0 || timeout_ns_ > G_MAXINT64
                         ? kms::kNever
                         : static_cast<std::int64_t>(timeout_ns_);
  return rules;
}

bool SinkFences::exports_implicit_fences(const kms::Display &display) const
{
  if (exports_refused_ || mode_ == SyncMode::Implicit)
    return false;
  return mode_ == SyncMode::Explicit || !kms::waits_for_implicit_fences(display.device().driver());
}

Result<void> SinkFences::attach(const kms::Display &display, GstBuffer *buffer,
                                const FrameLayout &layout, kms::Frame &frame)
{
  Result<UniqueFd> fence = dup_acquire_fence(buffer);
  if (!fence)
    return fence.error();
  if (!*fence && exports_implicit_fences(display)) {
    Result<UniqueFd> exported = export_writers(layout);
    if (exported) {
      *fence = std::move(*exported);
    } else if (exported.error().code != ErrorCode::Unsupported) {
      return exported.error();
    } else {
      GST_WARNING_OBJECT(element_, "implicit fences are left to the driver: %s",
                         exported.error().message.c_str());
      exports_refused_ = true;
    }
  }
  if (*fence)
    frame.acquire_fence = std::make_shared<UniqueFd>(std::move(*fence));
  // A buffer without the meta has no place for a release fence.
  if (gst_buffer_get_drm_sync_meta(buffer) && release_fences_)
    frame.replaced = on_replaced;
  return {};
}

} // namespace gstdrm
