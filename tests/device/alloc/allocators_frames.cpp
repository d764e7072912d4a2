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
  GstBuffer *buffer = alloc_linear(allocator, row);
  check_linear_meta(buffer, row);
  write_frame(buffer, row);
  check_frame(buffer, row);
  gst_buffer_unref(buffer);
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

Suite *allocators_frames_suite()
{
  Suite *suite = suite_create("frames of allocators");
  TCase *tcase = tcase_create("box");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_frame, 0, kKindCount * static_cast<int>(G_N_ELEMENTS(kFrameRows)));
  tcase_add_loop_test(tcase, test_refused_frame, 0, kKindCount * static_cast<int>(G_N_ELEMENTS(kRefusedFrames)));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(allocators_frames)
