// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of floats, as a model would have given them for a frame.
#pragma once

#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmtensormeta.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

inline void add_tensor(GstDrmTensorMeta *meta, const char *name, const std::vector<gsize> &dims, const std::vector<gfloat> &values)
{
  const gsize bytes = values.size() * sizeof(gfloat);
  gpointer copy = g_memdup2(values.data(), bytes);
  const auto memory = GstPtr<GstMemory>::adopt(
      gst_memory_new_wrapped(static_cast<GstMemoryFlags>(0), copy, bytes, 0, bytes, copy, g_free));
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  tensor.name = name;
  tensor.type = GST_DRM_TENSOR_TYPE_FLOAT32;
  tensor.n_dims = static_cast<guint>(dims.size());
  for (std::size_t i = 0; i < dims.size(); i++)
    tensor.dims[i].size = dims[i];
  tensor.memory = memory.get();
  tensor.size = bytes;
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_add_tensor(meta, &tensor, &error), "%s", error ? error->message : "");
}

} // namespace gstdrm::test
