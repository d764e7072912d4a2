// SPDX-License-Identifier: LGPL-2.1-or-later
// Starting and stopping: nothing is left behind, and the display is as it was.
#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "kms_leave.hpp"
#include "kms_restarts.hpp"
#include "kms_state.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) // some ten times slower
constexpr unsigned kOpenCycles = 100;
constexpr unsigned kPlayCycles = 20;
#else
constexpr unsigned kOpenCycles = 1000;
constexpr unsigned kPlayCycles = 100;
#endif

std::uint32_t property_of(int fd, std::uint32_t crtc, const std::string &name)
{
  drmModeObjectProperties *list = drmModeObjectGetProperties(fd, crtc, DRM_MODE_OBJECT_CRTC);
  std::uint32_t id = 0;
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    if (property->name == name)
      id = list->props[i];
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
  ck_assert_msg(id, "no %s", name.c_str());
  return id;
}

void play_one_frame(Sink &sink, const GstVideoInfo &info)
{
  ck_assert(sink.set_caps(dma_drm_caps("NV12", 640, 480)));
  ck_assert_int_eq(sink.push(to_dmabuf(info, make_noise(info, 1).get(), Shape::Tight).release()), GST_FLOW_OK);
  sink.eos();
  ck_assert_uint_eq(sink.stat("shown"), 1);
}

} // namespace

GST_START_TEST(test_open_cycles_leave_nothing)
{
  Sink sink;
  ck_assert(sink.set_state(GST_STATE_READY)); // once, for what stays open for good
  ck_assert(sink.set_state(GST_STATE_NULL));
  const unsigned before = count_fds();
  for (unsigned i = 0; i < kOpenCycles; i++) {
    ck_assert(sink.set_state(GST_STATE_READY));
    ck_assert(sink.set_state(GST_STATE_NULL));
  }
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_play_cycles_leave_nothing)
{
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  Sink sink;
  play_one_frame(sink, info);
  ck_assert(sink.set_state(GST_STATE_NULL));
  const unsigned before = count_fds();
  for (unsigned i = 0; i < kPlayCycles; i++) {
    play_one_frame(sink, info);
    ck_assert(sink.set_state(GST_STATE_NULL));
  }
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

// The sink takes the display from an application that lends it its descriptor, and gives it back.
GST_START_TEST(test_display_is_put_back)
{
  const int fd = open_vkms();
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  // the sink sets it too; it decides which connectors are listed
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1), 0);
  if (__i__ == 1)
    show_something(fd); // else the display is off
  const State before = read_state(fd);
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    play_one_frame(sink, info);
    ck_assert(!difference(before, read_state(fd)).empty());
    ck_assert(sink.set_state(GST_STATE_READY));
    expect_same(before, read_state(fd));
    // and once more from there
    ck_assert(sink.set_state(GST_STATE_NULL));
    play_one_frame(sink, info);
  }
  expect_same(before, read_state(fd));
  close(fd);
}
GST_END_TEST

// GstBaseSink aborts the way to PAUSED on a first frame that fails. The way down is no other for that: the display is
// as it was, nothing keeps the caps, and the sink can begin anew.
GST_START_TEST(test_first_frame_fails)
{
  const int fd = open_vkms();
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1), 0);
  show_something(fd);
  const State before = read_state(fd);
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  int live_caps = 0;
  for (const GstState state : {GST_STATE_READY, GST_STATE_NULL}) {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    ck_assert(sink.set_caps(dma_drm_caps("NV12", 640, 480)));
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    live_caps++;
    gst_mini_object_weak_ref(
        GST_MINI_OBJECT(caps.get()), [](gpointer count, GstMiniObject *) { --*static_cast<int *>(count); }, &live_caps);
    ck_assert_int_eq(sink.push(make_noise(info, 1).release()), GST_FLOW_ERROR); // no DMA buffer
    ck_assert(sink.set_state(state));
    expect_same(before, read_state(fd));
  }
  ck_assert_int_eq(live_caps, 0);
  {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    ck_assert(sink.set_caps(dma_drm_caps("NV12", 640, 480)));
    ck_assert_int_eq(sink.push(make_noise(info, 1).release()), GST_FLOW_ERROR);
    play_one_frame(sink, info);
    ck_assert(!difference(before, read_state(fd)).empty());
  }
  expect_same(before, read_state(fd));
  close(fd);
}
GST_END_TEST

