// SPDX-License-Identifier: LGPL-2.1-or-later
// What the CPU copies in place of an import that the driver refuses, and what it does not: tiles,
// memory that it cannot map, and frames whose rows are as the driver wants them.
#include <drm_fourcc.h>
#include <fcntl.h>

#include <gst/allocators/gstdmabuf.h>
#include <gst/app/gstappsrc.h>
#include <gst/drm/drm.h>
#include <gst/gl/gl.h>
#include <gst/video/video.h>

#include "egl_picture.hpp"
#include "egl_pipeline.hpp"
#include "egl_refusing.hpp"

namespace gstdrm::test {
namespace {

// as radeonsi does
bool refuses_rows(const ImageRequest &request)
{
  for (const int pitch : request.pitches)
    if (pitch % 256 != 0)
      return true;
  return false;
}

} // namespace

// The proof finds out, and the copy takes over before the first frame: announced once, with the
// reason.
GST_START_TEST(test_refused_proof_copies)
{
  if (!imports_here())
    return;
  const Refusing refusing(refuses_xr24);
  const Picture picture;
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  for (int i = 0; i < 3; i++)
    fail_unless(
        rgba_distance(stream.pass(picture.frame, Picture::xr24()).get(), picture.frame, {}) <= 1);
  fail_unless_equals_uint64(stream.stat("copies"), 3);
  fail_unless_equals_uint64(stream.stat("imports"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 1);
  const std::string reason = stream.copy_reason();
  fail_unless_equals_string(reason.c_str(),
                            "the OpenGL driver refused a test import of the format and size");
  const std::string said = stream.notices();
  say(said);
  fail_unless(contains(said, "refused a test import"), "%s", said.c_str());
  fail_unless(said.find('\n') + 1 == said.size(), "said more than once: %s", said.c_str());
}
GST_END_TEST

// Only the driver knows what an implicit modifier stands for. The CPU would read tiles as rows.
GST_START_TEST(test_implicit_is_not_copied)
{
  if (!imports_here())
    return;
  list_no_modifiers(true);
  const std::string caps = "video/x-raw(memory:DMABuf),format=BGRx,framerate=30/1,width=" +
                           std::to_string(Picture::kWidth) +
                           ",height=" + std::to_string(Picture::kHeight);
  Picture first;
  Picture second;
  EglPipeline stream(through("", "RGBA", "RGBA"));
  stream.play();
  fail_unless(rgba_distance(stream.pass(first.frame, caps).get(), first.frame, {}) <= 1);
  const Refusing refusing(refuses_xr24);
  stream.push(second.frame, caps);
  fail_if(stream.pull());
  const std::string said = stream.outcome();
  say(said);
  for (const char *part : {"XR24", "llvmpipe", "EGL_BAD"})
    fail_unless(contains(said, part), "no %s in '%s'", part, said.c_str());
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
}
GST_END_TEST

// A driver that lists no modifiers gets linear frames without one.
constexpr const char *kLinearCaps[] = {
    "video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=(string)NV12",
    "video/x-raw(memory:DMABuf),format=NV12",
    "video/x-raw,format=NV12",
};

GST_START_TEST(test_driver_without_modifiers)
{
  if (!imports_here())
    return;
  list_no_modifiers(true);
  const std::string caps = std::string(kLinearCaps[__i__]) +
                           ",framerate=30/1,width=" + std::to_string(Picture::kWidth) +
                           ",height=" + std::to_string(Picture::kHeight);
  const Picture picture(DRM_FORMAT_NV12);
  EglPipeline stream(through("", "NV12", "NV12"));
  stream.play();
  for (int i = 0; i < 3; i++)
    check_planes(stream.pass(picture.frame, caps).get(), picture.frame);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
}
GST_END_TEST

// A driver that lists modifiers, and frames of a producer that knows none.
struct ImplicitRow {
  const char *settings;
  std::uint64_t imports, copies;
  const char *error; // a part of it; "": none
};

const ImplicitRow kImplicit[] = {
    {"implicit-modifier=linear", 1, 0, ""},
    {"implicit-modifier=linear mode=copy", 0, 3, ""},
    {"implicit-modifier=driver", 1, 0, ""},
    {"implicit-modifier=driver mode=copy", 0, 0, "implicit-modifier=linear"}, // the CPU knows no layout
    {"", 0, 0, "implicit-modifier=linear"},
    {"implicit-modifier=refuse", 0, 0, "implicit-modifier=refuse forbids"},
};

GST_START_TEST(test_frames_without_a_modifier)
{
  if (!imports_here())
    return;
  const ImplicitRow &row = kImplicit[__i__];
  const std::string caps =
      "video/x-raw(memory:DMABuf),format=NV12,framerate=30/1,width=" +
      std::to_string(Picture::kWidth) + ",height=" + std::to_string(Picture::kHeight);
  const Picture picture(DRM_FORMAT_NV12);
  EglPipeline stream(through(row.settings, "NV12", "NV12"));
  stream.play();
  if (*row.error) {
    stream.push(picture.frame, caps);
    fail_if(stream.pull());
    const std::string said = stream.outcome();
    fail_unless(contains(said, row.error), "'%s': %s", row.settings, said.c_str());
  } else {
    for (int i = 0; i < 3; i++)
      check_planes(stream.pass(picture.frame, caps).get(), picture.frame);
  }
  fail_unless_equals_uint64(stream.stat("imports"), row.imports);
  fail_unless_equals_uint64(stream.stat("copies"), row.copies);
}
GST_END_TEST

namespace {

// The frame's memory through another descriptor.
GstPtr<GstBuffer> opened_again(const PatternFrame &frame, int flags)
{
  auto buffer = frame.buffer();
  const std::string path = "/proc/self/fd/" + std::to_string(frame.layout().planes[0].fd);
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  fail_unless(fd >= 0, "%s", path.c_str());
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  const gsize bytes = gst_buffer_get_size(buffer.get());
  gst_buffer_replace_all_memory(buffer.get(),
                                gst_dmabuf_allocator_alloc(allocator.get(), fd, bytes));
  return buffer;
}

} // namespace

// A copy that fails tells why the frame was to be copied, also long after the driver's refusal.
GST_START_TEST(test_copy_fails_after_a_refusal)
{
  if (!imports_here())
    return;
  const PatternFrame frame(GST_DRM_ALLOCATOR_KIND_MEMFD, DRM_FORMAT_XRGB8888, Picture::kWidth,
                           Picture::kHeight, {});
  EglPipeline stream(
      "appsrc name=in format=time caps=\"" + Picture::xr24() +
      "\" ! egldmabufupload name=u prove=false ! "
      "video/x-raw(memory:GLMemory),texture-target=2D ! appsink name=out sync=false");
  stream.play();
  const Refusing refusing(refuses_xr24);
  const auto push = [&](int flags) {
    (void)gst_app_src_push_buffer(GST_APP_SRC(stream.element("in").get()),
                                  opened_again(frame, flags).release());
    return stream.pull();
  };
  for (int i = 0; i < 3; i++)
    fail_unless(push(O_RDWR), "%s", stream.outcome().c_str());
  fail_unless_equals_uint64(stream.stat("copies"), 3);
  fail_if(push(O_WRONLY)); // cannot be mapped for reading
  const std::string said = stream.outcome();
  say(said);
  for (const char *part :
       {"map the frame for reading", "It was to be copied because", "eglCreateImage", "EGL_BAD"})
    fail_unless(contains(said, part), "no %s in '%s'", part, said.c_str());
}
GST_END_TEST

// A producer that knows nothing of the rows that the driver wants: from its first frame on the CPU
// copies, and says so.
GST_START_TEST(test_rows_of_another_producer)
{
  if (!imports_here())
    return;
  const Refusing refusing(refuses_rows);
  const Picture padded(DRM_FORMAT_NV12, 256);
  const Picture tight(DRM_FORMAT_NV12);
  EglPipeline stream(through("", "NV12", "NV12"));
  stream.play();
  for (int i = 0; i < 2; i++)
    check_planes(stream.pass(padded.frame, Picture::nv12()).get(), padded.frame);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("imports"), 1);
  for (int i = 0; i < 2; i++)
    check_planes(stream.pass(tight.frame, Picture::nv12()).get(), tight.frame);
  fail_unless_equals_uint64(stream.stat("copies"), 2);
  fail_unless(contains(stream.notices(), "copied by the CPU"));
}
GST_END_TEST

// Rows that the driver wants are in the answer to the allocation query, and a producer that reads
// it pads its rows, where 640 bytes of NV12 would have been refused.
GST_START_TEST(test_row_alignment)
{
  if (!imports_here())
    return;
  const Refusing refusing(refuses_rows);
  EglPipeline stream("videotestsrc num-buffers=10 ! video/x-raw,format=NV12,width=640,height=32 ! "
                     "dmabufupload ! video/x-raw(memory:DMABuf),format=DMA_DRM ! identity name=i ! "
                     "egldmabufupload name=u mode=import zero-copy=require ! "
                     "video/x-raw(memory:GLMemory),format=NV12 ! gldownload ! "
                     "video/x-raw,format=NV12 ! appsink name=out sync=false");
  stream.play();
  fail_unless(stream.pull(), "%s", stream.outcome().c_str());
  const auto pad =
      GstPtr<GstPad>::adopt(gst_element_get_static_pad(stream.element("u").get(), "sink"));
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
  const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), TRUE));
  fail_unless(gst_pad_query(pad.get(), query.get()));
  guint index = 0;
  fail_unless(gst_query_find_allocation_meta(query.get(), GST_VIDEO_META_API_TYPE, &index));
  const GstStructure *rows = nullptr;
  gst_query_parse_nth_allocation_meta(query.get(), index, &rows);
  guint mask = 0;
  fail_unless(rows && gst_structure_get_uint(rows, "stride-align0", &mask));
  fail_unless_equals_int(mask, 255);
  while (stream.pull()) {
  }
  stream.play_to_end();
  fail_unless_equals_uint64(stream.stat("frames"), 10);
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("fallbacks"), 0);
}
GST_END_TEST

