// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_frames.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include <drm_fourcc.h>
#include <sys/mman.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/drm_facts.hpp>
#include <gst/drm/core/sync_file.hpp>

#include "support/check_main.hpp"

namespace gstdrm::test {
namespace {

constexpr std::uint32_t kBlock = 16; // pixels of flat chroma in each direction
constexpr std::uint32_t kMargin = 3; // pixels that the widest filter reaches

bool is_rgb(std::uint32_t fourcc)
{
  return !fourcc_is_yuv(fourcc);
}

// How a sample lies in its word (drm_fourcc.h).
struct Depth {
  unsigned bits;
  unsigned shift;
};

Depth depth_of(std::uint32_t fourcc)
{
  switch (fourcc) {
  case DRM_FORMAT_P010:
  case DRM_FORMAT_P210:
  case DRM_FORMAT_Q410:
  case DRM_FORMAT_Q401:
    return {10, 6};
  case DRM_FORMAT_P012:
    return {12, 4};
  case DRM_FORMAT_P016:
    return {16, 0};
  case kFourccS010:
    return {10, 0};
  default:
    return {8, 0};
  }
}

// The byte of Cb, or of Cr, in the four of packed 4:2:2; luma has every second one.
struct PackedChroma {
  unsigned blue;
  unsigned red;
  [[nodiscard]] bool has_chroma(unsigned byte) const { return byte % 2 == blue % 2; }
};

std::optional<PackedChroma> packed_chroma(std::uint32_t fourcc)
{
  switch (fourcc) {
  case DRM_FORMAT_YUYV:
    return PackedChroma{1, 3};
  case DRM_FORMAT_YVYU:
    return PackedChroma{3, 1};
  case DRM_FORMAT_UYVY:
    return PackedChroma{0, 2};
  case DRM_FORMAT_VYUY:
    return PackedChroma{2, 0};
  default:
    return {};
  }
}

unsigned component_bytes(std::uint32_t fourcc)
{
  return depth_of(fourcc).bits > 8 ? 2 : 1;
}

// The bytes of a plane from its offset to its end.
std::uint64_t plane_bytes(const FrameLayout &layout, std::size_t plane)
{
  const FourccInfo *info = fourcc_info(layout.format.fourcc);
  return std::uint64_t{layout.planes[plane].stride_bytes} *
         plane_rows(info->planes[plane], layout.height);
}

} // namespace

PatternFrame::PatternFrame(GstDrmAllocatorKind kind, std::uint32_t fourcc, std::uint32_t width,
                           std::uint32_t height, const Placement &placement)
{
  GError *error = nullptr;
  allocator_ = GST_ALLOCATOR(gst_drm_allocator_new(kind, nullptr, &error));
  fail_unless(allocator_ != nullptr, "%s", error ? error->message : "no error");
  std::uint64_t size = 0;
  const auto linear = make_linear_layout(fourcc, width, height, placement.stride_align,
                                         placement.offset_align, size);
  fail_unless(static_cast<bool>(linear));
  layout_ = *linear;
  const auto add_memory = [this](std::uint64_t bytes) {
    memories_.push_back(gst_allocator_alloc(allocator_, bytes, nullptr));
    fail_unless(memories_.back() != nullptr);
    const int fd = gst_dmabuf_memory_get_fd(memories_.back());
    const auto object = query_object(fd);
    fail_unless(static_cast<bool>(object));
    return std::pair{fd, *object};
  };
  if (!placement.own_buffers) {
    const auto [fd, object] = add_memory(size + placement.lead_bytes);
    for (std::size_t i = 0; i < layout_.n_planes; i++) {
      layout_.planes[i].offset_bytes += placement.lead_bytes;
      layout_.planes[i].fd = fd;
      layout_.planes[i].object = object;
    }
  } else {
    for (std::size_t i = 0; i < layout_.n_planes; i++) {
      const auto [fd, object] = add_memory(plane_bytes(layout_, i) + placement.lead_bytes);
      layout_.planes[i] = {fd, placement.lead_bytes, layout_.planes[i].stride_bytes, object};
    }
  }
  const auto checked = check_layout(layout_);
  fail_unless(static_cast<bool>(checked), "%s", checked ? "" : checked.error().message.c_str());
}

PatternFrame::~PatternFrame()
{
  for (GstMemory *memory : memories_)
    gst_memory_unref(memory);
  gst_object_unref(allocator_);
}

GstPtr<GstBuffer> PatternFrame::buffer() const
{
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  std::array<gsize, GST_VIDEO_MAX_PLANES> offsets{};
  std::array<gint, GST_VIDEO_MAX_PLANES> strides{};
  gsize before = 0; // of the memories that are in the buffer
  for (std::size_t i = 0; i < layout_.n_planes; i++) {
    if (i < memories_.size()) {
      before = gst_buffer_get_size(buffer.get());
      gst_buffer_append_memory(buffer.get(), gst_memory_ref(memories_[i]));
    }
    offsets[i] = before + layout_.planes[i].offset_bytes;
    strides[i] = static_cast<gint>(layout_.planes[i].stride_bytes);
  }
  GstDrmVideoInfo info;
  GstVideoInfo plain;
  fail_unless(gst_drm_video_info_set_format(&info, layout_.format.fourcc, GST_DRM_MODIFIER_LINEAR,
                                            layout_.width, layout_.height, nullptr));
  const GstVideoFormat name = gst_drm_video_info_to_video_info(&info, &plain)
                                  ? GST_VIDEO_INFO_FORMAT(&plain)
                                  : GST_DRM_VIDEO_FORMAT_DMA_DRM; // P210 has none
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, name, layout_.width,
                                 layout_.height, static_cast<guint>(layout_.n_planes),
                                 offsets.data(), strides.data());
  return buffer;
}

