// SPDX-License-Identifier: LGPL-2.1-or-later
// From reconciled constraints to memory: which allocator, which layout, and what the buffer says of
// it.
#include "gstdrmallocation.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gst/allocators/gstfdmemory.h>

#include "core/descriptors.hpp"
#include "core/errno_text.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrmallocation-private.hpp"
#include "gstdrmallocator-buffer.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmbufferpool.h"
#include "gstdrmconstraints-private.hpp"
#include "gstdrmdifference.hpp"
#include "gstdrmpoolstate.hpp"

using gstdrm::Agreed;
using gstdrm::AllocatedFrame;
using gstdrm::BufferType;
using gstdrm::ConstraintKey;
using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::FourccInfo;
using gstdrm::FrameObject;
using gstdrm::GstPtr;
using gstdrm::Result;

namespace {

constexpr const char *kConfigField = "drm-constraints";
constexpr guint kMostBuffers = 1U << 16; // as many as GST_DRM_CONSTRAINT_BUFFERS can be

struct UnrefBuffers {
  void operator()(GPtrArray *array) const noexcept { g_ptr_array_unref(array); }
};
using BufferArray = std::unique_ptr<GPtrArray, UnrefBuffers>;

struct DropConflict {
  void operator()(GstDrmConflict *conflict) const noexcept { gst_drm_conflict_free(conflict); }
};

struct DropConstraints {
  void operator()(GstDrmConstraints *constraints) const noexcept
  {
    gst_drm_constraints_free(constraints);
  }
};

// Reconciled constraints in the configuration of a pool. GStreamer compares configurations: objects
// by their address, and boxed values not at all, for which it logs criticals (gstvalue.c).
struct AgreedHolder {
  GObject parent;
  Agreed agreed; // constructed in init, destroyed in finalize
};

struct AgreedHolderClass {
  GObjectClass parent_class;
};

G_DEFINE_TYPE(AgreedHolder, agreed_holder, G_TYPE_OBJECT)

void agreed_holder_finalize(GObject *object) noexcept
{
  std::destroy_at(&reinterpret_cast<AgreedHolder *>(object)->agreed);
  G_OBJECT_CLASS(agreed_holder_parent_class)->finalize(object);
}

void agreed_holder_class_init(AgreedHolderClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = agreed_holder_finalize;
}

void agreed_holder_init(AgreedHolder *self)
{
  std::construct_at(&self->agreed);
}

// "The allocator dma-heap (system)"
std::string allocator_label(GstDrmAllocator *allocator)
{
  auto *const kinds = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_DRM_ALLOCATOR_KIND));
  const GEnumValue *const kind = g_enum_get_value(kinds, gst_drm_allocator_get_kind(allocator));
  const gchar *const device = gst_drm_allocator_get_device(allocator);
  std::string text = "The allocator ";
  text += kind && kind->value != GST_DRM_ALLOCATOR_KIND_AUTO ? kind->value_nick
                                                             : G_OBJECT_TYPE_NAME(allocator);
  g_type_class_unref(kinds);
  return device ? text + " (" + device + ")" : text;
}

Error taken_error(GError *adopted)
{
  g_autoptr(GError) error = adopted;
  if (!error)
    return Error{ErrorCode::Allocation, "The allocator made no buffer and says no reason"};
  const bool ours = error->domain == GST_DRM_ERROR; // a subclass may have a domain of its own
  return Error{ours ? static_cast<ErrorCode>(error->code) : ErrorCode::Allocation, error->message};
}

// --- what a buffer says of it --------------------------------------------------------------------

struct ConstraintsMeta {
  GstMeta meta;
  Agreed agreed;
};

GType constraints_meta_api_type()
{
  // of this memory alone: a copy of the bytes has another
  static const gchar *tags[] = {GST_META_TAG_MEMORY_STR, GST_META_TAG_MEMORY_REFERENCE_STR,
                                nullptr};
  static const GType type = gst_meta_api_type_register("GstDrmConstraintsMetaAPI", tags);
  return type;
}

gboolean constraints_meta_init(GstMeta *meta, gpointer, GstBuffer *) noexcept
{
  std::construct_at(&reinterpret_cast<ConstraintsMeta *>(meta)->agreed);
  return TRUE;
}

void constraints_meta_free(GstMeta *meta, GstBuffer *) noexcept
{
  std::destroy_at(&reinterpret_cast<ConstraintsMeta *>(meta)->agreed);
}

void attach_agreed(GstBuffer *buffer, const Agreed &agreed);

gboolean constraints_meta_transform(GstBuffer *copy, GstMeta *meta, GstBuffer *, GQuark type,
                                    gpointer) noexcept
{
  if (!GST_META_TRANSFORM_IS_COPY(type))
    return FALSE;
  attach_agreed(copy, reinterpret_cast<ConstraintsMeta *>(meta)->agreed);
  return TRUE;
}

