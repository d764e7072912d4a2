/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/gstdrmformatset.h>

G_BEGIN_DECLS

typedef struct _GstDrmConstraints GstDrmConstraints;
typedef struct _GstDrmConflict GstDrmConflict;

/**
 * GstDrmBufferType:
 * @GST_DRM_BUFFER_TYPE_IMAGE: a picture; what a buffer is where nobody says otherwise
 * @GST_DRM_BUFFER_TYPE_RAW: bytes
 * @GST_DRM_BUFFER_TYPE_TENSOR: elements in 1 to 8 dimensions
 * @GST_DRM_BUFFER_TYPE_ARRAY: elements of one size, one after the other
 * @GST_DRM_BUFFER_TYPE_PYRAMID: a picture and smaller and smaller copies of it
 *
 * What lies in a buffer.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_BUFFER_TYPE_IMAGE,
  GST_DRM_BUFFER_TYPE_RAW,
  GST_DRM_BUFFER_TYPE_TENSOR,
  GST_DRM_BUFFER_TYPE_ARRAY,
  GST_DRM_BUFFER_TYPE_PYRAMID,
} GstDrmBufferType;

/**
 * GstDrmPlacement:
 * @GST_DRM_PLACEMENT_NONE: no kind of memory: only the heaps that are named
 * @GST_DRM_PLACEMENT_SYSTEM: pages of the machine's memory
 * @GST_DRM_PLACEMENT_CONTIGUOUS: memory without gaps in physical addresses
 * @GST_DRM_PLACEMENT_DEVICE: memory of the accessor's own device
 *
 * Where a buffer may lie.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_PLACEMENT_NONE = 0,
  GST_DRM_PLACEMENT_SYSTEM = 1 << 0,
  GST_DRM_PLACEMENT_CONTIGUOUS = 1 << 1,
  GST_DRM_PLACEMENT_DEVICE = 1 << 2,
} GstDrmPlacement;

/**
 * GstDrmConstraintKey:
 * @GST_DRM_CONSTRAINT_BUFFER_TYPE: a #GstDrmBufferType; all have to be equal
 * @GST_DRM_CONSTRAINT_FORMATS: a #GstDrmFormatSet; sets intersect
 * @GST_DRM_CONSTRAINT_WIDTH: pixels; ranges intersect
 * @GST_DRM_CONSTRAINT_HEIGHT: pixels; ranges intersect
 * @GST_DRM_CONSTRAINT_STRIDE: bytes in a row of the first plane, linear images; ranges intersect
 * @GST_DRM_CONSTRAINT_SIZE: bytes of the whole buffer; ranges intersect
 * @GST_DRM_CONSTRAINT_STRIDE_ALIGN: bytes, a power of two, 0 for none; the largest counts
 * @GST_DRM_CONSTRAINT_OFFSET_ALIGN: of each plane, likewise
 * @GST_DRM_CONSTRAINT_SIZE_ALIGN: of the whole buffer, likewise
 * @GST_DRM_CONSTRAINT_BASE_ALIGN: of the buffer's first byte in the device's addresses, likewise
 * @GST_DRM_CONSTRAINT_PLANES: memory planes of a frame, 1 to 4; ranges intersect
 * @GST_DRM_CONSTRAINT_FDS: file descriptors of a frame, 1 to 4; ranges intersect
 * @GST_DRM_CONSTRAINT_PLACEMENT: #GstDrmPlacement and heaps; sets intersect
 * @GST_DRM_CONSTRAINT_CPU_ACCESS: #GstDrmAccess of the CPU; all that somebody needs
 * @GST_DRM_CONSTRAINT_PERMISSIONS: #GstDrmAccess of the accessor; all that somebody needs
 * @GST_DRM_CONSTRAINT_BUFFERS_HELD: buffers that the accessor keeps at a time; they add up
 * @GST_DRM_CONSTRAINT_BUFFERS: buffers that a pool may have; ranges intersect
 * @GST_DRM_CONSTRAINT_TENSOR_TYPE: a #GstDrmTensorType; all have to be equal
 * @GST_DRM_CONSTRAINT_TENSOR_DIMS: elements in each dimension, the innermost last; equal
 * @GST_DRM_CONSTRAINT_ARRAY_ELEMENT: bytes of an element; all have to be equal
 * @GST_DRM_CONSTRAINT_ARRAY_CAPACITY: elements; all have to be equal
 * @GST_DRM_CONSTRAINT_PYRAMID_LEVELS: pictures, 1 to 15; all have to be equal
 * @GST_DRM_CONSTRAINT_PYRAMID_SCALE: of a level from the one before, in 1/65536, below 65536; equal
 *
 * What an accessor of a buffer can state.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_CONSTRAINT_BUFFER_TYPE,
  GST_DRM_CONSTRAINT_FORMATS,
  GST_DRM_CONSTRAINT_WIDTH,
  GST_DRM_CONSTRAINT_HEIGHT,
  GST_DRM_CONSTRAINT_STRIDE,
  GST_DRM_CONSTRAINT_SIZE,
  GST_DRM_CONSTRAINT_STRIDE_ALIGN,
  GST_DRM_CONSTRAINT_OFFSET_ALIGN,
  GST_DRM_CONSTRAINT_SIZE_ALIGN,
  GST_DRM_CONSTRAINT_BASE_ALIGN,
  GST_DRM_CONSTRAINT_PLANES,
  GST_DRM_CONSTRAINT_FDS,
  GST_DRM_CONSTRAINT_PLACEMENT,
  GST_DRM_CONSTRAINT_CPU_ACCESS,
  GST_DRM_CONSTRAINT_PERMISSIONS,
  GST_DRM_CONSTRAINT_BUFFERS_HELD,
  GST_DRM_CONSTRAINT_BUFFERS,
  GST_DRM_CONSTRAINT_TENSOR_TYPE,
  GST_DRM_CONSTRAINT_TENSOR_DIMS,
  GST_DRM_CONSTRAINT_ARRAY_ELEMENT,
  GST_DRM_CONSTRAINT_ARRAY_CAPACITY,
  GST_DRM_CONSTRAINT_PYRAMID_LEVELS,
  GST_DRM_CONSTRAINT_PYRAMID_SCALE,
} GstDrmConstraintKey;

#define GST_TYPE_DRM_CONSTRAINTS (gst_drm_constraints_get_type())
#define GST_TYPE_DRM_CONFLICT (gst_drm_conflict_get_type())

/* The GType of GstDrmConstraints. */
GST_DRM_API
GType gst_drm_constraints_get_type(void) GST_DRM_NOEXCEPT;