// What was on screen is gone when the sink stops: the display is turned off, without an error.
GST_START_TEST(test_old_picture_is_gone)
{
  const int fd = open_vkms();
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  const std::uint32_t framebuffer = show_something(fd);
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    play_one_frame(sink, info);
    ck_assert_int_eq(drmModeRmFB(fd, framebuffer), 0);
    ck_assert(sink.set_state(GST_STATE_NULL));
    const std::string warning = sink.next_message(GST_MESSAGE_WARNING);
    ck_assert_str_eq(warning.c_str(), "");
  }
  for (const auto &[name, value] : read_state(fd))
    if (name.ends_with(":ACTIVE") || name.ends_with(":FB_ID") || name.ends_with(":CRTC_ID"))
      ck_assert_msg(value == 0, "%s is %" G_GUINT64_FORMAT, name.c_str(), value);
  close(fd);
}
GST_END_TEST

// Buffers of the sink's pool and samples outlive it. They do not keep the display: another program,
// or the next sink, becomes master at once.
GST_START_TEST(test_held_buffers_leave_the_display)
{
  const GstVideoInfo info = video_info(plain_caps("NV12", 640, 480));
  GstPtr<GstBuffer> held;
  GstPtr<GstSample> sample;
  {
    Sink sink("enable-last-sample=true");
    ck_assert(sink.set_state(GST_STATE_PLAYING));
    ck_assert(sink.set_caps(plain_caps("NV12", 640, 480)));
    const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(sink.element(), "sink"));
    const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(pad.get()));
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps.get(), TRUE));
    ck_assert(gst_pad_query(pad.get(), query.get()));
    GstBufferPool *pool = nullptr;
    gst_query_parse_nth_allocation_pool(query.get(), 0, &pool, nullptr, nullptr, nullptr);
    const auto owned = GstPtr<GstBufferPool>::adopt(pool);
    ck_assert(gst_buffer_pool_set_active(pool, TRUE));
    GstBuffer *buffer = nullptr;
    ck_assert_int_eq(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    held = GstPtr<GstBuffer>::adopt(buffer);
    ck_assert_int_eq(sink.push(make_noise(info, 1).release()), GST_FLOW_OK);
    GstSample *last = nullptr;
    g_object_get(sink.element(), "last-sample", &last, nullptr);
    sample = GstPtr<GstSample>::adopt(last);
    ck_assert(sample);
  }
  const int fd = open_vkms();
  ck_assert_msg(drmIsMaster(fd), "the buffers keep the display");
  close(fd);
  Sink next;
  play_one_frame(next, info);
}
GST_END_TEST

