// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of memory:NVMM: which descriptions are taken, and that a frame goes on as it came.
#include "metisdmabufinfer.hpp"

#include "support/nvmm.hpp"

using namespace gstdrm::test;
using namespace gstdrm::test::infer;

namespace {

void fill(NvBufSurface *surface, std::uint8_t seed)
{
  write_surface(surface, [&](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i++)
      data[i] = static_cast<std::uint8_t>(seed + 40 * plane + 3 * row + 5 * i);
  });
}

// The same memory, description and descriptor; nothing is copied, and the descriptor stays open.
GST_START_TEST(test_untouched)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(nvmm_caps(kWidth, kHeight)), "%s", harness.last_error().c_str());
  NvBufSurface *surface = new_surface(kWidth, kHeight);
  fill(surface, 1);
  const NvBufSurface before = *surface;
  const NvBufSurfaceParams params = surface->surfaceList[0];
  GstBuffer *sent = nvmm_buffer(surface);
  GstMemory *memory = gst_buffer_peek_memory(sent, 0);
  for (int i = 0; i < 3; i++) {
    push(harness, gst_buffer_ref(sent));
    const auto got = pull(harness);
    check_tensors(got.get(), true);
    fail_unless_equals_int(static_cast<int>(gst_buffer_n_memory(got.get())), 1);
    fail_unless(gst_buffer_peek_memory(got.get(), 0) == memory, "another memory");
    fail_unless(memcmp(&before, surface, sizeof before) == 0, "the surface was changed");
    fail_unless(memcmp(&params, surface->surfaceList, sizeof params) == 0, "its list was changed");
  }
  const auto caps = harness.output_caps();
  fail_unless(gst_caps_is_equal(caps.get(), caps_of(nvmm_caps(kWidth, kHeight)).get()), "%s",
              text_of(caps.get()).c_str());
  // the fd is that of the description, known again by its dma-buf
  fail_unless_equals_uint64(harness.stat("imports"), 1);
  fail_unless_equals_uint64(harness.stat("import-hits"), 2);
  fail_unless_equals_uint64(harness.stat("copies"), 0);
  gst_buffer_unref(sent);
}
GST_END_TEST

// All that is needed lies in memory: a description that no library made is read as well.
GST_START_TEST(test_no_library)
{
  fail_unless(::dlopen("libnvbufsurface.so", RTLD_NOLOAD | RTLD_NOW) == nullptr);
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(nvmm_caps(kWidth, kHeight)));
  const auto frame = GstPtr<GstBuffer>::adopt(
      new_dmabuf_frame(test_kinds().front(), plain_caps("NV12", kWidth, kHeight)));
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame.get());
  NvBufSurfaceParams params{};
  params.width = kWidth;
  params.height = kHeight;
  params.colorFormat = NVBUF_COLOR_FORMAT_NV12_709;
  params.bufferDesc =
      static_cast<std::uint64_t>(gst_dmabuf_memory_get_fd(gst_buffer_peek_memory(frame.get(), 0)));
  params.planeParams.num_planes = 2;
  for (guint i = 0; i < 2; i++) {
    params.planeParams.pitch[i] = static_cast<std::uint32_t>(meta->stride[i]);
    params.planeParams.offset[i] = static_cast<std::uint32_t>(meta->offset[i]);
  }
  NvBufSurface surface{};
  surface.batchSize = 1;
  surface.memType = NVBUF_MEM_HANDLE;
  surface.surfaceList = &params;
  GstBuffer *buffer = gst_buffer_new_wrapped_full(GstMemoryFlags(0), &surface, sizeof surface, 0,
                                                  sizeof surface, nullptr, nullptr);
  push(harness, buffer);
  check_tensors(pull(harness).get(), true);
  fail_unless(::dlopen("libnvbufsurface.so", RTLD_NOLOAD | RTLD_NOW) == nullptr);
}
GST_END_TEST

struct SurfaceRow {
  const char *name;
  NvBufSurface *(*make)();
  const char *says[2];
};

NvBufSurface *changed(void (*change)(NvBufSurface &, NvBufSurfaceParams &))
{
  NvBufSurface *surface = new_surface(kWidth, kHeight);
  change(*surface, surface->surfaceList[0]);
  return surface;
}

