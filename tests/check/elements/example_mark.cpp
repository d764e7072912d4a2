// SPDX-License-Identifier: LGPL-2.1-or-later
// The worked example of docs/new-element.md does what the page says: it draws in place, copies only
// what it may not change, counts that, and explains what it refuses.
#include <string>

#include "support/dmabuf_elements.hpp"

extern "C" {
GST_PLUGIN_STATIC_DECLARE(drmmark);
}

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
void check_marked(GstBuffer *buffer)
{
  gstdrm::test::for_each_row(
      buffer, video_info(kPlain), GST_MAP_READ, [](guint plane, guint row, std::uint8_t *data, std::size_t bytes) {
        for (guint x = 0; x < bytes; x++) {
          const bool marked = row < kSide && x < 4 * kSide;
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
  GST_PLUGIN_STATIC_REGISTER(drmmark);
  // the plugin and its feature live as long as the registry
  GstPlugin *plugin = gst_registry_find_plugin(gst_registry_get(), "drmmark");
  GstPluginFeature *feature = gst_registry_lookup_feature(gst_registry_get(), "drmmark");
  GST_OBJECT_FLAG_SET(plugin, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  GST_OBJECT_FLAG_SET(feature, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_object_unref(feature);
  gst_object_unref(plugin);
  Suite *suite = suite_create("example-mark");
  TCase *tc = tcase_create("drmmark");
  tcase_add_test(tc, test_in_place);
  tcase_add_test(tc, test_shared);
  tcase_add_test(tc, test_require);
  tcase_add_test(tc, test_bad_frame);
  tcase_add_test(tc, test_explains);
  suite_add_tcase(suite, tc);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(example_mark)