const GstMetaInfo *constraints_meta_info()
{
  static const GstMetaInfo *const info = gst_meta_register(
      constraints_meta_api_type(), "GstDrmConstraintsMeta", sizeof(ConstraintsMeta),
      constraints_meta_init, constraints_meta_free, constraints_meta_transform);
  return info;
}

const ConstraintsMeta *constraints_meta_of(GstBuffer *buffer)
{
  return reinterpret_cast<const ConstraintsMeta *>(
      gst_buffer_get_meta(buffer, constraints_meta_api_type()));
}

void attach_agreed(GstBuffer *buffer, const Agreed &agreed)
{
  if (GstMeta *meta = gst_buffer_add_meta(buffer, constraints_meta_info(), nullptr))
    reinterpret_cast<ConstraintsMeta *>(meta)->agreed = agreed;
}

// --- layouts -------------------------------------------------------------------------------------

guint64 agreed_number(const GstDrmConstraints &agreed, ConstraintKey key)
{
  const auto &number = agreed.values.number(key);
  return number ? number->min : 0;
}

bool has_only_tiled(const GstDrmConstraints &agreed)
{
  const auto &formats = agreed.values.formats;
  return gstdrm::is_picture(agreed) && formats && !formats->empty() &&
         std::none_of(formats->pairs().begin(), formats->pairs().end(),
                      [](const Format &format) { return format.modifier == gstdrm::kModLinear; });
}

bool has_tiled(const GstDrmConstraints &agreed)
{
  const auto &formats = agreed.values.formats;
  return gstdrm::is_picture(agreed) && formats &&
         std::any_of(formats->pairs().begin(), formats->pairs().end(),
                     [](const Format &format) { return format.modifier != gstdrm::kModLinear; });
}

// Rows at the bottom, so that each plane begins at a multiple of `offset_align`. Strides are
// multiples of 256 bytes (kDefaultStrideAlign in alloc/linear_plan.hpp), and a plane of colour has
// half of the rows.
guint rows_below(guint height, guint64 offset_align)
{
  constexpr guint64 kHalfStride = 256 / 2;
  const guint64 grain = MAX(offset_align / kHalfStride, 1);
  return static_cast<guint>((height + grain - 1) / grain * grain - height);
}

// Pixels on the right, so that a row of the first plane has `least_stride` bytes.
guint pixels_beside(const FourccInfo &info, guint width, guint64 least_stride)
{
  const gstdrm::PlaneInfo &first = info.planes[0];
  const guint64 blocks = (least_stride + first.block_bytes - 1) / first.block_bytes;
  const guint64 pixels = blocks * first.block_width * first.hsub;
  return pixels > width ? static_cast<guint>(MIN(pixels - width, G_MAXINT32)) : 0;
}

// What was agreed on in the terms of allocators that lay out linear frames themselves, beside the
// padding in `align`; false where there is nothing to ask for.
bool add_alignment(const GstDrmConstraints &agreed, std::uint32_t fourcc, guint width, guint height,
                   GstVideoAlignment &align)
{
  const guint64 stride_align = agreed_number(agreed, ConstraintKey::StrideAlign);
  const FourccInfo *info = gstdrm::fourcc_info(fourcc);
  if (stride_align > 1)
    for (guint &mask : align.stride_align)
      mask = MAX(mask, static_cast<guint>(MIN(stride_align, G_MAXUINT) - 1));
  if (info) {
    align.padding_bottom =
        MAX(align.padding_bottom,
            rows_below(height, agreed_number(agreed, ConstraintKey::OffsetAlign)));
    align.padding_right =
        MAX(align.padding_right,
            pixels_beside(*info, width, agreed_number(agreed, ConstraintKey::Stride)));
  }
  return stride_align > 1 || align.padding_bottom > 0 || align.padding_right > 0;
}

// --- one buffer ----------------------------------------------------------------------------------

// More than the machine has is refused before a kernel makes it without pages, as a memfd is made.
Result<void> check_room(guint64 bytes, guint64 n)
{
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0)
    return {};
  const guint64 all = static_cast<guint64>(pages) * static_cast<guint64>(page_bytes);
  if (bytes <= all / MAX(n, 1))
    return {};
  return Error{ErrorCode::Allocation, std::to_string(n) + (n == 1 ? " buffer" : " buffers") +
                                          " of " + std::to_string(bytes) +
                                          " bytes would take more than the " + std::to_string(all) +
                                          " bytes of memory that this machine has; ask for less"};
}

