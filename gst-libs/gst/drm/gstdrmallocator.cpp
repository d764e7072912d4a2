// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmallocator
 * @title: GstDrmAllocator
 * @short_description: where frames come from
 *
 * Makes video frames in DMA buffers. The consumers say which modifiers they take, all of them, and
 * the allocator chooses one. Frames have one #GstMemory per file descriptor and a #GstVideoMeta.
 *
 * Linear frames have strides that are multiples of 256 bytes, which every GPU known here can
 * import, planes one after the other in one memory, and a size of whole pages.
 *
 * udmabuf, dma-heap and memfd allocate plain bytes too (gst_allocator_alloc()); the two others
 * answer that with %NULL. Memory stays mapped from its first map to its end, and every map is
 * bracketed by DMA_BUF_IOCTL_SYNC.
 *
 * An allocator may be used from any thread.
 */
#include "gstdrmallocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "alloc/open_allocator.hpp"
#include "core/format_set.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-log-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocator-buffer.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset-private.hpp"
#include "gstdrmframe-private.hpp"
#include "gstdrmvideoinfo.h"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

using gstdrm::AllocatorKind;
using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::Result;

namespace {

// Where the lines of core/ and alloc/ go in the library; plugins, which link the core as well,
// connect categories of their own. The decisions that this code logs are those of the allocators.
// library_debug_category() exists from the start too, for --gst-debug-help.
[[maybe_unused]] const bool log_is_connected =
    (gstdrm::connect_log<gstdrm::allocator_debug_category>(),
     gstdrm::library_debug_category() != nullptr);

// Of one allocator: made with the object, and filled by the constructor of its kind.
struct AllocatorState {
  GstDrmAllocatorKind kind = GST_DRM_ALLOCATOR_KIND_AUTO;
  std::unique_ptr<gstdrm::FrameAllocator> engine; // empty in a subclass from elsewhere
  GstMemoryMapFunction map_descriptor = nullptr;  // GstFdAllocator's mmap(2)
};

struct GstDrmAllocatorPrivate {
  AllocatorState state; // constructed in init, destroyed in finalize
};

} // namespace

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE(GstDrmAllocator, gst_drm_allocator, GST_TYPE_DMABUF_ALLOCATOR)

namespace {

AllocatorState &state_of(gpointer allocator)
{
  auto *priv = static_cast<GstDrmAllocatorPrivate *>(
      gst_drm_allocator_get_instance_private(static_cast<GstDrmAllocator *>(allocator)));
  return priv->state;
}

// Maps for reading and writing, whatever is asked. GstFdAllocator keeps one map per memory and
// would change its protection with each change of direction, mprotect(2) and then a fault for every
// page: a buffer that is written and read in turn would pay that twice a frame.
gpointer map_both_ways(GstMemory *memory, gsize maxsize, GstMapFlags flags) noexcept
{
  const GstMemoryMapFunction map = state_of(memory->allocator).map_descriptor;
  if (gpointer data = map(memory, maxsize, static_cast<GstMapFlags>(flags | GST_MAP_READWRITE)))
    return data;
  return map(memory, maxsize, flags); // a dma-buf that was exported for reading only
}

// What a decoder asks for, as the engines understand it; Error for stride masks that are not 2^n
// - 1.
Result<void> apply_alignment(gstdrm::FrameRequest &request, const GstVideoAlignment *align)
{
  if (!align)
    return {};
  request.padding = {align->padding_left, align->padding_right, align->padding_top,
                     align->padding_bottom};
  for (const guint mask : align->stride_align) {
    const std::uint64_t bytes = std::uint64_t{mask} + 1;
    if (!std::has_single_bit(bytes) || bytes > (1U << 16))
      return Error{ErrorCode::Allocation, "A stride alignment mask of " + std::to_string(mask) +
                                              " is not a power of two less 1, up to 65535"};
    request.stride_align = std::max(request.stride_align, static_cast<std::uint32_t>(bytes));
  }
  return {};
}

// More than any frame takes: plane offsets have 32 bits in the kernel's interfaces.
constexpr gsize kMostBytes = G_MAXUINT32;

// Room for the prefix, the memory and the padding, all of it aligned as asked.
bool add_up(gsize size, const GstAllocationParams &params, gsize &offset, gsize &total)
{
  const gsize align = params.align; // a mask, as GStreamer has it
  offset = (params.prefix + align) & ~align;
  return params.prefix <= kMostBytes && size <= kMostBytes && params.padding <= kMostBytes &&
         (total = offset + size + params.padding) <= kMostBytes;
}

GstDrmFormatSet *engine_get_formats(GstDrmAllocator *allocator)
{
  AllocatorState &state = state_of(allocator);
  if (!state.engine)
    return nullptr;
  auto pairs = state.engine->formats();
  if (!pairs)
    return nullptr;
  return gstdrm::wrap_format_set(gstdrm::FormatSet::from_pairs(std::move(*pairs)));
}

GstBuffer *engine_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc, guint width, guint height,
                              const guint64 *modifiers, guint n_modifiers,
                              const GstVideoAlignment *align, guint64 *modifier,
                              GError **error) noexcept
