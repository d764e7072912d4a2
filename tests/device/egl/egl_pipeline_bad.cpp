// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps and frames that no driver must see, in the whole element: each one is a single error in
// words, nothing stays behind, and the element takes good frames afterwards.
#include <functional>

#include <drm_fourcc.h>
#include <fcntl.h>
#include <unistd.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/video/video.h>

#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"
#include "support/open_fds.hpp"

namespace gstdrm::test {
namespace {

constexpr unsigned kWidth = 66;
constexpr unsigned kHeight = 50;
constexpr std::uint32_t kNv12 = DRM_FORMAT_NV12;

std::string settings()
{
  return "mode=import zero-copy=require";
}

// --- caps ----------------------------------------------------------------------------------------

struct CapsRow {
  const char *name;
  const char *drm_format;
  int width, height;
  std::initializer_list<const char *> parts; // of the message
};
const CapsRow kCaps[] = {
    {"a modifier that is not listed",
     "XR24:0x0100000000000001",
     66,
     50,
     {"takes", "XR24", "INTEL_X_TILED"}},
    {"a fourcc that is not listed", "ZZZZ", 66, 50, {"takes", "ZZZZ"}},
    {"a compressed layout", "NV12:0x0810000000000001", 66, 50, {"takes", "NV12"}},
    {"wider than a texture", "XR24", 40000, 16, {"40000x16", "has more than 16384 pixels"}},
    {"higher than a texture", "XR24", 16, 40000, {"16x40000", "has more than 16384 pixels"}},
};

} // namespace

// The driver is asked for no image: what it lists is the answer.
GST_START_TEST(test_bad_caps)
{
  if (!imports_here())
    return;
  const CapsRow &row = kCaps[__i__];
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, kNv12, kWidth, kHeight, {});
  EglPipeline stream(through_rgba(settings()));
  stream.play();
  const Refusing counting({});
  stream.push(frame, dma_drm_caps(row.drm_format, row.width, row.height));
  fail_if(stream.pull(), "%s", row.name);
  const std::string said = stream.outcome();
  say(said);
  for (const char *part : row.parts)
    fail_unless(contains(said, part), "%s: no %s in '%s'", row.name, part, said.c_str());
  fail_unless_equals_int(image_requests(), 0);
}
GST_END_TEST

namespace {

// --- frames --------------------------------------------------------------------------------------

GstMemory *dmabuf_of(int fd, gsize bytes)
{
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  return gst_dmabuf_allocator_alloc(allocator.get(), fd, bytes);
}

// A descriptor that somebody closed behind GStreamer's back.
GstMemory *closed(int fd, gsize bytes)
{
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 900); // nobody gets this number meanwhile
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  GstMemory *memory =
      gst_fd_allocator_alloc(allocator.get(), copy, bytes, GST_FD_MEMORY_FLAG_DONT_CLOSE);
  ::close(copy);
  return memory;
}

GstMemory *pipe_end(int, gsize bytes)
{
  int ends[2];
  fail_unless(::pipe2(ends, O_CLOEXEC) == 0);
  ::close(ends[1]);
  return dmabuf_of(ends[0], bytes);
}

GstMemory *null_device(int, gsize bytes)
{
  return dmabuf_of(::open("/dev/null", O_RDWR | O_CLOEXEC), bytes);
}

GstMemory *good(int fd, gsize bytes)
{
  return dmabuf_of(::fcntl(fd, F_DUPFD_CLOEXEC, 0), bytes);
}

struct Layout {
  guint n_planes = 2;
  gsize offset[4] = {};
  gint stride[4] = {};
};

struct FrameRow {
  const char *name;
  GstMemory *(*memory)(int fd, gsize bytes);
  void (*change)(Layout &layout, gsize bytes);
  const char *part; // of the message
};
const FrameRow kFrames[] = {
    {"a descriptor that was closed", closed, [](Layout &, gsize) {}, "plane 0"},
    {"a pipe", pipe_end, [](Layout &, gsize) {}, "neither a dma-buf"},
    {"/dev/null", null_device, [](Layout &, gsize) {}, "neither a dma-buf"},
    {"one plane of two", good, [](Layout &layout, gsize) { layout.n_planes = 1; }, "plane"},
    {"three planes of two", good,
     [](Layout &layout, gsize) {
       layout.n_planes = 3;
       layout.offset[2] = layout.offset[1];
       layout.stride[2] = layout.stride[1];
     },
     "plane"},
    {"a plane outside of its buffer", good,
     [](Layout &layout, gsize bytes) { layout.offset[1] = bytes; }, "plane 1"},
    {"rows beyond the end", good, [](Layout &layout, gsize) { layout.stride[1] = 1 << 20; },
     "plane 1"},
    {"rows that are too short", good, [](Layout &layout, gsize) { layout.stride[0] = 8; },
     "plane 0"},
    {"rows that run upwards", good, [](Layout &layout, gsize) { layout.stride[0] = -66; },
     "plane 0"},
};

GstPtr<GstBuffer> bad_buffer(const FrameRow &row, const PatternFrame &frame)
{
  const FrameLayout &from = frame.layout();
  Layout layout;
  for (std::size_t i = 0; i < from.n_planes; i++) {
    layout.offset[i] = from.planes[i].offset_bytes;
    layout.stride[i] = static_cast<gint>(from.planes[i].stride_bytes);
  }
  const gsize bytes = from.planes[0].object.size_bytes;
  row.change(layout, bytes);
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), row.memory(from.planes[0].fd, bytes));
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_NV12,
                                 kWidth, kHeight, layout.n_planes, layout.offset, layout.stride);
  return buffer;
}

} // namespace

