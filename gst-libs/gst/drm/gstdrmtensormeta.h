/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/drm/drm-prelude.h>

G_BEGIN_DECLS

/**
 * GST_DRM_TENSOR_MAX_DIMS:
 *
 * Dimensions of a #GstDrmTensor, at most.
 *
 * Since: 0.1
 */
#define GST_DRM_TENSOR_MAX_DIMS 8

typedef struct _GstDrmTensor GstDrmTensor;
typedef struct _GstDrmTensorDim GstDrmTensorDim;
typedef struct _GstDrmTensorMeta GstDrmTensorMeta;
typedef struct _GstDrmTensorPlacement GstDrmTensorPlacement;

/**
 * GstDrmTensorType:
 * @GST_DRM_TENSOR_TYPE_UINT8: unsigned integers of 8 bits
 * @GST_DRM_TENSOR_TYPE_INT8: signed integers of 8 bits
 * @GST_DRM_TENSOR_TYPE_FLOAT32: IEEE 754 binary32 in the byte order of the CPU
 *
 * What one element of a tensor is in memory.
 *
 * Since: 0.1
 */
typedef enum {
  GST_DRM_TENSOR_TYPE_UINT8,
  GST_DRM_TENSOR_TYPE_INT8,
  GST_DRM_TENSOR_TYPE_FLOAT32,
} GstDrmTensorType;

/**
 * GstDrmTensorDim:
 * @name: (nullable): what the dimension counts, as "n", "h", "w" or "c"; %NULL where nobody said
 * @size: elements in memory, with the padding
 * @padding_before: elements at the start that carry no value
 * @padding_after: elements at the end that carry no value
 *
 * One dimension of a #GstDrmTensor.
 *
 * Since: 0.1
 */
struct _GstDrmTensorDim {
  const gchar *name;
  gsize size;
  gsize padding_before;
  gsize padding_after;
};

/**
 * GstDrmTensor:
 * @name: (nullable): the name that the model gives the tensor
 * @type: what one element is
 * @n_dims: the number of dimensions in @dims
 * @dims: the dimensions in row-major order: the outermost first, neighbours in memory last
 * @quantised: whether a value is (element - @zero_point) * @scale; an element is the value if not
 * @scale: the value of one step, where @quantised
 * @zero_point: the element that stands for 0, where @quantised
 * @memory: (nullable): where the elements lie: a dma-buf or system memory
 * @offset: bytes before the first element in @memory
 * @size: bytes of all elements, with the padding
 *
 * One tensor, filled in by whoever hands it to gst_drm_tensor_meta_add_tensor(). Start with
 * gst_drm_tensor_init().
 *
 * Since: 0.1
 */
struct _GstDrmTensor {
  const gchar *name;
  GstDrmTensorType type;
  guint n_dims;
  GstDrmTensorDim dims[GST_DRM_TENSOR_MAX_DIMS];
  gboolean quantised;
  gdouble scale;
  gint zero_point;
  GstMemory *memory;
  gsize offset;
  gsize size;

  /*< private >*/
  gpointer _gst_reserved[GST_PADDING];
};

/**
 * GstDrmTensorPlacement:
 * @input_width: pixels of the model's input in x; 0: not known
 * @input_height: pixels of the model's input in y; 0: not known
 * @scale_x: input pixels per frame pixel in x
 * @scale_y: input pixels per frame pixel in y
 * @offset_x: where the frame's left edge lies in the input, in input pixels
 * @offset_y: where the frame's upper edge lies in the input, in input pixels
 *
 * Where the frame lies in the picture that the model saw: x_input = x_frame * scale_x + offset_x,
 * and y likewise.
 *
 * Since: 0.1
 */
struct _GstDrmTensorPlacement {
  guint input_width;
  guint input_height;
  gdouble scale_x;
  gdouble scale_y;
  gdouble offset_x;
  gdouble offset_y;
};

