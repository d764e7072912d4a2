// SPDX-License-Identifier: LGPL-2.1-or-later
// The values of a tensor, whatever its type, quantisation and padding are.
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/errno_text.hpp"
#include "core/sync_file.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmtensor-private.hpp"

namespace gstdrm {

namespace {

// A caller in C passes any number; C++ would not let one be read as the enum.
int type_number(const GstDrmTensor &tensor)
{
  int number = 0;
  static_assert(sizeof number == sizeof tensor.type);
  std::memcpy(&number, &tensor.type, sizeof number);
  return number;
}

gsize bytes_of(int type)
{
  return type == GST_DRM_TENSOR_TYPE_FLOAT32 ? sizeof(gfloat) : 1;
}

Error layout_error(const GstDrmTensor &tensor, const std::string &why)
{
  return {ErrorCode::Layout, "The " + name_of(tensor) + " is not usable: " + why + ".", 0};
}

// Bytes of all elements.
Result<gsize> bytes_needed(const GstDrmTensor &tensor)
{
  if (tensor.n_dims > GST_DRM_TENSOR_MAX_DIMS)
    return layout_error(tensor, std::to_string(tensor.n_dims) + " dimensions, of at most " +
                                    std::to_string(GST_DRM_TENSOR_MAX_DIMS));
  gsize bytes = bytes_of(type_number(tensor));
  for (guint i = 0; i < tensor.n_dims; i++) {
    const GstDrmTensorDim &dim = tensor.dims[i];
    const std::string which = "dimension " + std::to_string(i);
    if (dim.size == 0)
      return layout_error(tensor, which + " has no elements");
    if (dim.padding_before >= dim.size || dim.padding_after >= dim.size - dim.padding_before)
      return layout_error(tensor, which + " of " + std::to_string(dim.size) + " elements is all " +
                                      "padding (" + std::to_string(dim.padding_before) + " and " +
                                      std::to_string(dim.padding_after) + ")");
    if (__builtin_mul_overflow(bytes, dim.size, &bytes))
      return layout_error(tensor, "its dimensions need more bytes than can be counted");
  }
  return bytes;
}

Result<void> check_quantisation(const GstDrmTensor &tensor, int type)
{
  if (!tensor.quantised)
    return {};
  if (type == GST_DRM_TENSOR_TYPE_FLOAT32)
    return layout_error(tensor, "float32 elements are not quantised");
  if (!std::isfinite(tensor.scale) || tensor.scale == 0)
    return layout_error(tensor, "a quantisation scale of " + std::to_string(tensor.scale));
  return {};
}

// Where each value lies, in elements: the odometer over all dimensions less their padding.
class ValuePlaces {
public:
  explicit ValuePlaces(const GstDrmTensor &tensor) : tensor_(tensor)
  {
    gsize stride = 1;
    for (guint i = tensor.n_dims; i-- > 0;) {
      strides_[i] = stride;
      place_ += tensor.dims[i].padding_before * stride;
      stride *= tensor.dims[i].size;
    }
  }
  [[nodiscard]] gsize place() const { return place_; }
  void next()
  {
    for (guint i = tensor_.n_dims; i-- > 0;) {
      const GstDrmTensorDim &dim = tensor_.dims[i];
      const gsize count = dim.size - dim.padding_before - dim.padding_after;
      place_ += strides_[i];
      if (++at_[i] < count)
        return;
      place_ -= count * strides_[i];
      at_[i] = 0;
    }
  }

private:
  const GstDrmTensor &tensor_;
  std::array<gsize, GST_DRM_TENSOR_MAX_DIMS> strides_{};
  std::array<gsize, GST_DRM_TENSOR_MAX_DIMS> at_{};
  gsize place_ = 0;
};

gfloat value_at(const GstDrmTensor &tensor, const guint8 *element)
{
  if (tensor.type == GST_DRM_TENSOR_TYPE_FLOAT32) {
    gfloat value = 0;
    std::memcpy(&value, element, sizeof value); // the offset may be any
    return value;
  }
  const int number =
      tensor.type == GST_DRM_TENSOR_TYPE_INT8 ? static_cast<gint8>(*element) : *element;
  return tensor.quantised ? static_cast<gfloat>((static_cast<gdouble>(number) - tensor.zero_point) *
                                                tensor.scale)
                          : static_cast<gfloat>(number);
}

void write_values(const GstDrmTensor &tensor, const guint8 *elements, gfloat *values, gsize count)
{
  const gsize bytes = bytes_of(tensor.type);
  ValuePlaces places(tensor);
  for (gsize i = 0; i < count; i++, places.next())
    values[i] = value_at(tensor, elements + places.place() * bytes);
}

Result<void> wait_for_tensors(GstDrmTensorMeta *meta, GstClockTime timeout)
{
  const UniqueFd fence(gst_drm_tensor_meta_dup_acquire_fence(meta));
  if (const int error = errno; !fence && error != 0)
    return Error{ErrorCode::Sync,
                 "There is no descriptor for the fence of the tensors: " + errno_text(error),
                 error};
  if (!fence)
    return {};
  const bool bounded = timeout <= static_cast<GstClockTime>(std::numeric_limits<gint64>::max());
  const auto state = fence_wait(
      fence.get(), std::chrono::nanoseconds(bounded ? static_cast<gint64>(timeout) : -1));
  if (!state)
    return state.error();
  if (*state == FenceState::Signalled)
    return {};
  return Error{ErrorCode::Sync,
               *state == FenceState::Pending
                   ? "The tensors were not ready within " + std::to_string(timeout / GST_MSECOND) +
                         " ms: the device that runs the model has not signalled their fence."
                   : std::string("The device that runs the model failed: the tensors' fence "
                                 "signalled an error."),
               *state == FenceState::Pending ? ETIMEDOUT : EIO};
}

struct Freed {
  void operator()(gfloat *values) const noexcept { g_free(values); }
};
using Values = std::unique_ptr<gfloat, Freed>;

Result<Values> read_values(const GstDrmTensor &tensor, gsize count)
{
  Values values(static_cast<gfloat *>(g_try_malloc_n(count, sizeof(gfloat))));
  if (!values)
    return Error{ErrorCode::Allocation,
                 "No memory for the " + std::to_string(count) + " values of the " +
                     name_of(tensor) + ".",
                 0};
  GstMapInfo map;
  if (!gst_memory_map(tensor.memory, &map, GST_MAP_READ))
    return Error{ErrorCode::Import,
                 "The CPU cannot map the memory of the " + name_of(tensor) + " for reading.", 0};
  const bool all_there = map.size >= tensor.offset && map.size - tensor.offset >= tensor.size;
  if (all_there)
    write_values(tensor, map.data + tensor.offset, values.get(), count);
  gst_memory_unmap(tensor.memory, &map);
  if (!all_there)
    return layout_error(tensor, "its memory was made smaller");
  return values;
}

} // namespace

std::string name_of(const GstDrmTensor &tensor)
{
  return tensor.name ? std::string("tensor ") + tensor.name : "unnamed tensor";
}

Result<void> check_tensor(const GstDrmTensor &tensor)
{
  const int type = type_number(tensor);
  if (type < GST_DRM_TENSOR_TYPE_UINT8 || type > GST_DRM_TENSOR_TYPE_FLOAT32)
    return layout_error(tensor, "no data type has the number " + std::to_string(type));
  const Result<gsize> needed = bytes_needed(tensor);
  if (!needed)
    return needed.error();
  if (tensor.size < *needed)
    return layout_error(tensor, "its elements need " + std::to_string(*needed) + " bytes of " +
                                    std::to_string(tensor.size));
  if (!tensor.memory)
    return layout_error(tensor, "it has no memory");
  const gsize there = gst_memory_get_sizes(tensor.memory, nullptr, nullptr);
  if (tensor.offset > there || tensor.size > there - tensor.offset)
    return layout_error(tensor, "its " + std::to_string(tensor.size) + " bytes at " +
                                    std::to_string(tensor.offset) + " are not in a memory of " +
                                    std::to_string(there));
  return check_quantisation(tensor, type);
}

gsize values_of(const GstDrmTensor &tensor)
{
  if (!bytes_needed(tensor))
    return 0;
  gsize values = 1;
  for (guint i = 0; i < tensor.n_dims; i++)
    values *= tensor.dims[i].size - tensor.dims[i].padding_before - tensor.dims[i].padding_after;
  return values;
}

} // namespace gstdrm

