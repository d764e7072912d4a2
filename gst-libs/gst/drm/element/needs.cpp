// SPDX-License-Identifier: LGPL-2.1-or-later
#include "needs.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmdevicequery.h>
#include <gst/drm/gstdrmformat.h>
#include <gst/video/video.h>

#include "format_sets.hpp"

namespace gstdrm {

namespace {

struct Freed {
  void operator()(GstDrmConstraints *constraints) const { gst_drm_constraints_free(constraints); }
  void operator()(GstDrmConflict *conflict) const { gst_drm_conflict_free(conflict); }
  void operator()(GPtrArray *array) const { g_ptr_array_unref(array); }
};
template <typename T> using Owned = std::unique_ptr<T, Freed>;

std::string name_of(GstObject *object)
{
  const g_autofree gchar *name = gst_object_get_name(object);
  return name ? name : "";
}

// "bin0/sink (kmsdmabufsink)": elements in two bins may have one name, and would count as one
// consumer by it. The bin that has all others is left out.
std::string label(GstElement *element)
{
  std::string path = name_of(GST_OBJECT(element));
  auto parent = GstPtr<GstObject>::adopt(gst_object_get_parent(GST_OBJECT(element)));
  while (parent) {
    auto above = GstPtr<GstObject>::adopt(gst_object_get_parent(parent.get()));
    if (above)
      path.insert(0, name_of(parent.get()) + "/");
    parent = std::move(above);
  }
  GstElementFactory *factory = gst_element_get_factory(element);
  return path + (factory ? " (" + name_of(GST_OBJECT(factory)) + ")" : "");
}

Owned<GstDrmConstraints> constraints_of(GstElement *element, const Needs &needs)
{
  Owned<GstDrmConstraints> made(
      gst_drm_constraints_new(label(element).c_str(), needs.device.c_str()));
  const auto state = [&](GstDrmConstraintKey key, guint value) {
    if (made && value != 0)
      gst_drm_constraints_set_number(made.get(), key, value);
  };
  state(GST_DRM_CONSTRAINT_STRIDE_ALIGN, needs.stride_align);
  state(GST_DRM_CONSTRAINT_BUFFERS_HELD, needs.buffers_held);
  state(GST_DRM_CONSTRAINT_CPU_ACCESS, needs.cpu_access);
  state(GST_DRM_CONSTRAINT_PERMISSIONS, needs.permissions);
  const auto state_range = [&](GstDrmConstraintKey key, const PixelRange &range) {
    if (made && range.most != 0)
      gst_drm_constraints_set_range(made.get(), key, range.least, range.most);
  };
  state_range(GST_DRM_CONSTRAINT_WIDTH, needs.width);
  state_range(GST_DRM_CONSTRAINT_HEIGHT, needs.height);
  return made;
}

void state_frame(GstDrmConstraints *constraints, const GstDrmVideoInfo &info)
{
  const FormatSetPtr formats =
      to_public(FormatSet::from_pairs({{info.drm_fourcc, info.drm_modifier}}));
  gst_drm_constraints_set_formats(constraints, formats.get());
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_WIDTH,
                                 static_cast<guint64>(info.vinfo.width));
  gst_drm_constraints_set_number(constraints, GST_DRM_CONSTRAINT_HEIGHT,
                                 static_cast<guint64>(info.vinfo.height));
}

void post_conflict(GstElement *element, const GstDrmConflict *conflict)
{
  const g_autofree gchar *conflict_text = gst_drm_conflict_to_string(conflict);
  const std::string text = name_of(GST_OBJECT(element)) +
                           " cannot allocate what its consumers ask for. " + conflict_text;
  post_with_details(element, {GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                    Error{ErrorCode::Conflict, text, 0}, gst_drm_conflict_to_structure(conflict),
                    gst_drm_conflict_to_json(conflict));
}

guint number_of(const GstDrmConstraints *constraints, GstDrmConstraintKey key)
{
  guint64 value = 0;
  return gst_drm_constraints_get_range(constraints, key, &value, nullptr)
             ? static_cast<guint>(value)
             : 0;
}

// The end of a range; 0 where there is none.
guint end_of(const GstDrmConstraints *constraints, GstDrmConstraintKey key)
{
  guint64 value = 0;
  return gst_drm_constraints_get_range(constraints, key, nullptr, &value) && value < G_MAXUINT
             ? static_cast<guint>(value)
             : 0;
}

// What a producer can do, so that more is a conflict with its name.
void state_limits(GstDrmConstraints *mine, const Needs &own)
{
  // a GstBufferPool counts the bytes of a buffer in a guint
  gst_drm_constraints_set_range(mine, GST_DRM_CONSTRAINT_SIZE, 1, G_MAXUINT);
  if (own.most_buffers > 0)
    gst_drm_constraints_set_range(mine, GST_DRM_CONSTRAINT_BUFFERS, 1, own.most_buffers);
}

AgreedNeeds agreed_of(const GstDrmConstraints *done, const Needs &own)
{
  AgreedNeeds agreed;
  agreed.stride_align = number_of(done, GST_DRM_CONSTRAINT_STRIDE_ALIGN);
  agreed.offset_align = number_of(done, GST_DRM_CONSTRAINT_OFFSET_ALIGN);
  agreed.least_stride = number_of(done, GST_DRM_CONSTRAINT_STRIDE);
  agreed.buffers_held = number_of(done, GST_DRM_CONSTRAINT_BUFFERS_HELD) - own.buffers_held;
  agreed.fewest_buffers = number_of(done, GST_DRM_CONSTRAINT_BUFFERS);
  agreed.most_buffers = end_of(done, GST_DRM_CONSTRAINT_BUFFERS);
  agreed.cpu_access = number_of(done, GST_DRM_CONSTRAINT_CPU_ACCESS);
  agreed.any_memory = !gst_drm_constraints_get_placement(done, nullptr, nullptr);
  const g_autofree gchar *name = gst_drm_constraints_get_heap(done, &agreed.memory);
  agreed.memory_name = name ? name : "";
  return agreed;
}

} // namespace

void add_needs(GstElement *element, GstQuery *query, const Needs &needs)
{
  if (const auto made = constraints_of(element, needs))
    gst_query_add_drm_constraints(query, made.get());
}

bool agree_on_needs(GstElement *element, GstQuery *query, const GstDrmVideoInfo &info,
                    const Needs &own, const std::function<bool()> &claim, AgreedNeeds &agreed)
{
  agreed = {};
  agreed.device = own.device;
  Owned<GPtrArray> all(gst_query_get_drm_constraints(query));
  if (!all || all->len == 0)
    return true;
  auto mine = constraints_of(element, own);
  if (!mine)
    return false; // memory is exhausted
  state_frame(mine.get(), info);
  state_limits(mine.get(), own);
  g_ptr_array_add(all.get(), mine.release());
  GstDrmConflict *made = nullptr;
  const Owned<GstDrmConstraints> done(gst_drm_constraints_reconcile(all.get(), &made));
  const Owned<GstDrmConflict> conflict(made);
  if (!done) {
    if (conflict && claim())
      post_conflict(element, conflict.get());
    return false;
  }
  g_ptr_array_set_size(all.get(), static_cast<gint>(all->len) - 1); // without the producer's
  agreed = agreed_of(done.get(), own);
  agreed.device = own.device;
  agreed.asked = std::shared_ptr<GPtrArray>(all.release(), g_ptr_array_unref);
  return true;
}

// --- what was made -------------------------------------------------------------------------------

// Whether a frame that was made is as each consumer asks. What is agreed on does not always come
// out: a driver lays out tiles as it likes, and some allocators make one kind of memory only.

namespace {

// Memory without gaps in physical addresses: the heaps of CMA areas, by the names that they have
// (Documentation/userspace-api/dma-buf-heaps.rst).
constexpr std::array kContiguousHeaps = {"default_cma_region", "reserved", "linux,cma",
                                         "default-pool"};

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

// What unmet_need() looks at. It is asked about each frame of a stream, so nothing is allocated.
struct Facts {
  bool is_linear = false;
  gsize size = 0;
  guint n_memories = 0;
  guint n_planes = 0;
  std::array<guint64, GST_VIDEO_MAX_PLANES> strides{};
  std::array<guint64, GST_VIDEO_MAX_PLANES> offsets{}; // in the plane's dma-buf
};

Facts facts_of(GstBuffer *frame, const GstDrmVideoInfo &info)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  Facts facts;
  facts.is_linear = info.drm_modifier == GST_DRM_MODIFIER_LINEAR;
  facts.size = gst_buffer_get_size(frame);
  facts.n_memories = gst_buffer_n_memory(frame);
  facts.n_planes = MIN(meta ? meta->n_planes : GST_VIDEO_INFO_N_PLANES(&info.vinfo),
                       guint{GST_VIDEO_MAX_PLANES});
  for (guint i = 0; i < facts.n_planes; ++i) {
    const gsize offset = meta ? meta->offset[i] : info.vinfo.offset[i];
    facts.strides[i] = static_cast<guint64>(meta ? meta->stride[i] : info.vinfo.stride[i]);
    guint index = 0;
    guint length = 0;
    gsize skip = 0;
    facts.offsets[i] = gst_buffer_find_memory(frame, offset, 1, &index, &length, &skip)
                           ? skip + gst_buffer_peek_memory(frame, index)->offset
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

  // "makes …, and X asks for …"; empty where all is as asked.
  std::string first_difference()
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
    within(GST_DRM_CONSTRAINT_PLANES, facts_.n_planes, {"frames of ", " planes"});
    within(GST_DRM_CONSTRAINT_FDS, facts_.n_memories, {"frames of ", " descriptors"});
    return difference_;
  }

private:
  // Alignments up to `free_bytes` are always met.
  void multiple(GstDrmConstraintKey key, guint64 value, guint64 free_bytes, const Words &words)
  {
    guint64 align = 0;
    if (gst_drm_constraints_get_range(asked_, key, &align, nullptr) && align > free_bytes &&
        value % align != 0)
      differ(describe(words, value), "a multiple of " + std::to_string(align));
  }
  void within(GstDrmConstraintKey key, guint64 value, const Words &words)
  {
    guint64 min = 0;
    guint64 max = 0;
    if (gst_drm_constraints_get_range(asked_, key, &min, &max) && (value < min || value > max))
      differ(describe(words, value),
             value < min ? std::to_string(min) + " or more" : std::to_string(max) + " or less");
  }
  void differ(const std::string &made, const std::string &wanted)
  {
    if (difference_.empty())
      difference_ =
          "makes " + made + ", and " + gst_drm_constraints_get_name(asked_) + " asks for " + wanted;
  }