/**
 * GstDrmTensorMeta:
 * @meta: parent
 * @placement: where the frame lies in the model's input
 *
 * The tensors that one run of a model gave for the picture in the buffer.
 *
 * Since: 0.1
 */
struct _GstDrmTensorMeta {
  GstMeta meta;
  GstDrmTensorPlacement placement;

  /*< private >*/
  gpointer state;
};

#define GST_DRM_TENSOR_META_API_TYPE (gst_drm_tensor_meta_api_get_type())

/* The GType of the meta's API; use GST_DRM_TENSOR_META_API_TYPE. */
GST_DRM_API
GType gst_drm_tensor_meta_api_get_type(void) GST_DRM_NOEXCEPT;

/* Adds a meta without tensors; a buffer may have several, one per model. */
GST_DRM_API
GstDrmTensorMeta *gst_buffer_add_drm_tensor_meta(GstBuffer *buffer,
                                                 const gchar *group) GST_DRM_NOEXCEPT;

/* The first meta of a buffer, or the first of that group; NULL where there is none. */
GST_DRM_API
GstDrmTensorMeta *gst_buffer_get_drm_tensor_meta(GstBuffer *buffer,
                                                 const gchar *group) GST_DRM_NOEXCEPT;

/* The name of the model that the meta was added with. */
GST_DRM_API
const gchar *gst_drm_tensor_meta_get_group(GstDrmTensorMeta *meta) GST_DRM_NOEXCEPT;

/* For a producer: the kind of decoder that understands the tensors, such as "ssd". */
GST_DRM_API
void gst_drm_tensor_meta_set_decoder(GstDrmTensorMeta *meta, const gchar *decoder) GST_DRM_NOEXCEPT;

/* The kind of decoder that understands the tensors; NULL where nobody said. */
GST_DRM_API
const gchar *gst_drm_tensor_meta_get_decoder(GstDrmTensorMeta *meta) GST_DRM_NOEXCEPT;

/* An unnamed tensor without dimensions and memory, to be filled in. */
GST_DRM_API
void gst_drm_tensor_init(GstDrmTensor *tensor) GST_DRM_NOEXCEPT;

/* The number of values, which is that of the elements less the padding. */
GST_DRM_API
gsize gst_drm_tensor_get_n_values(const GstDrmTensor *tensor) GST_DRM_NOEXCEPT;

/* For a producer: adds a copy of the description, with a reference to its memory. */
GST_DRM_API
gboolean gst_drm_tensor_meta_add_tensor(GstDrmTensorMeta *meta, const GstDrmTensor *tensor,
                                        GError **error) GST_DRM_NOEXCEPT;

/* The number of tensors. */
GST_DRM_API
guint gst_drm_tensor_meta_get_n_tensors(GstDrmTensorMeta *meta) GST_DRM_NOEXCEPT;

/* A tensor by its index, which starts at 0; NULL where there is none. */
GST_DRM_API
const GstDrmTensor *gst_drm_tensor_meta_get_tensor(GstDrmTensorMeta *meta,
                                                   guint index) GST_DRM_NOEXCEPT;

/* For a producer: whoever reads a tensor waits for this sync_file first. Takes the descriptor. */
GST_DRM_API
gboolean gst_drm_tensor_meta_add_acquire_fence(GstDrmTensorMeta *meta, gint fence_fd,
                                               GError **error) GST_DRM_NOEXCEPT;

/* All acquire fences as one sync_file, which the caller closes; -1 where there is none. */
GST_DRM_API
gint gst_drm_tensor_meta_dup_acquire_fence(GstDrmTensorMeta *meta) GST_DRM_NOEXCEPT;

/* Waits for the fence, then gives a tensor's values: without padding, no longer quantised. */
GST_DRM_API
gfloat *gst_drm_tensor_meta_dup_float32(GstDrmTensorMeta *meta, guint index, GstClockTime timeout,
                                        gsize *n_values, GError **error) GST_DRM_NOEXCEPT;

G_END_DECLS
