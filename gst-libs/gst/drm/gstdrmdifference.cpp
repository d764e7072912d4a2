// SPDX-License-Identifier: LGPL-2.1-or-later
// What is agreed on does not always come out: a driver lays out tiles as it likes, and some
// allocators make one kind of memory only.
#include "gstdrmdifference.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <gst/video/video.h>

#include "core/constraints.hpp"
#include "gstdrmallocator.h"
#include "gstdrmdevicequery.h"
#include "gstdrmformat.h"

namespace gstdrm {

namespace {

struct Memory {
  guint kinds = GST_DRM_PLACEMENT_NONE; // GstDrmPlacement
  std::string heap;
  std::string device;
};

Memory memory_of(GstDrmAllocator *allocator, const std::string &own_device)
{
  const gchar *device = gst_drm_allocator_get_device(allocator);
  const std::string name = device ? device : "";
  switch (gst_drm_allocator_get_kind(allocator)) {
  case GST_DRM_ALLOCATOR_KIND_UDMABUF:
  case GST_DRM_ALLOCATOR_KIND_MEMFD:
    return {GST_DRM_PLACEMENT_SYSTEM, "", ""};
  case GST_DRM_ALLOCATOR_KIND_DMA_HEAP: {
    const bool contiguous =
        std::find(kContiguousHeaps.begin(), kContiguousHeaps.end(), name) != kContiguousHeaps.end();
    guint kinds = name == "system" ? GST_DRM_PLACEMENT_SYSTEM : GST_DRM_PLACEMENT_NONE;
    kinds |= contiguous ? GST_DRM_PLACEMENT_CONTIGUOUS : GST_DRM_PLACEMENT_NONE;
    return {kinds, name, ""};
  }
  default: // a driver's: only the driver knows where
    return {GST_DRM_PLACEMENT_DEVICE, "", name.empty() ? own_device : name};
  }
}

bool is_same_device(const std::string &a, const std::string &b)
{
  struct stat first = {};
  struct stat second = {};
  if (a.empty() || b.empty())
    return false;
  if (a == b)
    return true;
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         gst_drm_device_is_same(first.st_rdev, second.st_rdev, nullptr);
}

bool is_among(const Memory &memory, const GstDrmConstraints *asked, GstDrmPlacement kinds,
              gchar **heaps)
{
  constexpr guint kByKind = GST_DRM_PLACEMENT_SYSTEM | GST_DRM_PLACEMENT_CONTIGUOUS;
  if ((memory.kinds & kinds & kByKind) != 0)
    return true;
  if (!memory.heap.empty() && g_strv_contains(heaps, memory.heap.c_str()))
    return true;
  return (memory.kinds & kinds & GST_DRM_PLACEMENT_DEVICE) != 0 &&
         is_same_device(memory.device, gst_drm_constraints_get_device(asked));
}

struct Facts {
  bool is_linear = false;
  gsize size = 0;
  guint n_memories = 0;
  guint n_planes = 0;
  std::array<guint64, GST_VIDEO_MAX_PLANES> strides{};
  std::array<guint64, GST_VIDEO_MAX_PLANES> offsets{}; // in the plane's dma-buf
};

// Strides of a tiled GstVideoFormat count tiles (video-tile.h).
guint64 stride_bytes(const GstVideoFormatInfo *finfo, guint plane, gint stride)
{
  if (!finfo || !GST_VIDEO_FORMAT_INFO_IS_TILED(finfo))
    return static_cast<guint64>(stride);
  return guint64{static_cast<guint>(GST_VIDEO_TILE_X_TILES(stride))} *
         static_cast<guint64>(GST_VIDEO_FORMAT_INFO_TILE_STRIDE(finfo, plane));
}

Facts facts_of(GstBuffer *buffer, const GstDrmVideoInfo *info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  Facts facts;
  facts.is_linear = info && info->drm_modifier == GST_DRM_MODIFIER_LINEAR;
  facts.size = gst_buffer_get_size(buffer);
  facts.n_memories = gst_buffer_n_memory(buffer);
  if (meta)
    facts.n_planes = MIN(meta->n_planes, guint{GST_VIDEO_MAX_PLANES});
  else if (info)
    facts.n_planes = MIN(GST_VIDEO_INFO_N_PLANES(&info->vinfo), guint{GST_VIDEO_MAX_PLANES});
  const GstVideoFormatInfo *finfo = info ? info->vinfo.finfo : nullptr;
  if (meta && finfo && meta->format != GST_VIDEO_FORMAT_INFO_FORMAT(finfo))
    finfo = nullptr;
  for (guint i = 0; i < facts.n_planes; ++i) {
    const gsize offset = meta ? meta->offset[i] : info->vinfo.offset[i];
    facts.strides[i] = stride_bytes(finfo, i, meta ? meta->stride[i] : info->vinfo.stride[i]);
    guint index = 0;
    guint length = 0;
    gsize skip = 0;
    facts.offsets[i] = gst_buffer_find_memory(buffer, offset, 1, &index, &length, &skip)
                           ? skip + gst_buffer_peek_memory(buffer, index)->offset
                           : offset;
  }
  return facts;
}

// What a sentence about one fact says.
struct Words {
  const char *before; // "rows of "
  const char *after;  // " bytes"
  int plane = -1;     // of which the fact is; -1: of the frame
};

std::string describe(const Words &words, guint64 value)
{
  return (words.plane < 0 ? std::string() : "plane " + std::to_string(words.plane) + " ") +
         words.before + std::to_string(value) + words.after;
}

// Compares the facts with what one consumer asks, key by key.
class Comparison {
public:
  Comparison(const GstDrmConstraints *asked, const Facts &facts) : asked_(asked), facts_(facts) {}

