// SPDX-License-Identifier: LGPL-2.1-or-later
// The worked example of docs/new-element.md does what the page says: it draws in place, copies only
// what it may not change, counts that, and explains what it refuses.
#include <algorithm>
#include <string>

#include "support/dmabuf_elements.hpp"
#include "support/mark.hpp"

namespace {

using gstdrm::GstPtr;
using gstdrm::test::dmabuf_caps;
using gstdrm::test::Harness;
using gstdrm::test::new_dmabuf_frame;
using gstdrm::test::plain_caps;
using gstdrm::test::video_info;

constexpr int kWidth = 64;
constexpr int kHeight = 48;
constexpr guint kSide = 16;

const std::string kCaps = dmabuf_caps("XR24", kWidth, kHeight);
const std::string kPlain = plain_caps("BGRx", kWidth, kHeight);

// White in the corner, and what upstream drew elsewhere.
void check_marked(GstBuffer *buffer, guint side = kSide)
{
  gstdrm::test::for_each_row(
      buffer, video_info(kPlain), GST_MAP_READ, [side](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
        for (guint x = 0; x < bytes; x++) {
          const bool marked = row < side && x < 4 * side;
          fail_unless_equals_int(data[x], marked ? 0xff : gstdrm::test::pattern(0, plane, row, x));
        }
      });
}

GST_START_TEST(test_in_place)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  for (int i = 0; i < 3; i++) {
    GstBuffer *input = new_dmabuf_frame("memfd", kPlain);
    const GstMemory *memory = gst_buffer_peek_memory(input, 0);
    const auto output = harness.push(input);
    fail_unless(output.get() == input && gst_buffer_peek_memory(output.get(), 0) == memory);
    check_marked(output.get());
  }
  fail_unless_equals_int(harness.stat("frames"), 3);
  fail_unless_equals_int(harness.stat("copies"), 0);
}
GST_END_TEST

// A property of the filter's own, changed while frames flow; a square larger than the frame is cut.
GST_START_TEST(test_size)
{
  const Harness harness("drmmark size=4");
  fail_unless(harness.negotiate(kCaps));
  check_marked(harness.push(new_dmabuf_frame("memfd", kPlain)).get(), 4);
  for (const guint size : {guint{20}, guint{G_MAXINT}}) {
    g_object_set(harness.element(), "size", size, nullptr);
    guint now = 0;
    g_object_get(harness.element(), "size", &now, nullptr);
    fail_unless_equals_int(now, size);
    check_marked(harness.push(new_dmabuf_frame("memfd", kPlain)).get(), std::min<guint>(size, kWidth));
  }
}
GST_END_TEST

// The format, the size and the memory of the copies change with the caps.
GST_START_TEST(test_other_caps)
{
  const Harness harness("drmmark");
  for (const char *format : {"XR24", "NV12", "AR24"}) {
    fail_unless(harness.negotiate(dmabuf_caps(format, 2 * kWidth, kHeight)));
    const char *name = format[0] == 'N' ? "NV12" : format[0] == 'X' ? "BGRx" : "BGRA";
    const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", plain_caps(name, 2 * kWidth, kHeight)));
    const auto output = harness.push(gst_buffer_ref(kept.get()));
    fail_unless(output.get() != kept.get() && gstdrm::test::all_dmabuf(output.get()));
    gstdrm::test::check_drawn(kept.get(), video_info(plain_caps(name, 2 * kWidth, kHeight)));
  }
  fail_unless_equals_int(harness.stat("copies"), 3);
}
GST_END_TEST

// Somebody else reads the frame, as behind a tee: it stays as it is.
GST_START_TEST(test_shared)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(kCaps));
  for (guint i = 1; i <= 2; i++) {
    const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
    GST_BUFFER_PTS(kept.get()) = i * GST_SECOND;
    const auto output = harness.push(gst_buffer_ref(kept.get()));
    fail_unless(gstdrm::test::all_dmabuf(output.get()));
    fail_unless(GST_BUFFER_PTS(output.get()) == i * GST_SECOND);
    check_marked(output.get());
    gstdrm::test::check_drawn(kept.get(), video_info(kPlain));
    fail_unless_equals_int(harness.stat("copies"), i);
  }
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_INFO), "another element holds the frame");
}
GST_END_TEST

GST_START_TEST(test_require)
{
  const Harness harness("drmmark zero-copy=require");
  fail_unless(harness.negotiate(kCaps));
  const auto kept = GstPtr<GstBuffer>::adopt(new_dmabuf_frame("memfd", kPlain));
  fail_unless_equals_int(gst_harness_push(harness.get(), gst_buffer_ref(kept.get())), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "zero-copy=require", "before the tee");
  fail_unless_equals_int(harness.stat("copies"), 0);
}
GST_END_TEST

GST_START_TEST(test_bad_frame)
{
  const Harness harness("drmmark");
  fail_unless(harness.negotiate(dmabuf_caps("XR24", 2 * kWidth, kHeight)));
  fail_unless_equals_int(gst_harness_push(harness.get(), new_dmabuf_frame("memfd", kPlain)), GST_FLOW_ERROR);
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "128x48");
}
GST_END_TEST

GST_START_TEST(test_explains)
{
  const Harness harness("drmmark");
  gst_harness_set_sink_caps_str(harness.get(), dmabuf_caps("NV12", kWidth, kHeight).c_str());
  fail_if(harness.negotiate(kCaps));
  CHECK_ONE_MESSAGE(harness.messages(GST_MESSAGE_ERROR), "nothing in common", "XR24", "NV12");
}
GST_END_TEST

Suite *example_mark_suite()
{
  gstdrm::test::register_mark();
  Suite *suite = suite_create("example-mark");
  TCase *tc = tcase_create("drmmark");
  tcase_add_test(tc, test_in_place);
  tcase_add_test(tc, test_size);
  tcase_add_test(tc, test_other_caps);
  tcase_add_test(tc, test_shared);
  tcase_add_test(tc, test_require);
  tcase_add_test(tc, test_bad_frame);
  tcase_add_test(tc, test_explains);
  suite_add_tcase(suite, tc);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(example_mark)