// A driver's allocator knows pictures alone, so bytes are rows of one.
Result<FrameObject> bytes_as_rows(GstDrmAllocator *allocator, guint64 bytes)
{
  constexpr guint64 kMostPixels = 16384;
  constexpr guint64 kPixelBytes = 4;
  constexpr std::uint32_t kXrgb8888 = 0x34325258; // DRM_FORMAT_XRGB8888 of drm_fourcc.h
  const guint64 pixels = bytes <= 1024 * kPixelBytes * kMostPixels ? 1024 : kMostPixels;
  const guint64 rows = (bytes + pixels * kPixelBytes - 1) / (pixels * kPixelBytes);
  if (rows > kMostPixels)
    return Error{ErrorCode::Allocation, allocator_label(allocator) +
                                            " makes at most 1 GiB at a time, and " +
                                            std::to_string(bytes) +
                                            " bytes are asked for; let the accessors also take "
                                            "system memory"};
  GError *error = nullptr;
  const auto picture = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, kXrgb8888, static_cast<guint>(pixels), static_cast<guint>(rows),
      &gstdrm::kModLinear, 1, nullptr, nullptr, &error));
  if (!picture)
    return taken_error(error);
  GstMemory *memory = gst_buffer_peek_memory(picture.get(), 0);
  if (gst_buffer_n_memory(picture.get()) != 1 || !gst_is_fd_memory(memory) ||
      gst_buffer_get_size(picture.get()) < bytes)
    return Error{ErrorCode::Allocation, allocator_label(allocator) +
                                            " makes no plain memory; let the accessors also take "
                                            "system memory"};
  auto fd = gstdrm::UniqueFd::dup(gst_fd_memory_get_fd(memory));
  if (!fd) {
    const int sys_errno = errno;
    return Error{ErrorCode::Allocation,
                 "Cannot duplicate a descriptor: " + gstdrm::errno_text(sys_errno), sys_errno};
  }
  return FrameObject{std::move(fd), gst_buffer_get_size(picture.get())};
}

Result<FrameObject> agreed_object(GstDrmAllocator *allocator, guint64 bytes)
{
  if (auto room = check_room(bytes, 1); !room)
    return room.error();
  auto object = gstdrm::makes_bytes(allocator) ? gstdrm::allocate_bytes(allocator, bytes)
                                               : bytes_as_rows(allocator, bytes);
  if (object)
    object->size_bytes = bytes; // what was agreed on, not the pages that it takes
  return object;
}

// The first picture of the layout, in `object`.
AllocatedFrame agreed_frame(const GstDrmConstraints &agreed, const FourccInfo &info,
                            FrameObject object)
{
  AllocatedFrame frame;
  frame.format = *agreed.layout->format;
  frame.width = static_cast<std::uint32_t>(agreed_number(agreed, ConstraintKey::Width));
  frame.height = static_cast<std::uint32_t>(agreed_number(agreed, ConstraintKey::Height));
  frame.n_planes = info.n_planes;
  for (std::size_t i = 0; i < info.n_planes; ++i) {
    const gstdrm::PlaneSpan &plane = agreed.layout->planes[i];
    frame.planes[i] = {0, plane.offset_bytes, static_cast<std::uint32_t>(plane.stride_bytes)};
  }
  const gstdrm::PlaneInfo &first = info.planes[0];
  const std::uint32_t pixels =
      frame.planes[0].stride_bytes / first.block_bytes * first.block_width * first.hsub;
  frame.padding.right = pixels > frame.width ? pixels - frame.width : 0;
  frame.stride_align = static_cast<std::uint32_t>(
      MAX(agreed_number(agreed, ConstraintKey::StrideAlign), guint64{1}));
  frame.objects.push_back(std::move(object));
  return frame;
}

// The one format that was chosen among those that were agreed on.
Agreed with_format(const Agreed &agreed, const std::optional<Format> &chosen)
{
  if (!chosen || agreed->values.formats->size() == 1)
    return agreed;
  auto made = std::make_shared<GstDrmConstraints>(*agreed);
  made->values.formats = gstdrm::FormatSet::from_pairs({*chosen});
  return made;
}

// Exactly as the reconciliation laid it out.
Result<GstPtr<GstBuffer>> as_laid_out(GstDrmAllocator *allocator, const Agreed &agreed)
{
  auto object = agreed_object(allocator, agreed->layout->size_bytes);
  if (!object)
    return object.error();
  const auto &format = agreed->layout->format;
  const FourccInfo *info = format ? gstdrm::fourcc_info(format->fourcc) : nullptr;
  GstPtr<GstBuffer> buffer;
  if (info) {
    buffer.reset(gstdrm::buffer_from_frame(
        GST_DMABUF_ALLOCATOR(allocator), agreed_frame(*agreed, *info, std::move(object).value())));
  } else {
    buffer.reset(gst_buffer_new());
    gst_buffer_append_memory(buffer.get(), gst_dmabuf_allocator_alloc_with_flags(
                                               GST_ALLOCATOR(allocator), object->fd.release(),
                                               object->size_bytes, GST_FD_MEMORY_FLAG_KEEP_MAPPED));
  }
  attach_agreed(buffer.get(), with_format(agreed, format));
  return buffer;
}

