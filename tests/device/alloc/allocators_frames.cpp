// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of every kind of allocator on a real kernel: those that have to come out right, and those that have to be refused.
#include "allocator_kinds.hpp"

namespace {

using namespace gstdrm::test;

GST_START_TEST(test_frame)
{
  const KindRow &kind = kKinds[__i__ / static_cast<int>(G_N_ELEMENTS(kFrameRows))];
  const FrameRow &row = kFrameRows[__i__ % static_cast<int>(G_N_ELEMENTS(kFrameRows))];
  GstDrmAllocator *allocator = new_of_row(kind);
  check_linear_frame(allocator, row);
  gst_object_unref(allocator);
}
GST_END_TEST

GST_START_TEST(test_refused_frame)
{
  GstDrmAllocator *allocator = new_of_row(kKinds[__i__ / static_cast<int>(G_N_ELEMENTS(kRefusedFrames))]);
  check_refused(allocator, kRefusedFrames[__i__ % static_cast<int>(G_N_ELEMENTS(kRefusedFrames))]);
  gst_object_unref(allocator);
}
GST_END_TEST

#if defined(HAVE_GBM)
// The rows of an implicit layout are the driver's: whoever needs aligned ones is refused.
GST_START_TEST(test_implicit_and_aligned)
{
  GstDrmAllocator *allocator = new_allocator(GST_DRM_ALLOCATOR_KIND_GBM, vkms_node().c_str());
  const guint64 implicit = GST_DRM_MODIFIER_IMPLICIT;
  GstVideoAlignment align;
  gst_video_alignment_reset(&align);
  align.stride_align[0] = 511;
  GError *error = nullptr;
  fail_if(gst_drm_allocator_alloc_frame(allocator, fourcc_of("XR24"), 64, 64, &implicit, 1, &align, nullptr, &error));
  fail_unless(std::strstr(error->message, "aligned rows") != nullptr, "%s", error->message);
  g_error_free(error);
  gst_object_unref(allocator);
}
GST_END_TEST
#endif

Suite *allocators_frames_suite()
{
  Suite *suite = suite_create("frames of allocators");
  TCase *tcase = tcase_create("box");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_frame, 0, kKindCount * static_cast<int>(G_N_ELEMENTS(kFrameRows)));
  tcase_add_loop_test(tcase, test_refused_frame, 0, kKindCount * static_cast<int>(G_N_ELEMENTS(kRefusedFrames)));
#if defined(HAVE_GBM)
  tcase_add_test(tcase, test_implicit_and_aligned);
#endif
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocators_frames)
