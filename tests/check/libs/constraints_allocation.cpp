// SPDX-License-Identifier: LGPL-2.1-or-later
// From constraints to buffers and back: what is allocated by a result, what a buffer says of it, and what a reader of a
// buffer can check. The memory of a real kernel is in tests/device/alloc/constraints_memory.cpp.
#include "support/accessors.hpp"
#include "support/descriptors.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm::test;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint32 kRg24 = 0x34324752;

// --- the calls of a buffer allocation, in their order ----------------------------------------------------------------

// Two accessors of 128 KiB: a list each, reconciled, allocated, handed on with its list, written and read.
GST_START_TEST(test_raw_buffer_call_by_call)
{
  const Constraints producer = Accessor("producer").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, 128 * 1024).set(GST_DRM_CONSTRAINT_BASE_ALIGN, 4096).set(GST_DRM_CONSTRAINT_CPU_ACCESS, GST_DRM_ACCESS_WRITE);
  const Constraints consumer = Accessor("consumer").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_CPU_ACCESS, GST_DRM_ACCESS_READ);
  const Constraints agreed = agree({producer.get(), consumer.get()});
  const Buffers buffers = allocate(agreed.get(), 3); // any number of objects of one list
  for (guint i = 0; i < 3; ++i) {
    GstBuffer *buffer = nth(buffers, i);
    fail_unless_equals_uint64(gst_buffer_get_size(buffer), 128 * 1024);
    const GstDrmConstraints *kept = gst_buffer_get_drm_constraints(buffer);
    fail_unless(kept && gst_drm_constraints_is_reconciled(kept));
    fail_unless_equals_uint64(gst_drm_constraints_get_size(kept), 128 * 1024);
    check_meets(buffer, producer.get());
    check_meets(buffer, consumer.get());
    check_meets(buffer, agreed.get());
    write_and_read(buffer);
  }
}
GST_END_TEST

GST_START_TEST(test_reconcile_and_allocate_in_one_call)
{
  const Constraints camera = Accessor("camera").formats({{kNv12, 0}}).size(642, 480);
  const Constraints display = Accessor("display").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64);
  GError *error = nullptr;
  GstDrmConflict *conflict = nullptr;
  const Buffers buffers(gst_drm_constraints_reconcile_and_allocate(accessors({camera.get(), display.get()}).get(), 2, &conflict, &error));
  fail_unless(buffers && !conflict && !error);
  fail_unless_equals_int(buffers->len, 2);
  check_planes(nth(buffers, 1), gst_buffer_get_drm_constraints(nth(buffers, 1)));

  // a conflict is an error with its text, and says the rest as an object
  const Constraints other = Accessor("encoder").size(640, 480);
  fail_if(gst_drm_constraints_reconcile_and_allocate(accessors({camera.get(), other.get()}).get(), 1, &conflict, &error));
  const std::unique_ptr<GstDrmConflict, ConstraintsDeleter> why(conflict);
  g_autofree gchar *text = gst_drm_conflict_to_string(why.get());
  check_error(g_steal_pointer(&error), GST_DRM_ERROR_CONFLICT, text);
  fail_if(gst_drm_constraints_reconcile_and_allocate(accessors({camera.get(), other.get()}).get(), 1, nullptr, nullptr));
}
GST_END_TEST

// --- pictures --------------------------------------------------------------------------------------------------------

struct PictureRow {
  const char *name;
  guint32 fourcc;
  guint width, height;
  guint64 stride_align, offset_align, size_align, least_stride;
};

const PictureRow kPictures[] = {
    {"nobody asks for anything", kNv12, 642, 480, 0, 0, 0, 0},
    // amdgpu_gem.c, amdgpu_gem_align_pitch(): 256 pixels of 1 byte, 64 of 4 bytes
    {"amdgpu: rows of 256 bytes", kNv12, 640, 480, 256, 0, 0, 0},
    {"amdgpu: rows of 256 bytes, 4 bytes a pixel", kXr24, 641, 481, 256, 0, 0, 0},
    // i915_gem_create.c, i915_gem_dumb_create(): ALIGN (width * cpp, 64)
    {"i915: rows of 64 bytes", kXr24, 641, 480, 64, 0, 0, 0},
    // rockchip_drm_gem.c, rockchip_gem_dumb_create(): "align to 64 bytes since Mali requires it"
    {"rockchip: rows of 64 bytes, NV12", kNv12, 1366, 768, 64, 0, 0, 0},
    // videobuf2-core.c, __vb2_buf_mem_alloc(): a plane is PAGE_ALIGN (length)
    {"V4L2: planes of whole pages", kNv12, 640, 360, 64, 4096, 4096, 0},
    {"odd height", kNv12, 641, 479, 64, 4096, 0, 0},
    {"rows that a codec pads to 2048 bytes", kNv12, 1920, 1080, 0, 0, 0, 2048},
    {"three bytes a pixel, rows that end within a pixel", kRg24, 641, 480, 64, 0, 0, 0},
    {"huge pages", kXr24, 640, 480, 0, 0, 2 << 20, 0},
    {"8K", kNv12, 7680, 4320, 256, 4096, 0, 0},
};

