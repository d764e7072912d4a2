// SPDX-License-Identifier: LGPL-2.1-or-later
// What GstDrmAllocator's own kinds do: from the calls of GstAllocator to the engines of alloc/.
#include <algorithm>
#include <bit>

#include "core/format_set.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocator-private.hpp"
#include "gstdrmformatset-private.hpp"

#define GST_CAT_DEFAULT gstdrm::allocator_debug_category()

namespace gstdrm {

namespace {

// What a decoder asks for, as the engines understand it; Error for stride masks that are not 2^n
// - 1.
Result<void> apply_alignment(FrameRequest &request, const GstVideoAlignment *align)
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

} // namespace

GstDrmFormatSet *engine_get_formats(GstDrmAllocator *allocator)
{
  AllocatorState &state = state_of(allocator);
  if (!state.engine)
    return nullptr;
  auto pairs = state.engine->formats();
  if (!pairs)
    return nullptr;
  return wrap_format_set(FormatSet::from_pairs(std::move(*pairs)));
}

GstBuffer *engine_alloc_frame(GstDrmAllocator *allocator, guint32 fourcc, guint width, guint height,
                              const guint64 *modifiers, guint n_modifiers,
                              const GstVideoAlignment *align, guint64 *modifier,
                              GError **error) noexcept
try {
  AllocatorState &state = state_of(allocator);
  if (!state.engine) {
    propagate(error, Error{ErrorCode::Unsupported, "This allocator makes no frames"});
    return nullptr;
  }
  FrameRequest request;
  request.fourcc = fourcc;
  request.width = width;
  request.height = height;
  request.modifiers = {modifiers, n_modifiers};
  if (auto applied = apply_alignment(request, align); !applied) {
    propagate(error, applied.error());
    return nullptr;
  }
  auto frame = state.engine->allocate(request);
  if (!frame) {
    GST_DEBUG_OBJECT(allocator, "%s", frame.error().message.c_str());
    propagate(error, frame.error());
    return nullptr;
  }
  if (modifier)
    *modifier = frame->format.modifier;
  return buffer_from_frame(GST_DMABUF_ALLOCATOR(allocator), std::move(frame).value());
} catch (...) {
  return caught(nullptr, __func__, error);
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

} // namespace gstdrm
