// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmTensorMeta without fences: which copies have it, what is refused, the values. With real fences:
// tests/device/core/tensor_fences.cpp.
#include "support/check_main.hpp"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>

#include <gst/check/gstharness.h>
#include <gst/drm/drm.h>
#include <gst/video/video.h>

namespace {

using Numbers = std::vector<gfloat>;

GstMemory *memory_of(const std::vector<guint8> &bytes)
{
  GstMemory *memory = gst_allocator_alloc(nullptr, bytes.size(), nullptr);
  GstMapInfo map;
  fail_unless(gst_memory_map(memory, &map, GST_MAP_WRITE));
  memcpy(map.data, bytes.data(), bytes.size());
  gst_memory_unmap(memory, &map);
  return memory;
}

std::vector<guint8> bytes_of(const Numbers &numbers, gsize before = 0)
{
  std::vector<guint8> bytes(before + numbers.size() * sizeof(gfloat));
  memcpy(bytes.data() + before, numbers.data(), numbers.size() * sizeof(gfloat));
  return bytes;
}

// A tensor of one dimension over four bytes: valid until a row changes it.
GstDrmTensor sane(GstMemory *memory)
{
  GstDrmTensor tensor;
  gst_drm_tensor_init(&tensor);
  tensor.name = "scores";
  tensor.n_dims = 1;
  tensor.dims[0] = {"n", 4, 0, 0};
  tensor.memory = memory;
  tensor.size = 4;
  return tensor;
}

struct Fixture {
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, 64, nullptr);
  GstMemory *memory = memory_of({0, 1, 2, 255});
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, "faces");
  GstDrmTensor tensor = sane(memory);
  Fixture() { fail_unless(gst_drm_tensor_meta_add_tensor(meta, &tensor, nullptr)); }
  Fixture(const Fixture &) = delete;
  Fixture &operator=(const Fixture &) = delete;
  ~Fixture()
  {
    gst_buffer_unref(buffer);
    gst_memory_unref(memory);
  }
};

struct ValueRow {
  const char *name;
  GstDrmTensorType type;
  std::vector<GstDrmTensorDim> dims;
  gboolean quantised;
  gdouble scale;
  gint zero_point;
  gsize offset;
  std::vector<guint8> bytes;
  Numbers expected;
};

const ValueRow kValues[] = {
    {"no dimension: one value", GST_DRM_TENSOR_TYPE_UINT8, {}, FALSE, 1, 0, 0, {200}, {200}},
    {"uint8 as it is", GST_DRM_TENSOR_TYPE_UINT8, {{nullptr, 3, 0, 0}}, FALSE, 9, 9, 0, {0, 128, 255}, {0, 128, 255}},
    {"int8 has a sign", GST_DRM_TENSOR_TYPE_INT8, {{nullptr, 3, 0, 0}}, FALSE, 1, 0, 0, {0, 127, 128}, {0, 127, -128}},
    {"quantised uint8", GST_DRM_TENSOR_TYPE_UINT8, {{nullptr, 3, 0, 0}}, TRUE, 0.5, 128, 0, {128, 130, 0}, {0, 1, -64}},
    {"quantised int8", GST_DRM_TENSOR_TYPE_INT8, {{nullptr, 2, 0, 0}}, TRUE, 0.25, -128, 0, {128, 127}, {0, 63.75F}},
    {"a zero point at the end of the numbers", GST_DRM_TENSOR_TYPE_INT8, {{nullptr, 1, 0, 0}}, TRUE, 1, G_MININT, 0, {0}, {2147483648.0F}},
    {"an offset, not a multiple of four", GST_DRM_TENSOR_TYPE_FLOAT32, {{nullptr, 2, 0, 0}}, FALSE, 1, 0, 3, bytes_of({1.5F, -2}, 3), {1.5F, -2}},
    {"padding in the innermost dimension", GST_DRM_TENSOR_TYPE_UINT8, {{"h", 2, 0, 0}, {"c", 4, 1, 1}}, FALSE, 1, 0, 0, {9, 1, 2, 9, 9, 3, 4, 9}, {1, 2, 3, 4}},
    {"padding in the outermost", GST_DRM_TENSOR_TYPE_UINT8, {{"h", 4, 1, 2}, {"c", 2, 0, 0}}, FALSE, 1, 0, 0, {9, 9, 1, 2, 9, 9, 9, 9}, {1, 2}},
    {"padding in three", GST_DRM_TENSOR_TYPE_UINT8, {{"n", 1, 0, 0}, {"h", 3, 1, 0}, {"w", 2, 0, 1}, {"c", 2, 0, 1}}, FALSE, 1, 0, 0,
     {9, 9, 9, 9, 1, 9, 9, 9, 2, 9, 9, 9}, {1, 2}},
};

