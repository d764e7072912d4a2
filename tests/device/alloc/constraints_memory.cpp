// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kind of memory that the box has, by constraints alone: allocated, checked, filled by one accessor and read by
// another, and in a pool.
#include "allocator_kinds.hpp"
#include "support/accessors.hpp"
#include "support/descriptors.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm::test;

constexpr guint32 kXr24 = 0x34325258; // DRM_FORMAT_XRGB8888

// An accessor of the memory of a row. The device of `device` is the display.
struct MemoryRow {
  const char *name;
  GstDrmPlacement kinds;
  const char *heap;
  bool device;
  std::vector<std::pair<guint32, guint64>> formats;
  GstDrmAllocatorKind kind; // that makes it
};

const MemoryRow kMemories[] = {
    {"any memory", GST_DRM_PLACEMENT_SYSTEM, nullptr, false, {{kXr24, 0}}, GST_DRM_ALLOCATOR_KIND_UDMABUF},
    {"any memory, NV12", GST_DRM_PLACEMENT_SYSTEM, nullptr, false, {{kNv12, 0}}, GST_DRM_ALLOCATOR_KIND_UDMABUF},
    {"the heap of the system", GST_DRM_PLACEMENT_NONE, "system", false, {{kNv12, 0}}, GST_DRM_ALLOCATOR_KIND_DMA_HEAP},
    {"memory of the display", GST_DRM_PLACEMENT_DEVICE, nullptr, true, {{kXr24, 0}}, GST_DRM_ALLOCATOR_KIND_DUMB},
    {"memory of the display, NV12", GST_DRM_PLACEMENT_DEVICE, nullptr, true, {{kNv12, 0}}, GST_DRM_ALLOCATOR_KIND_DUMB},
#if defined(HAVE_GBM)
    // the software driver knows no tiles, and takes the modifier of the list that it can make
    {"memory of the display, tiled or linear", GST_DRM_PLACEMENT_DEVICE, nullptr, true, {{kXr24, kXTiled}, {kXr24, 0}}, GST_DRM_ALLOCATOR_KIND_GBM},
#endif
};

Constraints accessor_of(const MemoryRow &row)
{
  const std::string node = row.device ? vkms_node() : "";
  return Accessor("camera", row.device ? node.c_str() : nullptr).formats(row.formats).size(640, 360).placement(row.kinds, row.heap);
}

void check_kind(GstBuffer *buffer, GstDrmAllocatorKind kind)
{
  GstAllocator *allocator = gst_buffer_peek_memory(buffer, 0)->allocator;
  fail_unless(GST_IS_DRM_ALLOCATOR(allocator));
  fail_unless_equals_int(gst_drm_allocator_get_kind(GST_DRM_ALLOCATOR(allocator)), kind);
}

GST_START_TEST(test_picture_in)
{
  const MemoryRow &row = kMemories[__i__];
  say(row.name);
  const Constraints camera = accessor_of(row);
  // videobuf2-core.c, __vb2_buf_mem_alloc(): a plane is PAGE_ALIGN (length); rows as amdgpu_gem_align_pitch() has them
  const Constraints v4l2 = Accessor("v4l2").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 256).set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 4096);
  const Constraints agreed = agree({camera.get(), v4l2.get()});
  const Buffers buffers = allocate(agreed.get(), 2);
  for (guint i = 0; i < 2; ++i) {
    check_kind(nth(buffers, i), row.kind);
    check_planes(nth(buffers, i), gst_buffer_get_drm_constraints(nth(buffers, i)));
    check_meets(nth(buffers, i), camera.get());
    check_meets(nth(buffers, i), v4l2.get());
    write_and_read(nth(buffers, i));
  }
  const Constraints elsewhere = Accessor("isp").placement(GST_DRM_PLACEMENT_NONE, "nowhere");
  check_unmet(nth(buffers, 0), elsewhere.get(), GST_DRM_ERROR_CONFLICT, "asks for memory of the heap nowhere");
  const Constraints other = Accessor("gpu", "/dev/dri/renderD999").placement(GST_DRM_PLACEMENT_DEVICE);
  check_unmet(nth(buffers, 0), other.get(), GST_DRM_ERROR_CONFLICT, "asks for memory of its device");
}
GST_END_TEST