// DMA buffers under plain caps, as sources and decoders of GStreamer 1.22 send them, are imported.
constexpr const char *kPlainFormats[] = {"NV12", "I420", "RGBA", "BGRx"};

GST_START_TEST(test_plain_dmabufs)
{
  if (!imports_here())
    return;
  const std::string caps =
      std::string("video/x-raw,width=64,height=48,format=") + kPlainFormats[__i__];
  const EglPipeline stream("videotestsrc num-buffers=20 ! " + caps + " ! dmabufupload ! " + caps +
                           " ! egldmabufupload name=u ! glcolorconvert ! fakesink");
  gst_element_set_state(stream.bin(), GST_STATE_PLAYING);
  stream.play_to_end();
  fail_unless_equals_uint64(stream.stat("copies"), 0);
  fail_unless_equals_uint64(stream.stat("frames"), 20);
  fail_unless(stream.stat("import-hits") >= 10, "%d imports",
              static_cast<int>(stream.stat("imports")));
}
GST_END_TEST

namespace {

GstPtr<GstBuffer> in_system_memory(const PatternFrame &frame)
{
  const GstPtr<GstBuffer> dmabuf = frame.buffer();
  GstMapInfo map;
  fail_unless(gst_buffer_map(dmabuf.get(), &map, GST_MAP_READ));
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_new_memdup(map.data, map.size));
  gst_buffer_unmap(dmabuf.get(), &map);
  (void)gst_buffer_copy_into(copy.get(), dmabuf.get(), GST_BUFFER_COPY_META, 0, G_MAXSIZE);
  return copy;
}

} // namespace

