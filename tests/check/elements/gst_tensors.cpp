// SPDX-License-Identifier: LGPL-2.1-or-later
// Which tensors of a GstDrmTensorMeta become tensors of a GstTensorMeta, which GStreamer has since 1.26.
#include <string>
#include <vector>

#include "gst/metis/element/gstdrmanalytics.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/tensor_texts.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::check_text;
using gstdrm::test::dims_of;

struct TensorRow {
  const char *name;
  GstDrmTensorType type;
  bool quantised;
  std::vector<GstDrmTensorDim> dims;
  gsize offset;
  const char *expected; // nullptr: none
};

const TensorRow kTensors[] = {
    {"float32", GST_DRM_TENSOR_TYPE_FLOAT32, false, {{"n", 1, 0, 0}, {"c", 6, 0, 0}}, 0, "1x6"},
    {"float32, in the middle of its memory", GST_DRM_TENSOR_TYPE_FLOAT32, false, {{nullptr, 2, 0, 0}, {nullptr, 3, 0, 0}}, 8, "2x3"},
    {"padded", GST_DRM_TENSOR_TYPE_FLOAT32, false, {{nullptr, 6, 0, 2}}, 0, nullptr},
    {"padded before", GST_DRM_TENSOR_TYPE_FLOAT32, false, {{nullptr, 6, 1, 0}}, 0, nullptr},
    {"quantised", GST_DRM_TENSOR_TYPE_INT8, true, {{nullptr, 6, 0, 0}}, 0, nullptr},
    {"bytes", GST_DRM_TENSOR_TYPE_UINT8, false, {{nullptr, 6, 0, 0}}, 0, nullptr},
    {"no dimensions", GST_DRM_TENSOR_TYPE_FLOAT32, false, {}, 0, nullptr},
};

GstDrmTensor drm_tensor(const TensorRow &row, GstMemory *memory)
{
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  tensor.name = "the-id";
  tensor.type = row.type;
  tensor.quantised = row.quantised;
  tensor.scale = 0.5;
  tensor.memory = memory;
  tensor.offset = row.offset;
  tensor.size = row.type == GST_DRM_TENSOR_TYPE_FLOAT32 ? sizeof(gfloat) : 1;
  for (const GstDrmTensorDim &dim : row.dims) {
    tensor.dims[tensor.n_dims++] = dim;
    tensor.size *= dim.size;
  }
  return tensor;
}

GST_START_TEST(test_which_tensors)
{
  const TensorRow &row = kTensors[__i__];
  gstdrm::test::say(row.name);
  const auto memory = GstPtr<GstMemory>::adopt(gst_allocator_alloc(nullptr, 64, nullptr));
  GstMapInfo from = GST_MAP_INFO_INIT;
  fail_unless(gst_memory_map(memory.get(), &from, GST_MAP_READ));
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  const GstDrmTensor tensor = drm_tensor(row, memory.get());
  GstDrmTensorMeta *drm = gst_buffer_add_drm_tensor_meta(buffer.get(), "model");
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_add_tensor(drm, &tensor, &error), "%s", error ? error->message : "");
  gstdrm::attach_gst_tensors(buffer.get(), drm);
  GstTensorMeta *meta = gst_buffer_get_tensor_meta(buffer.get());
  fail_unless((meta != nullptr) == (row.expected != nullptr));
  if (meta) {
    fail_unless_equals_int(static_cast<int>(meta->num_tensors), 1);
    const GstTensor *made = gst_tensor_meta_get(meta, 0);
    check_text(dims_of(*made), row.expected);
    check_text(g_quark_to_string(made->id), "the-id");
    fail_unless_equals_int(made->data_type, GST_TENSOR_DATA_TYPE_FLOAT32);
    fail_unless_equals_int(made->dims_order, GST_TENSOR_DIM_ORDER_ROW_MAJOR);
    GstMapInfo map;
    fail_unless(gst_buffer_map(made->data, &map, GST_MAP_READ));
    fail_unless(map.data == from.data + row.offset, "the values were copied");
    fail_unless_equals_int(static_cast<int>(map.size), static_cast<int>(tensor.size));
    gst_buffer_unmap(made->data, &map);
  }
  gst_memory_unmap(memory.get(), &from);
}
GST_END_TEST

// Each model has its own meta, for a decoder wants all of one model's tensors and no others.
GST_START_TEST(test_two_models)
{
  const auto memory = GstPtr<GstMemory>::adopt(gst_allocator_alloc(nullptr, 64, nullptr));
  const auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  for (const char *group : {"first", "second"}) {
    const GstDrmTensor tensor = drm_tensor(kTensors[0], memory.get());
    GstDrmTensorMeta *drm = gst_buffer_add_drm_tensor_meta(buffer.get(), group);
    fail_unless(gst_drm_tensor_meta_add_tensor(drm, &tensor, nullptr));
    gstdrm::attach_gst_tensors(buffer.get(), drm);
  }
  gpointer state = nullptr;
  int metas = 0;
  while (GstMeta *meta = gst_buffer_iterate_meta_filtered(buffer.get(), &state, GST_TENSOR_META_API_TYPE)) {
    fail_unless_equals_int(static_cast<int>(reinterpret_cast<GstTensorMeta *>(meta)->num_tensors), 1);
    metas++;
  }
  fail_unless_equals_int(metas, 2);
}
GST_END_TEST

Suite *gst_tensors_suite()
{
  Suite *suite = suite_create("gst-tensors");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_which_tensors, 0, G_N_ELEMENTS(kTensors));
  tcase_add_test(tcase, test_two_models);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(gst_tensors)
