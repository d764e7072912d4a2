// SPDX-License-Identifier: LGPL-2.1-or-later
// What egldmabufupload does with each frame; what that costs is in egl_upload_costs.cpp. Real Mesa
// draws.
#include "egl_upload.hpp"

#include <atomic>
#include <thread>

#include <gst/drm/element/pixel_copy.hpp>

#include "support/crops.hpp"
#include "support/gl_count.hpp"
#include "support/held_frames.hpp"
#include "support/unfinished_frames.hpp"

GST_DEBUG_CATEGORY(gst_egl_dmabuf_upload_debug); // of the plugin

namespace {

using namespace gstdrm;
using namespace gstdrm::test;

void open_gl()
{
  gl = new Gl;
  fail_unless(gl->thread != nullptr, "no GL: %s", gl->problem.c_str());
}

void close_gl()
{
  HeldGlThread::let_go_of_last();
  delete std::exchange(gl, nullptr);
}

// The pixels of RGB frames as RGBA, told by the CPU's own copy.
void check_rgba(GstBuffer *out, const GstVideoInfo &gl_info, GstBuffer *in,
                const GstVideoInfo &info, int limit)
{
  GstVideoInfo rgba;
  gst_video_info_set_format(&rgba, GST_VIDEO_FORMAT_RGBA, static_cast<guint>(info.width),
                            static_cast<guint>(info.height));
  rgba.fps_n = info.fps_n;
  rgba.fps_d = info.fps_d;
  auto expected = GstPtr<GstBuffer>::adopt(gst_buffer_new_allocate(nullptr, rgba.size, nullptr));
  GstVideoFrame from;
  GstVideoFrame to;
  GstVideoFrame got;
  fail_unless(gst_video_frame_map(&from, &info, in, GST_MAP_READ));
  fail_unless(gst_video_frame_map(&to, &rgba, expected.get(), GST_MAP_WRITE));
  GstVideoConverter *converter = gst_video_converter_new(&info, &rgba, nullptr);
  gst_video_converter_frame(converter, &from, &to);
  gst_video_converter_free(converter);
  for (gsize i = 3; i < rgba.size && !GST_VIDEO_INFO_HAS_ALPHA(&info); i += 4)
    static_cast<guint8 *>(to.data[0])[i] = 255; // the converter hands the byte x on
  fail_unless(gst_video_frame_map(&got, &gl_info, out, GST_MAP_READ));
  int worst = 0;
  std::string where;
  for (int y = 0; y < info.height; y++) {
    const auto *a =
        static_cast<const guint8 *>(to.data[0]) + y * GST_VIDEO_FRAME_PLANE_STRIDE(&to, 0);
    const auto *b =
        static_cast<const guint8 *>(got.data[0]) + y * GST_VIDEO_FRAME_PLANE_STRIDE(&got, 0);
    for (int x = 0; x < info.width * 4; x++)
      if (std::abs(a[x] - b[x]) > worst) {
        worst = std::abs(a[x] - b[x]);
        where = "row " + std::to_string(y) + " byte " + std::to_string(x) + ": " +
                std::to_string(b[x]) + " for " + std::to_string(a[x]);
      }
  }
  gst_video_frame_unmap(&got);
  gst_video_frame_unmap(&to);
  gst_video_frame_unmap(&from);
  fail_unless(worst <= limit, "%s: %s", GST_VIDEO_INFO_NAME(&info), where.c_str());
}

struct Picture {
  const char *name;
  const char *format;
  int limit; // of what may differ
};
const Picture kPictures[] = {
    {"XR24", "BGRx", 0},
    {"AR24", "BGRA", 0},
    {"AB24", "RGBA", 0},
    {"XB24", "RGBx", 0},
};

// The colours are those of the frame, in the memory of the frame: what is written later is seen by
// whoever gets the buffer after that, though the texture and its memory are the same.
GST_START_TEST(test_pixels)
{
  const Picture &row = kPictures[__i__];
  const std::string plain = plain_caps(row.format, 320, 240);
  Frames frames(*gl, {plain});
  if (frames.is_external)
    return; // no framebuffer takes it; read by elements in egl_upload
  const auto frame = dmabuf(plain, 1);
  for (guint seed = 1; seed < 4; seed++) {
    gl->settle(); // the frame is back
    draw(frame.get(), frames.info, seed);
    const auto out = frames.upload(frame);
    check_rgba(out.get(), frames.gl_info, frame.get(), frames.info, row.limit);
  }
  fail_unless_equals_uint64(frames.stats.imports, 1);
}
GST_END_TEST

struct Part {
  const char *name;
  const char *format;
  Crop crop;
  unsigned imports;
  bool names_dma_drm = false;
};
const Part kParts[] = {
    {"from a line on", "BGRx", {0, 8, 64, 48}, 1},
    {"from a pixel on", "BGRx", {7, 8, 64, 48}, 1},
    // GL takes rows whole, and the last one would end beyond the memory
    {"to the end", "BGRx", {16, 16, 64, 48}, 0},
    {"to the end, where the frame's GstVideoMeta says DMA_DRM", "BGRx", {16, 16, 64, 48}, 0, true},
};

// videocrop of GStreamer 1.26 and decoders send a picture within a larger frame.
GST_START_TEST(test_parts)
{
  const Part &row = kParts[__i__];
  Frames frames(*gl, {plain_caps(row.format, 64, 48)});
  const auto frame = dmabuf(plain_caps(row.format, 80, 64), 3);
  add_crop(frame.get(), row.crop);
  const auto picture = visible_picture(frame.get(), frames.info);
  if (row.names_dma_drm)
    gst_buffer_get_video_meta(frame.get())->format = GST_DRM_VIDEO_FORMAT_DMA_DRM;
  const auto out = frames.upload(frame);
  fail_unless(static_cast<bool>(picture));
  check_rgba(out.get(), frames.gl_info, picture->get(), frames.info, 0);
  fail_if(gst_buffer_get_video_crop_meta(out.get()), "%s: cropped again", row.name);
  fail_unless_equals_uint64(frames.stats.imports, row.imports);
  fail_unless_equals_uint64(frames.stats.copies, 1 - row.imports);
}
GST_END_TEST

// A shallow copy, a region and a share of a frame are that frame: nothing is imported again.
GST_START_TEST(test_shares)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 5);
  auto share = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gst_buffer_append_memory(share.get(),
                           gst_memory_share(gst_buffer_peek_memory(frame.get(), 0), 0, -1));
  gst_buffer_copy_into(share.get(), frame.get(), GST_BUFFER_COPY_METADATA, 0, -1);
  const GstPtr<GstBuffer> same[] = {
      GstPtr<GstBuffer>::share(frame.get()), GstPtr<GstBuffer>::adopt(gst_buffer_copy(frame.get())),
      GstPtr<GstBuffer>::adopt(gst_buffer_copy_region(frame.get(), GST_BUFFER_COPY_ALL, 0, -1)),
      std::move(share)};
  for (const auto &one : same)
    check_rgba(frames.upload(one).get(), frames.gl_info, frame.get(), frames.info, 0);
  fail_unless_equals_uint64(frames.stats.imports, 1);
}
GST_END_TEST