Constraints picture(const PictureRow &row)
{
  return Accessor("camera").formats({{row.fourcc, 0}}).size(row.width, row.height);
}

Constraints aligned(const PictureRow &row)
{
  Accessor device("device");
  if (row.stride_align)
    std::move(device).set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, row.stride_align);
  if (row.offset_align)
    std::move(device).set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, row.offset_align);
  if (row.size_align)
    std::move(device).set(GST_DRM_CONSTRAINT_SIZE_ALIGN, row.size_align);
  if (row.least_stride)
    std::move(device).range(GST_DRM_CONSTRAINT_STRIDE, row.least_stride, G_MAXUINT32);
  return device;
}

GST_START_TEST(test_picture)
{
  const PictureRow &row = kPictures[__i__];
  say(row.name);
  const Constraints camera = picture(row);
  const Constraints device = aligned(row);
  const Constraints agreed = agree({camera.get(), device.get()});
  const Buffers buffers = allocate(agreed.get());
  GstBuffer *buffer = nth(buffers, 0);
  check_planes(buffer, agreed.get());
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_set_format(&info, row.fourcc, 0, row.width, row.height, nullptr));
  check_meets(buffer, device.get(), &info);
  check_meets(buffer, camera.get()); // what the buffer carries says the format
  GstDrmFrame frame;
  fail_unless(gst_drm_frame_from_buffer(&frame, buffer, &info, nullptr));
}
GST_END_TEST

GST_START_TEST(test_the_buffer_has_one_format_of_several)
{
  const Constraints camera = Accessor("camera").formats({{kXr24, 0}, {kNv12, 0}}).size(64, 64);
  const Buffers buffers = allocate(agree({camera.get()}).get());
  const GstDrmConstraints *kept = gst_buffer_get_drm_constraints(nth(buffers, 0));
  g_autoptr(GstDrmFormatSet) formats = gst_drm_constraints_get_formats(kept);
  fail_unless_equals_int(gst_drm_format_set_get_size(formats), 1);
  fail_unless_equals_int(gst_buffer_get_video_meta(nth(buffers, 0))->n_planes, gst_drm_constraints_get_n_planes(kept));
}
GST_END_TEST

// --- what is no picture ----------------------------------------------------------------------------------------------

GST_START_TEST(test_tensor)
{
  const Constraints model = Accessor("model").type(GST_DRM_BUFFER_TYPE_TENSOR).set(GST_DRM_CONSTRAINT_TENSOR_TYPE, GST_DRM_TENSOR_TYPE_FLOAT32).dims({1, 3, 7, 5});
  const Constraints npu = Accessor("npu").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64);
  const Constraints agreed = agree({model.get(), npu.get()});
  const Buffers buffers = allocate(agreed.get());
  GstBuffer *buffer = nth(buffers, 0);
  fail_unless(gst_buffer_get_video_meta(buffer) == nullptr);
  fail_unless_equals_uint64(gst_buffer_get_size(buffer), 3 * 7 * 64);
  const GstDrmConstraints *kept = gst_buffer_get_drm_constraints(buffer);
  guint64 stride = 0;
  const guint64 strides[] = {3 * 7 * 64, 7 * 64, 64, 4};
  for (guint i = 0; i < 4; ++i) {
    fail_unless(gst_drm_constraints_get_plane(kept, i, nullptr, &stride));
    fail_unless_equals_uint64(stride, strides[i]);
  }
  write_and_read(buffer);
  check_meets(buffer, model.get());
  check_meets(buffer, npu.get());

  const Constraints wider = Accessor("dsp").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 128).type(GST_DRM_BUFFER_TYPE_TENSOR).set(GST_DRM_CONSTRAINT_TENSOR_TYPE, GST_DRM_TENSOR_TYPE_FLOAT32).dims({1, 3, 7, 5});
  check_unmet(buffer, wider.get(), GST_DRM_ERROR_CONFLICT, "stride-align");
  const Constraints bytes = Accessor("dsp").set(GST_DRM_CONSTRAINT_TENSOR_TYPE, GST_DRM_TENSOR_TYPE_INT8).dims({1, 3, 7, 5});
  check_unmet(buffer, bytes.get(), GST_DRM_ERROR_CONFLICT, "tensor-type");
}
GST_END_TEST

