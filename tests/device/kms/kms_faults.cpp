// SPDX-License-Identifier: LGPL-2.1-or-later
// DRM ioctls from opening the device to closing it fail once, one after the other: all that set or
// make something, and a sample of the hundreds that read objects and properties, all of which a
// unit test has without a kernel (EveryFailure). The sink says so or gets over it, nothing of its
// making stays in the kernel, and the display is as it was.
#include <cstring>
#include <string>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "configfs_support.hpp"
#include "kms_ioctls.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;
#if defined(__SANITIZE_ADDRESS__) // some ten times slower
constexpr unsigned kEach = 13;
#else
constexpr unsigned kEach = 1;
#endif

// Numbers that the next objects get: each is the lowest free one (idr_alloc), so that a handle,
// framebuffer or blob that was left behind shows.
struct NextIds {
  std::uint32_t handle = 0;
  std::uint32_t object = 0;
  bool operator==(const NextIds &) const = default;
};

NextIds next_ids(int fd)
{
  NextIds ids;
  drm_mode_create_dumb create{};
  create.width = create.height = 16;
  create.bpp = 32;
  ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create), 0);
  ids.handle = create.handle;
  drm_mode_destroy_dumb destroy{create.handle};
  ck_assert_int_eq(drmIoctl(fd, DRM_IOCTL_MODE_DESTROY_DUMB, &destroy), 0);
  ck_assert_int_eq(drmModeCreatePropertyBlob(fd, "0123", 4, &ids.object), 0);
  ck_assert_int_eq(drmModeDestroyPropertyBlob(fd, ids.object), 0);
  return ids;
}

// What is on: CRTCs with a mode, planes with a framebuffer.
unsigned things_on(int fd)
{
  unsigned on = 0;
  drmModeRes *resources = drmModeGetResources(fd);
  for (int i = 0; i < resources->count_crtcs; i++) {
    drmModeCrtc *crtc = drmModeGetCrtc(fd, resources->crtcs[i]);
    on += crtc->mode_valid != 0;
    drmModeFreeCrtc(crtc);
  }
  drmModeFreeResources(resources);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  for (std::uint32_t i = 0; i < planes->count_planes; i++) {
    drmModePlane *plane = drmModeGetPlane(fd, planes->planes[i]);
    on += plane->fb_id != 0;
    drmModeFreePlane(plane);
  }
  drmModeFreePlaneResources(planes);
  return on;
}

GstPtr<GstSample> make_cursor()
{
  const GstVideoInfo info = video_info(plain_caps("BGRA", 16, 16));
  GstBuffer *buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_buffer_memset(buffer, 0, 0xff, GST_VIDEO_INFO_SIZE(&info));
  GstCaps *caps = gst_video_info_to_caps(const_cast<GstVideoInfo *>(&info));
  auto sample = GstPtr<GstSample>::adopt(gst_sample_new(buffer, caps, nullptr, nullptr));
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

// Frames of dma-bufs, a cursor, system memory, and the end. false: something failed on the way.
bool live(Sink &sink)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, 1);
  const GstPtr<GstSample> cursor = make_cursor();
  if (!sink.set_state(GST_STATE_PLAYING) || !sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)))
    return false;
  for (int i = 0; i < 3; i++) {
    if (i == 1)
      g_object_set(sink.element(), "cursor-image", cursor.get(), nullptr);
    if (sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()) != GST_FLOW_OK)
      return false;
  }
  if (!sink.set_caps(plain_caps("BGRx", kWidth, kHeight)) ||
      sink.push(make_noise(info, 2).release()) != GST_FLOW_OK)
    return false;
  sink.eos();
  return true;
}

// The first error at every ioctl of the sample, the others at some.
struct Row {
  int error;
  unsigned stride;
};
const Row kRows[] = {{ENOMEM, kEach},
                     {EINVAL, 4 * kEach},
                     {EBUSY, 4 * kEach},
                     {EACCES, 3 * kEach},
                     {ENODEV, 4 * kEach}};

// The kernel drops the last commit's references a moment after that commit has ended.
NextIds settled_ids(int fd, const NextIds &wanted)
{
  NextIds ids = next_ids(fd);
  for (int i = 0; i < 400 && ids != wanted; i++) {
    g_usleep(5000);
    ids = next_ids(fd);
  }
  return ids;
}

} // namespace

GST_START_TEST(test_every_ioctl)
{
  const int error = kRows[__i__].error;
  g_print("# %s\n", strerrorname_np(error));
  const ConfigfsDevice device("faults", {{1, true, true}});
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  {
    Sink warm(("fd=" + std::to_string(fd)).c_str()); // loads what is loaded once
    ck_assert(live(warm));
  }
  const NextIds ids = next_ids(fd);
  const unsigned fds = count_fds();
  unsigned failures = 0, recoveries = 0, n = 1;
  for (;; n += kRows[__i__].stride) {
    {
      Sink sink(("fd=" + std::to_string(fd)).c_str());
      fail_drm_ioctl(static_cast<int>(n), error);
      const bool lived = live(sink);
      const std::string message = sink.next_message(GST_MESSAGE_ERROR);
      ck_assert_msg(lived || !message.empty(), "ioctl %u (0x%x): failed without a message", n,
                    failed_drm_ioctl());
      (lived ? recoveries : failures)++;
      sink.set_state(GST_STATE_NULL);
    }
    const int number = failed_drm_ioctl();
    fail_drm_ioctl(0, 0);
    const unsigned now = count_fds();
    ck_assert_msg(now == fds, "ioctl %u (0x%x): %d descriptors more", n, number,
                  static_cast<int>(now - fds));
    ck_assert_msg(things_on(fd) == 0, "ioctl %u (0x%x): the display is on", n, number);
    const NextIds left = settled_ids(fd, ids);
    ck_assert_msg(left == ids,
                  "ioctl %u (0x%x): left behind: handle %u, then %u; object %u, then %u", n, number,
                  ids.handle, left.handle, ids.object, left.object);
    if (number < 0)
      break;
  }
  g_print("# %u ioctls at most: %u failures, %u recoveries\n", n - 1, failures, recoveries);
  ck_assert_uint_gt(failures, 0);
  Sink sink(("fd=" + std::to_string(fd)).c_str());
  ck_assert(live(sink));
  close(fd);
}
GST_END_TEST

static Suite *kms_faults_suite(void)
{
  Suite *s = suite_create("kms-faults");
  TCase *tc = tcase_create("faults");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 200);
  tcase_add_loop_test(tc, test_every_ioctl, 0, G_N_ELEMENTS(kRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_faults)
