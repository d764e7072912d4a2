// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaconvertframes.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/memory_token.hpp>
#include <gst/drm/element/pixel_copy.hpp>
#include <gst/drm/gstdrmsync.h>

#include "engine/va_surface.hpp"

namespace gstdrm::va {
namespace {

// Number of frames that the device may still read when the next one arrives.
constexpr std::size_t kMostHeld = 2;
constexpr const char *kInSystemMemory = "upstream sends system memory";

Rect whole_of(const GstVideoInfo &info)
{
  return {0, 0, static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&info)),
          static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&info))};
}

Result<Frame> allocate_like(const Device &device, const GstDrmVideoInfo &info)
{
  const std::uint64_t modifier = info.drm_modifier;
  const Rect whole = whole_of(info.vinfo);
  return allocate_frame(device, info.drm_fourcc, whole.width, whole.height, {&modifier, 1});
}

Fields fields_of(GstBuffer *buffer, const GstVideoInfo &info)
{
  const auto mode = GST_VIDEO_INFO_INTERLACE_MODE(&info);
  if (mode == GST_VIDEO_INTERLACE_MODE_PROGRESSIVE ||
      (mode == GST_VIDEO_INTERLACE_MODE_MIXED &&
       !GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED)))
    return Fields::Progressive;
  const auto order = GST_VIDEO_INFO_FIELD_ORDER(&info);
  const bool top =
      mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED && order != GST_VIDEO_FIELD_ORDER_UNKNOWN
          ? order == GST_VIDEO_FIELD_ORDER_TOP_FIELD_FIRST
          : GST_BUFFER_FLAG_IS_SET(buffer, GST_VIDEO_BUFFER_FLAG_TFF) != FALSE;
  return top ? Fields::TopFirst : Fields::BottomFirst;
}

} // namespace

Result<void> ConvertFrames::begin(const Device &device, GstCaps *in_caps,
                                  const ConvertStream &stream, SyncWorker &worker)
{
  end(&worker);
  auto converter = Converter::create(device, stream.conversion);
  if (!converter)
    return converter.error();
  converter_ = std::move(converter).value();
  stream_ = stream;
  imported_ = false;
  cache_.emplace([this](const FrameLayout &layout) { return converter_->import(layout); },
                 ImportBounds{.releases = &stats_.releases});
  copier_.set_caps(in_caps);
  fences_ = {};
  return {};
}

void ConvertFrames::end(SyncWorker *worker)
{
  if (worker)
    (void)worker->wait_for_room(0);
  forget_before();
  cache_.reset();
  converter_.reset();
  copier_.set_caps(nullptr);
}

void ConvertFrames::forget_imports(SyncWorker &worker, bool all)
{
  if (!cache_)
    return;
  (void)worker.wait_for_room(0);
  forget_before();
  if (all)
    cache_->clear();
  else
    cache_->drop_unused();
}

Result<void> ConvertFrames::try_draw(const Device &device)
{
  const auto from = allocate_like(device, stream_.in);
  if (!from)
    return {}; // upstream's frames come from another device
  const auto layout = layout_of(from->exported);
  if (!layout)
    return layout.error();
  auto source = converter_->import(*layout);
  if (!source && source.error().code == ErrorCode::Import)
    return {}; // upstream's frames may be imported all the same
  if (!source)
    return source.error();
  const auto to = allocate_like(device, stream_.out);
  if (!to)
    return to.error();
  return converter_->draw(**source, whole_of(stream_.in.vinfo), *to->surface);
}

// --- one frame -----------------------------------------------------------------------------------

// Returns the frame in DMA buffers, copied if it comes in system memory, which plain caps allow.
Result<GstPtr<GstBuffer>> ConvertFrames::in_dma_bufs(GstBuffer *in, ZeroCopy zero_copy)
{
  if (memory_kind(in) == MemoryKind::DmaBuf)
    return GstPtr<GstBuffer>::share(in);
  if (stream_.in.drm_modifier != kModLinear)
    return Error{ErrorCode::Layout, "The caps say memory:DMABuf, and a buffer has other memory"};
  if (zero_copy == ZeroCopy::Require)
    return Error{ErrorCode::Unsupported,
                 "Frames come in system memory, and zero-copy=require forbids to copy them. Put "
                 "dmabufupload before this element, or set zero-copy=prefer"};
  auto visible = GstPtr<GstBuffer>::share(in);
  // of videocrop: the copy has the picture alone
  if (is_padded_frame(in, stream_.in.vinfo) && !crop_in_place(visible, stream_.in.vinfo, 1)) {
    auto picture = visible_picture(in, stream_.in.vinfo);
    if (!picture)
      return picture;
    visible = std::move(*picture);
  }
  if (auto checked = check_mappable_frame(visible.get(), stream_.in.vinfo); !checked)
    return checked.error();
  auto copied = copier_.copy(visible.get(), stream_.in.vinfo);
  if (copied)
    stats_.count_copy(element_, GST_VIDEO_INFO_SIZE(&stream_.in.vinfo), kInSystemMemory);
  return copied;
}

// Returns the visible part of a frame. Sets the size of `described` to that of the whole frame,
// which is larger than the caps for some decoders.
Result<Rect> ConvertFrames::part_of(GstBuffer *in, GstDrmVideoInfo &described) const
{
  const auto visible = visible_rectangle(in, stream_.in.vinfo);
  if (!visible)
    return visible.error();
  if (is_padded_frame(in, stream_.in.vinfo)) {
    const GstVideoMeta *meta = gst_buffer_get_video_meta(in);
    described.vinfo.width = static_cast<gint>(meta->width);
    described.vinfo.height = static_cast<gint>(meta->height);
  }
  return Rect{static_cast<std::uint32_t>(visible->x), static_cast<std::uint32_t>(visible->y),
              static_cast<std::uint32_t>(visible->w), static_cast<std::uint32_t>(visible->h)};
}