GST_START_TEST(test_values)
{
  const ValueRow &row = kValues[__i__];
  gstdrm::test::say(row.name);
  GstBuffer *buffer = gst_buffer_new();
  GstDrmTensorMeta *meta = gst_buffer_add_drm_tensor_meta(buffer, nullptr);
  GstMemory *memory = memory_of(row.bytes);
  GstDrmTensor tensor = sane(memory);
  tensor.type = row.type;
  tensor.n_dims = static_cast<guint>(row.dims.size());
  std::copy(row.dims.begin(), row.dims.end(), tensor.dims);
  tensor.quantised = row.quantised;
  tensor.scale = row.scale;
  tensor.zero_point = row.zero_point;
  tensor.offset = row.offset;
  tensor.size = row.bytes.size() - row.offset;
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_add_tensor(meta, &tensor, &error), "%s", error ? error->message : "");
  fail_unless_equals_uint64(gst_drm_tensor_get_n_values(&tensor), row.expected.size());
  gsize count = 0;
  gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 0, 0, &count, &error);
  fail_unless(values != nullptr, "%s", error ? error->message : "");
  fail_unless(Numbers(values, values + count) == row.expected);
  g_free(values);
  gst_buffer_unref(buffer);
  gst_memory_unref(memory);
}
GST_END_TEST

// A caller in C passes any number; C++ would not let one be read as the enum.
void set_type(GstDrmTensor &tensor, int number)
{
  memcpy(&tensor.type, &number, sizeof number);
}

struct RefusedRow {
  const char *says;
  void (*spoil)(GstDrmTensor &tensor);
};

const RefusedRow kRefused[] = {
    {"no data type has the number 77", [](GstDrmTensor &t) { set_type(t, 77); }},
    {"no data type has the number -1", [](GstDrmTensor &t) { set_type(t, -1); }},
    {"9 dimensions, of at most 8", [](GstDrmTensor &t) { t.n_dims = 9; }},
    {"dimension 0 has no elements", [](GstDrmTensor &t) { t.dims[0].size = 0; }},
    {"dimension 0 of 4 elements is all padding (2 and 2)", [](GstDrmTensor &t) { t.dims[0] = {nullptr, 4, 2, 2}; }},
    {"is all padding", [](GstDrmTensor &t) { t.dims[0].padding_before = G_MAXSIZE; }},
    {"is all padding", [](GstDrmTensor &t) { t.dims[0].padding_after = G_MAXSIZE; }},
    {"more bytes than can be counted", [](GstDrmTensor &t) { t.n_dims = 2; t.dims[1] = {nullptr, G_MAXSIZE / 2, 0, 0}; }},
    {"its elements need 16 bytes of 4", [](GstDrmTensor &t) { t.type = GST_DRM_TENSOR_TYPE_FLOAT32; }},
    {"it has no memory", [](GstDrmTensor &t) { t.memory = nullptr; }},
    {"its 4 bytes at 1 are not in a memory of 4", [](GstDrmTensor &t) { t.offset = 1; }},
    {"are not in a memory of 4", [](GstDrmTensor &t) { t.offset = G_MAXSIZE; }},
    {"are not in a memory of 4", [](GstDrmTensor &t) { t.size = G_MAXSIZE; }},
    {"a quantisation scale of 0", [](GstDrmTensor &t) { t.quantised = TRUE; t.scale = 0; }},
    {"a quantisation scale of nan", [](GstDrmTensor &t) { t.quantised = TRUE; t.scale = NAN; }},
    {"a quantisation scale of inf", [](GstDrmTensor &t) { t.quantised = TRUE; t.scale = INFINITY; }},
    {"float32 elements are not quantised", [](GstDrmTensor &t) { t.type = GST_DRM_TENSOR_TYPE_FLOAT32; t.dims[0].size = 1; t.quantised = TRUE; }},
};

GST_START_TEST(test_refused)
{
  const RefusedRow &row = kRefused[__i__];
  Fixture f;
  GstDrmTensor tensor = sane(f.memory);
  row.spoil(tensor);
  GError *error = nullptr;
  fail_if(gst_drm_tensor_meta_add_tensor(f.meta, &tensor, &error));
  gstdrm::test::say(error->message);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_LAYOUT));
  fail_unless(strstr(error->message, row.says) && strstr(error->message, "tensor scores"), "%s", error->message);
  g_clear_error(&error);
  fail_unless_equals_int(gst_drm_tensor_meta_get_n_tensors(f.meta), 1);
}
GST_END_TEST