try {
  AllocatorState &state = state_of(allocator);
  if (!state.engine) {
    gstdrm::propagate(error, Error{ErrorCode::Unsupported, "This allocator makes no frames"});
    return nullptr;
  }
  gstdrm::FrameRequest request;
  request.fourcc = fourcc;
  request.width = width;
  request.height = height;
  request.modifiers = {modifiers, n_modifiers};
  if (auto applied = apply_alignment(request, align); !applied) {
    gstdrm::propagate(error, applied.error());
    return nullptr;
  }
  auto frame = state.engine->allocate(request);
  if (!frame) {
    GST_DEBUG_OBJECT(allocator, "%s", frame.error().message.c_str());
    gstdrm::propagate(error, frame.error());
    return nullptr;
  }
  if (modifier)
    *modifier = frame->format.modifier;
  return gstdrm::buffer_from_frame(GST_DMABUF_ALLOCATOR(allocator), std::move(frame).value());
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

GstMemory *engine_alloc(GstAllocator *allocator, gsize size, GstAllocationParams *params)
{
  AllocatorState &state = state_of(allocator);
  static const GstAllocationParams kNoParams = {};
  const GstAllocationParams &asked = params ? *params : kNoParams;
  gsize offset = 0;
  gsize total = 0;
  if (!state.engine) {
    GST_WARNING_OBJECT(allocator, "this allocator makes no plain memory");
    return nullptr;
  }
  if (asked.align >= 4096) { // a map starts at a page, and no sooner
    GST_WARNING_OBJECT(allocator, "cannot align to more than a page: mask %" G_GSIZE_FORMAT,
                       asked.align);
    return nullptr;
  }
  if (!add_up(size, asked, offset, total)) {
    GST_WARNING_OBJECT(allocator, "%" G_GSIZE_FORMAT " bytes and what is around them are too many",
                       size);
    return nullptr;
  }
  auto object = state.engine->allocate_bytes(std::max<gsize>(total, 1));
  if (!object) {
    GST_WARNING_OBJECT(allocator, "%s", object.error().message.c_str());
    return nullptr;
  }
  GstMemory *memory = gst_dmabuf_allocator_alloc_with_flags(
      allocator, object->fd.release(), object->size_bytes, GST_FD_MEMORY_FLAG_KEEP_MAPPED);
  if (memory)
    gst_memory_resize(memory, static_cast<gssize>(offset), size);
  return memory;
}

void kind_class_init(gpointer klass, gpointer) noexcept
{
  GST_ALLOCATOR_CLASS(klass)->alloc = gstdrm::logging<engine_alloc>;
}

// One final type per kind, so that a debug log and gst-inspect tell them apart.
GType type_of_kind(AllocatorKind kind)
{
  static constexpr std::array<const char *, 6> kNames{nullptr,
                                                      "GstDrmAllocatorUdmabuf",
                                                      "GstDrmAllocatorDmaHeap",
                                                      "GstDrmAllocatorDumb",
                                                      "GstDrmAllocatorGbm",
                                                      "GstDrmAllocatorMemfd"};
  static std::array<gsize, kNames.size()> types{};
  gsize &type = types[static_cast<std::size_t>(kind)];
  if (g_once_init_enter(&type)) {
    GTypeInfo info = {};
    info.class_size = sizeof(GstDrmAllocatorClass);
    info.class_init = kind_class_init;
    info.instance_size = sizeof(GstDrmAllocator);
    g_once_init_leave(&type, g_type_register_static(GST_TYPE_DRM_ALLOCATOR,
                                                    kNames[static_cast<std::size_t>(kind)], &info,
                                                    G_TYPE_FLAG_FINAL));
  }
  return type;
}

void warn_of_memfd(GstDrmAllocator *allocator)
{
  static std::atomic_flag said = ATOMIC_FLAG_INIT;
  if (!said.test_and_set())
    GST_WARNING_OBJECT(allocator,
                       "frames come from memfd: the kernel exports no dma-bufs here (no udmabuf, "
                       "no dma-heap), so no device can import them");
}

GstDrmAllocator *wrap(gstdrm::Result<gstdrm::OpenedAllocator> opened, GError **error)
{
  if (!opened) {
    GST_DEBUG("%s", opened.error().message.c_str());
    gstdrm::propagate(error, opened.error());
    return nullptr;
  }
  auto *allocator =
      static_cast<GstDrmAllocator *>(g_object_new(type_of_kind(opened->kind), nullptr));
  gst_object_ref_sink(allocator);
  AllocatorState &state = state_of(allocator);
  state.kind = static_cast<GstDrmAllocatorKind>(opened->kind);
  state.engine = std::move(opened->allocator);
  // gst_allocator_alloc() works: elements that are handed this allocator may call it
  if (state.engine->can_allocate_bytes())
    GST_OBJECT_FLAG_UNSET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
  GST_INFO_OBJECT(allocator, "allocates from %s %s", state.engine->name().c_str(),
                  state.engine->device().c_str());
  if (opened->kind == AllocatorKind::Memfd) {
    // What GstDmaBufAllocator does around a map is DMA_BUF_IOCTL_SYNC, which a memfd has not.
    GST_ALLOCATOR(allocator)->mem_map_full = nullptr;
    GST_ALLOCATOR(allocator)->mem_unmap_full = nullptr;
    warn_of_memfd(allocator);
  }
  return allocator;
}

struct FrameAsked {
  guint32 fourcc;
  guint width;
  guint height;
  std::span<const guint64> modifiers;
};

// What an allocator from elsewhere made: a modifier that was offered, and planes of that size
// inside of their memory.
Result<void> check_choice(GstDrmAllocator *allocator, GstBuffer *frame, const FrameAsked &asked,
                          guint64 chosen)
{
  const auto offers = [&asked](guint64 modifier) {
    return std::find(asked.modifiers.begin(), asked.modifiers.end(), modifier) !=
           asked.modifiers.end();
  };
  const std::string name = G_OBJECT_TYPE_NAME(allocator);
  if (!offers(chosen) && !offers(GST_DRM_MODIFIER_IMPLICIT))
    return Error{ErrorCode::Layout, "The allocator " + name + " made " +
                                        gstdrm::describe_format({asked.fourcc, chosen}) +
                                        ", which is none of " +
                                        gstdrm::describe_modifiers(asked.modifiers) +
                                        "; it has to choose among the modifiers that it is given"};
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_set_format(&info, asked.fourcc, chosen, asked.width, asked.height,
                                     nullptr))
    return {}; // a pair that has no rules here
  const auto layout = gstdrm::frame_layout_of(frame, info);
  if (layout)
    return {};
  return Error{layout.error().code,
               "The allocator " + name +
                   " made a frame that is not sound: " + layout.error().message,
               layout.error().sys_errno};
}

