// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmtensormeta
 * @title: GstDrmTensorMeta
 * @short_description: what a model found in a buffer's picture
 *
 * An element that runs a model on a frame adds one meta with the model's output tensors to the
 * frame's buffer; two models give two metas. A tensor's memory may be a dma-buf that a device is
 * still writing: the acquire fence of the meta is a sync_file (linux/sync_file.h) that signals when
 * the tensors are there. gst_drm_tensor_meta_dup_float32() waits for it.
 *
 * Tensors describe the picture. Every copy of the buffer takes the meta along, except a copy of
 * some of its bytes. An element that scales the picture keeps the meta too, and its placement
 * follows; a change that GStreamer does not describe, as a crop, drops it.
 *
 * Any thread may read a meta that lives. Whoever adds tensors or fences has a writable buffer.
 */
#include "gstdrmtensormeta.h"

#include <memory>
#include <utility>
#include <vector>

#include <gst/video/gstvideometa.h>

#include "core/sync_file.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmtensor-private.hpp"

#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT gstdrm::library_debug_category()

namespace {

using gstdrm::GstPtr;
using gstdrm::Result;
using gstdrm::UniqueFd;

struct OwnedTensor {
  GstDrmTensor tensor;
  GstPtr<GstMemory> memory; // keeps tensor.memory
};

// What one meta has. Copies of a buffer share tensors and fence, neither of which ever changes.
struct Tensors {
  const gchar *group = nullptr;   // interned
  const gchar *decoder = nullptr; // likewise
  std::vector<std::shared_ptr<const OwnedTensor>> tensors;
  std::shared_ptr<const UniqueFd> acquire;
};

Tensors &tensors_of(const GstDrmTensorMeta *meta)
{
  return *static_cast<Tensors *>(meta->state);
}

gboolean tensor_meta_init(GstMeta *meta, gpointer, GstBuffer *)
{
  auto *self = reinterpret_cast<GstDrmTensorMeta *>(meta);
  self->placement = {0, 0, 1.0, 1.0, 0.0, 0.0};
  self->state = std::make_unique<Tensors>().release();
  return TRUE;
}

void tensor_meta_free(GstMeta *meta, GstBuffer *) noexcept
{
  auto *self = reinterpret_cast<GstDrmTensorMeta *>(meta);
  std::default_delete<Tensors>()(static_cast<Tensors *>(std::exchange(self->state, nullptr)));
}

// A pixel of the scaled frame is in / out pixels of the frame that the model saw.
bool scale_placement(GstDrmTensorPlacement &placement, const GstVideoMetaTransform &scale)
{
  const GstVideoInfo &in = *scale.in_info;
  const GstVideoInfo &out = *scale.out_info;
  if (in.width <= 0 || in.height <= 0 || out.width <= 0 || out.height <= 0)
    return false;
  placement.scale_x *= static_cast<gdouble>(in.width) / out.width;
  placement.scale_y *= static_cast<gdouble>(in.height) / out.height;
  return true;
}

gboolean tensor_meta_transform(GstBuffer *dest, GstMeta *meta, GstBuffer *, GQuark type,
                               gpointer data)
{
  const auto *self = reinterpret_cast<GstDrmTensorMeta *>(meta);
  GstDrmTensorPlacement placement = self->placement;
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (data && static_cast<GstMetaTransformCopy *>(data)->region)
      return FALSE;
  } else if (!GST_VIDEO_META_TRANSFORM_IS_SCALE(type) || !data ||
             !scale_placement(placement, *static_cast<GstVideoMetaTransform *>(data))) {
    return FALSE;
  }
  Tensors shared = tensors_of(self);
  GstDrmTensorMeta *copy = gst_buffer_add_drm_tensor_meta(dest, nullptr);
  if (!copy)
    return FALSE;
  copy->placement = placement;
  tensors_of(copy) = std::move(shared);
  return TRUE;
}

const GstMetaInfo *tensor_meta_info()
{
  static const GstMetaInfo *const info = gst_meta_register(
      GST_DRM_TENSOR_META_API_TYPE, "GstDrmTensorMeta", sizeof(GstDrmTensorMeta),
      gstdrm::logging<tensor_meta_init>, tensor_meta_free, gstdrm::logging<tensor_meta_transform>);
  return info;
}

