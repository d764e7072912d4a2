// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of a buffer.
#include "hostile_values.hpp"

#include <sys/mman.h>

namespace gstdrm::test::hostile {

namespace {

// Each field of a tensor with each odd number.
void for_each_hostile_tensor(const std::function<void(GstDrmTensorMeta *, GstDrmTensor *)> &call)
{
  GstBuffer *buffer = buffer_of(4096);
  GstMemory *memory = gst_buffer_get_memory(buffer, 0);
  for (const gint number : kNumbers) {
    const auto huge = static_cast<gsize>(number);
    for (guint field = 0; field < 9; ++field) {
      GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, "\xff\xfe");
      GstDrmTensor tensor;
      gst_drm_tensor_init(&tensor);
      tensor.name = "\xff";
      tensor.n_dims = 2;
      tensor.dims[0] = tensor.dims[1] = {nullptr, 8, 0, 0};
      tensor.memory = memory;
      tensor.size = 64;
      gsize *const sizes[] = {&tensor.dims[0].size, &tensor.dims[1].padding_before, &tensor.dims[1].padding_after, &tensor.offset, &tensor.size};
      if (field < 5)
        *sizes[field] = huge;
      tensor.n_dims = field == 5 ? static_cast<guint>(number) : tensor.n_dims;
      tensor.zero_point = field == 6 ? number : 0;
      tensor.quantised = field == 6 || field == 7 ? number : 0;
      tensor.scale = field == 7 ? 1.0 / number : 1.0;
      if (field == 8)
        std::memcpy(&tensor.type, &number, sizeof number);
      call(meta, &tensor);
      gst_buffer_remove_meta(buffer, &meta->meta);
    }
  }
  gst_memory_unref(memory);
  gst_buffer_unref(buffer);
}

void read_hostile_tensors()
{
  for_each_hostile_tensor([](GstDrmTensorMeta *meta, GstDrmTensor *tensor) {
    GError *error = nullptr;
    const bool added = gst_drm_tensor_meta_add_tensor(meta, tensor, &error);
    check(added, error);
    gsize count = 0;
    gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 0, 0, &count, &error);
    check(values != nullptr, error);
    fail_unless((values != nullptr) == added && count == (added ? gst_drm_tensor_get_n_values(tensor) : 0));
    g_free(values);
  });
}

const Rows kRows = {
    {"gst_drm_tensor_meta_api_get_type", type_row<gst_drm_tensor_meta_api_get_type>},
    {"gst_buffer_add_drm_tensor_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_add_drm_tensor_meta(b, "\xff") != nullptr); }); }},
    {"gst_buffer_get_drm_tensor_meta", [] { for_each_hostile_buffer([](GstBuffer *b) { fail_unless(gst_buffer_get_drm_tensor_meta(b, "\xff") == nullptr); }); }},
    {"gst_drm_tensor_meta_get_group", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { fail_unless_equals_string(gst_drm_tensor_meta_get_group(m), "\xff\xfe"); }); }},
    {"gst_drm_tensor_init", [] { for_each_hostile_tensor([](GstDrmTensorMeta *, GstDrmTensor *t) { gst_drm_tensor_init(t); fail_unless(t->memory == nullptr); }); }},
    {"gst_drm_tensor_get_n_values", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *t) {
       if (gst_drm_tensor_meta_add_tensor(m, t, nullptr))
         fail_unless(gst_drm_tensor_get_n_values(t) > 0);
       else
         (void)gst_drm_tensor_get_n_values(t);
     }); }},
    {"gst_drm_tensor_meta_set_decoder", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { gst_drm_tensor_meta_set_decoder(m, "\xff"); gst_drm_tensor_meta_set_decoder(m, nullptr); }); }},
    {"gst_drm_tensor_meta_get_decoder", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { fail_unless(gst_drm_tensor_meta_get_decoder(m) == nullptr); gst_drm_tensor_meta_set_decoder(m, "\xff"); fail_unless_equals_string(gst_drm_tensor_meta_get_decoder(m), "\xff"); }); }},
    {"gst_drm_tensor_meta_add_tensor", read_hostile_tensors},
    {"gst_drm_tensor_meta_get_n_tensors", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { fail_unless_equals_int(gst_drm_tensor_meta_get_n_tensors(m), 0); }); }},
    {"gst_drm_tensor_meta_get_tensor", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { fail_unless(gst_drm_tensor_meta_get_tensor(m, G_MAXUINT) == nullptr); }); }},
    {"gst_drm_tensor_meta_add_acquire_fence", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *t) {
       GError *error = nullptr;
       check(gst_drm_tensor_meta_add_acquire_fence(m, memfd_create("no fence", MFD_CLOEXEC), &error), error);
       fail_if(gst_drm_tensor_meta_add_acquire_fence(m, t->zero_point == 0 ? -1 : G_MAXINT, nullptr));
     }); }},
    {"gst_drm_tensor_meta_dup_acquire_fence", [] { for_each_hostile_tensor([](GstDrmTensorMeta *m, GstDrmTensor *) { fail_unless(gst_drm_tensor_meta_dup_acquire_fence(m) == -1); }); }},
    {"gst_drm_tensor_meta_dup_float32", read_hostile_tensors},
};

} // namespace

const Rows &tensor_rows()
{
  return kRows;
}

} // namespace gstdrm::test::hostile