// Plain caps do not say where a frame is: each one goes the way of its memory, in whatever order
// they come, and after a change of size as well.
GST_START_TEST(test_plain_frames_of_both_memories)
{
  if (!imports_here())
    return;
  EglPipeline stream(through("", "NV12", "NV12"));
  stream.play();
  const auto pass = [&](const PatternFrame &frame, bool is_dmabuf) {
    const std::string text =
        "video/x-raw,format=NV12,framerate=30/1,width=" + std::to_string(frame.layout().width) +
        ",height=" + std::to_string(frame.layout().height);
    const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
    const auto sample = GstPtr<GstSample>::adopt(
        gst_sample_new(is_dmabuf ? frame.buffer().get() : in_system_memory(frame).get(), caps.get(),
                       nullptr, nullptr));
    (void)gst_app_src_push_sample(GST_APP_SRC(stream.element("in").get()), sample.get());
    const GstPtr<GstSample> out = stream.pull();
    fail_unless(out, "%s", stream.outcome().c_str());
    check_planes(out.get(), frame);
  };
  unsigned imported = 0;
  unsigned copied = 0;
  for (const std::uint32_t height : {48U, 32U, 64U}) {
    PatternFrame frame(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_NV12, 64, height, {});
    for (const bool is_dmabuf : {true, true, false, true, false, false}) {
      frame.fill(imported + copied);
      pass(frame, is_dmabuf);
      (is_dmabuf ? imported : copied)++;
    }
  }
  fail_unless_equals_uint64(stream.stat("imports") + stream.stat("import-hits"), imported);
  fail_unless_equals_uint64(stream.stat("imports"), 3);
  fail_unless_equals_uint64(stream.stat("copies"), copied);
  const std::string reason = stream.copy_reason();
  fail_unless_equals_string(reason.c_str(), "system memory");
}
GST_END_TEST