GST_START_TEST(test_bytes_in)
{
  const MemoryRow &row = kMemories[__i__];
  say(row.name);
  const std::string node = row.device ? vkms_node() : "";
  const char *device = row.device ? node.c_str() : nullptr;
  const Constraints raw = Accessor("dma", device).type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, 100001).placement(row.kinds, row.heap);
  const Constraints model = Accessor("npu", device).set(GST_DRM_CONSTRAINT_TENSOR_TYPE, GST_DRM_TENSOR_TYPE_INT8).dims({1, 224, 224, 3}).set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64).placement(row.kinds, row.heap);
  for (const GstDrmConstraints *asked : {raw.get(), model.get()}) {
    const Constraints agreed = agree({asked});
    const Buffers buffers = allocate(agreed.get());
    fail_unless_equals_uint64(gst_buffer_get_size(nth(buffers, 0)), gst_drm_constraints_get_size(agreed.get()));
    check_meets(nth(buffers, 0), asked);
    write_and_read(nth(buffers, 0));
  }
}
GST_END_TEST

GST_START_TEST(test_pool_in)
{
  const MemoryRow &row = kMemories[__i__];
  say(row.name);
  const unsigned before = count_fds();
  {
    const Constraints camera = accessor_of(row);
    GError *error = nullptr;
    GstBufferPool *pool = gst_drm_buffer_pool_new_for_constraints(agree({camera.get()}).get(), &error);
    fail_unless(pool && !error, "%s", error ? error->message : "no error");
    fail_unless(gst_buffer_pool_set_active(pool, TRUE));
    for (int i = 0; i < 3; ++i) {
      GstBuffer *buffer = nullptr;
      fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
      check_kind(buffer, row.kind);
      check_meets(buffer, camera.get());
      gst_buffer_unref(buffer);
    }
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
  fail_unless(count_fds() == before, "%s", text_of_fds().c_str());
}
GST_END_TEST

GST_START_TEST(test_descriptors_run_out)
{
  const MemoryRow &row = kMemories[__i__];
  say(row.name);
  const Constraints camera = accessor_of(row);
  const Constraints agreed = agree({camera.get()});
  allocate(agreed.get());
  const unsigned before = count_fds();
  for (const unsigned left : {0U, 1U, 3U, 8U, 20U}) {
    const FewDescriptors few(left);
    GError *error = nullptr;
    fail_if(gst_drm_constraints_allocate(agreed.get(), 100, &error));
    fail_unless(error && error->domain == GST_DRM_ERROR);
    say(error->message);
    fail_unless(std::string(error->message).find("EMFILE") != std::string::npos, "%s", error->message);
    g_clear_error(&error);
    GstBufferPool *pool = gst_drm_buffer_pool_new_for_constraints(agreed.get(), &error);
    fail_unless((pool == nullptr) == (error != nullptr));
    gst_clear_object(&pool);
    g_clear_error(&error);
  }
  fail_unless(count_fds() == before, "%s", text_of_fds().c_str());
}
GST_END_TEST

GST_START_TEST(test_8k)
{
  const Constraints camera = Accessor("camera").formats({{kNv12, 0}}).size(7680, 4320).placement(GST_DRM_PLACEMENT_SYSTEM);
  const Constraints gpu = Accessor("gpu").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 256);
  const Buffers buffers = allocate(agree({camera.get(), gpu.get()}).get());
  check_meets(nth(buffers, 0), gpu.get());
  check_planes(nth(buffers, 0), gst_buffer_get_drm_constraints(nth(buffers, 0)));
}
GST_END_TEST

// The CPU cannot rely on a device's own memory, so what was agreed on is another.
GST_START_TEST(test_device_and_cpu)
{
  const std::string node = vkms_node();
  const Constraints display = Accessor("display", node.c_str()).formats({{kXr24, 0}}).size(64, 64).placement(static_cast<GstDrmPlacement>(GST_DRM_PLACEMENT_DEVICE | GST_DRM_PLACEMENT_SYSTEM));
  const Constraints painter = Accessor("painter").set(GST_DRM_CONSTRAINT_CPU_ACCESS, GST_DRM_ACCESS_WRITE);
  const Buffers buffers = allocate(agree({display.get(), painter.get()}).get());
  check_kind(nth(buffers, 0), GST_DRM_ALLOCATOR_KIND_UDMABUF);
  check_meets(nth(buffers, 0), display.get());
}
GST_END_TEST

Suite *constraints_memory_suite()
{
  Suite *suite = suite_create("memory by constraints");
  TCase *tcase = tcase_create("box");
  suite_add_tcase(suite, tcase);
  const int n = static_cast<int>(G_N_ELEMENTS(kMemories));
  tcase_add_loop_test(tcase, test_picture_in, 0, n);
  tcase_add_loop_test(tcase, test_bytes_in, 0, n);
  tcase_add_loop_test(tcase, test_pool_in, 0, n);
  tcase_add_loop_test(tcase, test_descriptors_run_out, 0, n);
  tcase_add_test(tcase, test_8k);
  tcase_add_test(tcase, test_device_and_cpu);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(constraints_memory)