GST_START_TEST(test_lookups)
{
  Fixture f;
  GstDrmTensor second = f.tensor;
  second.name = "boxes";
  fail_unless(gst_drm_tensor_meta_add_tensor(f.meta, &second, nullptr));
  const GstDrmTensor *found = gst_drm_tensor_meta_get_tensor(f.meta, 1);
  fail_unless_equals_string(found->name, "boxes");
  fail_unless_equals_string(found->dims[0].name, "n");
  fail_unless(gst_drm_tensor_meta_get_tensor(f.meta, 2) == nullptr);
  GstDrmTensorMeta *other = gst_buffer_add_drm_tensor_meta(f.buffer, nullptr);
  fail_unless(gst_buffer_get_drm_tensor_meta(f.buffer, "faces") != other);
  fail_unless(gst_buffer_get_drm_tensor_meta(f.buffer, "cars") == nullptr);
  fail_unless(gst_drm_tensor_meta_get_group(other) == nullptr);
}
GST_END_TEST

// Which copies have the meta: a row says how a buffer becomes another one.
struct CopyRow {
  const char *name;
  bool kept;
  GstBuffer *(*copy)(GstBuffer *);
};

GstBuffer *copy_metadata(GstBuffer *buffer)
{
  GstBuffer *filtered = gst_buffer_new_allocate(nullptr, 64, nullptr);
  gst_buffer_copy_into(filtered, buffer, GST_BUFFER_COPY_METADATA, 0, static_cast<gsize>(-1));
  return filtered;
}

const CopyRow kCopies[] = {
    {"shallow", true, [](GstBuffer *b) { return gst_buffer_copy(b); }},
    {"deep", true, [](GstBuffer *b) { return gst_buffer_copy_deep(b); }},
    {"the metas alone", true, copy_metadata},
    {"some bytes", false, [](GstBuffer *b) { return gst_buffer_copy_region(b, GST_BUFFER_COPY_ALL, 16, 16); }},
};

GST_START_TEST(test_copies)
{
  const CopyRow &row = kCopies[__i__];
  gstdrm::test::say(row.name);
  auto f = std::make_unique<Fixture>();
  f->meta->placement = {128, 96, 0.5, 0.25, 3, 4};
  GstBuffer *copy = row.copy(f->buffer);
  f.reset(); // the copy keeps all it needs
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(copy, "faces");
  fail_unless((meta != nullptr) == row.kept);
  if (meta) {
    fail_unless(meta->placement.input_width == 128 && meta->placement.offset_y == 4);
    gsize count = 0;
    gfloat *values = gst_drm_tensor_meta_dup_float32(meta, 0, 0, &count, nullptr);
    fail_unless(Numbers(values, values + count) == Numbers({0, 1, 2, 255}));
    g_free(values);
  }
  gst_buffer_unref(copy);
}
GST_END_TEST

gboolean transform(Fixture &f, GstBuffer *dest, GQuark type, gpointer data)
{
  return f.meta->meta.info->transform_func(dest, &f.meta->meta, f.buffer, type, data);
}

// 640x480 became 320x120: one pixel is two, or four, of the frame that the model saw.
GST_START_TEST(test_scaled)
{
  Fixture f;
  f.meta->placement = {128, 96, 0.2, 0.2, 0, 16};
  GstVideoInfo in, out;
  gst_video_info_set_format(&in, GST_VIDEO_FORMAT_NV12, 640, 480);
  gst_video_info_set_format(&out, GST_VIDEO_FORMAT_NV12, 320, 120);
  GstVideoMetaTransform scale{&in, &out};
  g_autoptr(GstBuffer) dest = gst_buffer_new();
  fail_unless(transform(f, dest, gst_video_meta_transform_scale_get_quark(), &scale));
  const GstDrmTensorPlacement &placed = gst_buffer_get_drm_tensor_meta(dest, "faces")->placement;
  fail_unless(std::abs(placed.scale_x - 0.4) < 1e-12 && std::abs(placed.scale_y - 0.8) < 1e-12);
  fail_unless(placed.offset_x == 0 && placed.offset_y == 16);
}
GST_END_TEST