// Names are those of models, so there are few, and none is ever freed.
std::shared_ptr<const OwnedTensor> own(const GstDrmTensor &tensor)
{
  auto owned =
      std::make_shared<OwnedTensor>(OwnedTensor{tensor, GstPtr<GstMemory>::share(tensor.memory)});
  owned->tensor.name = g_intern_string(tensor.name);
  for (guint i = 0; i < GST_DRM_TENSOR_MAX_DIMS; i++) {
    GstDrmTensorDim &dim = owned->tensor.dims[i];
    dim = i < tensor.n_dims ? dim : GstDrmTensorDim{};
    dim.name = g_intern_string(dim.name);
  }
  return owned;
}

} // namespace

GType gst_drm_tensor_meta_api_get_type(void) noexcept
{
  // Elements that change the picture's place ask the meta's transform function what becomes of it.
  static const gchar *tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  static const GType type = gst_meta_api_type_register("GstDrmTensorMetaAPI", tags);
  return type;
}

/**
 * gst_buffer_add_drm_tensor_meta:
 * @buffer: (transfer none): a writable #GstBuffer
 * @group: (nullable): the name of the model, which is never freed
 *
 * Adds a #GstDrmTensorMeta without tensors and fence. The frame is then the whole input of the
 * model, pixel by pixel; change the fields of its placement where it is not.
 *
 * Returns: (transfer none) (nullable): the meta; %NULL without memory
 *
 * Since: 0.1
 */
GstDrmTensorMeta *gst_buffer_add_drm_tensor_meta(GstBuffer *buffer, const gchar *group) noexcept
{
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  g_return_val_if_fail(gst_buffer_is_writable(buffer), nullptr);

  auto *meta = reinterpret_cast<GstDrmTensorMeta *>(
      gst_buffer_add_meta(buffer, tensor_meta_info(), nullptr));
  if (meta)
    tensors_of(meta).group = g_intern_string(group);
  return meta;
}

/**
 * gst_buffer_get_drm_tensor_meta:
 * @buffer: (transfer none): a #GstBuffer
 * @group: (nullable): the name of a model; %NULL: any
 *
 * Finds the first meta of a model, or of any.
 *
 * Returns: (transfer none) (nullable): the meta, or %NULL
 *
 * Since: 0.1
 */
GstDrmTensorMeta *gst_buffer_get_drm_tensor_meta(GstBuffer *buffer, const gchar *group) noexcept
{
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);

  gpointer state = nullptr;
  while (GstMeta *meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, gst_drm_tensor_meta_api_get_type())) {
    auto *tensors = reinterpret_cast<GstDrmTensorMeta *>(meta);
    if (!group || g_strcmp0(group, tensors_of(tensors).group) == 0)
      return tensors;
  }
  return nullptr;
}

/**
 * gst_drm_tensor_meta_get_group:
 * @meta: a #GstDrmTensorMeta
 *
 * Tells which model the tensors come from.
 *
 * Returns: (transfer none) (nullable): the name of the model, as the meta was added with
 *
 * Since: 0.1
 */
const gchar *gst_drm_tensor_meta_get_group(GstDrmTensorMeta *meta) noexcept
{
  g_return_val_if_fail(meta != nullptr, nullptr);

  return tensors_of(meta).group;
}

/**
 * gst_drm_tensor_meta_set_decoder:
 * @meta: a #GstDrmTensorMeta of a writable buffer
 * @decoder: (nullable): a kind of decoder, as "blazeface", "ssd" or "yolov8", perhaps with keys, as
 *   "yolov5,box-unit=normalised"; never freed
 *
 * Says how the tensors are to be understood.
 *
 * Since: 0.1
 */
void gst_drm_tensor_meta_set_decoder(GstDrmTensorMeta *meta, const gchar *decoder) noexcept
{
  g_return_if_fail(meta != nullptr);

  tensors_of(meta).decoder = g_intern_string(decoder);
}

/**
 * gst_drm_tensor_meta_get_decoder:
 * @meta: a #GstDrmTensorMeta
 *
 * Tells how the tensors are to be understood.
 *
 * Returns: (transfer none) (nullable): the kind of decoder, perhaps with keys after commas; %NULL
 *   where nobody said
 *
 * Since: 0.1
 */
const gchar *gst_drm_tensor_meta_get_decoder(GstDrmTensorMeta *meta) noexcept
{
  g_return_val_if_fail(meta != nullptr, nullptr);

  return tensors_of(meta).decoder;
}