GST_START_TEST(test_array)
{
  const Constraints detector = Accessor("detector").set(GST_DRM_CONSTRAINT_ARRAY_ELEMENT, 20).set(GST_DRM_CONSTRAINT_ARRAY_CAPACITY, 100);
  const Constraints dsp = Accessor("dsp").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 32);
  const Buffers buffers = allocate(agree({detector.get(), dsp.get()}).get());
  fail_unless_equals_uint64(gst_buffer_get_size(nth(buffers, 0)), 3200);
  write_and_read(nth(buffers, 0));
  check_meets(nth(buffers, 0), detector.get());
  const Constraints more = Accessor("tracker").set(GST_DRM_CONSTRAINT_ARRAY_ELEMENT, 20).set(GST_DRM_CONSTRAINT_ARRAY_CAPACITY, 200);
  check_unmet(nth(buffers, 0), more.get(), GST_DRM_ERROR_CONFLICT, "array-capacity");
}
GST_END_TEST

GST_START_TEST(test_pyramid)
{
  const Constraints scaler = Accessor("scaler").formats({{kNv12, 0}}).size(640, 480).set(GST_DRM_CONSTRAINT_PYRAMID_LEVELS, 4).set(GST_DRM_CONSTRAINT_PYRAMID_SCALE, 32768);
  const Constraints tracker = Accessor("tracker").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 64).set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 4096);
  const Constraints agreed = agree({scaler.get(), tracker.get()});
  const Buffers buffers = allocate(agreed.get());
  GstBuffer *buffer = nth(buffers, 0);
  fail_unless_equals_int(gst_drm_constraints_get_n_planes(gst_buffer_get_drm_constraints(buffer)), 8);
  fail_unless_equals_int(gst_buffer_get_video_meta(buffer)->n_planes, 2); // of the largest level
  check_planes(buffer, agreed.get());
  write_and_read(buffer);
  check_meets(buffer, scaler.get());
}
GST_END_TEST

// --- a result is final -----------------------------------------------------------------------------------------------

GST_START_TEST(test_a_result_is_final)
{
  const Constraints camera = Accessor("camera").formats({{kNv12, 0}}).size(640, 480);
  const Constraints agreed = agree({camera.get()});
  const Constraints copy(gst_drm_constraints_copy(agreed.get()));
  const Buffers buffers = allocate(agreed.get());
  auto *kept = const_cast<GstDrmConstraints *>(gst_buffer_get_drm_constraints(nth(buffers, 0)));
  fail_if(gst_drm_constraints_is_reconciled(camera.get()));
  const guint64 dims[] = {1};
  for (GstDrmConstraints *result : {agreed.get(), copy.get(), kept}) {
    fail_unless(gst_drm_constraints_is_reconciled(result));
    EXPECT_CRITICAL(fail_if(gst_drm_constraints_set_number(result, GST_DRM_CONSTRAINT_WIDTH, 32)));
    EXPECT_CRITICAL(fail_if(gst_drm_constraints_set_range(result, GST_DRM_CONSTRAINT_STRIDE, 1, 2)));
    EXPECT_CRITICAL(gst_drm_constraints_set_formats(result, nullptr));
    EXPECT_CRITICAL(gst_drm_constraints_set_placement(result, GST_DRM_PLACEMENT_DEVICE, nullptr));
    EXPECT_CRITICAL(gst_drm_constraints_set_dims(result, dims, 1));
    guint64 width = 0;
    fail_unless(gst_drm_constraints_get_range(result, GST_DRM_CONSTRAINT_WIDTH, &width, nullptr));
    fail_unless_equals_uint64(width, 640);
    fail_unless_equals_uint64(gst_drm_constraints_get_size(result), 640 * 480 * 3 / 2);
    fail_if(gst_drm_constraints_get_placement(result, nullptr, nullptr));
  }
  // to ask for more, reconcile the result with more
  const Constraints display = Accessor("display").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 512);
  fail_unless_equals_uint64(gst_drm_constraints_get_size(agree({agreed.get(), display.get()}).get()), 1024 * 480 * 3 / 2);
}
GST_END_TEST