/**
 * gst_drm_tensor_init:
 * @tensor: (out caller-allocates): a #GstDrmTensor
 *
 * Sets all fields: an unnamed tensor without dimensions, quantisation and memory.
 *
 * Since: 0.1
 */
void gst_drm_tensor_init(GstDrmTensor *tensor) noexcept
{
  g_return_if_fail(tensor != nullptr);

  *tensor = {};
  tensor->scale = 1.0;
}

/**
 * gst_drm_tensor_get_n_values:
 * @tensor: a #GstDrmTensor
 *
 * Counts the elements that carry a value.
 *
 * Returns: the product of all dimensions less their padding, which is 1 without dimensions; 0 where
 *   the dimensions are not valid
 *
 * Since: 0.1
 */
gsize gst_drm_tensor_get_n_values(const GstDrmTensor *tensor) noexcept
try {
  g_return_val_if_fail(tensor != nullptr, 0);

  return gstdrm::values_of(*tensor);
} catch (...) {
  return gstdrm::caught(gsize{0}, __func__);
}

/**
 * gst_drm_tensor_meta_dup_float32:
 * @meta: a #GstDrmTensorMeta
 * @index: a number from 0 on
 * @timeout: how long to wait for the acquire fence; %GST_CLOCK_TIME_NONE: without a limit
 * @n_values: (out) (optional): the number of values; 0 on failure
 * @error: location for a #GError, or %NULL
 *
 * Waits until the tensor is there and copies its values, in row-major order, as numbers: quantised
 * ones as (element - zero point) * scale, and without the padding.
 *
 * Returns: (transfer full) (array length=n_values) (nullable): the values, freed by g_free(); %NULL
 *   with %GST_DRM_ERROR_LAYOUT where there is no such tensor or its memory was made smaller,
 *   %GST_DRM_ERROR_SYNC where the fence signalled an error or did not signal in time,
 *   %GST_DRM_ERROR_IMPORT where the CPU cannot map the memory
 *
 * Since: 0.1
 */
