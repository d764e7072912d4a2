// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstmetisinferframes.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <gst/drm/core/sync_file.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/frame_import.hpp>
#include <gst/drm/element/frame_wait.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/pixel_copy.hpp>

#include "engine/nv_surface.hpp"
#include "gstdrmtensormarks.hpp"

namespace gstdrm::metis {

namespace {

Result<void> wait_for_frame(GstBuffer *buffer, std::chrono::milliseconds limit,
                            const Interrupt &interrupt)
{
  const Result<UniqueFd> fence = dup_acquire_fence(buffer);
  if (!fence)
    return fence.error();
  if (!*fence)
    return {};
  const Result<Waited> waited = wait_for_fence(fence->get(), limit, interrupt);
  if (!waited)
    return waited.error();
  if (*waited == Waited::Interrupted)
    return Error{ErrorCode::Sync, "The wait for the frame was ended.", 0};
  const Result<FenceState> state = fence_state(fence->get());
  if (state && *state == FenceState::Failed)
    return Error{ErrorCode::Sync, "The frame's acquire fence signalled an error.", 0};
  return {};
}

} // namespace

// gst_pad_store_sticky_event() stores no SEGMENT or EOS on a flushing pad, and nothing on an
// inactive one.
QueuedData::~QueuedData()
{
  unmap();
  // GST_EVENT_IS_STICKY() mixes two enumerations, which is deprecated in C++20.
  if (event && (static_cast<guint>(GST_EVENT_TYPE(event.get())) &
                static_cast<guint>(GST_EVENT_TYPE_STICKY)) != 0)
    gst_pad_store_sticky_event(src_.get(), event.get());
}

bool QueuedData::map(const GstVideoInfo &info)
{
  is_mapped_ = gst_video_frame_map(&frame_, &info, read(), GST_MAP_READ) != FALSE;
  return is_mapped_;
}

void QueuedData::unmap() noexcept
{
  if (std::exchange(is_mapped_, false))
    gst_video_frame_unmap(&frame_);
}

Payload payload_of(std::unique_ptr<QueuedData> data)
{
  return {data.release(), [](void *data) { delete static_cast<QueuedData *>(data); }};
}

QueuedData &data_in(const Payload &payload)
{
  return *static_cast<QueuedData *>(payload.get());
}

void InferFrames::set_format(InferFormat format, bool copies, std::chrono::milliseconds limit)
{
  fence_limit_ = limit;
  format_ = std::move(format);
  copies_ = copies;
  const auto linear = copies && format_.caps
                          ? GstPtr<GstCaps>::adopt(gst_drm_video_info_to_caps(&format_.info))
                          : GstPtr<GstCaps>();
  copier_.set_caps(linear.get());
}

void InferFrames::reset()
{
  set_format({}, false, {});
}

Result<void> InferFrames::wait_before_copy(GstBuffer *buffer) const
{
  return copies_ ? wait_for_frame(buffer, fence_limit_, waits) : Result<void>();
}

Result<Item> InferFrames::item_of(GstPtr<GstBuffer> buffer, Stats &stats)
{
  auto data = std::make_unique<QueuedData>(std::move(buffer));
  if (auto cropped = crop(*data); !cropped)
    return cropped.error();
  FrameItem frame;
  frame.format = format_.frames;
  GstBuffer *read = data->read();
  Result<void> filled;
  if (copies_)
    filled = fill_from_copy(*data, frame, stats);
  else if (format_.memory == FrameMemory::System)
    filled = fill_from_system(*data, frame);
  else if (format_.memory == FrameMemory::Nvmm)
    filled = fill_from_surface(read, frame);
  else
    filled = fill_from_dmabufs(read, frame);
  if (!filled)
    return filled.error();
  if (!copies_) { // wait_before_copy() has waited for a copy
    Result<UniqueFd> acquire = dup_acquire_fence(read);
    if (!acquire)
      return acquire.error();
    frame.acquire = std::move(*acquire);
  }
  Item item;
  item.payload = payload_of(std::move(data));
  item.frame = std::move(frame);
  return item;
}

std::vector<Region> InferFrames::regions_of(GstBuffer *buffer, const InferSettings &settings) const
{
  const auto width = static_cast<std::uint32_t>(format_.info.vinfo.width);
  const auto height = static_cast<std::uint32_t>(format_.info.vinfo.height);
  const std::set<std::string> classes = names_in(settings.region_class);
  std::vector<Region> regions;
  gpointer state = nullptr;
  while (GstMeta *found = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    const auto *meta = reinterpret_cast<GstVideoRegionOfInterestMeta *>(found);
    const gchar *type = meta->roi_type ? g_quark_to_string(meta->roi_type) : "";
    if (meta->id < 0 || meta->x >= width || meta->y >= height ||
        (!classes.empty() && classes.count(type) == 0))
      continue;
    Region region{meta->id, meta->x & ~1U, meta->y & ~1U, 0, 0};
    const std::uint32_t inner_width = std::min(meta->w, width - meta->x);
    const std::uint32_t inner_height = std::min(meta->h, height - meta->y);
    if (std::min(inner_width, inner_height) < std::max(settings.min_region_size, 1U))
      continue;
    region.width = meta->x + inner_width - region.x;
    region.height = meta->y + inner_height - region.y;
    regions.push_back(region);
  }
  return regions;
}

Result<Item> InferFrames::item_of(GstBuffer *buffer, const Region &region, const Model &model,
                                  Stats &stats)
{
  auto format = format_of_region(format_, model, region);
  if (!format)
    return format.error();
  auto item = item_of(GstPtr<GstBuffer>::share(buffer), stats);
  if (!item)
    return item.error();
  item->frame->format = std::move(*format);
  item->takes_place = false;
  data_in(item->payload).region = region.id;
  return item;
}

// A frame may be larger than the caps, with the picture somewhere in it. Only the inference reads
// the cropped buffer; the frame is pushed unchanged.
Result<void> InferFrames::crop(QueuedData &data) const
{
  const GstVideoInfo &info = format_.info.vinfo;
  if (format_.memory == FrameMemory::Nvmm || !is_padded_frame(data.buffer.get(), info))
    return {};
  if (const Result<Corner> corner = visible_corner(data.buffer.get(), info); !corner)
    return corner.error();
  auto visible = data.buffer;
  if (!crop_in_place(visible, info, 1)) {
    if (memory_kind(visible.get()) == MemoryKind::NoDmaBuf) {
      auto picture = visible_picture(visible.get(), info);
      if (!picture)
        return picture.error();
      data.copy = std::move(*picture);
      return {};
    }
    return Error{
        ErrorCode::Layout,
        "The picture of a frame begins among pixels that share chroma. Crop at even pixels, "
        "or put videoconvert before the element.",
        0};
  }
  data.copy = std::move(visible);
  return {};
}

Result<void> InferFrames::fill_from_dmabufs(GstBuffer *buffer, FrameItem &frame) const
{
  if (memory_kind(buffer) != MemoryKind::DmaBuf)
    return Error{ErrorCode::Import,
                 "A buffer under memory:DMABuf caps has memory that is no dma-buf. Put "
                 "dmabufupload before the element.",
                 0};
  auto layout = frame_layout_of(buffer, format_.info);
  if (!layout)
    return layout.error();
  frame.layout = *layout;
  return {};
}

Result<void> InferFrames::fill_from_surface(GstBuffer *buffer, FrameItem &frame) const
{
  GstMapInfo map;
  if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
    return Error{ErrorCode::Layout, "A buffer under memory:NVMM caps cannot be mapped.", 0};
  auto layout =
      layout_of_nv_surface(map.data, map.size, static_cast<std::uint32_t>(format_.info.vinfo.width),
                           static_cast<std::uint32_t>(format_.info.vinfo.height));
  gst_buffer_unmap(buffer, &map);
  if (!layout)
    return layout.error();
  frame.layout = *layout;
  return {};
}

Result<void> InferFrames::fill_from_system(QueuedData &data, FrameItem &frame) const
{
  const GstVideoInfo &info = format_.info.vinfo;
  if (Result<void> checked = check_mappable_frame(data.read(), info); !checked)
    return checked;
  if (!data.map(info))
    return Error{ErrorCode::Layout,
                 "A buffer of " + std::to_string(gst_buffer_get_size(data.read())) +
                     " bytes cannot be mapped as " + GST_VIDEO_INFO_NAME(&info) + " of " +
                     std::to_string(info.width) + "x" + std::to_string(info.height) + " pixels.",
                 0};
  PictureView &picture = frame.picture;
  picture.fourcc = format_.info.drm_fourcc;
  picture.width = static_cast<std::uint32_t>(info.width);
  picture.height = static_cast<std::uint32_t>(info.height);
  picture.matrix = format_.frames->matrix;
  picture.full_range = format_.frames->full_range;
  for (guint i = 0; i < GST_VIDEO_INFO_N_PLANES(&info) && i < picture.planes.size(); i++) {
    picture.planes[i] =
        static_cast<const std::uint8_t *>(GST_VIDEO_FRAME_PLANE_DATA(&data.frame(), i));
    picture.strides[i] = static_cast<std::uint32_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&data.frame(), i));
  }
  return {};
}

// Checks the layout before the CPU reads a pixel.
Result<void> InferFrames::check_readable(GstBuffer *buffer) const
{
  if (memory_kind(buffer) != MemoryKind::DmaBuf)
    return check_mappable_frame(buffer, format_.info.vinfo);
  const auto layout = frame_layout_of(buffer, format_.info);
  return layout ? Result<void>() : layout.error();
}

Result<void> InferFrames::fill_from_copy(QueuedData &data, FrameItem &frame, Stats &stats)
{
  if (format_.memory == FrameMemory::Nvmm)
    return Error{ErrorCode::Unsupported,
                 "import-mode=copy cannot copy memory:NVMM; set import-mode=dmabuf.", 0};
  if (Result<void> checked = check_readable(data.read()); !checked)
    return checked;
  auto copied = copier_.copy(data.read(), format_.info.vinfo);
  if (!copied)
    return copied.error();
  data.copy = std::move(*copied);
  stats.count_copy(element_, GST_VIDEO_INFO_SIZE(&format_.info.vinfo), "import-mode=copy");
  auto layout = frame_layout_of(data.copy.get(), format_.info);
  if (!layout)
    return layout.error();
  frame.layout = *layout;
  return {};
}

} // namespace gstdrm::metis