GST_START_TEST(test_copies_of_a_buffer)
{
  const Constraints camera = Accessor("camera").formats({{kXr24, 0}}).size(64, 64);
  const Buffers buffers = allocate(agree({camera.get()}).get());
  GstBuffer *shallow = gst_buffer_copy(nth(buffers, 0));
  GstBuffer *deep = gst_buffer_copy_deep(nth(buffers, 0));
  GstBuffer *part = gst_buffer_copy_region(nth(buffers, 0), GST_BUFFER_COPY_ALL, 0, 4096);
  fail_unless(gst_buffer_get_drm_constraints(shallow) == gst_buffer_get_drm_constraints(nth(buffers, 0)), "the same memory");
  fail_unless(gst_buffer_get_drm_constraints(deep) == nullptr, "other memory, of which nobody agreed on anything");
  fail_unless(gst_buffer_get_drm_constraints(part) == nullptr, "not the picture");
  gst_buffer_unref(shallow);
  gst_buffer_unref(deep);
  gst_buffer_unref(part);
}
GST_END_TEST

// --- what cannot be allocated ----------------------------------------------------------------------------------------

struct RefusalRow {
  const char *name;
  std::function<Constraints()> asked;
  guint n;
  GstDrmError code;
  const char *words;
  bool reconciled = true;
};

Constraints small()
{
  return Accessor("camera").formats({{kXr24, 0}}).size(64, 64);
}

const RefusalRow kRefusals[] = {
    {"constraints of one accessor", small, 1, GST_DRM_ERROR_ALLOCATION, "gst_drm_constraints_reconcile()", false},
    {"no buffers", small, 0, GST_DRM_ERROR_ALLOCATION, "ask for 1 to 65536"},
    {"more buffers than can be counted", small, G_MAXUINT, GST_DRM_ERROR_ALLOCATION, "ask for 1 to 65536"},
    {"more buffers than were agreed on", [] { return Accessor("decoder").formats({{kXr24, 0}}).size(64, 64).range(GST_DRM_CONSTRAINT_BUFFERS, 1, 4); }, 5, GST_DRM_ERROR_CONFLICT, "ask for 1 to 4"},
    {"nothing was stated", [] { return Accessor("camera"); }, 1, GST_DRM_ERROR_ALLOCATION, "buffer-type, such as raw"},
    {"no format", [] { return Accessor("camera").size(64, 64); }, 1, GST_DRM_ERROR_ALLOCATION, "formats any"},
    {"a range of widths", [] { return Accessor("camera").formats({{kXr24, 0}}).range(GST_DRM_CONSTRAINT_WIDTH, 16, 4096).set(GST_DRM_CONSTRAINT_HEIGHT, 64); }, 1, GST_DRM_ERROR_ALLOCATION, "16 to 4096 pixels"},
    {"more bytes than the machine has", [] { return Accessor("dma").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, G_GUINT64_CONSTANT(1) << 47); }, 1, GST_DRM_ERROR_ALLOCATION, "bytes of memory that this machine has"},
    {"a size that overflows with their number", [] { return Accessor("dma").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, G_GUINT64_CONSTANT(1) << 47); }, 65536, GST_DRM_ERROR_ALLOCATION, "ask for less"},
    {"a heap that does not exist", [] { return Accessor("isp").formats({{kXr24, 0}}).size(64, 64).placement(GST_DRM_PLACEMENT_NONE, "nowhere"); }, 1, GST_DRM_ERROR_DEVICE, "/dev/dma_heap/nowhere"},
    // an i.MX VPU without an IOMMU (coda, Hantro) reads contiguous memory alone: drivers/media/platform/chips-media/coda
    {"contiguous memory where no heap has it", [] { return Accessor("vpu").formats({{kNv12, 0}}).size(64, 64).placement(GST_DRM_PLACEMENT_CONTIGUOUS); }, 1, GST_DRM_ERROR_DEVICE, "contiguous"},
    {"memory of a device that does not exist", [] { return Accessor("gpu", "/dev/dri/renderD999").formats({{kXr24, 0}}).size(64, 64).placement(GST_DRM_PLACEMENT_DEVICE); }, 1, GST_DRM_ERROR_DEVICE, "/dev/dri/renderD999"},
    {"tiles in system memory", [] { return Accessor("gpu").formats({{kXr24, G_GUINT64_CONSTANT(0x0100000000000001)}}).size(64, 64).placement(GST_DRM_PLACEMENT_SYSTEM); }, 1, GST_DRM_ERROR_ALLOCATION, "LINEAR only"},
    {"a start at a multiple of 1 MiB", [] { return Accessor("dsp").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, 4096).set(GST_DRM_CONSTRAINT_BASE_ALIGN, 1 << 20); }, 1, GST_DRM_ERROR_CONFLICT, "a multiple of 1048576"},
    {"more planes apart than an allocator makes", [] { return Accessor("isp").formats({{kNv12, 0}}).size(64, 64).set(GST_DRM_CONSTRAINT_FDS, 2); }, 1, GST_DRM_ERROR_CONFLICT, "descriptors"},
};