// What was agreed on, as the allocator made it: its one format, and its own layout where that is
// linear.
Agreed as_made(const GstDrmConstraints &agreed, const Format &chosen, GstBuffer *buffer)
{
  auto made = std::make_shared<GstDrmConstraints>(agreed);
  made->values.formats = gstdrm::FormatSet::from_pairs({chosen});
  made->layout.reset();
  const GstVideoMeta *meta = gst_buffer_get_video_meta(buffer);
  if (chosen.modifier != gstdrm::kModLinear || !meta)
    return made;
  gstdrm::BufferLayout layout;
  layout.format = chosen;
  layout.size_bytes = gst_buffer_get_size(buffer);
  for (guint i = 0; i < meta->n_planes; ++i)
    layout.planes.push_back({meta->offset[i], static_cast<std::uint64_t>(meta->stride[i])});
  made->layout = std::move(layout);
  return made;
}

struct AgreedPicture {
  std::uint32_t fourcc = 0;
  guint width = 0;
  guint height = 0;
  std::vector<guint64> modifiers;
};

Result<GstPtr<GstBuffer>> by_allocator(GstDrmAllocator *allocator, const GstDrmConstraints &agreed,
                                       const AgreedPicture &picture, const GstVideoAlignment *align)
{
  GError *error = nullptr;
  guint64 modifier = picture.modifiers.front();
  GstVideoAlignment asked;
  if (align)
    asked = *align;
  auto buffer = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, picture.fourcc, picture.width, picture.height, picture.modifiers.data(),
      static_cast<guint>(picture.modifiers.size()), align ? &asked : nullptr, &modifier, &error));
  if (!buffer)
    return taken_error(error);
  attach_agreed(buffer.get(), as_made(agreed, {picture.fourcc, modifier}, buffer.get()));
  return buffer;
}

// The driver chooses among all modifiers; a linear frame is laid out as agreed.
Result<GstPtr<GstBuffer>> allocate_picture(GstDrmAllocator *allocator,
                                           const GstDrmConstraints &agreed, AgreedPicture picture,
                                           const GstVideoAlignment *padding)
{
  const bool linear = std::erase(picture.modifiers, gstdrm::kModLinear) > 0;
  Result<GstPtr<GstBuffer>> first = Error{ErrorCode::Allocation, {}};
  if (!picture.modifiers.empty()) {
    AgreedPicture all = picture;
    if (linear)
      all.modifiers.push_back(gstdrm::kModLinear);
    first = by_allocator(allocator, agreed, all, padding);
    if (!linear || (first && gstdrm::check_agreed(allocator, first->get())))
      return first;
  }
  picture.modifiers = {gstdrm::kModLinear};
  GstVideoAlignment align;
  if (padding)
    align = *padding;
  else
    gst_video_alignment_reset(&align);
  const bool aligned = add_alignment(agreed, picture.fourcc, picture.width, picture.height, align);
  return by_allocator(allocator, agreed, picture, aligned || padding ? &align : nullptr);
}

Error no_picture(const GstDrmConstraints &agreed)
{
  const auto value = [&agreed](ConstraintKey key) {
    return describe_value(agreed.values, key, 80);
  };
  return Error{ErrorCode::Allocation,
               "The accessors agreed on no single picture: formats " +
                   value(ConstraintKey::Formats) + ", width " + value(ConstraintKey::Width) +
                   ", height " + value(ConstraintKey::Height) +
                   ". Let one of them state the formats, one width and one height; or another "
                   "buffer-type, such as raw"};
}

bool is_single(const GstDrmConstraints &agreed, ConstraintKey key)
{
  const auto &number = agreed.values.number(key);
  return number && number->min == number->max;
}

} // namespace

Agreed gstdrm::agreed_in(const GstStructure *config)
{
  const GValue *value = gst_structure_get_value(config, kConfigField);
  if (!value || !G_VALUE_HOLDS(value, agreed_holder_get_type()))
    return {};
  const auto *holder = static_cast<const AgreedHolder *>(g_value_get_object(value));
  if (!holder->agreed) // memory ran out when they were set
    throw std::bad_alloc();
  return holder->agreed;
}

bool gstdrm::is_picture(const GstDrmConstraints &agreed)
{
  return agreed.type == BufferType::Image || agreed.type == BufferType::Pyramid;
}

