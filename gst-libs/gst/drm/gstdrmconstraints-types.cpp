// SPDX-License-Identifier: LGPL-2.1-or-later
// The enumerations of constraints.
#include "gstdrmconstraints-private.hpp"
#include "gstdrmsync.h"
#include "gstdrmtensormeta.h"

namespace {

using gstdrm::BufferType;
using gstdrm::ConstraintKey;
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

} // namespace

GType gst_drm_buffer_type_get_type(void) noexcept
{
  static const GEnumValue values[] = {
      {GST_DRM_BUFFER_TYPE_IMAGE, "GST_DRM_BUFFER_TYPE_IMAGE", "image"},
      {GST_DRM_BUFFER_TYPE_RAW, "GST_DRM_BUFFER_TYPE_RAW", "raw"},
      {GST_DRM_BUFFER_TYPE_TENSOR, "GST_DRM_BUFFER_TYPE_TENSOR", "tensor"},
      {GST_DRM_BUFFER_TYPE_ARRAY, "GST_DRM_BUFFER_TYPE_ARRAY", "array"},
      {GST_DRM_BUFFER_TYPE_PYRAMID, "GST_DRM_BUFFER_TYPE_PYRAMID", "pyramid"},
      {0, nullptr, nullptr}};
  static const GType type = g_enum_register_static("GstDrmBufferType", values);
  return type;
}

GType gst_drm_placement_get_type(void) noexcept
{
  static const GFlagsValue values[] = {
      {GST_DRM_PLACEMENT_NONE, "GST_DRM_PLACEMENT_NONE", "none"},
      {GST_DRM_PLACEMENT_SYSTEM, "GST_DRM_PLACEMENT_SYSTEM", "system"},
      {GST_DRM_PLACEMENT_CONTIGUOUS, "GST_DRM_PLACEMENT_CONTIGUOUS", "contiguous"},
      {GST_DRM_PLACEMENT_DEVICE, "GST_DRM_PLACEMENT_DEVICE", "device"},
      {0, nullptr, nullptr}};
  static const GType type = g_flags_register_static("GstDrmPlacement", values);
  return type;
}

GType gst_drm_constraint_key_get_type(void) noexcept
{
#define KEY(name, nick)                                                                            \
  {                                                                                                \
    GST_DRM_CONSTRAINT_##name, "GST_DRM_CONSTRAINT_" #name, nick                                   \
  }
  static const GEnumValue values[] = {KEY(BUFFER_TYPE, "buffer-type"),
                                      KEY(FORMATS, "formats"),
                                      KEY(WIDTH, "width"),
                                      KEY(HEIGHT, "height"),
                                      KEY(STRIDE, "stride"),
                                      KEY(SIZE, "size"),
                                      KEY(STRIDE_ALIGN, "stride-align"),
                                      KEY(OFFSET_ALIGN, "offset-align"),
                                      KEY(SIZE_ALIGN, "size-align"),
                                      KEY(BASE_ALIGN, "base-align"),
                                      KEY(PLANES, "planes"),
                                      KEY(FDS, "fds"),
                                      KEY(PLACEMENT, "placement"),
                                      KEY(CPU_ACCESS, "cpu-access"),
                                      KEY(PERMISSIONS, "permissions"),
                                      KEY(BUFFERS_HELD, "buffers-held"),
                                      KEY(BUFFERS, "buffers"),
                                      KEY(TENSOR_TYPE, "tensor-type"),
                                      KEY(TENSOR_DIMS, "tensor-dims"),
                                      KEY(ARRAY_ELEMENT, "array-element"),
                                      KEY(ARRAY_CAPACITY, "array-capacity"),
                                      KEY(PYRAMID_LEVELS, "pyramid-levels"),
                                      KEY(PYRAMID_SCALE, "pyramid-scale"),
                                      {0, nullptr, nullptr}};
#undef KEY
  static const GType type = g_enum_register_static("GstDrmConstraintKey", values);
  return type;
}