// LINEAR of every fourcc that make_linear_plan() knows: a new set with one owner.
// A big-endian variant is laid out as the fourcc itself, so every one could be planned; only those
// that GStreamer has a video format for are listed, or each 8-bit fourcc would stand there twice.
GstDrmFormatSet *linear_formats()
{
  std::vector<Format> pairs;
  pairs.reserve(gstdrm::known_fourccs().size() + 8);
  for (const gstdrm::FourccInfo &info : gstdrm::known_fourccs()) {
    pairs.push_back({info.fourcc, gstdrm::kModLinear});
    const std::uint32_t big_endian = info.fourcc | gstdrm::kFourccBigEndian;
    if (gst_drm_format_to_video_format(big_endian, GST_DRM_MODIFIER_LINEAR) !=
        GST_VIDEO_FORMAT_UNKNOWN)
      pairs.push_back({big_endian, gstdrm::kModLinear});
  }
  return gstdrm::wrap_format_set(gstdrm::FormatSet::from_pairs(std::move(pairs)));
}

} // namespace

bool gstdrm::makes_bytes(GstDrmAllocator *allocator)
{
  const AllocatorState &state = ::state_of(allocator);
  return state.engine && state.engine->can_allocate_bytes();
}

Result<gstdrm::FrameObject> gstdrm::allocate_bytes(GstDrmAllocator *allocator,
                                                   std::uint64_t size_bytes)
{
  const AllocatorState &state = ::state_of(allocator);
  if (!state.engine)
    return Error{ErrorCode::Unsupported, "This allocator makes no plain memory"};
  return state.engine->allocate_bytes(size_bytes);
}