Result<GstPtr<GstBuffer>> gstdrm::allocate_agreed(GstDrmAllocator *allocator, const Agreed &agreed,
                                                  const Format *pair,
                                                  const GstVideoAlignment *align)
{
  const auto &layout = agreed->layout;
  if (!is_picture(*agreed) || agreed->type == BufferType::Pyramid) {
    if (layout)
      return as_laid_out(allocator, agreed);
    return no_picture(*agreed); // only a pyramid has no layout
  }
  const auto &formats = agreed->values.formats;
  if (!formats || formats->empty() || !is_single(*agreed, ConstraintKey::Width) ||
      !is_single(*agreed, ConstraintKey::Height))
    return no_picture(*agreed);
  AgreedPicture picture;
  picture.width = static_cast<guint>(agreed_number(*agreed, ConstraintKey::Width));
  picture.height = static_cast<guint>(agreed_number(*agreed, ConstraintKey::Height));
  if (pair) {
    picture.fourcc = pair->fourcc;
    picture.modifiers = {pair->modifier};
    if (layout && *layout->format == *pair && makes_bytes(allocator) && !align)
      return as_laid_out(allocator, agreed);
    return allocate_picture(allocator, *agreed, picture, align);
  }
  if (layout && makes_bytes(allocator))
    return as_laid_out(allocator, agreed);
  // the fourcc that was laid out, then the others, until the allocator makes one
  std::vector<std::uint32_t> fourccs;
  if (layout)
    fourccs.push_back(layout->format->fourcc);
  for (const Format &format : formats->pairs())
    if (std::find(fourccs.begin(), fourccs.end(), format.fourcc) == fourccs.end())
      fourccs.push_back(format.fourcc);
  std::optional<Error> refusal;
  for (const std::uint32_t fourcc : fourccs) {
    picture.fourcc = fourcc;
    picture.modifiers.clear();
    for (const Format &format : formats->pairs())
      if (format.fourcc == fourcc)
        picture.modifiers.push_back(format.modifier);
    auto made = allocate_picture(allocator, *agreed, picture, align);
    if (made)
      return made;
    if (!refusal)
      refusal = made.error();
  }
  return *refusal;
}

Result<void> gstdrm::check_agreed(GstDrmAllocator *allocator, GstBuffer *buffer)
{
  const ConstraintsMeta *meta = constraints_meta_of(buffer);
  if (!meta)
    return {};
  const GstDrmConstraints *agreed = meta->agreed.get();
  GstDrmVideoInfo info;
  const bool picture = agreed->type == BufferType::Image;
  if (picture) {
    const Format format = agreed->values.formats->pairs()[0];
    g_autoptr(GError) error = nullptr;
    if (!gst_drm_video_info_set_format(
            &info, format.fourcc, format.modifier,
            static_cast<guint>(agreed_number(*agreed, ConstraintKey::Width)),
            static_cast<guint>(agreed_number(*agreed, ConstraintKey::Height)), &error))
      return Error{ErrorCode::Format, error->message};
  }
  Difference found = layout_difference(agreed, buffer, picture ? &info : nullptr);
  if (!found)
    found = memory_difference(agreed, GST_ALLOCATOR(allocator), agreed->values.device);
  if (!found)
    return {};
  return Error{ErrorCode::Conflict,
               describe(found, allocator_label(allocator), agreed) +
                   ". Let an accessor ask for less, or state another placement"};
}

namespace {

// --- which memory --------------------------------------------------------------------------------

struct MemorySource {
  GstDrmAllocatorKind kind;
  std::string device;
  bool other_name = false; // of the memory before it
};

// What to try, in the order of gst_drm_constraints_get_heap().
std::vector<MemorySource> sources_of(const GstDrmConstraints &agreed)
{
  const auto &placement = agreed.values.placement;
  if (!placement)
    return {
        {has_only_tiled(agreed) ? GST_DRM_ALLOCATOR_KIND_GBM : GST_DRM_ALLOCATOR_KIND_AUTO, ""}};
  std::vector<MemorySource> sources;
  const std::string &device = agreed.values.device;
  if ((placement->kinds & gstdrm::kPlaceSystem) != 0)
    sources.push_back({GST_DRM_ALLOCATOR_KIND_AUTO, ""});
  if ((placement->kinds & gstdrm::kPlaceContiguous) != 0)
    for (const char *heap : gstdrm::kContiguousHeaps)
      sources.push_back(
          {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, heap, heap != gstdrm::kContiguousHeaps.front()});
  if ((placement->kinds & gstdrm::kPlaceDevice) != 0) {
    if (has_tiled(agreed) || device.empty())
      sources.push_back({GST_DRM_ALLOCATOR_KIND_GBM, device});
    sources.push_back(
        {device.empty() ? GST_DRM_ALLOCATOR_KIND_DUMB : GST_DRM_ALLOCATOR_KIND_AUTO, device});
  }
  for (const std::string &heap : placement->heaps)
    sources.push_back({GST_DRM_ALLOCATOR_KIND_DMA_HEAP, heap});
  return sources;
}

Result<GstPtr<GstDrmAllocator>> open_agreed(const GstDrmConstraints &agreed)
{
  std::string reasons;
  std::optional<Error> first;
  for (const MemorySource &source : sources_of(agreed)) {
    GError *error = nullptr;
    auto opened = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(
        source.kind, source.device.empty() ? nullptr : source.device.c_str(), &error));
    if (opened)
      return opened;
    const Error why = taken_error(error);
    if (!source.other_name)
      reasons += (reasons.empty() ? "" : " | ") + why.message;
    if (!first)
      first = why;
  }
  if (!first)
    return Error{ErrorCode::Device, "The accessors agreed on no memory at all"};
  first->message = "The memory that the accessors agreed on (" +
                   describe_value(agreed.values, ConstraintKey::Placement, 200) +
                   ") cannot be had here. " + reasons +
                   ". Let each accessor also take memory that is here";
  return *first;
}

