// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmconstraints
 * @title: GstDrmConstraints
 * @short_description: what the accessors of a buffer ask of it
 *
 * Formats and modifiers do not say all that a device asks of a buffer: strides and offsets have to
 * be aligned, memory has to lie where the device can reach it. Each accessor states what it needs
 * in a #GstDrmConstraints, and gst_drm_constraints_reconcile() makes one of all of them, or says in
 * a #GstDrmConflict who asked for what. A key that is not set asks for nothing.
 *
 * Values are not checked when they are set: gst_drm_constraints_reconcile() reports those that are
 * not valid. Its result is final: setters log a CRITICAL and change nothing. gstdrmallocation.h has
 * what allocates by a result and what checks a buffer against constraints. One thread at a time may
 * use a #GstDrmConstraints.
 */
#include "gstdrmconstraints.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gstdrm-guard-private.hpp"
#include "gstdrmconstraints-private.hpp"
#include "gstdrmformatset-private.hpp"
#include "gstdrmsync.h"
#include "gstdrmtensormeta.h"

using gstdrm::BufferType;
using gstdrm::ConstraintKey;
using gstdrm::is_constraint_key;
using gstdrm::TensorElement;

static_assert(static_cast<int>(BufferType::Pyramid) == GST_DRM_BUFFER_TYPE_PYRAMID);
static_assert(static_cast<int>(TensorElement::Float32) == GST_DRM_TENSOR_TYPE_FLOAT32);
static_assert(gstdrm::kAccessRead == GST_DRM_ACCESS_READ);
static_assert(gstdrm::kAccessWrite == GST_DRM_ACCESS_WRITE);
static_assert(gstdrm::kPlaceSystem == GST_DRM_PLACEMENT_SYSTEM);
static_assert(gstdrm::kPlaceContiguous == GST_DRM_PLACEMENT_CONTIGUOUS);
static_assert(gstdrm::kPlaceDevice == GST_DRM_PLACEMENT_DEVICE);
static_assert(gstdrm::kConstraintKeys == GST_DRM_CONSTRAINT_PYRAMID_SCALE + 1);
static_assert(static_cast<int>(ConstraintKey::Stride) == GST_DRM_CONSTRAINT_STRIDE);
static_assert(static_cast<int>(ConstraintKey::BaseAlign) == GST_DRM_CONSTRAINT_BASE_ALIGN);
static_assert(static_cast<int>(ConstraintKey::Placement) == GST_DRM_CONSTRAINT_PLACEMENT);
static_assert(static_cast<int>(ConstraintKey::Buffers) == GST_DRM_CONSTRAINT_BUFFERS);
static_assert(static_cast<int>(ConstraintKey::TensorDims) == GST_DRM_CONSTRAINT_TENSOR_DIMS);
static_assert(static_cast<int>(ConstraintKey::PyramidScale) == GST_DRM_CONSTRAINT_PYRAMID_SCALE);

GType gst_drm_constraints_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmConstraints", reinterpret_cast<GBoxedCopyFunc>(gst_drm_constraints_copy),
      reinterpret_cast<GBoxedFreeFunc>(gst_drm_constraints_free));
  return type;
}

/**
 * gst_drm_constraints_new:
 * @name: (nullable): how messages call the accessor: "sink0 (kmsdmabufsink)"; %NULL: no name
 * @device: (nullable): the device it uses the buffer with: "/dev/dri/card0"; %NULL: none, or not
 *   known
 *
 * Makes the constraints of one accessor, who asks for nothing yet. Memory of a device is shared by
 * accessors whose @device is the same text, so give all nodes of one device one name.
 *
 * Returns: (transfer full): new constraints
 *
 * Since: 0.1
 */
GstDrmConstraints *gst_drm_constraints_new(const gchar *name, const gchar *device) noexcept
try {
  auto made = std::make_unique<GstDrmConstraints>();
  made->values.name = name ? name : "";
  made->values.device = device ? device : "";
  return made.release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_constraints_copy:
 * @constraints: a #GstDrmConstraints
 *
 * Makes a copy. A copy of a result of gst_drm_constraints_reconcile() is such a result, too: final,
 * with the same layout. To ask for more, reconcile the result with further constraints.
 *
 * Returns: (transfer full): a copy
 *
 * Since: 0.1
 */
GstDrmConstraints *gst_drm_constraints_copy(const GstDrmConstraints *constraints) noexcept
try {
  g_return_val_if_fail(constraints != nullptr, nullptr);

  return std::make_unique<GstDrmConstraints>(*constraints).release();
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_constraints_free: (skip)
 * @constraints: (transfer full) (nullable): a #GstDrmConstraints
 *
 * Frees @constraints.
 *
 * Since: 0.1
 */
void gst_drm_constraints_free(GstDrmConstraints *constraints) noexcept
{
  delete constraints;
}

/**
 * gst_drm_constraints_get_name:
 * @constraints: a #GstDrmConstraints
 *
 * Gets the name that gst_drm_constraints_new() was given.
 *
 * Returns: (transfer none): the name of the accessor; empty where it has none
 *
 * Since: 0.1
 */
const gchar *gst_drm_constraints_get_name(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, nullptr);

  return constraints->values.name.c_str();
}

/**
 * gst_drm_constraints_get_device:
 * @constraints: a #GstDrmConstraints
 *
 * Gets the device that gst_drm_constraints_new() was given; of reconciled constraints, the one
 * whose memory is allocated.
 *
 * Returns: (transfer none): the device of the accessor; empty where there is none
 *
 * Since: 0.1
 */
const gchar *gst_drm_constraints_get_device(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, nullptr);

  return constraints->values.device.c_str();
}