// YUV plane by plane is the bytes themselves.
GST_START_TEST(test_planes)
{
  Frames frames(*gl, {kNv12, "NV12", egl::Shape::PerPlane});
  const auto frame = dmabuf(kNv12, 7);
  const auto out = frames.upload(frame);
  check_drawn(out.get(), frames.gl_info, 7);
}
GST_END_TEST

// Whoever writes into the output gets a copy, never the producer's memory.
GST_START_TEST(test_writers)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  auto out = GstPtr<GstBuffer>::adopt(gst_buffer_make_writable(frames.upload(frame).release()));
  GstMemory *shared = gst_buffer_peek_memory(out.get(), 0);
  if (__i__)
    frames.frames.end(); // the memory has one owner then
  fail_unless(GST_MEMORY_IS_READONLY(shared));
  GstMapInfo map;
  fail_if(gst_memory_map(shared, &map, GST_MAP_WRITE));
  fail_unless(gst_buffer_map(out.get(), &map, GST_MAP_WRITE));
  std::memset(map.data, 0, map.size);
  gst_buffer_unmap(out.get(), &map);
  fail_if(gst_buffer_peek_memory(out.get(), 0) == shared);
  check_drawn(frame.get(), frames.info, 1);
}
GST_END_TEST

// The frame goes back behind the last buffer that shows it, shallow copies among them, and not
// before GL has come to it.
GST_START_TEST(test_release)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  (void)frames.upload(frame); // the import's GstGLSyncMeta would end with a hop
  auto out = frames.upload(frame);
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_copy(out.get()));
  out.reset();
  gl->settle();
  fail_if(gst_buffer_is_writable(frame.get()), "a copy shows the frame, and it is given back");

  std::atomic<bool> may_go{false};
  gl->thread->run_later([&](bool) {
    while (!may_go)
      std::this_thread::yield();
  });
  copy.reset();
  const bool early = gst_buffer_is_writable(frame.get());
  may_go = true;
  gl->settle();
  fail_unless(gst_buffer_is_writable(frame.get()), "nobody has it any more");
  fail_if(early, "the frame is given back though GL has done nothing yet");
}
GST_END_TEST

