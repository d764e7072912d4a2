// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU touches no frame before its device is done. These tests check order: the fence is
// signalled by another thread, after it has noted that it does so.
#include "support/dmabuf_elements.hpp"
#include "support/unfinished_frames.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using gstdrm::UniqueFd;

const std::string kPlain = plain_caps("NV12", 641, 481);
const std::string kDmaBuf = dmabuf_caps("NV12", 641, 481);

GST_START_TEST(test_download_waits)
{
  const Kind kind = __i__ % 2 ? Kind::Implicit : Kind::Acquire;
  const Harness h("dmabufdownload");
  if (__i__ < 2) // passed on, else copied
    gst_harness_add_propose_allocation_meta(h.get(), GST_VIDEO_META_API_TYPE, nullptr);
  fail_unless(h.negotiate(kDmaBuf));
  const auto out = check_waits(h, kPlain, kind);
  fail_unless_equals_uint64(h.stat("copies"), __i__ < 2 ? 0 : 1);
  check_drawn(out.get(), video_info(kPlain), 1);
}
GST_END_TEST

GST_START_TEST(test_finished)
{
  const Harness h("dmabufdownload");
  fail_unless(h.negotiate(kDmaBuf));
  check_finished(h, kPlain, __i__ % 2 ? Kind::Implicit : Kind::Acquire,
                 __i__ < 2 ? End::Done : End::Failed);
}
GST_END_TEST

// A device that hangs ends the stream with its name, and not the machine's patience.
GST_START_TEST(test_hang)
{
  const Harness h("dmabufdownload");
  fail_unless(h.negotiate(kDmaBuf));
  Timeline timeline;
  fail_unless_equals_int(
      gst_harness_push(h.get(), unfinished_frame(timeline, kPlain, __i__ ? Kind::Implicit : Kind::Acquire)),
      GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "5000 ms", "src");
}
GST_END_TEST

// dmabufupload looks at no pixel of a dmabuf that it passes on: the fence goes with it.
GST_START_TEST(test_upload_passes_fence)
{
  const Harness h("dmabufupload allocator=udmabuf");
  fail_unless(h.negotiate(kPlain));
  Timeline timeline;
  const auto out = h.push(unfinished_frame(timeline, kPlain, Kind::Acquire));
  fail_unless_equals_uint64(h.stat("waits"), 0);
  const UniqueFd fence(
      gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(out.get())));
  GstDrmFenceState state = GST_DRM_FENCE_STATE_SIGNALLED;
  fail_unless(gst_drm_fence_get_state(fence.get(), &state, nullptr));
  fail_unless_equals_int(state, GST_DRM_FENCE_STATE_PENDING);
  timeline.advance();
}
GST_END_TEST

// But one that it has to copy is waited for.
GST_START_TEST(test_upload_waits_to_copy)
{
  const Harness h("dmabufupload allocator=udmabuf");
  gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  fail_unless(h.negotiate(kPlain));
  const auto out = check_waits(h, kPlain, __i__ ? Kind::Implicit : Kind::Acquire);
  fail_unless_equals_uint64(h.stat("copies"), 1);
  fail_unless(gst_buffer_get_drm_sync_meta(out.get()) == nullptr ||
              gst_drm_sync_meta_dup_acquire_fence(gst_buffer_get_drm_sync_meta(out.get())) == -1);
}
GST_END_TEST

GST_START_TEST(test_interrupted)
{
  const bool upload = __i__ / 2 % 2 == 1;
  const Harness h(upload ? "dmabufupload allocator=udmabuf" : "dmabufdownload");
  if (upload) // a reader of the default layout: the frame has to be copied
    gst_harness_set_sink_caps(h.get(), caps_of("video/x-raw").release());
  fail_unless(h.negotiate(upload ? kPlain : kDmaBuf));
  check_interrupted(h, kPlain, __i__ % 2 ? Kind::Implicit : Kind::Acquire,
                    __i__ / 4 == 0 ? Interruption::Flush : Interruption::Null);
}
GST_END_TEST

Suite *dmabuf_fences_suite()
{
  Suite *suite = suite_create("dmabuf-fences");
  TCase *tcase = tcase_create("fences");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_download_waits, 0, 4);
  tcase_add_loop_test(tcase, test_finished, 0, 4);
  tcase_add_loop_test(tcase, test_hang, 0, 2);
  tcase_add_loop_test(tcase, test_interrupted, 0, 8);
  tcase_add_test(tcase, test_upload_passes_fence);
  tcase_add_loop_test(tcase, test_upload_waits_to_copy, 0, 2);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(dmabuf_fences)