/**
 * gst_drm_constraints_set_number:
 * @constraints: a #GstDrmConstraints
 * @key: a key that holds a number, flags or a range
 * @value: the value; of a range, both ends
 *
 * States a number. It replaces what @key had.
 *
 * Returns: %FALSE where @key holds a set or a list; or where @constraints are a result of
 * gst_drm_constraints_reconcile(), which is a programming error
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_set_number(GstDrmConstraints *constraints, GstDrmConstraintKey key,
                                        guint64 value) noexcept
{
  return gst_drm_constraints_set_range(constraints, key, value, value);
}

/**
 * gst_drm_constraints_set_range:
 * @constraints: a #GstDrmConstraints
 * @key: a key that holds a range
 * @min: the least value
 * @max: the largest value; %G_MAXUINT64: no limit
 *
 * States a range, ends included. It replaces what @key had. A range that ends before it begins is a
 * conflict when it is reconciled.
 *
 * Returns: %FALSE where @key holds no range, and @min and @max differ; or where @constraints are a
 * result of gst_drm_constraints_reconcile(), which is a programming error
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_set_range(GstDrmConstraints *constraints, GstDrmConstraintKey key,
                                       guint64 min, guint64 max) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);
  g_return_val_if_fail(!gstdrm::is_reconciled(constraints), FALSE);

  return is_constraint_key(key) &&
         constraints->values.set(static_cast<ConstraintKey>(key), min, max);
}

/**
 * gst_drm_constraints_get_range:
 * @constraints: a #GstDrmConstraints
 * @key: a key that holds a number, flags or a range
 * @min: (out) (optional): the least value, or the number
 * @max: (out) (optional): the largest value, or the number; %G_MAXUINT64: no limit
 *
 * Gets a number or a range.
 *
 * Returns: %FALSE where @key is not set, or holds a set or a list
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_get_range(const GstDrmConstraints *constraints,
                                       GstDrmConstraintKey key, guint64 *min, guint64 *max) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);

  if (!is_constraint_key(key) || !constraints->values.number(static_cast<ConstraintKey>(key)))
    return FALSE;
  const gstdrm::Bounds &bounds = *constraints->values.number(static_cast<ConstraintKey>(key));
  if (min)
    *min = bounds.min;
  if (max)
    *max = bounds.max;
  return TRUE;
}

/**
 * gst_drm_constraints_set_formats:
 * @constraints: a #GstDrmConstraints
 * @formats: (nullable): the pairs that the accessor takes; %NULL: any
 *
 * States the formats. %GST_DRM_MODIFIER_IMPLICIT meets itself only, and %GST_DRM_MODIFIER_LINEAR
 * is a modifier as all others. The pairs are copied.
 *
 * Since: 0.1
 */
void gst_drm_constraints_set_formats(GstDrmConstraints *constraints,
                                     const GstDrmFormatSet *formats) noexcept