gfloat *gst_drm_tensor_meta_dup_float32(GstDrmTensorMeta *meta, guint index, GstClockTime timeout,
                                        gsize *n_values, GError **error) noexcept
try {
  if (n_values)
    *n_values = 0;
  g_return_val_if_fail(meta != nullptr, nullptr);
  g_return_val_if_fail(error == nullptr || *error == nullptr, nullptr);

  const auto fail = [error](const gstdrm::Error &why) -> gfloat * {
    gstdrm::propagate(error, why);
    return nullptr;
  };
  const GstDrmTensor *tensor = gst_drm_tensor_meta_get_tensor(meta, index);
  if (!tensor)
    return fail({gstdrm::ErrorCode::Layout,
                 "There is no tensor " + std::to_string(index) + ": the meta has " +
                     std::to_string(gst_drm_tensor_meta_get_n_tensors(meta)) + ".",
                 0});
  if (const auto waited = gstdrm::wait_for_tensors(meta, timeout); !waited)
    return fail(waited.error());
  const gsize count = gstdrm::values_of(*tensor);
  auto values = gstdrm::read_values(*tensor, count);
  if (!values)
    return fail(values.error());
  if (n_values)
    *n_values = count;
  return values->release();
} catch (...) {
  return gstdrm::caught(static_cast<gfloat *>(nullptr), __func__, error);
}