  const GstDrmConstraints *asked_;
  const Facts &facts_;
  std::string difference_;
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

const GstDrmConstraints *nth(const AgreedNeeds &agreed, guint index)
{
  return static_cast<const GstDrmConstraints *>(g_ptr_array_index(agreed.asked.get(), index));
}

GstPtr<GstDrmAllocator> open_allocator(GstDrmAllocatorKind kind, const char *device, GError **error)
{
  return GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(kind, device, error));
}

} // namespace

Unmet unmet_memory(const AgreedNeeds &agreed, GstAllocator *allocator, const std::string &maker)
{
  const Memory memory = allocator && GST_IS_DRM_ALLOCATOR(allocator)
                            ? memory_of(GST_DRM_ALLOCATOR(allocator), agreed.device)
                            : Memory{GST_DRM_PLACEMENT_DEVICE, "", ""};
  for (guint i = 0; agreed.asked && i < agreed.asked->len; ++i) {
    GstDrmPlacement kinds = GST_DRM_PLACEMENT_NONE;
    g_auto(GStrv) heaps = nullptr;
    if (!gst_drm_constraints_get_placement(nth(agreed, i), &kinds, &heaps) ||
        is_among(memory, nth(agreed, i), kinds, heaps))
      continue;
    const std::string who = gst_drm_constraints_get_name(nth(agreed, i));
    return {maker + " makes buffers in " + describe(memory) + ", and " + who + " asks for " +
                describe(kinds, heaps),
            who};
  }
  return {};
}