GType gst_drm_allocator_kind_get_type(void) noexcept
{
  static const GEnumValue values[] = {
      {GST_DRM_ALLOCATOR_KIND_AUTO, "GST_DRM_ALLOCATOR_KIND_AUTO", "auto"},
      {GST_DRM_ALLOCATOR_KIND_UDMABUF, "GST_DRM_ALLOCATOR_KIND_UDMABUF", "udmabuf"},
      {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "GST_DRM_ALLOCATOR_KIND_DMA_HEAP", "dma-heap"},
      {GST_DRM_ALLOCATOR_KIND_DUMB, "GST_DRM_ALLOCATOR_KIND_DUMB", "dumb"},
      {GST_DRM_ALLOCATOR_KIND_GBM, "GST_DRM_ALLOCATOR_KIND_GBM", "gbm"},
      {GST_DRM_ALLOCATOR_KIND_MEMFD, "GST_DRM_ALLOCATOR_KIND_MEMFD", "memfd"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmAllocatorKind", values);
  return type;
}

static void gst_drm_allocator_finalize(GObject *object) noexcept
{
  auto *priv = static_cast<GstDrmAllocatorPrivate *>(
      gst_drm_allocator_get_instance_private(reinterpret_cast<GstDrmAllocator *>(object)));
  std::destroy_at(&priv->state);
  G_OBJECT_CLASS(gst_drm_allocator_parent_class)->finalize(object);
}

static void gst_drm_allocator_class_init(GstDrmAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = gst_drm_allocator_finalize;
  klass->get_formats = gstdrm::logging<engine_get_formats>;
  klass->alloc_frame = engine_alloc_frame;
}

static void gst_drm_allocator_init(GstDrmAllocator *self)
{
  auto *priv = static_cast<GstDrmAllocatorPrivate *>(gst_drm_allocator_get_instance_private(self));
  std::construct_at(&priv->state);
  priv->state.map_descriptor = GST_ALLOCATOR(self)->mem_map;
  GST_ALLOCATOR(self)->mem_map = map_both_ways;
}

/**
 * gst_drm_allocator_new: (constructor)
 * @kind: what to allocate from
 * @device: (nullable): for dma-heap the name of a heap ("system", "linux,cma"), for dumb and gbm
 * the path of a DRM node ("/dev/dri/card0"); %NULL: the first that works
 * @error: location for a #GError, or %NULL
 *
 * With %GST_DRM_ALLOCATOR_KIND_AUTO the first kind that works is taken: udmabuf, dma-heap, dumb,
 * gbm, memfd; or, with a @device, the first of those kinds that such a device can be. A kind works
 * when it has made a small buffer. Without a @device, buffers beyond udmabuf's limit (64 MiB unless
 * the module's size_limit_mb says otherwise) come from the first dma-heap that works, and
 * gst_drm_allocator_get_notice() says so; the kind stays udmabuf.
 *
 * A DRM node is opened without becoming its master.
 *
 * Returns: (transfer full) (nullable): a new allocator, or %NULL. Errors: %GST_DRM_ERROR_DEVICE:
 * the device cannot be used, or with %GST_DRM_ALLOCATOR_KIND_AUTO nothing can;
 * %GST_DRM_ERROR_ALLOCATION: it makes no buffer; %GST_DRM_ERROR_LAYOUT: its first buffer is not
 * sound; %GST_DRM_ERROR_UNSUPPORTED: there is no such kind, or the library was built without it
 *
 * Since: 0.1
 */
GstDrmAllocator *gst_drm_allocator_new(GstDrmAllocatorKind kind, const gchar *device,
                                       GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  return wrap(gstdrm::open_allocator(static_cast<AllocatorKind>(kind), device ? device : ""),
              error);
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_drm_allocator_new_for_fd: (constructor)
 * @kind: dumb, gbm, or auto: the first of the two that works
 * @drm_fd: an open DRM device; it stays the caller's and may be closed at any time
 * @error: location for a #GError, or %NULL
 *
 * Dumb buffers are made on a duplicate of @drm_fd, that is on the same open file: what it may do by
 * a lease, the allocator may. No GEM handle stays open there, so that a handle which the caller
 * gets by importing a buffer is the caller's alone.
 *
 * For GBM the device is opened anew, its render node if it has one, because drivers keep GEM
 * handles of their own on the file that they are given; only where that is not possible a duplicate
 * serves.
 *
 * Returns: (transfer full) (nullable): a new allocator; %NULL with the errors of
 * gst_drm_allocator_new(), and %GST_DRM_ERROR_UNSUPPORTED for another @kind
 *
 * Since: 0.1
 */
GstDrmAllocator *gst_drm_allocator_new_for_fd(GstDrmAllocatorKind kind, gint drm_fd,
                                              GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  return wrap(gstdrm::open_allocator_for_fd(static_cast<AllocatorKind>(kind), drm_fd), error);
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}

/**
 * gst_drm_allocator_get_kind:
 * @allocator: a #GstDrmAllocator
 *
 * Says what kind of memory an allocator makes; %GST_DRM_ALLOCATOR_KIND_AUTO has become one by then.
 *
 * Returns: what it allocates from; %GST_DRM_ALLOCATOR_KIND_AUTO for an allocator from outside this
 * library
 *
 * Since: 0.1
 */
GstDrmAllocatorKind gst_drm_allocator_get_kind(GstDrmAllocator *allocator) noexcept
{
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), GST_DRM_ALLOCATOR_KIND_AUTO);

  return state_of(allocator).kind;
}

/**
 * gst_drm_allocator_get_device:
 * @allocator: a #GstDrmAllocator
 *
 * Says on which device an allocator was opened.
 *
 * Returns: (transfer none) (nullable): the device it allocates from: "/dev/udmabuf", the name of a
 * heap, the path of a DRM node; %NULL for memfd, which has none
 *
 * Since: 0.1
 */
const gchar *gst_drm_allocator_get_device(GstDrmAllocator *allocator) noexcept
{
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);

  const AllocatorState &state = state_of(allocator);
  return state.engine && !state.engine->device().empty() ? state.engine->device().c_str() : nullptr;
}