try {
  g_return_if_fail(constraints != nullptr);
  g_return_if_fail(!gstdrm::is_reconciled(constraints));

  if (formats)
    constraints->values.formats = formats->set;
  else
    constraints->values.formats.reset();
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_drm_constraints_get_formats:
 * @constraints: a #GstDrmConstraints
 *
 * Gets the formats. Of reconciled constraints they are those that every accessor takes and that can
 * be laid out as asked.
 *
 * Returns: (transfer full) (nullable): a new set; %NULL: any format
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_constraints_get_formats(const GstDrmConstraints *constraints) noexcept
try {
  g_return_val_if_fail(constraints != nullptr, nullptr);

  if (!constraints->values.formats)
    return nullptr;
  return gstdrm::wrap_format_set(gstdrm::FormatSet(*constraints->values.formats));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_constraints_set_placement:
 * @constraints: a #GstDrmConstraints
 * @kinds: kinds of memory, any of which will do
 * @heaps: (nullable) (array zero-terminated=1): names in `/dev/dma_heap`, any of which will do
 *   too; %NULL: none
 *
 * States the memory that the accessor can use.
 *
 * Since: 0.1
 */
void gst_drm_constraints_set_placement(GstDrmConstraints *constraints, GstDrmPlacement kinds,
                                       const gchar *const *heaps) noexcept
try {
  g_return_if_fail(constraints != nullptr);
  g_return_if_fail(!gstdrm::is_reconciled(constraints));

  std::vector<std::string> names;
  for (const gchar *const *heap = heaps; heap && *heap; ++heap)
    names.emplace_back(*heap);
  constraints->values.set_placement(static_cast<std::uint32_t>(kinds), std::move(names));
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_drm_constraints_get_placement:
 * @constraints: a #GstDrmConstraints
 * @kinds: (out) (optional): kinds of memory
 * @heaps: (out) (optional) (transfer full) (array zero-terminated=1): names of heaps, sorted; free
 *   with g_strfreev()
 *
 * Gets the memory that the accessor can use.
 *
 * Returns: %FALSE where any memory will do; @kinds and @heaps are then left alone
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_get_placement(const GstDrmConstraints *constraints,
                                           GstDrmPlacement *kinds, gchar ***heaps) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);

  const auto &placement = constraints->values.placement;
  if (!placement)
    return FALSE;
  if (kinds)
    *kinds = static_cast<GstDrmPlacement>(placement->kinds);
  if (heaps) {
    *heaps = g_new0(gchar *, placement->heaps.size() + 1);
    for (gsize i = 0; i < placement->heaps.size(); ++i)
      (*heaps)[i] = g_strdup(placement->heaps[i].c_str());
  }
  return TRUE;
}

/**
 * gst_drm_constraints_set_dims:
 * @constraints: a #GstDrmConstraints
 * @dims: (array length=n_dims): elements in each dimension, the innermost last
 * @n_dims: how many dimensions there are
 *
 * States the dimensions of a tensor. The numbers are copied.
 *
 * Since: 0.1
 */
void gst_drm_constraints_set_dims(GstDrmConstraints *constraints, const guint64 *dims,
                                  guint n_dims) noexcept
try {
  g_return_if_fail(constraints != nullptr);
  g_return_if_fail(!gstdrm::is_reconciled(constraints));
  g_return_if_fail(dims != nullptr || n_dims == 0);

  // one dimension too many is enough for a conflict
  const auto n = std::min<std::size_t>(n_dims, gstdrm::kMaxTensorDims + 1);
  constraints->values.dims.emplace(dims, dims + n);
} catch (...) {
  gstdrm::caught(__func__);
}

/**
 * gst_drm_constraints_get_dims:
 * @constraints: a #GstDrmConstraints
 * @n_dims: (out): how many dimensions there are
 *
 * Gets the dimensions of a tensor.
 *
 * Returns: (transfer full) (nullable) (array length=n_dims): elements in each dimension, the
 * innermost last; %NULL where none are set. Free with g_free().
 *
 * Since: 0.1
 */
guint64 *gst_drm_constraints_get_dims(const GstDrmConstraints *constraints, guint *n_dims) noexcept
{
  g_return_val_if_fail(constraints != nullptr, nullptr);
  g_return_val_if_fail(n_dims != nullptr, nullptr);

  *n_dims = 0;
  const auto &dims = constraints->values.dims;
  if (!dims || dims->empty())
    return nullptr;
  guint64 *copy = g_new(guint64, dims->size());
  std::copy(dims->begin(), dims->end(), copy);
  *n_dims = static_cast<guint>(dims->size());
  return copy;
}

/**
 * gst_drm_constraints_reconcile:
 * @accessors: (element-type GstDrmConstraints): what each accessor of a buffer asks for, 256 at
 *   most. %NULL elements are left out.
 * @conflict: (out) (optional) (transfer full) (nullable): why nothing suits all of them; %NULL
 *   where something does
 *
 * Reconciles what the accessors of a buffer ask for: sets and ranges intersect, of alignments the
 * largest counts, needs add up, and everything else has to be equal. Memory of a device is that of
 * one device, and of accessors that name it. Then the layout is computed:
 * of the first linear format in common where width and height are fixed, of raw memory, a tensor,
 * an array or a pyramid. Linear formats that cannot be laid out as asked are taken out. The order
 * of @accessors carries no meaning, and one that is there twice, with one name and the same values,
 * counts once. No accessors ask for nothing.
 *
 * The result is itself a #GstDrmConstraints, without a name, that may be reconciled with others,
 * and cannot be changed. gst_drm_constraints_allocate() makes buffers by it. The call fails only
 * with a conflict, except when memory runs out.
 *
 * Returns: (transfer full) (nullable): what suits all accessors; %NULL with @conflict where nothing
 *   does
 *
 * Since: 0.1
 */
GstDrmConstraints *gst_drm_constraints_reconcile(GPtrArray *accessors,
                                                 GstDrmConflict **conflict) noexcept
try {
  if (conflict)
    *conflict = nullptr;
  g_return_val_if_fail(accessors != nullptr, nullptr);

  std::vector<const gstdrm::Constraints *> values;
  values.reserve(accessors->len);
  for (guint i = 0; i < accessors->len; ++i)
    if (const auto *one = static_cast<const GstDrmConstraints *>(g_ptr_array_index(accessors, i)))
      values.push_back(&one->values);
  auto outcome = gstdrm::reconcile(values);
  if (auto *done = std::get_if<gstdrm::Reconciled>(&outcome)) {
    auto made = std::make_unique<GstDrmConstraints>();
    made->values = std::move(done->merged);
    made->heap = std::move(done->heap);
    made->layout = std::move(done->layout);
    made->type = done->type;
    return made.release();
  }
  if (conflict) {
    auto made = std::make_unique<GstDrmConflict>();
    made->conflict = std::move(std::get<gstdrm::Conflict>(outcome));
    *conflict = made.release();
  }
  return nullptr;
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_constraints_is_reconciled:
 * @constraints: a #GstDrmConstraints
 *
 * Says whether @constraints are a result of gst_drm_constraints_reconcile(), or a copy of one: such
 * constraints cannot be changed, and buffers can be allocated by them.
 *
 * Returns: %TRUE for a result
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_is_reconciled(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);

  return gstdrm::is_reconciled(constraints);
}

/**
 * gst_drm_constraints_get_size:
 * @constraints: a #GstDrmConstraints
 *
 * Gets the size that gst_drm_constraints_reconcile() computed.
 *
 * Returns: bytes to allocate; 0 where no layout was computed, and in constraints that were not
 * reconciled
 *
 * Since: 0.1
 */
guint64 gst_drm_constraints_get_size(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, 0);

  return constraints->layout ? constraints->layout->size_bytes : 0;
}