GST_START_TEST(test_refused)
{
  const RefusalRow &row = kRefusals[__i__];
  say(row.name);
  const unsigned before = count_fds();
  const Constraints asked = row.asked();
  const Constraints agreed = row.reconciled ? agree({asked.get()}) : Constraints(gst_drm_constraints_copy(asked.get()));
  GError *error = nullptr;
  fail_if(gst_drm_constraints_allocate(agreed.get(), row.n, &error));
  check_error(g_steal_pointer(&error), row.code, row.words);
  fail_if(gst_drm_constraints_allocate(agreed.get(), row.n, nullptr));
  if (row.n == 1) {
    fail_if(gst_drm_buffer_pool_new_for_constraints(agreed.get(), &error));
    check_error(error, row.code, row.words);
  }
  fail_unless_equals_int(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_descriptors_run_out)
{
  const Constraints camera = small();
  const Constraints agreed = agree({camera.get()});
  allocate(agreed.get()); // what is opened once
  const unsigned before = count_fds();
  {
    FewDescriptors few(8);
    GError *error = nullptr;
    fail_if(gst_drm_constraints_allocate(agreed.get(), 100, &error));
    check_error(error, GST_DRM_ERROR_ALLOCATION, "EMFILE");
  }
  fail_unless_equals_int(count_fds(), before);
  allocate(agreed.get(), 16);
}
GST_END_TEST

// --- what a reader checks --------------------------------------------------------------------------------------------

struct CheckRow {
  const char *name;
  std::function<Constraints()> asked;
  const char *unmet; // words of the error; null: the buffer is as asked
  GstDrmError code = GST_DRM_ERROR_CONFLICT;
  bool with_info = true;
};

// Of NV12 of 640x480 with rows of 768 bytes, the second plane behind the first, in one memory.
const CheckRow kChecks[] = {
    {"nothing", [] { return Accessor("cpu"); }, nullptr},
    {"the format", [] { return Accessor("gpu").formats({{kNv12, 0}, {kXr24, 0}}); }, nullptr},
    {"another format", [] { return Accessor("display").formats({{kXr24, 0}}); }, "makes frames of NV12 (LINEAR), and display asks for XR24 (LINEAR). State formats"},
    {"a format, of a buffer that says none", [] { return Accessor("display").formats({{kNv12, 0}}); }, "give the GstDrmVideoInfo of its caps", GST_DRM_ERROR_FORMAT, false},
    {"sizes of a scaler", [] { return Accessor("scaler").range(GST_DRM_CONSTRAINT_WIDTH, 32, 4096).range(GST_DRM_CONSTRAINT_HEIGHT, 32, 4096); }, nullptr},
    {"a width that is too large", [] { return Accessor("scaler").range(GST_DRM_CONSTRAINT_WIDTH, 1, 320); }, "makes frames with a width of 640 pixels, and scaler asks for 320 pixels or less"},
    {"rows of 256 bytes", [] { return Accessor("amdgpu").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 256); }, nullptr},
    {"rows of 512 bytes", [] { return Accessor("gpu").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 512); }, "makes plane 0 with a stride of 768 bytes, and gpu asks for a multiple of 512. State stride-align"},
    {"at least 1024 bytes a row", [] { return Accessor("vpu").range(GST_DRM_CONSTRAINT_STRIDE, 1024, 8192); }, "makes rows of 768 bytes, and vpu asks for 1024 or more"},
    {"planes at pages", [] { return Accessor("v4l2").set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 4096); }, nullptr},
    {"planes at 64 KiB", [] { return Accessor("v4l2").set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 65536); }, "makes plane 1 at an offset of 368640 bytes, and v4l2 asks for a multiple of 65536"},
    {"one descriptor", [] { return Accessor("wayland").set(GST_DRM_CONSTRAINT_FDS, 1); }, nullptr},
    {"a descriptor for each plane", [] { return Accessor("v4l2").set(GST_DRM_CONSTRAINT_FDS, 2); }, "makes frames of 1 descriptors, and v4l2 asks for 2 or more"},
    {"one plane", [] { return Accessor("isp").set(GST_DRM_CONSTRAINT_PLANES, 1); }, "makes frames of 2 planes"},
    {"a larger buffer", [] { return Accessor("encoder").range(GST_DRM_CONSTRAINT_SIZE, 1 << 20, G_MAXUINT64); }, "bytes, and encoder asks for 1048576 or more"},
    {"system memory", [] { return Accessor("cpu").placement(GST_DRM_PLACEMENT_SYSTEM); }, nullptr},
    {"contiguous memory", [] { return Accessor("npu").placement(GST_DRM_PLACEMENT_CONTIGUOUS); }, "makes buffers in system memory, and npu asks for contiguous memory. State placement"},
    {"a heap", [] { return Accessor("isp").placement(GST_DRM_PLACEMENT_NONE, "reserved"); }, "asks for memory of the heap reserved"},
    {"reading and writing by the CPU", [] { return Accessor("cpu").set(GST_DRM_CONSTRAINT_CPU_ACCESS, GST_DRM_ACCESS_READ | GST_DRM_ACCESS_WRITE); }, nullptr},
    {"an alignment that is no power of two", [] { return Accessor("gpu").set(GST_DRM_CONSTRAINT_STRIDE_ALIGN, 48); }, "No buffer can be as gpu asks"},
    {"buffers that are held", [] { return Accessor("display").set(GST_DRM_CONSTRAINT_BUFFERS_HELD, 3); }, nullptr},
};