const SurfaceRow kRefused[] = {
    {"RGBA", [] { return new_surface(kWidth, kHeight, NVBUF_COLOR_FORMAT_RGBA); }, {"colour format is 19 (RGBA), with 1 plane, and NV12 with 2", "nvvidconv"}},
    {"NV12 with 10 bits", [] { return new_surface(kWidth, kHeight, NVBUF_COLOR_FORMAT_NV12_10LE); }, {"colour format is 29 (NV12_10LE)", "NV12 with 2"}},
    {"NV21", [] { return new_surface(kWidth, kHeight, NVBUF_COLOR_FORMAT_NV21); }, {"colour format is 8 (NV21)", "NV12 with 2"}},
    {"block linear", [] { return new_surface(kWidth, kHeight, NVBUF_COLOR_FORMAT_NV12, 1, NVBUF_LAYOUT_BLOCK_LINEAR); }, {"block linear", "nvvidconv with bl-output=false"}},
    {"a batch of two", [] { return new_surface(kWidth, kHeight, NVBUF_COLOR_FORMAT_NV12, 2); }, {"a batch of 2 frames", "nvstreammux"}},
    {"no batch", [] { return changed([](NvBufSurface &s, NvBufSurfaceParams &) { s.batchSize = 0; }); }, {"a batch of 0 frames", "one is needed"}},
    {"no list", [] { return changed([](NvBufSurface &s, NvBufSurfaceParams &) { s.surfaceList = nullptr; }); }, {"names no frame", "NvBufSurface"}},
    {"CUDA memory", [] { return changed([](NvBufSurface &s, NvBufSurfaceParams &) { s.memType = NVBUF_MEM_CUDA_DEVICE; }); }, {"of type 2, which has no dma-buf", "nvbuf-memory-type=4"}},
    {"one plane", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.planeParams.num_planes = 1; }); }, {"6 (NV12), with 1 plane,", "NV12 with 2"}},
    {"three planes", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.planeParams.num_planes = 3; }); }, {"6 (NV12), with 3 planes,", "NV12 with 2"}},
    {"very many planes", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.planeParams.num_planes = 4000000000U; }); }, {"4000000000 planes", "NV12 with 2"}},
    {"another size", [] { return new_surface(kWidth + 2, kHeight); }, {"66x48 pixels, the caps say 64x48", "new caps"}},
    {"a number that no fd has", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.bufferDesc = 1ULL << 40; }); }, {"descriptor is 1099511627776", "bufferDesc"}},
    {"a closed fd", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.bufferDesc = 9999; }); }, {"9999", "has to keep the dma-buf open"}},
    {"a plane outside", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.planeParams.offset[1] = 1U << 30; }); }, {"plane 1: offset 1073741824", "has to describe the dma-buf as it is"}},
    {"rows too short", [] { return changed([](NvBufSurface &, NvBufSurfaceParams &p) { p.planeParams.pitch[0] = kWidth - 1; }); }, {"plane 0: stride 63", "has to describe the dma-buf as it is"}},
};

// One message each, and after a restart a good frame is taken again.
GST_START_TEST(test_refused)
{
  const SurfaceRow &row = kRefused[__i__];
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(nvmm_caps(kWidth, kHeight)));
  fail_unless_equals_int(gst_harness_push(harness.get(), nvmm_buffer(row.make())), GST_FLOW_ERROR);
  const std::vector<std::string> texts = harness.messages(GST_MESSAGE_ERROR);
  fail_unless_equals_int(static_cast<int>(texts.size()), 1);
  say(texts.front());
  fail_unless(texts.front().find("memory:NVMM cannot be used: ") != std::string::npos, "%s", row.name);
  for (const char *part : row.says)
    fail_unless(texts.front().find(part) != std::string::npos, "%s: '%s' does not say '%s'",
                row.name, texts.front().c_str(), part);
  gst_element_set_state(harness.element(), GST_STATE_NULL);
  gst_element_set_state(harness.element(), GST_STATE_PLAYING);
  gst_pad_push_event(harness.get()->srcpad, gst_event_new_stream_start("again"));
  fail_unless(harness.negotiate(nvmm_caps(kWidth, kHeight)));
  push(harness, nvmm_buffer(new_surface(kWidth, kHeight)));
  check_tensors(pull(harness).get(), true);
}
GST_END_TEST

GST_START_TEST(test_no_description)
{
  const Harness harness(element_with(""));
  fail_unless(harness.negotiate(nvmm_caps(kWidth, kHeight)));
  GstBuffer *buffer = nvmm_buffer(new_surface(kWidth, kHeight), 16);
  fail_unless_equals_int(gst_harness_push(harness.get(), buffer), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "16 bytes", "NvBufSurface");
}
GST_END_TEST

// The caps of another format, and a copy of memory that has none to be read.
GST_START_TEST(test_refused_caps)
{
  const Harness harness(element_with(""));
  fail_if(harness.negotiate(nvmm_caps(kWidth, kHeight, "RGBA")));
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "memory:NVMM", "RGBA");
}
GST_END_TEST

} // namespace

TCase *gstdrm::test::infer::nvmm_cases()
{
  TCase *tc = tcase_create("nvmm");
  tcase_add_test(tc, test_untouched);
  tcase_add_test(tc, test_no_library);
  tcase_add_loop_test(tc, test_refused, 0, G_N_ELEMENTS(kRefused));
  tcase_add_test(tc, test_no_description);
  tcase_add_test(tc, test_refused_caps);
  return tc;
}