bool PatternFrame::is_wide() const
{
  return component_bytes(layout_.format.fourcc) == 2;
}

unsigned PatternFrame::stored(std::size_t plane, std::uint32_t x, std::uint32_t y,
                              unsigned component) const
{
  const PlaneInfo &info = fourcc_info(layout_.format.fourcc)->planes[plane];
  unsigned value = 0;
  if (const auto packed = packed_chroma(layout_.format.fourcc)) {
    if (packed->has_chroma(component))
      return (90 + 37 * (2 * x / kBlock) + 23 * (y / kBlock) + 71 * (component == packed->red) +
              41 * seed_) %
             256;
    return (7 * (2 * x + component / 2) + 13 * y + 29 * seed_) % 256;
  }
  if (is_rgb(layout_.format.fourcc) || plane == 0) {
    value = 7 * x + 13 * y + 61 * component + 29 * seed_;
  } else {
    const unsigned block_x = x * info.hsub / kBlock;
    const unsigned block_y = y * info.vsub / kBlock;
    value = 90 + 37 * block_x + 23 * block_y + 71 * component + 53 * unsigned(plane) + 41 * seed_;
  }
  const Depth depth = depth_of(layout_.format.fourcc);
  const unsigned step = depth.bits > 8 ? (11U << (depth.bits - 8)) / 4 : 1;
  return (value * step % (1U << depth.bits)) << depth.shift;
}

void PatternFrame::fill(unsigned seed)
{
  seed_ = seed;
  const FourccInfo *info = fourcc_info(layout_.format.fourcc);
  const unsigned bytes = component_bytes(layout_.format.fourcc);
  for (std::size_t p = 0; p < layout_.n_planes; p++) {
    const PlaneLayout &plane = layout_.planes[p];
    const auto access = CpuAccess::begin(plane.fd, DmaBufAccess::Write);
    fail_unless(static_cast<bool>(access));
    void *map =
        mmap(nullptr, plane.object.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, plane.fd, 0);
    fail_unless(map != MAP_FAILED, "%s", g_strerror(errno));
    auto *begin = static_cast<std::uint8_t *>(map) + plane.offset_bytes;
    const unsigned components = info->planes[p].block_bytes / bytes;
    const std::uint32_t columns =
        plane_row_bytes(info->planes[p], layout_.width) / info->planes[p].block_bytes;
    for (std::uint32_t y = 0; y < plane_rows(info->planes[p], layout_.height); y++) {
      std::uint8_t *out = begin + std::size_t{y} * plane.stride_bytes;
      for (std::uint32_t x = 0; x < columns; x++) {
        for (unsigned c = 0; c < components; c++, out += bytes) {
          const auto value = static_cast<std::uint16_t>(stored(p, x, y, c));
          std::memcpy(out, &value, bytes);
        }
      }
    }
    munmap(map, plane.object.size_bytes);
  }
}