GST_START_TEST(test_meets)
{
  const CheckRow &row = kChecks[__i__];
  say(row.name);
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_set_format(&info, kNv12, 0, 640, 480, nullptr));
  const guint64 linear = 0;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, kNv12, 640, 480, &linear, 1, nullptr, nullptr, nullptr);
  const Constraints asked = row.asked();
  if (row.unmet)
    check_unmet(buffer, asked.get(), row.code, row.unmet, row.with_info ? &info : nullptr);
  else
    check_meets(buffer, asked.get(), row.with_info ? &info : nullptr);
  gst_buffer_unref(buffer);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_buffers_that_no_reader_can_use)
{
  const Constraints display = Accessor("display", "/dev/dri/card0").formats({{kXr24, 0}});
  const Constraints writer = Accessor("painter").set(GST_DRM_CONSTRAINT_PERMISSIONS, GST_DRM_ACCESS_WRITE);
  GstDrmVideoInfo info;
  fail_unless(gst_drm_video_info_set_format(&info, kXr24, 0, 64, 64, nullptr));

  GstBuffer *empty = gst_buffer_new();
  check_unmet(empty, writer.get(), GST_DRM_ERROR_LAYOUT, "no memory");
  gst_buffer_unref(empty);

  GstBuffer *system = gst_buffer_new_allocate(nullptr, 64 * 64 * 4, nullptr);
  check_unmet(system, display.get(), GST_DRM_ERROR_CONFLICT, "memory 0 without a descriptor, and display asks for a dma-buf", &info);
  gst_buffer_unref(system);

  const Constraints camera = small();
  const Buffers buffers = allocate(agree({camera.get()}).get());
  GstBuffer *buffer = nth(buffers, 0);
  check_meets(buffer, writer.get());
  GST_MINI_OBJECT_FLAG_SET(gst_buffer_peek_memory(buffer, 0), GST_MEMORY_FLAG_READONLY);
  check_unmet(buffer, writer.get(), GST_DRM_ERROR_CONFLICT, "memory 0 for reading only, and painter asks for writing");

  GstDrmVideoInfo larger;
  fail_unless(gst_drm_video_info_set_format(&larger, kXr24, 0, 128, 128, nullptr));
  check_unmet(buffer, display.get(), GST_DRM_ERROR_LAYOUT, "", &larger);
}
GST_END_TEST

// --- pools -----------------------------------------------------------------------------------------------------------

GstBufferPool *pool_of(const GstDrmConstraints *agreed)
{
  GError *error = nullptr;
  GstBufferPool *pool = gst_drm_buffer_pool_new_for_constraints(agreed, &error);
  fail_unless(pool && !error, "%s", error ? error->message : "no error");
  return pool;
}

struct PoolRow {
  const char *name;
  std::function<Constraints()> asked;
  const char *caps; // null: none
  guint64 size;
};