Result<void> check_result(const GstDrmConstraints &constraints)
{
  if (gstdrm::is_reconciled(&constraints))
    return {};
  return Error{ErrorCode::Allocation,
               "Nothing can be allocated by the constraints of " +
                   gstdrm::describe_accessor(constraints.values) +
                   " alone: reconcile those of all accessors with gst_drm_constraints_reconcile() "
                   "first, or call gst_drm_constraints_reconcile_and_allocate()"};
}

Result<void> check_count(const GstDrmConstraints &agreed, guint n)
{
  const auto &buffers = agreed.values.number(ConstraintKey::Buffers);
  const guint64 most = buffers ? MIN(buffers->max, kMostBuffers) : kMostBuffers;
  if (n > 0 && n <= most)
    return {};
  return Error{n == 0 || most == kMostBuffers ? ErrorCode::Allocation : ErrorCode::Conflict,
               std::to_string(n) + " buffers were asked for; ask for 1 to " + std::to_string(most)};
}

Result<BufferArray> allocate_buffers(const GstDrmConstraints &constraints, guint n)
{
  for (const auto &checked : {check_result(constraints), check_count(constraints, n)})
    if (!checked)
      return checked.error();
  if (constraints.layout)
    if (auto room = check_room(constraints.layout->size_bytes, n); !room)
      return room.error();
  auto allocator = open_agreed(constraints);
  if (!allocator)
    return allocator.error();
  const auto agreed = std::make_shared<const GstDrmConstraints>(constraints);
  BufferArray buffers(g_ptr_array_new_full(
      n, [](gpointer buffer) noexcept { gst_buffer_unref(static_cast<GstBuffer *>(buffer)); }));
  for (guint i = 0; i < n; ++i) {
    auto made = gstdrm::allocate_agreed(allocator->get(), agreed, nullptr, nullptr);
    if (!made)
      return made.error();
    if (auto checked = gstdrm::check_agreed(allocator->get(), made->get()); !checked)
      return checked.error();
    g_ptr_array_add(buffers.get(), made->release());
  }
  return buffers;
}

// --- pools ---------------------------------------------------------------------------------------

// The caps of pictures like this one; null where the buffers are no single pictures.
Result<GstPtr<GstCaps>> agreed_caps(GstBuffer *first)
{
  const GstDrmConstraints &agreed = *constraints_meta_of(first)->agreed;
  if (agreed.type != BufferType::Image)
    return GstPtr<GstCaps>();
  const Format format = agreed.layout ? *agreed.layout->format : agreed.values.formats->pairs()[0];
  GstDrmVideoInfo info;
  GError *error = nullptr;
  if (!gst_drm_video_info_set_format(
          &info, format.fourcc, format.modifier,
          static_cast<guint>(agreed_number(agreed, ConstraintKey::Width)),
          static_cast<guint>(agreed_number(agreed, ConstraintKey::Height)), &error))
    return taken_error(error);
  auto caps = GstPtr<GstCaps>::adopt(gst_drm_video_info_to_caps(&info));
  if (!caps)
    return Error{ErrorCode::Caps, "There are no caps for " + describe_format(format)};
  return caps;
}