/**
 * gst_drm_tensor_meta_add_tensor:
 * @meta: a #GstDrmTensorMeta of a writable buffer
 * @tensor: (transfer none): a description, which is copied, names included
 * @error: location for a #GError, or %NULL
 *
 * Adds a tensor. The meta takes a reference to its memory.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_LAYOUT where the type, the dimensions, the padding or the
 *   quantisation are not valid, or the elements need more bytes than @tensor or its memory has
 *
 * Since: 0.1
 */
gboolean gst_drm_tensor_meta_add_tensor(GstDrmTensorMeta *meta, const GstDrmTensor *tensor,
                                        GError **error) noexcept
try {
  g_return_val_if_fail(meta != nullptr, FALSE);
  g_return_val_if_fail(tensor != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  if (const Result<void> checked = gstdrm::check_tensor(*tensor); !checked) {
    gstdrm::propagate(error, checked.error());
    return FALSE;
  }
  tensors_of(meta).tensors.push_back(own(*tensor));
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_tensor_meta_get_n_tensors:
 * @meta: a #GstDrmTensorMeta
 *
 * Counts the tensors.
 *
 * Returns: their number
 *
 * Since: 0.1
 */
guint gst_drm_tensor_meta_get_n_tensors(GstDrmTensorMeta *meta) noexcept
{
  g_return_val_if_fail(meta != nullptr, 0);

  return static_cast<guint>(tensors_of(meta).tensors.size());
}

/**
 * gst_drm_tensor_meta_get_tensor:
 * @meta: a #GstDrmTensorMeta
 * @index: a number from 0 on
 *
 * Finds a tensor by its place.
 *
 * Returns: (transfer none) (nullable): the description, which lives as long as @meta, or %NULL
 *
 * Since: 0.1
 */
const GstDrmTensor *gst_drm_tensor_meta_get_tensor(GstDrmTensorMeta *meta, guint index) noexcept
{
  g_return_val_if_fail(meta != nullptr, nullptr);

  const auto &tensors = tensors_of(meta).tensors;
  return index < tensors.size() ? &tensors[index]->tensor : nullptr;
}

/**
 * gst_drm_tensor_meta_add_acquire_fence:
 * @meta: a #GstDrmTensorMeta of a writable buffer
 * @fence_fd: a sync_file; it is the meta's from now on, and closed also on failure
 * @error: location for a #GError, or %NULL
 *
 * Whoever reads a tensor has to wait for @fence_fd first, and for all fences added before it.
 *
 * Returns: %FALSE with %GST_DRM_ERROR_SYNC where @fence_fd is no sync_file or cannot be merged; the
 *   fences are then as they were
 *
 * Since: 0.1
 */
gboolean gst_drm_tensor_meta_add_acquire_fence(GstDrmTensorMeta *meta, gint fence_fd,
                                               GError **error) noexcept
try {
  const UniqueFd fence(fence_fd);
  g_return_val_if_fail(meta != nullptr, FALSE);
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  std::shared_ptr<const UniqueFd> &acquire = tensors_of(meta).acquire;
  // Anything but a sync_file is refused here, before it is stored.
  if (const auto checked = gstdrm::check_sync_file(fence.get()); !checked) {
    gstdrm::propagate(error, checked.error());
    return FALSE;
  }
  Result<UniqueFd> merged = gstdrm::fence_merge(acquire ? acquire->get() : -1, fence.get());
  if (!merged) {
    gstdrm::propagate(error, merged.error());
    return FALSE;
  }
  acquire = std::make_shared<const UniqueFd>(std::move(*merged));
  return TRUE;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}

/**
 * gst_drm_tensor_meta_dup_acquire_fence:
 * @meta: a #GstDrmTensorMeta
 *
 * Hands out what has to be waited for before a tensor is read.
 *
 * Returns: a sync_file of all acquire fences, which the caller closes; -1 where there is none, and
 * where no descriptor is left for it. `errno` tells: 0, and EMFILE
 *
 * Since: 0.1
 */
gint gst_drm_tensor_meta_dup_acquire_fence(GstDrmTensorMeta *meta) noexcept
{
  g_return_val_if_fail(meta != nullptr, -1);

  return gstdrm::dup_or_none(tensors_of(meta).acquire);
}