/**
 * gst_drm_allocator_get_notice:
 * @allocator: a #GstDrmAllocator
 *
 * What a user should know about how the allocator works here, for a message: with
 * %GST_DRM_ALLOCATOR_KIND_AUTO which limit of udmabuf a frame was too large for, where such frames
 * come from instead, and how to raise the limit. It may come with any frame, and stays then.
 *
 * Returns: (transfer full) (nullable): sentences without the last full stop; %NULL: nothing
 *
 * Since: 0.1
 */
gchar *gst_drm_allocator_get_notice(GstDrmAllocator *allocator) noexcept
try {
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);

  const AllocatorState &state = state_of(allocator);
  const std::string notice = state.engine ? state.engine->notice() : std::string();
  return notice.empty() ? nullptr : g_strdup(notice.c_str());
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_allocator_get_formats:
 * @allocator: a #GstDrmAllocator
 *
 * What the allocator can make, as far as it can be found out, to be intersected with what the
 * consumers take. For udmabuf, dma-heap, dumb and memfd that is %GST_DRM_MODIFIER_LINEAR of every
 * fourcc whose linear layout is known here; so it is for a subclass from elsewhere whose
 * get_formats gives %NULL.
 *
 * libgbm has no call that lists modifiers, so for gbm the set holds those of the well-known ones
 * that the driver knows; gst_drm_allocator_alloc_frame() takes others too.
 * %GST_DRM_MODIFIER_IMPLICIT is a member for a fourcc that the driver knows no explicit modifier
 * of.
 *
 * Returns: (transfer full): a set, never %NULL; where the allocator is not a subclass's, the
 * caller is its only owner and may add to it
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_allocator_get_formats(GstDrmAllocator *allocator) noexcept
try {
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);

  const GstDrmAllocatorClass *klass = GST_DRM_ALLOCATOR_GET_CLASS(allocator);
  GstDrmFormatSet *formats = klass->get_formats ? klass->get_formats(allocator) : nullptr;
  return formats ? formats : linear_formats();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_allocator_alloc_frame:
 * @allocator: a #GstDrmAllocator
 * @fourcc: DRM fourcc
 * @width: pixels, 1 to 16384
 * @height: pixels, 1 to 16384
 * @modifiers: (array length=n_modifiers): every modifier that the consumers take, in any order
 * @n_modifiers: how many; none is an error
 * @align: (nullable): padding around the picture and masks for the strides, as decoders ask for;
 *   %NULL: none. Needs a linear layout.
 * @modifier: (out) (optional): the modifier that was chosen
 * @error: location for a #GError, or %NULL
 *
 * Allocates one frame. Its #GstVideoMeta has the size @width x @height, offsets of the first
 * visible pixel counted from the start of the buffer, and where the format is linear and GStreamer
 * knows it, the #GstVideoAlignment as it came out: at least what was asked, strides a multiple of
 * 256 bytes.
 *
 * %GST_DRM_MODIFIER_IMPLICIT among @modifiers allows the driver's private layout; it is taken only
 * when no explicit one can be had. Where the driver can tell the modifier it chose then, @modifier
 * is that one, though it was not offered: the caller decides whether the consumers take it.
 *
 * Returns: (transfer full) (nullable): a new buffer, or %NULL. Errors:
 *   %GST_DRM_ERROR_ALLOCATION: no such frame can be made, by its size, fourcc, @modifiers or
 * @align, or there is no memory for it; %GST_DRM_ERROR_LAYOUT: the driver's or the subclass's
 * description of what it made is not sound, the subclass chose a modifier that is none of
 * @modifiers, or a frame with the padding of @align has planes beyond 4 GiB;
 *   %GST_DRM_ERROR_UNSUPPORTED: the allocator makes no frames. A subclass from elsewhere may fail
 *   with other codes, such as %GST_DRM_ERROR_FORMAT where its device has no name for @fourcc
 *
 * Since: 0.1
 */