Result<GstPtr<GstBufferPool>> make_pool(const GstDrmConstraints &constraints)
{
  if (auto checked = check_result(constraints); !checked)
    return checked.error();
  auto allocator = open_agreed(constraints);
  if (!allocator)
    return allocator.error();
  // A pool only logs why it refuses a configuration, so the first buffer is made here.
  auto first = gstdrm::allocate_agreed(
      allocator->get(), std::make_shared<const GstDrmConstraints>(constraints), nullptr, nullptr);
  if (!first)
    return first.error();
  if (auto checked = gstdrm::check_agreed(allocator->get(), first->get()); !checked)
    return checked.error();
  auto caps = agreed_caps(first->get());
  if (!caps)
    return caps.error();
  // GstPoll logs criticals for as long as a pool without its descriptors lives
  constexpr unsigned kDescriptorsOfPool = 2;
  if (const int lack = gstdrm::out_of_descriptors(kDescriptorsOfPool); lack != 0)
    return Error{ErrorCode::Allocation,
                 "The process has no descriptor left for a buffer pool: " +
                     gstdrm::errno_text(lack) + "; close some, or raise the limit (ulimit -n)",
                 lack};
  auto pool = GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator->get()));
  gstdrm::state_of(pool.get()).checks_frames = true;
  const auto &buffers = constraints.values.number(ConstraintKey::Buffers);
  const guint64 held = agreed_number(constraints, ConstraintKey::BuffersHeld);
  const guint64 min = MAX(held, buffers ? buffers->min : 0);
  const guint64 max = buffers && buffers->max <= kMostBuffers ? buffers->max : 0;
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps->get(), 0, static_cast<guint>(min),
                                    static_cast<guint>(max));
  gst_buffer_pool_config_set_drm_constraints(config, &constraints);
  if (*caps)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool.get(), config))
    return Error{ErrorCode::Allocation,
                 "The pool makes no buffers, though one was made: the process is out of memory or "
                 "descriptors; GST_DEBUG=drmallocator:2 shows which"};
  return pool;
}

} // namespace

/**
 * gst_drm_constraints_allocate:
 * @constraints: a result of gst_drm_constraints_reconcile()
 * @n_buffers: how many, 1 to 65536, and no more than was agreed on (#GST_DRM_CONSTRAINT_BUFFERS)
 * @error: location for a #GError, or %NULL
 *
 * Allocates buffers by what was agreed on, in the memory that it names: a heap by its name, a
 * contiguous heap, the device's own memory (GBM where a format has a modifier other than LINEAR,
 * else dumb buffers or GBM), or system memory of the first allocator that works. See
 * gst_drm_constraints_get_heap(); where that memory cannot be had, others that were agreed on are
 * tried.
 *
 * An image has a #GstVideoMeta. In memory that knows bytes only (udmabuf, dma-heaps, memfd) it lies
 * exactly as gst_drm_constraints_get_plane() says. A device's allocator lays it out itself: it gets
 * every modifier of the fourcc that was agreed on, and its choice is compared with what was agreed
 * on. Raw memory, a tensor, an array and a pyramid are one memory of gst_drm_constraints_get_size()
 * bytes, with the planes of gst_drm_constraints_get_plane(); a pyramid has the #GstVideoMeta of its
 * largest level.
 *
 * Each buffer carries what was agreed on: gst_buffer_get_drm_constraints(). For a stream use
 * gst_drm_buffer_pool_new_for_constraints(), which recycles buffers.
 *
 * Returns: (transfer container) (nullable) (element-type GstBuffer): @n_buffers buffers, which the
 *   array owns; %NULL with an error, and then nothing stays allocated. Errors:
 * %GST_DRM_ERROR_ALLOCATION: @constraints are no result, leave the size or format of a picture
 * open, or there is no memory or descriptor left; %GST_DRM_ERROR_DEVICE: the memory does not exist
 * here; %GST_DRM_ERROR_CONFLICT: what the allocator makes is not what was agreed on, or more
 * buffers were asked for than that; and those of gst_drm_allocator_alloc_frame()
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_constraints_allocate(const GstDrmConstraints *constraints, guint n_buffers,
                                        GError **error) noexcept
try {
  g_return_val_if_fail(constraints != nullptr, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  auto buffers = allocate_buffers(*constraints, n_buffers);
  if (buffers)
    return buffers->release();
  gstdrm::propagate(error, buffers.error());
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_drm_constraints_reconcile_and_allocate:
 * @accessors: (element-type GstDrmConstraints): see gst_drm_constraints_reconcile()
 * @n_buffers: see gst_drm_constraints_allocate()
 * @conflict: (out) (optional) (transfer full) (nullable): why nothing suits all accessors; %NULL
 *   where something does
 * @error: location for a #GError, or %NULL
 *
 * gst_drm_constraints_reconcile() and gst_drm_constraints_allocate() in one call. The buffers carry
 * the result: gst_buffer_get_drm_constraints().
 *
 * Returns: (transfer container) (nullable) (element-type GstBuffer): @n_buffers buffers, which the
 *   array owns; %NULL with the errors of gst_drm_constraints_allocate(), or with
 * %GST_DRM_ERROR_CONFLICT and @conflict, whose text the error has
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_constraints_reconcile_and_allocate(GPtrArray *accessors, guint n_buffers,
                                                      GstDrmConflict **conflict,
                                                      GError **error) noexcept
try {
  if (conflict)
    *conflict = nullptr;
  g_return_val_if_fail(accessors != nullptr, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  GstDrmConflict *made = nullptr;
  const std::unique_ptr<GstDrmConstraints, DropConstraints> agreed(
      gst_drm_constraints_reconcile(accessors, &made));
  std::unique_ptr<GstDrmConflict, DropConflict> why(made);
  if (agreed)
    return gst_drm_constraints_allocate(agreed.get(), n_buffers, error);
  if (!why)
    throw std::bad_alloc();
  const g_autofree gchar *text = gstdrm::made(gst_drm_conflict_to_string(why.get()));
  gstdrm::propagate(error, Error{ErrorCode::Conflict, text});
  if (conflict)
    *conflict = why.release();
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_drm_allocator_new_for_constraints: (constructor)
 * @constraints: a result of gst_drm_constraints_reconcile()
 * @error: location for a #GError, or %NULL
 *
 * Opens the allocator that gst_drm_constraints_allocate() would use, for a pool of one's own.
 *
 * Returns: (transfer full) (nullable): a new allocator; %NULL with the errors of
 * gst_drm_allocator_new(), or with %GST_DRM_ERROR_ALLOCATION where @constraints are no result
 *
 * Since: 0.1
 */