// The application lends its open file and pushes a buffer that it made there. After the sink has
// shown it and gone, the application's handle is as good as before.
GST_START_TEST(test_handles_of_the_application_stay)
{
  const int fd = open_vkms();
  std::uint32_t handle = 0, pitch = 0;
  std::uint64_t size = 0, offset = 0;
  ck_assert_int_eq(drmModeCreateDumbBuffer(fd, 640, 480, 32, 0, &handle, &pitch, &size), 0);
  int dmabuf = -1;
  ck_assert_int_eq(drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, &dmabuf), 0);
  const auto allocator = GstPtr<GstAllocator>::adopt(gst_dmabuf_allocator_new());
  auto buffer = GstPtr<GstBuffer>::adopt(gst_buffer_new());
  gst_buffer_append_memory(buffer.get(), gst_dmabuf_allocator_alloc(allocator.get(), dmabuf, size));
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint strides[GST_VIDEO_MAX_PLANES] = {static_cast<gint>(pitch)};
  gst_buffer_add_video_meta_full(buffer.get(), GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_BGRx, 640,
                                 480, 1, offsets, strides);
  {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    ck_assert(sink.set_state(GST_STATE_PLAYING));
    ck_assert(sink.set_caps(dma_drm_caps("XR24", 640, 480)));
    ck_assert_int_eq(sink.push(buffer.release()), GST_FLOW_OK);
  }
  ck_assert_int_eq(drmModeMapDumbBuffer(fd, handle, &offset), 0);
  ck_assert_int_eq(drmModeDestroyDumbBuffer(fd, handle), 0);
  close(fd);
}
GST_END_TEST

// Another program turned the colours upside down, as a night light bends them. The video has its
// own colours, and the other program gets its curve back.
GST_START_TEST(test_gamma_left_behind)
{
  const int fd = open_vkms();
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_WRITEBACK_CONNECTORS, 1), 0);
  show_something(fd);
  std::vector<drm_color_lut> curve(256);
  for (std::size_t i = 0; i < curve.size(); i++)
    curve[i].red = curve[i].green = curve[i].blue = static_cast<std::uint16_t>(65535 - 257 * i);
  std::uint32_t blob = 0;
  ck_assert_int_eq(
      drmModeCreatePropertyBlob(fd, curve.data(), curve.size() * sizeof(drm_color_lut), &blob), 0);
  drmModeRes *resources = drmModeGetResources(fd);
  const std::uint32_t crtc = resources->crtcs[0];
  drmModeFreeResources(resources);
  ck_assert_int_eq(drmModeObjectSetProperty(fd, crtc, DRM_MODE_OBJECT_CRTC,
                                            property_of(fd, crtc, "GAMMA_LUT"), blob),
                   0);
  ck_assert_int_eq(drmModeDestroyPropertyBlob(fd, blob), 0); // the CRTC alone has it now
  const State before = read_state(fd);
  const GstVideoInfo info = video_info(plain_caps("BGRx", 640, 480));
  {
    Sink sink(("driver-name=\"\" mode=match fd=" + std::to_string(fd)).c_str());
    const auto frame = make_noise(info, 1);
    ck_assert(sink.set_caps(plain_caps("BGRx", 640, 480)));
    ck_assert_int_eq(sink.push(gst_buffer_ref(frame.get())), GST_FLOW_OK);
    const auto snapshot = sink.snapshot();
    ck_assert(snapshot);
    ck_assert_int_eq(largest_difference(snapshot.get(), reference(info, frame.get(), 640, 480)), 0);
  }
  expect_same(before, read_state(fd));
  close(fd);
}
GST_END_TEST

static Suite *kms_lifecycle_suite(void)
{
  Suite *s = suite_create("kms-lifecycle");
  TCase *tc = tcase_create("lifecycle");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 200);
  tcase_add_test(tc, test_open_cycles_leave_nothing);
  tcase_add_test(tc, test_play_cycles_leave_nothing);
  tcase_add_loop_test(tc, test_display_is_put_back, 0, 2);
  tcase_add_test(tc, test_first_frame_fails);
  tcase_add_test(tc, test_old_picture_is_gone);
  tcase_add_test(tc, test_held_buffers_leave_the_display);
  tcase_add_test(tc, test_gamma_left_behind);
  tcase_add_test(tc, test_handles_of_the_application_stay);
  TCase *restarts = tcase_create("restarts"); // ./run soak --kms
  suite_add_tcase(s, restarts);
  tcase_set_timeout(restarts, 200);
  add_restart_case(restarts);
  add_leave_cases(s);
  return s;
}

GST_DRM_CHECK_MAIN(kms_lifecycle)