/**
 * gst_drm_constraints_get_n_planes:
 * @constraints: a #GstDrmConstraints
 *
 * Gets how many planes gst_drm_constraints_reconcile() laid out: the planes of an image, of all
 * levels of a pyramid, the dimensions of a tensor, one of an array and of raw memory.
 *
 * Returns: the number; 0 where no layout was computed, and in constraints that were not reconciled
 *
 * Since: 0.1
 */
guint gst_drm_constraints_get_n_planes(const GstDrmConstraints *constraints) noexcept
{
  g_return_val_if_fail(constraints != nullptr, 0);

  return constraints->layout ? static_cast<guint>(constraints->layout->planes.size()) : 0;
}

/**
 * gst_drm_constraints_get_plane:
 * @constraints: a #GstDrmConstraints
 * @index: less than gst_drm_constraints_get_n_planes()
 * @offset: (out) (optional): where it begins, in bytes from the start of the buffer
 * @stride: (out) (optional): bytes from one row, or one element of the dimension, to the next
 *
 * Gets one plane of the layout.
 *
 * Returns: %FALSE where there is no such plane
 *
 * Since: 0.1
 */
gboolean gst_drm_constraints_get_plane(const GstDrmConstraints *constraints, guint index,
                                       guint64 *offset, guint64 *stride) noexcept
{
  g_return_val_if_fail(constraints != nullptr, FALSE);

  if (!constraints->layout || index >= constraints->layout->planes.size())
    return FALSE;
  const gstdrm::PlaneSpan &plane = constraints->layout->planes[index];
  if (offset)
    *offset = plane.offset_bytes;
  if (stride)
    *stride = plane.stride_bytes;
  return TRUE;
}

/**
 * gst_drm_constraints_get_heap:
 * @constraints: a #GstDrmConstraints
 * @kind: (out) (optional): the kind of memory; %GST_DRM_PLACEMENT_NONE: a named heap, or
 *   constraints that were not reconciled
 *
 * Gets the memory that gst_drm_constraints_reconcile() chose: system memory where it will do, else
 * contiguous memory, memory of a device, a named heap.
 *
 * Returns: (transfer full) (nullable): the name of the heap or of the device; %NULL for system and
 * contiguous memory, and in constraints that were not reconciled
 *
 * Since: 0.1
 */
gchar *gst_drm_constraints_get_heap(const GstDrmConstraints *constraints,
                                    GstDrmPlacement *kind) noexcept
{
  g_return_val_if_fail(constraints != nullptr, nullptr);

  const auto &heap = constraints->heap;
  if (kind)
    *kind = static_cast<GstDrmPlacement>(heap ? heap->kind : 0);
  return heap && !heap->name.empty() ? g_strdup(heap->name.c_str()) : nullptr;
}