GstDrmAllocator *gst_drm_allocator_new_for_constraints(const GstDrmConstraints *constraints,
                                                       GError **error) noexcept
try {
  g_return_val_if_fail(constraints != nullptr, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  auto checked = check_result(*constraints);
  auto opened =
      checked ? open_agreed(*constraints) : Result<GstPtr<GstDrmAllocator>>(checked.error());
  if (opened)
    return opened->release();
  gstdrm::propagate(error, opened.error());
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_drm_buffer_pool_new_for_constraints: (constructor)
 * @constraints: a result of gst_drm_constraints_reconcile()
 * @error: location for a #GError, or %NULL
 *
 * Makes a #GstDrmBufferPool of buffers as gst_drm_constraints_allocate() makes them. It is
 * configured: activate it, or change its configuration first. The caps in the configuration are
 * those of the pictures, with the modifier that was chosen; %NULL for other buffers. The pool keeps
 * at least the buffers that the accessors hold, and at most those that were agreed on.
 *
 * Returns: (transfer full) (nullable): a new, inactive pool; %NULL with the errors of
 * gst_drm_constraints_allocate()
 *
 * Since: 0.1
 */
GstBufferPool *gst_drm_buffer_pool_new_for_constraints(const GstDrmConstraints *constraints,
                                                       GError **error) noexcept
try {
  g_return_val_if_fail(constraints != nullptr, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  auto pool = make_pool(*constraints);
  if (pool)
    return pool->release();
  gstdrm::propagate(error, pool.error());
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_buffer_pool_config_set_drm_constraints:
 * @config: the configuration of a #GstDrmBufferPool
 * @constraints: a result of gst_drm_constraints_reconcile()
 *
 * Has the pool lay out its buffers as was agreed on, with an allocator of the caller's choice. A
 * configuration for pictures needs caps of a format that was agreed on and
 * %GST_BUFFER_POOL_OPTION_VIDEO_META. Whether an allocator of whole frames does as asked,
 * gst_drm_buffer_meets() says. The constraints are copied. Constraints that are no result make
 * gst_buffer_pool_set_config() fail.
 *
 * Since: 0.1
 */
void gst_buffer_pool_config_set_drm_constraints(GstStructure *config,
                                                const GstDrmConstraints *constraints) noexcept
try {
  g_return_if_fail(config != nullptr);
  g_return_if_fail(constraints != nullptr);

  const auto holder = GstPtr<GObject>::adopt(
      static_cast<GObject *>(g_object_new(agreed_holder_get_type(), nullptr)));
  gst_structure_set(config, kConfigField, agreed_holder_get_type(), holder.get(), nullptr);
  // last, so that a configuration without them is one that a pool refuses
  reinterpret_cast<AgreedHolder *>(holder.get())->agreed =
      std::make_shared<const GstDrmConstraints>(*constraints);
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_buffer_get_drm_constraints:
 * @buffer: a #GstBuffer
 *
 * Gets what the accessors agreed on before @buffer was allocated: the result of the reconciliation,
 * with the one format that the allocator chose, and, of linear pictures and of all other buffers,
 * the planes of this buffer. A shallow copy of @buffer has it too; a copy of the bytes does not.
 *
 * Returns: (transfer none) (nullable): final constraints, valid as long as @buffer; %NULL where
 * nobody agreed on anything
 *
 * Since: 0.1
 */
const GstDrmConstraints *gst_buffer_get_drm_constraints(GstBuffer *buffer) noexcept
{
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);

  const ConstraintsMeta *meta = constraints_meta_of(buffer);
  return meta ? meta->agreed.get() : nullptr;
}