  Difference first()
  {
    const auto pages = static_cast<guint64>(sysconf(_SC_PAGESIZE));
    for (guint i = 0; i < facts_.n_planes; ++i) {
      const int plane = static_cast<int>(i);
      multiple(GST_DRM_CONSTRAINT_STRIDE_ALIGN, facts_.strides[i], 1,
               {"with a stride of ", " bytes", plane});
      multiple(GST_DRM_CONSTRAINT_OFFSET_ALIGN, facts_.offsets[i], 1,
               {"at an offset of ", " bytes", plane});
    }
    if (facts_.is_linear && facts_.n_planes > 0)
      within(GST_DRM_CONSTRAINT_STRIDE, facts_.strides[0], {"rows of ", " bytes"});
    within(GST_DRM_CONSTRAINT_SIZE, facts_.size, {"buffers of ", " bytes"});
    // a dma-buf is whole pages, and mapped by pages
    multiple(GST_DRM_CONSTRAINT_SIZE_ALIGN, facts_.size, pages, {"buffers of ", " bytes"});
    multiple(GST_DRM_CONSTRAINT_BASE_ALIGN, pages, pages, {"buffers at multiples of ", " bytes"});
    if (facts_.n_planes > 0)
      within(GST_DRM_CONSTRAINT_PLANES, facts_.n_planes, {"frames of ", " planes"});
    within(GST_DRM_CONSTRAINT_FDS, facts_.n_memories, {"frames of ", " descriptors"});
    return std::move(difference_);
  }

private:
  // Alignments up to `free_bytes` are always met.
  void multiple(GstDrmConstraintKey key, guint64 value, guint64 free_bytes, const Words &words)
  {
    guint64 align = 0;
    if (!difference_ && gst_drm_constraints_get_range(asked_, key, &align, nullptr) &&
        align > free_bytes && value % align != 0)
      difference_ = {describe(words, value), "a multiple of " + std::to_string(align), key};
  }
  void within(GstDrmConstraintKey key, guint64 value, const Words &words)
  {
    guint64 min = 0;
    guint64 max = 0;
    if (!difference_ && gst_drm_constraints_get_range(asked_, key, &min, &max) &&
        (value < min || value > max))
      difference_ = {
          describe(words, value),
          value < min ? std::to_string(min) + " or more" : std::to_string(max) + " or less", key};
  }

  const GstDrmConstraints *asked_;
  const Facts &facts_;
  Difference difference_;
};

std::string describe(const Memory &memory)
{
  if (!memory.heap.empty())
    return "memory of the heap " + memory.heap;
  if ((memory.kinds & GST_DRM_PLACEMENT_SYSTEM) != 0)
    return "system memory";
  return memory.device.empty() ? "memory of a device" : "memory of " + memory.device;
}

std::string describe(GstDrmPlacement kinds, gchar **heaps)
{
  std::string text;
  const auto add = [&](const std::string &part) { text += (text.empty() ? "" : " or ") + part; };
  if ((kinds & GST_DRM_PLACEMENT_SYSTEM) != 0)
    add("system memory");
  if ((kinds & GST_DRM_PLACEMENT_CONTIGUOUS) != 0)
    add("contiguous memory");
  if ((kinds & GST_DRM_PLACEMENT_DEVICE) != 0)
    add("memory of its device");
  for (gchar **heap = heaps; heap && *heap; ++heap)
    add(std::string("memory of the heap ") + *heap);
  return text;
}

} // namespace

Difference layout_difference(const GstDrmConstraints *asked, GstBuffer *buffer,
                             const GstDrmVideoInfo *info)
{
  const Facts facts = facts_of(buffer, info);
  return Comparison(asked, facts).first();
}

Difference memory_difference(const GstDrmConstraints *asked, GstAllocator *allocator,
                             const std::string &own_device)
{
  GstDrmPlacement kinds = GST_DRM_PLACEMENT_NONE;
  g_auto(GStrv) heaps = nullptr;
  if (!gst_drm_constraints_get_placement(asked, &kinds, &heaps))
    return {};
  const Memory memory = allocator && GST_IS_DRM_ALLOCATOR(allocator)
                            ? memory_of(GST_DRM_ALLOCATOR(allocator), own_device)
                            : Memory{GST_DRM_PLACEMENT_DEVICE, "", ""};
  if (is_among(memory, asked, kinds, heaps))
    return {};
  return {"buffers in " + describe(memory), describe(kinds, heaps), GST_DRM_CONSTRAINT_PLACEMENT};
}

std::string describe(const Difference &difference, const std::string &maker,
                     const GstDrmConstraints *asked)
{
  const std::string name = gst_drm_constraints_get_name(asked);
  const bool merged = name.empty() && gst_drm_constraints_is_reconciled(asked);
  return maker + " makes " + difference.has + ", and " +
         (merged         ? "what was agreed on"
          : name.empty() ? "its accessor"
                         : name) +
         " asks for " + difference.asked;
}

} // namespace gstdrm