Unmet unmet_need(const AgreedNeeds &agreed, const GstDrmVideoInfo &info, GstBuffer *frame,
                 const std::string &maker)
{
  if (!agreed.asked || gst_buffer_n_memory(frame) == 0)
    return {};
  const Facts facts = facts_of(frame, info);
  for (guint i = 0; i < agreed.asked->len; ++i) {
    Comparison comparison(nth(agreed, i), facts);
    if (const std::string difference = comparison.first_difference(); !difference.empty())
      return {maker + " " + difference, gst_drm_constraints_get_name(nth(agreed, i))};
  }
  return unmet_memory(agreed, gst_buffer_peek_memory(frame, 0)->allocator, maker);
}

void post_unmet(GstElement *element, const Unmet &unmet, const GstCaps *caps,
                const std::string &device)
{
  const g_autofree gchar *name = gst_object_get_name(GST_OBJECT(element));
  Failure failure({GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION},
                  std::string(name ? name : "") + " makes no frames as its consumers ask for them",
                  Error{ErrorCode::Conflict, unmet.why, 0});
  failure.advise("Choose another width or format, or put an element between that copies into "
                 "buffers which both accept, such as dmabufdownload ! dmabufupload.");
  failure.add("device", device).add("receiver", unmet.asked_by).add("caps", caps);
  post_failure(element, failure);
}

GstPtr<GstDrmAllocator> open_agreed_allocator(const AgreedNeeds &agreed, GError **error)
{
  constexpr auto kAuto = GST_DRM_ALLOCATOR_KIND_AUTO;
  constexpr auto kHeap = GST_DRM_ALLOCATOR_KIND_DMA_HEAP;
  if (agreed.any_memory || agreed.memory == GST_DRM_PLACEMENT_SYSTEM)
    return open_allocator(kAuto, nullptr, error);
  if (agreed.memory == GST_DRM_PLACEMENT_NONE)
    return open_allocator(kHeap, agreed.memory_name.c_str(), error);
  if (agreed.memory == GST_DRM_PLACEMENT_DEVICE && !agreed.memory_name.empty())
    return open_allocator(kAuto, agreed.memory_name.c_str(), error);
  for (const char *heap : kContiguousHeaps)
    if (auto opened = open_allocator(kHeap, heap, nullptr))
      return opened;
  return open_allocator(kHeap, kContiguousHeaps.front(), error);
}

} // namespace gstdrm