GstBuffer *gst_drm_allocator_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc, guint width,
                                         guint height, const guint64 *modifiers, guint n_modifiers,
                                         const GstVideoAlignment *align, guint64 *modifier,
                                         GError **error) noexcept
try {
  g_return_val_if_fail(GST_IS_DRM_ALLOCATOR(allocator), nullptr);
  g_return_val_if_fail(modifiers != nullptr || n_modifiers == 0, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  // what a subclass that says no modifier chose, where there is no choice
  guint64 chosen = n_modifiers == 1 ? modifiers[0] : GST_DRM_MODIFIER_IMPLICIT;
  auto frame = gstdrm::GstPtr<GstBuffer>::adopt(GST_DRM_ALLOCATOR_GET_CLASS(allocator)->alloc_frame(
      allocator, fourcc, width, height, modifiers, n_modifiers, align, &chosen, error));
  if (frame && !state_of(allocator).engine) { // the engines check their frames themselves
    const FrameAsked asked{fourcc, width, height, {modifiers, n_modifiers}};
    if (auto checked = check_choice(allocator, frame.get(), asked, chosen); !checked) {
      gstdrm::propagate(error, checked.error());
      return nullptr;
    }
  }
  if (frame && modifier)
    *modifier = chosen;
  return frame.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__, error);
}
