// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a buffer that arrives is as its reader asks.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fcntl.h>

#include <gst/allocators/gstfdmemory.h>

#include "core/reconcile.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmallocation.h"
#include "gstdrmconstraints-private.hpp"
#include "gstdrmdifference.hpp"
#include "gstdrmframe-private.hpp"

using gstdrm::BufferType;
using gstdrm::ConstraintKey;
using gstdrm::Constraints;
using gstdrm::Difference;
using gstdrm::Error;
using gstdrm::ErrorCode;
using gstdrm::Format;
using gstdrm::Reconciled;
using gstdrm::Result;

namespace {

guint64 access_flags(const Constraints &asked, ConstraintKey key)
{
  const auto &number = asked.number(key);
  return number ? number->min : 0;
}

std::string accessor_name(const Constraints &asked)
{
  return asked.name.empty() ? "its accessor" : asked.name;
}

Error unmet_by(const GstDrmConstraints *asked, const Difference &found)
{
  const auto key = static_cast<ConstraintKey>(found.key);
  return Error{ErrorCode::Conflict,
               describe(found, "The buffer's producer", asked) + ". State " +
                   std::string(gstdrm::constraint_key_facts(key).name) +
                   " in the answer to the allocation query (gst_query_add_drm_constraints()), so "
                   "that the producer hears it; or copy into a buffer of "
                   "gst_drm_constraints_allocate()"};
}

// What a buffer has to be for this accessor: the kind of buffer, and where that follows, its size.
struct Wanted {
  BufferType type = BufferType::Image;
  std::optional<gstdrm::BufferLayout> layout;
};

bool is_incomplete(const gstdrm::Conflict &conflict)
{
  return std::all_of(conflict.failures.begin(), conflict.failures.end(),
                     [](const gstdrm::KeyConflict &failure) {
                       return failure.reason == gstdrm::ConflictReason::Missing;
                     });
}

// Of the constraints alone; they may be a result. What others state is not missed.
Result<Wanted> wanted_alone(const Constraints &asked)
{
  const Constraints *const values = &asked;
  auto outcome = gstdrm::reconcile({&values, 1});
  if (auto *done = std::get_if<Reconciled>(&outcome))
    return Wanted{done->type, std::move(done->layout)};
  const auto &conflict = std::get<gstdrm::Conflict>(outcome);
  if (is_incomplete(conflict))
    return Wanted{static_cast<BufferType>(access_flags(asked, ConstraintKey::BufferType)),
                  std::nullopt};
  return Error{ErrorCode::Conflict, "No buffer can be as " + accessor_name(asked) + " asks. " +
                                        gstdrm::conflict_to_text(conflict)};
}

// Descriptors, and who may write.
Difference access_difference(const Constraints &asked, GstBuffer *buffer)
{
  const guint64 cpu = access_flags(asked, ConstraintKey::CpuAccess);
  const guint64 device = access_flags(asked, ConstraintKey::Permissions);
  const bool writes = ((cpu | device) & gstdrm::kAccessWrite) != 0;
  const bool imports = !asked.device.empty() || asked.has(ConstraintKey::Fds);
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i) {
    GstMemory *memory = gst_buffer_peek_memory(buffer, i);
    const bool has_fd = gst_is_fd_memory(memory) != FALSE;
    const std::string which = "memory " + std::to_string(i);
    if (imports && !has_fd)
      return {which + " without a descriptor", "a dma-buf", GST_DRM_CONSTRAINT_FDS};
    if (cpu != 0 && GST_MEMORY_FLAG_IS_SET(memory, GST_MEMORY_FLAG_NOT_MAPPABLE))
      return {which + " that the CPU cannot map",
              gstdrm::describe_number(ConstraintKey::CpuAccess, cpu),
              GST_DRM_CONSTRAINT_CPU_ACCESS};
    const bool read_only =
        GST_MEMORY_IS_READONLY(memory) ||
        (has_fd && (::fcntl(gst_fd_memory_get_fd(memory), F_GETFL) & O_ACCMODE) == O_RDONLY);
    if (writes && read_only)
      return {which + " for reading only", "writing",
              (cpu & gstdrm::kAccessWrite) != 0 ? GST_DRM_CONSTRAINT_CPU_ACCESS
                                                : GST_DRM_CONSTRAINT_PERMISSIONS};
  }
  return {};
}