bool PatternFrame::is_flat(std::uint32_t x, std::uint32_t y) const
{
  if (is_rgb(layout_.format.fourcc))
    return true;
  const auto inside = [](std::uint32_t at, std::uint32_t end) {
    const std::uint32_t first = at / kBlock * kBlock;
    const bool after = first == 0 || at >= first + kMargin;
    return after && (first + kBlock >= end ? true : at + kMargin < first + kBlock);
  };
  return inside(x, layout_.width) && inside(y, layout_.height);
}

Rgba PatternFrame::expected(std::uint32_t x, std::uint32_t y, const YuvMatrix &matrix) const
{
  const auto byte = [&](unsigned component) {
    return static_cast<double>(stored(0, x, y, component));
  };
  switch (layout_.format.fourcc) { // the bytes in memory: drm_fourcc.h is little-endian
  case DRM_FORMAT_XRGB8888:
    return {byte(2), byte(1), byte(0), 255};
  case DRM_FORMAT_ARGB8888:
    return {byte(2), byte(1), byte(0), byte(3)};
  case DRM_FORMAT_XBGR8888:
    return {byte(0), byte(1), byte(2), 255};
  case DRM_FORMAT_BGRA8888:
    return {byte(1), byte(2), byte(3), byte(0)};
  case DRM_FORMAT_BGRX8888:
    return {byte(1), byte(2), byte(3), 255};
  case DRM_FORMAT_RGBA8888:
    return {byte(3), byte(2), byte(1), byte(0)};
  case DRM_FORMAT_RGBX8888:
    return {byte(3), byte(2), byte(1), 255};
  case DRM_FORMAT_ABGR8888:
    return {byte(0), byte(1), byte(2), byte(3)};
  default:
    break;
  }
  // in steps of 8 bits, with the fraction that more bits have
  const Depth depth = depth_of(layout_.format.fourcc);
  const double eighth = 1U << (depth.bits - 8);
  const double step =
      (1U << depth.shift) * (matrix.full_range ? ((1U << depth.bits) - 1) / 255.0 : eighth);
  const double middle = matrix.full_range ? 128 * eighth * (1U << depth.shift) / step : 128;
  const PlaneInfo &info = fourcc_info(layout_.format.fourcc)->planes[1];
  const bool is_planar = layout_.n_planes == 3;
  const std::uint32_t fourcc = layout_.format.fourcc;
  const bool swaps =
      fourcc == DRM_FORMAT_Q401 || fourcc == DRM_FORMAT_YVU420 || fourcc == DRM_FORMAT_NV21;
  const auto packed = packed_chroma(fourcc);
  const auto chroma_of = [&](bool is_red) {
    if (packed)
      return stored(0, x / 2, y, is_red ? packed->red : packed->blue) / step - middle;
    const unsigned plane = is_planar && is_red != swaps ? 2 : 1;
    const unsigned component = !is_planar && is_red != swaps ? 1 : 0;
    return stored(plane, x / info.hsub, y / info.vsub, component) / step - middle;
  };
  const unsigned luma_byte = packed ? 1 - packed->blue % 2 + 2 * (x % 2) : 0;
  const double luma = stored(0, packed ? x / 2 : x, y, luma_byte) / step;
  const double blue = chroma_of(false);
  const double red = chroma_of(true);
  // ITU-R BT.601 and BT.709, "quantization levels"; full range as in JFIF
  const double scaled_luma = matrix.full_range ? luma : (luma - 16) * 255 / 219;
  const double chroma = matrix.full_range ? 1 : 255.0 / 224;
  const double r = scaled_luma + 2 * (1 - matrix.red) * red * chroma;
  const double b = scaled_luma + 2 * (1 - matrix.blue) * blue * chroma;
  const double green = 1 - matrix.red - matrix.blue;
  const double g = (scaled_luma - matrix.red * r - matrix.blue * b) / green;
  return {std::clamp(r, 0.0, 255.0), std::clamp(g, 0.0, 255.0), std::clamp(b, 0.0, 255.0), 255};
}

} // namespace gstdrm::test