const PoolRow kPools[] = {
    {"pictures", [] { return Accessor("camera").formats({{kNv12, 0}}).size(640, 480).set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 65536).set(GST_DRM_CONSTRAINT_BUFFERS_HELD, 2).range(GST_DRM_CONSTRAINT_BUFFERS, 1, 3); }, "video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=640, height=480", 327680 + 640 * 240},
    {"raw memory", [] { return Accessor("dma").type(GST_DRM_BUFFER_TYPE_RAW).set(GST_DRM_CONSTRAINT_SIZE, 5000).set(GST_DRM_CONSTRAINT_BUFFERS_HELD, 2).range(GST_DRM_CONSTRAINT_BUFFERS, 1, 3); }, nullptr, 5000},
    {"tensors", [] { return Accessor("npu").set(GST_DRM_CONSTRAINT_TENSOR_TYPE, GST_DRM_TENSOR_TYPE_UINT8).dims({3, 10, 10}).set(GST_DRM_CONSTRAINT_BUFFERS_HELD, 2).range(GST_DRM_CONSTRAINT_BUFFERS, 1, 3); }, nullptr, 300},
};

GST_START_TEST(test_pool)
{
  const PoolRow &row = kPools[__i__];
  say(row.name);
  const Constraints asked = row.asked();
  const Constraints agreed = agree({asked.get()});
  GstBufferPool *pool = pool_of(agreed.get());
  GstStructure *config = gst_buffer_pool_get_config(pool);
  GstCaps *caps = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  fail_unless(gst_buffer_pool_config_get_params(config, &caps, &size, &min, &max));
  fail_unless((caps != nullptr) == (row.caps != nullptr));
  if (row.caps) {
    GstCaps *wanted = gst_caps_from_string(row.caps);
    fail_unless(gst_caps_can_intersect(caps, wanted), "%s", gst_caps_to_string(caps));
    gst_caps_unref(wanted);
  }
  fail_unless_equals_uint64(size, row.size);
  fail_unless_equals_int(min, 2);
  fail_unless_equals_int(max, 3);
  gst_structure_free(config);
  fail_unless(gst_buffer_pool_set_active(pool, TRUE));
  for (int round = 0; round < 3; ++round) {
    GstBuffer *buffers[3] = {};
    for (GstBuffer *&buffer : buffers) {
      fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
      fail_unless_equals_uint64(gst_buffer_get_size(buffer), row.size);
      fail_unless(gst_buffer_get_drm_constraints(buffer) != nullptr, "also when it came back");
      check_meets(buffer, asked.get());
      write_and_read(buffer);
    }
    for (GstBuffer *buffer : buffers)
      gst_buffer_unref(buffer);
  }
  GstStructure *stats = gst_drm_buffer_pool_get_stats(GST_DRM_BUFFER_POOL(pool));
  guint64 made = 0;
  fail_unless(gst_structure_get_uint64(stats, "allocations", &made));
  gst_structure_free(stats);
  fail_unless(made <= 4, "%" G_GUINT64_FORMAT " were made", made);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}
GST_END_TEST

// A pool with an allocator of one's own: the configuration has what was agreed on.
GST_START_TEST(test_pool_configured_with_constraints)
{
  const Constraints camera = Accessor("camera").formats({{kNv12, 0}}).size(640, 480);
  const Constraints v4l2 = Accessor("v4l2").set(GST_DRM_CONSTRAINT_OFFSET_ALIGN, 65536);
  const Constraints agreed = agree({camera.get(), v4l2.get()});
  GstDrmAllocator *allocator = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
  GstBufferPool *pool = gst_drm_buffer_pool_new(allocator);
  GstCaps *caps = gst_caps_from_string("video/x-raw(memory:DMABuf), format=DMA_DRM, drm-format=NV12, width=640, height=480");
  for (const GstDrmConstraints *constraints : {static_cast<const GstDrmConstraints *>(agreed.get()), static_cast<const GstDrmConstraints *>(camera.get())}) {
    GstStructure *config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, caps, 0, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_set_drm_constraints(config, constraints);
    const bool is_result = constraints == agreed.get();
    fail_unless_equals_int(gst_buffer_pool_set_config(pool, config), is_result);
    if (!is_result)
      continue;
    GstBuffer *buffer = nullptr;
    fail_unless(gst_buffer_pool_set_active(pool, TRUE));
    fail_unless(gst_buffer_pool_set_config(pool, gst_buffer_pool_get_config(pool)), "the configuration that it has");
    fail_unless_equals_int(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    check_meets(buffer, v4l2.get());
    fail_unless_equals_uint64(gst_buffer_get_video_meta(buffer)->offset[1], 327680);
    gst_buffer_unref(buffer);
    fail_unless(gst_buffer_pool_set_active(pool, FALSE));
  }
  gst_caps_unref(caps);
  gst_object_unref(pool);
  gst_object_unref(allocator);
}
GST_END_TEST

// --- allocators from elsewhere ---------------------------------------------------------------------------------------

// Makes XR24 of 64x64 as it is told, whatever it is asked for.
struct OddAllocator {
  GstDrmAllocator parent;
  GstDrmAllocator *bytes;
  guint64 modifier;
  guint width;
  gsize size;
  gint stride;
};

struct OddAllocatorClass {
  GstDrmAllocatorClass parent_class;
};

G_DEFINE_TYPE(OddAllocator, odd_allocator, GST_TYPE_DRM_ALLOCATOR)

GstBuffer *odd_alloc_frame(GstDrmAllocator *allocator, guint32, guint, guint height, const guint64 *, guint, const GstVideoAlignment *, guint64 *modifier, GError **)
{
  auto *self = reinterpret_cast<OddAllocator *>(allocator);
  GstBuffer *buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_allocator_alloc(GST_ALLOCATOR(self->bytes), self->size, nullptr));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {self->stride};
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, self->width, height, 1, offsets, strides);
  *modifier = self->modifier;
  return buffer;
}