// A GL thread that does nothing: frames are not collected for ever, and a flush ends the wait.
GST_START_TEST(test_stuck)
{
  Frames frames(*gl, {kXrgb});
  const auto frame = dmabuf(kXrgb, 1);
  (void)frames.upload(frame);
  gl->settle();
  HeldGlThread held(*gl);
  for (std::size_t i = 0; i < FrameReleases::kMaxWaiting; i++)
    (void)frames.upload(wrapped_anew(frame)); // dropped at once, and waits
  std::thread flush([&] { frames.frames.set_flushing(true); });
  const auto out = frames.upload(wrapped_anew(frame));
  flush.join();
  held.let_go();
  fail_if(out);
  gl->settle();
  frames.frames.set_flushing(false);
  fail_unless(frames.upload(frame));
}
GST_END_TEST

void count_end(gpointer count, GstMiniObject *) noexcept
{
  ++*static_cast<std::atomic<int> *>(count);
}

// 200 dma-bufs that each come once: what is kept of them is bounded, and is on no way the streaming
// thread's work.
GST_START_TEST(test_many)
{
  Frames frames(*gl, {plain_caps("BGRx", 64, 64)});
  std::atomic<int> ended{0};
  for (guint i = 0; i < 200; i++) {
    const auto out = frames.upload(dmabuf(plain_caps("BGRx", 64, 64), i));
    gst_mini_object_weak_ref(GST_MINI_OBJECT_CAST(gst_buffer_peek_memory(out.get(), 0)), count_end,
                             &ended);
  }
  gl->settle();
  fail_unless(ended > 200 - 40, "%d of 200 imports are gone", ended.load());
  frames.frames.end();
  gl->settle();
  fail_unless_equals_int(ended, 200);
}
GST_END_TEST

// Downstream keeps buffers beyond the stream and the context's other owners.
GST_START_TEST(test_kept)
{
  GstPtr<GstBuffer> out;
  const auto frame = dmabuf(kXrgb, 3);
  const unsigned fds = count_fds();
  {
    const Gl other;
    Frames frames(other, {kXrgb});
    out = frames.upload(frame);
    frames.frames.end();
    check_rgba(out.get(), frames.gl_info, frame.get(), frames.info, 0);
  }
  out.reset();
  while (!gst_buffer_is_writable(frame.get()))
    g_usleep(100); // the GL thread ends on its own
  (void)fds;
}
GST_END_TEST

// Metas that hold for the picture come along, those of the memory stay.
GST_START_TEST(test_metas)
{
  Frames frames(*gl, {kXrgb});
  auto frame = dmabuf(kXrgb, 1);
  GST_BUFFER_PTS(frame.get()) = 5 * GST_SECOND;
  GST_BUFFER_OFFSET(frame.get()) = 42;
  GST_BUFFER_FLAG_SET(frame.get(), GST_BUFFER_FLAG_DISCONT);
  gst_buffer_add_drm_sync_meta(frame.get());
  gst_buffer_add_video_region_of_interest_meta(frame.get(), "face", 1, 2, 3, 4);
  GstVideoCropMeta *crop = gst_buffer_add_video_crop_meta(frame.get());
  crop->x = 8;
  crop->width = 100;
  const auto out = frames.upload(frame);
  fail_unless_equals_uint64(GST_BUFFER_PTS(out.get()), 5 * GST_SECOND);
  fail_unless_equals_uint64(GST_BUFFER_OFFSET(out.get()), 42);
  fail_unless(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_DISCONT));
  fail_unless(gst_buffer_get_video_region_of_interest_meta_id(out.get(), 0) != nullptr);
  fail_unless_equals_int(gst_buffer_get_video_crop_meta(out.get())->x, 8);
  fail_unless(gst_buffer_get_drm_sync_meta(out.get()) == nullptr);
  fail_unless_equals_int(gst_buffer_get_n_meta(out.get(), GST_VIDEO_META_API_TYPE), 1);
  fail_unless_equals_int(gst_buffer_get_video_meta(out.get())->format, GST_VIDEO_FORMAT_RGBA);
}
GST_END_TEST

// --- fences, where the kernel makes them to order ------------------------------------------------

// A software renderer would read at any time, so the frame goes on when its device is done.
GST_START_TEST(test_acquire)
{
  Frames frames(*gl, {.plain = kXrgb, .imports = __i__ < 2});
  Timeline timeline;
  const auto frame = GstPtr<GstBuffer>::adopt(
      unfinished_frame(timeline, kXrgb, __i__ % 2 ? Kind::Implicit : Kind::Acquire));
  const Device device(timeline);
  const auto out = frames.upload(frame);
  fail_unless(out && device.done(), "the frame went on before its device was done");
  fail_unless_equals_uint64(frames.stats.waits, 1);
  (void)frames.upload(frame);
  fail_unless_equals_uint64(frames.stats.waits, 1); // what is over costs none
}
GST_END_TEST