// The picture's format and size, and that its planes lie in its memory.
Result<void> check_picture(GstBuffer *buffer, const GstDrmVideoInfo &info,
                           const GstDrmConstraints *asked)
{
  const Constraints &values = asked->values;
  const Format pair{info.drm_fourcc, info.drm_modifier};
  if (values.formats && !values.formats->contains(pair))
    return unmet_by(asked, {"frames of " + describe_format(pair),
                            describe_value(values, ConstraintKey::Formats, 200),
                            GST_DRM_CONSTRAINT_FORMATS});
  const std::pair<ConstraintKey, gint> sides[] = {{ConstraintKey::Width, info.vinfo.width},
                                                  {ConstraintKey::Height, info.vinfo.height}};
  for (const auto &[key, pixels] : sides)
    if (const auto &range = values.number(key);
        range && !range->contains(static_cast<guint64>(pixels)))
      return unmet_by(asked,
                      {"frames with a " + std::string(gstdrm::constraint_key_facts(key).name) +
                           " of " + std::to_string(pixels) + " pixels",
                       describe_value(values, key), static_cast<GstDrmConstraintKey>(key)});
  auto layout = gstdrm::frame_layout_of(buffer, info);
  if (!layout)
    return layout.error();
  return {};
}

// What the buffer was made by does not count as another accessor, whose buffers add up.
Constraints without_counts(Constraints made)
{
  for (const ConstraintKey key : {ConstraintKey::BuffersHeld, ConstraintKey::Buffers})
    made.numbers[static_cast<std::size_t>(key)].reset();
  return made;
}

// Bytes: as large as asked, and laid out so where the buffer says how.
Result<void> check_bytes(GstBuffer *buffer, const GstDrmConstraints *asked, const Wanted &wanted)
{
  if (const GstDrmConstraints *made = gst_buffer_get_drm_constraints(buffer)) {
    const Constraints own = without_counts(made->values);
    const Constraints *const both[] = {&own, &asked->values};
    auto outcome = gstdrm::reconcile(both);
    if (const auto *conflict = std::get_if<gstdrm::Conflict>(&outcome))
      return Error{ErrorCode::Conflict, "The buffer is not as " + accessor_name(asked->values) +
                                            " asks. " + gstdrm::conflict_to_text(*conflict)};
    const auto &layout = std::get<Reconciled>(outcome).layout;
    if (layout && made->layout && layout->planes != made->layout->planes)
      return unmet_by(asked, {"a buffer with other strides", "rows and elements that are aligned",
                              GST_DRM_CONSTRAINT_STRIDE_ALIGN});
  }
  const gsize size = gst_buffer_get_size(buffer);
  if (wanted.layout && size < wanted.layout->size_bytes)
    return unmet_by(asked, {"buffers of " + std::to_string(size) + " bytes",
                            std::to_string(wanted.layout->size_bytes) + " or more",
                            GST_DRM_CONSTRAINT_SIZE});
  return {};
}

// The picture that the buffer itself says it has.
std::optional<GstDrmVideoInfo> picture_said_by(GstBuffer *buffer)
{
  const GstDrmConstraints *made = gst_buffer_get_drm_constraints(buffer);
  GstDrmVideoInfo info;
  guint64 width = 0;
  guint64 height = 0;
  if (!made || made->type != BufferType::Image || !made->values.formats ||
      made->values.formats->size() != 1 ||
      !gst_drm_constraints_get_range(made, GST_DRM_CONSTRAINT_WIDTH, &width, nullptr) ||
      !gst_drm_constraints_get_range(made, GST_DRM_CONSTRAINT_HEIGHT, &height, nullptr))
    return std::nullopt;
  const Format pair = made->values.formats->pairs()[0];
  if (!gst_drm_video_info_set_format(&info, pair.fourcc, pair.modifier, static_cast<guint>(width),
                                     static_cast<guint>(height), nullptr))
    return std::nullopt;
  return info;
}