GST_START_TEST(test_unknown_change)
{
  Fixture f;
  g_autoptr(GstBuffer) dest = gst_buffer_new();
  GstVideoInfo empty;
  gst_video_info_init(&empty);
  GstVideoMetaTransform scale{&empty, &empty};
  fail_if(transform(f, dest, g_quark_from_static_string("crop"), nullptr));
  fail_if(transform(f, dest, gst_video_meta_transform_scale_get_quark(), &scale));
  fail_unless(gst_buffer_get_drm_tensor_meta(dest, nullptr) == nullptr);
}
GST_END_TEST

// A scaler of GStreamer's own takes the meta along.
GST_START_TEST(test_videoscale)
{
  GstHarness *h = gst_harness_new_parse("videoscale ! capsfilter caps=video/x-raw,width=32,height=16");
  gst_harness_set_src_caps_str(h, "video/x-raw,format=GRAY8,width=64,height=64,framerate=1/1");
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, 64 * 64, nullptr);
  gst_buffer_memset(frame, 0, 0, 64 * 64);
  gst_buffer_add_drm_tensor_meta(frame, "faces");
  GstBuffer *scaled = gst_harness_push_and_pull(h, frame);
  GstDrmTensorMeta *meta = gst_buffer_get_drm_tensor_meta(scaled, "faces");
  fail_unless(meta != nullptr);
  fail_unless(meta->placement.scale_x == 2 && meta->placement.scale_y == 4);
  gst_buffer_unref(scaled);
  gst_harness_teardown(h);
}
GST_END_TEST

// No sync_file: refused, and closed all the same.
GST_START_TEST(test_no_fence)
{
  Fixture f;
  const int fd = memfd_create("tensor-test", MFD_CLOEXEC);
  GError *error = nullptr;
  fail_if(gst_drm_tensor_meta_add_acquire_fence(f.meta, fd, &error));
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_SYNC));
  g_clear_error(&error);
  fail_unless(fcntl(fd, F_GETFD) == -1, "the descriptor was not closed");
  fail_unless_equals_int(gst_drm_tensor_meta_dup_acquire_fence(f.meta), -1);
}
GST_END_TEST

GST_START_TEST(test_no_such_tensor)
{
  Fixture f;
  GError *error = nullptr;
  gsize count = 7;
  fail_unless(gst_drm_tensor_meta_dup_float32(f.meta, 1, 0, &count, &error) == nullptr && count == 0);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_LAYOUT));
  fail_unless_equals_string(error->message, "There is no tensor 1: the meta has 1.");
  g_clear_error(&error);
}
GST_END_TEST

// Somebody shrank the memory after the tensor was added.
GST_START_TEST(test_memory_made_smaller)
{
  Fixture f;
  gst_memory_resize(f.memory, 0, 3);
  GError *error = nullptr;
  fail_unless(gst_drm_tensor_meta_dup_float32(f.meta, 0, 0, nullptr, &error) == nullptr);
  fail_unless(g_error_matches(error, GST_DRM_ERROR, GST_DRM_ERROR_LAYOUT), "%s", error->message);
  g_clear_error(&error);
}
GST_END_TEST

GST_START_TEST(test_mistakes)
{
  Fixture f;
  g_autoptr(GstBuffer) second = gst_buffer_ref(f.buffer); // no longer writable
  EXPECT_CRITICAL(gst_buffer_add_drm_tensor_meta(f.buffer, "faces"));
  EXPECT_CRITICAL(gst_drm_tensor_meta_add_tensor(f.meta, nullptr, nullptr));
  const int fd = memfd_create("tensor-test", MFD_CLOEXEC);
  EXPECT_CRITICAL(gst_drm_tensor_meta_add_acquire_fence(nullptr, fd, nullptr));
  fail_unless(fcntl(fd, F_GETFD) == -1, "the descriptor was not closed");
}
GST_END_TEST

Suite *tensormeta_suite()
{
  Suite *suite = suite_create("tensormeta");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_values, 0, G_N_ELEMENTS(kValues));
  tcase_add_loop_test(tcase, test_refused, 0, G_N_ELEMENTS(kRefused));
  tcase_add_loop_test(tcase, test_copies, 0, G_N_ELEMENTS(kCopies));
  tcase_add_test(tcase, test_lookups);
  tcase_add_test(tcase, test_scaled);
  tcase_add_test(tcase, test_unknown_change);
  tcase_add_test(tcase, test_videoscale);
  tcase_add_test(tcase, test_no_fence);
  tcase_add_test(tcase, test_no_such_tensor);
  tcase_add_test(tcase, test_memory_made_smaller);
  tcase_add_test(tcase, test_mistakes);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(tensormeta)