// A device that never ends its frame: the wait ends with a flush.
GST_START_TEST(test_flush_ends_wait)
{
  Frames frames(*gl, {.plain = kXrgb, .imports = __i__ < 2});
  Timeline timeline;
  const auto frame = GstPtr<GstBuffer>::adopt(
      unfinished_frame(timeline, kXrgb, __i__ % 2 ? Kind::Implicit : Kind::Acquire));
  std::thread flush([&] { frames.frames.set_flushing(true); });
  const auto out = frames.upload(frame);
  flush.join();
  fail_if(out);
}
GST_END_TEST

// A producer that waits for release fences gets one with its frame; another one gets the frame when
// GL is done.
GST_START_TEST(test_release_fence)
{
  const bool takes = __i__ == 0;
  Frames frames(*gl, {.plain = kXrgb, .takes_release_fences = takes});
  const auto frame = dmabuf(kXrgb, 1);
  GstDrmSyncMeta *meta = gst_buffer_add_drm_sync_meta(frame.get());
  (void)frames.upload(frame);
  gl->settle();
  fail_unless(gst_buffer_is_writable(frame.get()));
  const UniqueFd fence(gst_drm_sync_meta_dup_release_fence(meta));
  fail_unless(static_cast<bool>(fence) == (takes && gl->thread->device()->has_native_fences()));
}
GST_END_TEST

struct Copied {
  const char *format;
  const char *gl_format;
};
const Copied kCopied[] = {{"BGRx", "RGBA"},
                          {"BGRA", "RGBA"},
                          {"RGBA", "RGBA"},
                          {"NV12", "NV12"},
                          {"P010_10LE", "P010_10LE"}};

// The CPU's way: counted, and said why.
GST_START_TEST(test_copy)
{
  const Copied &row = kCopied[__i__ / 2];
  const std::string plain = plain_caps(row.format, 322, 242);
  Frames frames(*gl, {.plain = plain, .gl_format = row.gl_format, .imports = false});
  for (guint seed = 1; seed < 4; seed++) {
    const auto frame =
        __i__ % 2 ? dmabuf(plain, seed) : GstPtr<GstBuffer>::adopt(new_frame(plain, seed));
    const auto out = frames.upload(frame);
    if (std::string("RGBA") == row.gl_format)
      check_rgba(out.get(), frames.gl_info, frame.get(), frames.info, 0);
    else
      check_drawn(out.get(), frames.gl_info, seed);
  }
  fail_unless_equals_uint64(frames.stats.copies, 3);
  fail_unless_equals_uint64(frames.stats.imports, 0);
}
GST_END_TEST

Suite *egl_upload_suite()
{
  Suite *suite = suite_create("egl_upload");
  TCase *copies = tcase_create("copies");
  tcase_add_checked_fixture(copies, open_gl, close_gl);
  tcase_add_loop_test(copies, test_copy, 0, 10);
  suite_add_tcase(suite, copies);
  {
    const Gl probe;
    if (!probe.refusal().empty()) {
      g_print("# no imports: %s\n", probe.refusal().c_str());
      return suite;
    }
  }
  TCase *imports = tcase_create("imports");
  tcase_add_checked_fixture(imports, open_gl, close_gl);
  tcase_add_loop_test(imports, test_pixels, 0, 4);
  tcase_add_loop_test(imports, test_parts, 0, G_N_ELEMENTS(kParts));
  tcase_add_test(imports, test_shares);
  tcase_add_test(imports, test_planes);
  tcase_add_loop_test(imports, test_writers, 0, 2);
  tcase_add_test(imports, test_release);
  tcase_add_test(imports, test_stuck);
  tcase_add_test(imports, test_many);
  tcase_add_test(imports, test_kept);
  tcase_add_test(imports, test_metas);
  const bool has_fences = ::access("/sys/kernel/debug/sync/sw_sync", W_OK) == 0;
  if (has_fences) {
    tcase_add_loop_test(imports, test_acquire, 0, 4);
    tcase_add_loop_test(imports, test_flush_ends_wait, 0, 4);
    tcase_add_loop_test(imports, test_release_fence, 0, 2);
  }
  add_cost_tests(imports);
  suite_add_tcase(suite, imports);
  if (has_fences)
    add_gpu_tests(suite);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gst_check_init(&argc, &argv);
  if (!count_gl()) {
    g_printerr("the calls of GL cannot be counted: there is no GL\n");
    return 1;
  }
  Suite *suite = egl_upload_suite();
  GST_OBJECT_FLAG_SET(Gl::display(), GST_OBJECT_FLAG_MAY_BE_LEAKED); // as long as the process
  return run_suite(suite);
}