namespace {

// Textures that upstream made go on as they are, also where others came before and come afterwards.
constexpr const char *kGlSources[] = {
    "gltestsrc num-buffers=3 ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! "
    "egldmabufupload name=u zero-copy=require ! ",
    "videotestsrc num-buffers=3 ! glupload ! video/x-raw(memory:GLMemory),format=I420 ! egldmabufupload name=u "
    "mode=import ! ",
    "concat name=c "
    "gltestsrc num-buffers=2 ! video/x-raw(memory:GLMemory),format=RGBA,width=64,height=48 ! c. "
    "videotestsrc num-buffers=2 ! video/x-raw,format=RGBA,width=32,height=32 ! c. "
    "gltestsrc num-buffers=2 ! video/x-raw(memory:GLMemory),format=RGBA,width=96,height=48 ! c. "
    "c. ! egldmabufupload name=u ! ",
};

} // namespace

GST_START_TEST(test_textures_pass)
{
  std::string description = kGlSources[__i__];
  const bool has_frames = __i__ == 2;
  EglPipeline stream(description + "appsink name=out sync=false");
  stream.play();
  int count = 0;
  while (const auto sample = stream.pull()) {
    fail_unless(gst_is_gl_memory(gst_buffer_peek_memory(gst_sample_get_buffer(sample.get()), 0)));
    count++;
  }
  stream.play_to_end();
  fail_unless_equals_int(count, has_frames ? 6 : 3);
  fail_unless_equals_uint64(stream.stat("copies"), has_frames ? 2 : 0);
  fail_unless_equals_uint64(stream.stat("imports"), 0);
  fail_unless_equals_uint64(stream.stat("draws"), 0);
}
GST_END_TEST

void add_copies(Suite *suite)
{
  TCase *tcase = add_case(suite, "copies of what is refused");
  tcase_add_test(tcase, test_refused_proof_copies);
  tcase_add_test(tcase, test_implicit_is_not_copied);
  tcase_add_loop_test(tcase, test_driver_without_modifiers, 0, G_N_ELEMENTS(kLinearCaps));
  tcase_add_loop_test(tcase, test_frames_without_a_modifier, 0, G_N_ELEMENTS(kImplicit));
  tcase_add_test(tcase, test_copy_fails_after_a_refusal);
  tcase_add_test(tcase, test_rows_of_another_producer);
  tcase_add_test(tcase, test_row_alignment);
  tcase = add_case(suite, "plain caps");
  tcase_add_loop_test(tcase, test_plain_dmabufs, 0, G_N_ELEMENTS(kPlainFormats));
  tcase_add_test(tcase, test_plain_frames_of_both_memories);
  tcase = add_case(suite, "textures");
  tcase_add_loop_test(tcase, test_textures_pass, 0, G_N_ELEMENTS(kGlSources));
}

} // namespace gstdrm::test