/* The GType of GstDrmConflict. */
GST_DRM_API
GType gst_drm_conflict_get_type(void) GST_DRM_NOEXCEPT;

/* The constraints of one accessor, who asks for nothing yet. */
GST_DRM_API
GstDrmConstraints *gst_drm_constraints_new(const gchar *name, const gchar *device) GST_DRM_NOEXCEPT;

/* A copy of the constraints. */
GST_DRM_API
GstDrmConstraints *gst_drm_constraints_copy(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* Frees the constraints. */
GST_DRM_API
void gst_drm_constraints_free(GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* The name of the accessor. */
GST_DRM_API
const gchar *gst_drm_constraints_get_name(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* The device of the accessor. */
GST_DRM_API
const gchar *gst_drm_constraints_get_device(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* States a number. */
GST_DRM_API
gboolean gst_drm_constraints_set_number(GstDrmConstraints *constraints, GstDrmConstraintKey key,
                                        guint64 value) GST_DRM_NOEXCEPT;

/* States a range, ends included. */
GST_DRM_API
gboolean gst_drm_constraints_set_range(GstDrmConstraints *constraints, GstDrmConstraintKey key,
                                       guint64 min, guint64 max) GST_DRM_NOEXCEPT;

/* Gets a range, or a number as both of its ends; FALSE where the key is not set. */
GST_DRM_API
gboolean gst_drm_constraints_get_range(const GstDrmConstraints *constraints,
                                       GstDrmConstraintKey key, guint64 *min,
                                       guint64 *max) GST_DRM_NOEXCEPT;

/* States the formats; NULL: any. */
GST_DRM_API
void gst_drm_constraints_set_formats(GstDrmConstraints *constraints,
                                     const GstDrmFormatSet *formats) GST_DRM_NOEXCEPT;

/* Gets the formats; NULL: any. */
GST_DRM_API
GstDrmFormatSet *
gst_drm_constraints_get_formats(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* States the memory: any of some kinds, or any of some heaps. */
GST_DRM_API
void gst_drm_constraints_set_placement(GstDrmConstraints *constraints, GstDrmPlacement kinds,
                                       const gchar *const *heaps) GST_DRM_NOEXCEPT;

/* Gets the memory that the accessor can use; FALSE where any will do. */
GST_DRM_API
gboolean gst_drm_constraints_get_placement(const GstDrmConstraints *constraints,
                                           GstDrmPlacement *kinds, gchar ***heaps) GST_DRM_NOEXCEPT;

/* States the dimensions of a tensor, the innermost last. */
GST_DRM_API
void gst_drm_constraints_set_dims(GstDrmConstraints *constraints, const guint64 *dims,
                                  guint n_dims) GST_DRM_NOEXCEPT;

/* The dimensions of a tensor; NULL where they are not set. */
GST_DRM_API
guint64 *gst_drm_constraints_get_dims(const GstDrmConstraints *constraints,
                                      guint *n_dims) GST_DRM_NOEXCEPT;

/* Merges what all accessors of a buffer ask for; NULL and a conflict where nothing suits all. */
GST_DRM_API
GstDrmConstraints *gst_drm_constraints_reconcile(GPtrArray *accessors,
                                                 GstDrmConflict **conflict) GST_DRM_NOEXCEPT;

/* Whether the constraints are a result of gst_drm_constraints_reconcile(), which is final. */
GST_DRM_API
gboolean gst_drm_constraints_is_reconciled(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* Of reconciled constraints: the bytes to allocate; 0 where no layout was computed. */
GST_DRM_API
guint64 gst_drm_constraints_get_size(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* Of reconciled constraints: the number of planes; 0 where no layout was computed. */
GST_DRM_API
guint gst_drm_constraints_get_n_planes(const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* Of reconciled constraints: where a plane begins and its stride, in bytes. */
GST_DRM_API
gboolean gst_drm_constraints_get_plane(const GstDrmConstraints *constraints, guint index,
                                       guint64 *offset, guint64 *stride) GST_DRM_NOEXCEPT;

/* Of reconciled constraints: the memory to allocate from. */
GST_DRM_API
gchar *gst_drm_constraints_get_heap(const GstDrmConstraints *constraints,
                                    GstDrmPlacement *kind) GST_DRM_NOEXCEPT;

/* Frees the conflict. */
GST_DRM_API
void gst_drm_conflict_free(GstDrmConflict *conflict) GST_DRM_NOEXCEPT;

/* The conflict as text for a person: what failed, who asked for what, and what would help. */
GST_DRM_API
gchar *gst_drm_conflict_to_string(const GstDrmConflict *conflict) GST_DRM_NOEXCEPT;

/* The conflict as JSON, for a program. */
GST_DRM_API
gchar *gst_drm_conflict_to_json(const GstDrmConflict *conflict) GST_DRM_NOEXCEPT;

/* The conflict as a structure, for the details of a message. */
GST_DRM_API
GstStructure *gst_drm_conflict_to_structure(const GstDrmConflict *conflict) GST_DRM_NOEXCEPT;

/* For a consumer: states constraints in its answer to an allocation query. */
GST_DRM_API
void gst_query_add_drm_constraints(GstQuery *query,
                                   const GstDrmConstraints *constraints) GST_DRM_NOEXCEPT;

/* For a producer: the constraints of all consumers that stated some. */
GST_DRM_API
GPtrArray *gst_query_get_drm_constraints(GstQuery *query) GST_DRM_NOEXCEPT;

/**
 * GstDrmQueryFunc:
 * @query: (transfer none): a writable query that is about to leave a pad
 * @user_data: (closure): what was given together with the function
 *
 * Adds to a query. The thread that sends the query calls it.
 *
 * Since: 0.1
 */
typedef void (*GstDrmQueryFunc)(GstQuery *query, gpointer user_data);

/* For a producer: adds the constraints of consumers behind a tee to the answers it gets. */
GST_DRM_API
gulong gst_drm_pad_gather_constraints(GstPad *pad, GstDrmQueryFunc before, gpointer user_data,
                                      GDestroyNotify notify) GST_DRM_NOEXCEPT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmConstraints, gst_drm_constraints_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GstDrmConflict, gst_drm_conflict_free)

G_END_DECLS