GST_START_TEST(test_bad_frames)
{
  if (!imports_here())
    return;
  const FrameRow &row = kFrames[__i__];
  const std::string caps = dma_drm_caps("NV12", kWidth, kHeight, ",colorimetry=bt601");
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, kNv12, kWidth, kHeight, {});
  frame.fill(2);
  EglPipeline stream(through_rgba(settings()));
  stream.play();
  (void)stream.pass(frame, caps); // caps, proof and cache are there
  const unsigned requests = [&] {
    const Refusing counting({});
    const auto buffer = bad_buffer(row, frame);
    (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()),
                                  gst_buffer_ref(buffer.get()));
    fail_if(stream.pull(), "%s", row.name);
    return image_requests();
  }();
  const std::string said = stream.outcome();
  say(said);
  fail_unless(contains(said, row.part), "%s: no %s in '%s'", row.name, row.part, said.c_str());
  fail_unless_equals_int(requests, 0);
  stream.stop();
  stream.forget_failure();
  const unsigned fds = count_fds();
  stream.play();
  fail_unless(rgba_distance(stream.pass(frame, caps).get(), frame, {}) <= 1, "%s", row.name);
  stream.stop();
  for (int i = 0; count_fds() > fds; i++) { // the GL thread ends on its own
    fail_unless(i < 100000, "%s: %u descriptors, %u before", row.name, count_fds(), fds);
    g_usleep(100);
  }
}
GST_END_TEST

namespace {

const std::string kPlainNv12 =
    "video/x-raw,format=NV12,width=66,height=50,framerate=30/1,colorimetry=bt601";

struct SystemMemoryRow {
  const char *name;
  const char *settings;
  std::string caps;
  const char *target;
  const char *reason; // with its advice, which ends the message
};
const SystemMemoryRow kSystemMemory[] = {
    {"mode=import", "mode=import", kPlainNv12, "2D",
     "mode=import forbids a copy. Set mode=auto, or put dmabufupload in front."},
    {"downstream takes no copy", "", kPlainNv12, "external-oes",
     "no texture that it could be copied to. Have downstream take texture-target=2D, or put "
     "dmabufupload in front."},
    {"memory:DMABuf caps", "", dma_drm_caps("NV12", kWidth, kHeight, ",colorimetry=bt601"), "2D",
     "has other memory. Have upstream send DMA buffers, or plain video/x-raw caps."},
};

} // namespace

// A frame that is no dma-buf, where it cannot be copied: why, and one piece of advice.
GST_START_TEST(test_system_memory)
{
  if (!imports_here())
    return;
  const SystemMemoryRow &row = kSystemMemory[__i__];
  EglPipeline stream("appsrc name=in format=time caps=\"" + row.caps +
                     "\" ! egldmabufupload name=u " + row.settings +
                     " ! video/x-raw(memory:GLMemory),texture-target=" + row.target +
                     " ! appsink name=out sync=false");
  stream.play();
  (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()),
                                gst_buffer_new_allocate(nullptr, kWidth * kHeight * 2, nullptr));
  fail_if(stream.pull(), "%s", row.name);
  const std::string said = stream.outcome();
  say(said);
  fail_unless(said.size() > std::string(row.reason).size() && said.ends_with(row.reason), "%s: %s",
              row.name, said.c_str());
}
GST_END_TEST

namespace {

struct ErrorRow {
  int error;
  const char *name;
  const char *meaning;
};
const ErrorRow kErrors[] = {
    {0x3002, "EGL_BAD_ACCESS (0x3002)", "does not support the stride or the offset"},
    {0x3003, "EGL_BAD_ALLOC (0x3003)", "do not suit the hardware"},
    {0x3004, "EGL_BAD_ATTRIBUTE (0x3004)", "an attribute is not known"},
    {0x3009, "EGL_BAD_MATCH (0x3009)", "does not support the format or the modifier"},
    {0x300c, "EGL_BAD_PARAMETER (0x300c)", "list of attributes is incomplete"},
    {0x3001, "EGL_NOT_INITIALIZED (0x3001)", "the display was terminated"},
    {0x4321, "0x4321", "eglCreateImageKHR() says"},
};

} // namespace

// Each error of an import reaches the user with its name, its meaning and every plane.
GST_START_TEST(test_errors_in_words)
{
  if (!imports_here())
    return;
  const ErrorRow &row = kErrors[__i__];
  PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, kNv12, kWidth, kHeight, {});
  EglPipeline stream(drawn(settings(), ",texture-target=external-oes"));
  stream.play();
  const Refusing refusing([](const ImageRequest &) { return true; }, row.error);
  stream.push(frame, dma_drm_caps("NV12", kWidth, kHeight));
  fail_if(stream.pull());
  const std::string said = stream.outcome();
  say(said);
  for (const char *part : {row.name, row.meaning, "NV12", "66x50", "plane 0: fd ", "plane 1: fd ",
                           "offset ", "stride ", "bytes", "llvmpipe", "Mesa"})
    fail_unless(contains(said, part), "%s: no %s in '%s'", row.name, part, said.c_str());
}
GST_END_TEST

void add_bad_input(Suite *suite)
{
  TCase *tcase = add_case(suite, "bad input");
  tcase_add_loop_test(tcase, test_bad_caps, 0, G_N_ELEMENTS(kCaps));
  tcase_add_loop_test(tcase, test_bad_frames, 0, G_N_ELEMENTS(kFrames));
  tcase_add_loop_test(tcase, test_system_memory, 0, G_N_ELEMENTS(kSystemMemory));
  tcase_add_loop_test(tcase, test_errors_in_words, 0, G_N_ELEMENTS(kErrors));
}

} // namespace gstdrm::test