Result<bool> ConvertFrames::convert(GstBuffer *in, GstBuffer *out, ZeroCopy zero_copy,
                                    SyncWorker &worker, const Interrupt &interrupt)
{
  if (worker.pending() > kMostHeld)
    stats_.waits.fetch_add(1, std::memory_order_relaxed);
  const auto room = worker.wait_for_room(kMostHeld);
  if (!room)
    return room.error();
  if (*room == SyncWorker::Outcome::Cancelled)
    return false;
  auto frame = in_dma_bufs(in, zero_copy);
  if (!frame)
    return frame.error();
  GstDrmVideoInfo described = stream_.in;
  // A copy has no metas. That of a padded frame has the visible part alone.
  const bool has_part_alone = frame->get() != in && is_padded_frame(in, stream_.in.vinfo);
  const auto part = part_of(has_part_alone ? frame->get() : in, described);
  if (!part)
    return part.error();
  const auto layout = frame_layout_of(frame->get(), described);
  if (!layout)
    return layout.error();
  const auto waited = wait_for_device(element_, frame->get(), stats_, interrupt);
  if (!waited)
    return waited.error();
  if (*waited == Waited::Interrupted)
    return false;
  cache_->advance();
  auto import = cache_->import(*layout);
  // Drivers report every failure with one status. As frames of this pair were imported before,
  // memory or descriptors are short now.
  if (!import && imported_ && import.error().code == ErrorCode::Import)
    return Error{ErrorCode::Allocation, import.error().message, import.error().sys_errno};
  if (!import)
    return import.error();
  imported_ = true;
  (import->hit ? stats_.import_hits : stats_.imports).fetch_add(1, std::memory_order_relaxed);
  for (guint i = 0; i < gst_buffer_n_memory(frame->get()); ++i)
    hold_while_alive(gst_buffer_peek_memory(frame->get(), i), import->liveness);
  const auto *target = surface_of(out);
  if (!target)
    return Error{ErrorCode::Allocation, "A buffer of the pool is no VA surface"};
  if (GST_BUFFER_FLAG_IS_SET(in, GST_BUFFER_FLAG_DISCONT))
    forget_before();
  if (auto drawn = converter_->draw(*import->imported, *part, **target,
                                    fields_of(in, stream_.in.vinfo), sources_before());
      !drawn)
    return drawn.error();
  Read read{std::move(frame).value(), before_};
  if (const auto &method = stream_.conversion.deinterlacing)
    remember(read.frame, std::move(import->imported), method->before);
  return finish(std::move(read), out, *target, worker);
}

Converter::Before ConvertFrames::sources_before() const
{
  std::size_t count = 0;
  while (count < sources_before_.size() && sources_before_[count])
    ++count;
  return {sources_before_.data(), count};
}

void ConvertFrames::remember(GstPtr<GstBuffer> frame, Source source, std::size_t count)
{
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(before_[i], frame);
    std::swap(sources_before_[i], source);
  }
}

// Adds the fences of the drawing to `out`, or waits for the drawing. Holds the input buffers until
// the device has drawn, also after a flush: their producer must not overwrite them before.
Result<bool> ConvertFrames::finish(Read read, GstBuffer *out,
                                   const std::shared_ptr<Surface> &target, SyncWorker &worker)
{
  if (!fences_.attach(out, *target)) {
    stats_.waits.fetch_add(1, std::memory_order_relaxed);
    const auto ticket = worker.submit({target, {}, std::make_shared<Read>(std::move(read))});
    const auto outcome =
        ticket ? worker.wait(*ticket) : Result<SyncWorker::Outcome>(SyncWorker::Outcome::Cancelled);
    if (!outcome)
      return outcome.error();
    if (*outcome == SyncWorker::Outcome::Cancelled)
      return false;
  } else if (auto released = release(std::move(read), out, target, worker); !released) {
    return released.error();
  }
  stats_.frames.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Adds the fence to all buffers of `read`. Returns false if one has no GstDrmSyncMeta: then the
// buffers have to be held.
Result<bool> ConvertFrames::announce_release(const Read &read, UniqueFd &fence)
{
  GError *error = nullptr;
  for (const GstPtr<GstBuffer> &before : read.before) {
    GstDrmSyncMeta *meta = before ? gst_buffer_get_drm_sync_meta(before.get()) : nullptr;
    if (before && !meta)
      return false;
    if (meta && !gst_drm_sync_meta_add_release_fence(meta, fence.dup().release(), &error))
      return take_error(error);
  }
  GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(read.frame.get());
  if (meta && !gst_drm_sync_meta_add_release_fence(meta, fence.release(), &error))
    return take_error(error);
  return meta != nullptr;
}

// Gives the input buffers back once the device has drawn `out`: at once with a release fence if
// their producer waits for those, else by the worker after the fence. A producer with few buffers
// sends no frame before.
Result<void> ConvertFrames::release(Read read, GstBuffer *out,
                                    const std::shared_ptr<Surface> &target, SyncWorker &worker)
{
  auto fence = dup_acquire_fence(out);
  Result<bool> announced = false;
  if (!fence)
    announced = fence.error();
  else if (!*fence)
    return {}; // the device has drawn
  else if (stream_.takes_release_fences)
    announced = announce_release(read, *fence);
  if (announced && *announced)
    return {};
  auto kept = std::make_shared<Read>(std::move(read));
  if (announced) {
    (void)worker.submit({target, std::move(*fence), std::move(kept)});
    return {};
  }
  if (const auto ticket = worker.submit({target, {}, std::move(kept)}))
    (void)worker.wait(*ticket);
  return announced.error();
}

} // namespace gstdrm::va