Result<void> check_buffer(GstBuffer *buffer, const GstDrmVideoInfo *given,
                          const GstDrmConstraints *asked)
{
  auto wanted = wanted_alone(asked->values);
  if (!wanted)
    return wanted.error();
  if (const GstDrmConstraints *made = gst_buffer_get_drm_constraints(buffer))
    wanted->type = made->type;
  if (gst_buffer_n_memory(buffer) == 0)
    return Error{ErrorCode::Layout, "The buffer has no memory"};
  const auto said = given ? std::nullopt : picture_said_by(buffer);
  const GstDrmVideoInfo *info = given ? given : said ? &*said : nullptr;
  // descriptors first: a picture in system memory has no dma-buf to look at
  if (const Difference found = access_difference(asked->values, buffer))
    return unmet_by(asked, found);
  if (wanted->type == BufferType::Image && info) {
    if (auto checked = check_picture(buffer, *info, asked); !checked)
      return checked;
  } else if (wanted->type == BufferType::Image && asked->values.formats) {
    return Error{ErrorCode::Format, "The buffer says nothing of its format, and " +
                                        accessor_name(asked->values) + " takes " +
                                        describe_value(asked->values, ConstraintKey::Formats, 200) +
                                        "; give the GstDrmVideoInfo of its caps"};
  } else if (wanted->type != BufferType::Image) {
    if (auto checked = check_bytes(buffer, asked, *wanted); !checked)
      return checked;
  }
  if (const Difference found = gstdrm::layout_difference(asked, buffer, info))
    return unmet_by(asked, found);
  const guint n = gst_buffer_n_memory(buffer);
  for (guint i = 0; i < n; ++i)
    if (const Difference found =
            gstdrm::memory_difference(asked, gst_buffer_peek_memory(buffer, i)->allocator, ""))
      return unmet_by(asked, found);
  return {};
}

} // namespace

/**
 * gst_drm_buffer_meets:
 * @buffer: a #GstBuffer
 * @info: (nullable): what the caps say of the picture in it; %NULL: no picture, or what
 *   gst_buffer_get_drm_constraints() says
 * @constraints: what one accessor asks for, as it was or would be stated in the allocation query; a
 *   result of gst_drm_constraints_reconcile() will do, too
 * @error: location for a #GError, or %NULL
 *
 * Checks a buffer against what its reader asks for, before a driver refuses it with a number:
 * format and size of a picture (with @info, also that its planes lie in its memory), strides and
 * their alignment, offsets of planes in their dma-buf, planes, descriptors, the size of the buffer,
 * the kind of memory, and whether it can be mapped and written. Of tensors, arrays, pyramids and
 * raw memory the size is checked, and what the buffer's own constraints say of types and strides.
 *
 * The kind of memory is known of the memory of a #GstDrmAllocator; any other is taken for a
 * device's own. Alignments of the buffer's start beyond a page are never met, because no allocator
 * promises them. #GST_DRM_CONSTRAINT_BUFFERS_HELD and #GST_DRM_CONSTRAINT_BUFFERS are about pools
 * and not checked.
 *
 * Returns: %TRUE where all is as asked; %FALSE with the first that is not, with numbers and what to
 *   ask for. Errors: %GST_DRM_ERROR_CONFLICT: it is not as asked, or what is asked contradicts
 *   itself; %GST_DRM_ERROR_LAYOUT: the planes do not fit the buffer's memory, or it has none;
 *   %GST_DRM_ERROR_FORMAT: @constraints have formats, and nothing says which one @buffer has
 *
 * Since: 0.1
 */
gboolean gst_drm_buffer_meets(GstBuffer *buffer, const GstDrmVideoInfo *info,
                              const GstDrmConstraints *constraints, GError **error) noexcept
try {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  g_return_val_if_fail(constraints != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const auto checked = check_buffer(buffer, info, constraints);
  if (checked)
    return TRUE;
  gstdrm::propagate(error, checked.error());
  return FALSE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}