void odd_allocator_finalize(GObject *object)
{
  gst_object_unref(reinterpret_cast<OddAllocator *>(object)->bytes);
  G_OBJECT_CLASS(odd_allocator_parent_class)->finalize(object);
}

void odd_allocator_class_init(OddAllocatorClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = odd_allocator_finalize;
  klass->parent_class.alloc_frame = odd_alloc_frame;
}

void odd_allocator_init(OddAllocator *self)
{
  self->bytes = gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr, nullptr);
}

struct ChoiceRow {
  const char *name;
  guint64 modifier;
  guint width;
  gsize size;
  gint stride;
  const char *words; // null: as it was asked
};

const ChoiceRow kChoices[] = {
    {"as it was asked", 0, 64, 64 * 256, 256, nullptr},
    {"a modifier that was not offered", G_GUINT64_CONSTANT(0x0100000000000001), 64, 64 * 256, 256, "none of LINEAR"},
    {"too little memory", 0, 64, 32 * 256, 256, "not sound"},
    {"rows that are too short", 0, 64, 64 * 256, 128, "not sound"},
};

GST_START_TEST(test_choice_of_an_allocator_from_elsewhere)
{
  const ChoiceRow &row = kChoices[__i__];
  say(row.name);
  auto *odd = static_cast<OddAllocator *>(g_object_new(odd_allocator_get_type(), nullptr));
  gst_object_ref_sink(odd);
  odd->modifier = row.modifier;
  odd->width = row.width;
  odd->size = row.size;
  odd->stride = row.stride;
  const guint64 linear = 0;
  GError *error = nullptr;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(GST_DRM_ALLOCATOR(odd), kXr24, 64, 64, &linear, 1, nullptr, nullptr, &error);
  if (row.words)
    check_error(error, GST_DRM_ERROR_LAYOUT, row.words);
  fail_unless((buffer == nullptr) == (row.words != nullptr));
  gst_clear_buffer(&buffer);
  gst_object_unref(odd);
}
GST_END_TEST

Suite *constraints_allocation_suite()
{
  Suite *suite = suite_create("from constraints to memory");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_raw_buffer_call_by_call);
  tcase_add_test(tcase, test_reconcile_and_allocate_in_one_call);
  tcase_add_loop_test(tcase, test_picture, 0, static_cast<int>(G_N_ELEMENTS(kPictures)));
  tcase_add_test(tcase, test_the_buffer_has_one_format_of_several);
  tcase_add_test(tcase, test_tensor);
  tcase_add_test(tcase, test_array);
  tcase_add_test(tcase, test_pyramid);
  tcase_add_test(tcase, test_a_result_is_final);
  tcase_add_test(tcase, test_copies_of_a_buffer);
  tcase_add_loop_test(tcase, test_refused, 0, static_cast<int>(G_N_ELEMENTS(kRefusals)));
  tcase_add_test(tcase, test_descriptors_run_out);
  tcase_add_loop_test(tcase, test_meets, 0, static_cast<int>(G_N_ELEMENTS(kChecks)));
  tcase_add_test(tcase, test_buffers_that_no_reader_can_use);
  tcase_add_loop_test(tcase, test_pool, 0, static_cast<int>(G_N_ELEMENTS(kPools)));
  tcase_add_test(tcase, test_pool_configured_with_constraints);
  tcase_add_loop_test(tcase, test_choice_of_an_allocator_from_elsewhere, 0, static_cast<int>(G_N_ELEMENTS(kChoices)));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(constraints_allocation)
