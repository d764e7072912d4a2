// SPDX-License-Identifier: LGPL-2.1-or-later
// A saved machine plays back: the test driver exports what the driver of a board exported
// (tests/data/inspect/board.json), and what the library lists of it is what the file has.
#include "va_support.hpp"

#include <set>
#include <utility>

#include "support/saved_machine.hpp"

namespace {

using namespace gstdrm::test;
using Pairs = std::set<std::pair<guint32, guint64>>;

const std::string kBoard = std::string(GST_DRM_TEST_DATA_DIR) + "/inspect/board.json";

GST_START_TEST(test_the_boards_pairs)
{
  std::vector<SavedSource> machine;
  std::string error;
  fail_unless(read_saved_machine(kBoard, machine, error), "%s", error.c_str());
  Pairs wanted;
  for (const SavedSource &source : machine)
    for (const gstdrm::Format &format : source.formats)
      if (source.kind == "va")
        wanted.emplace(format.fourcc, format.modifier);
  fail_unless_equals_int(wanted.size(), 6);
  set_driver("machine=" + kBoard);
  GPtrArray *list = gst_drm_enumerate_va();
  fail_unless(list->len >= 1);
  const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(list, 0));
  fail_unless(gst_drm_source_get_problem(source) == nullptr, "%s", gst_drm_source_get_problem(source));
  Pairs found;
  guint32 fourcc = 0;
  guint64 modifier = 0;
  GstDrmFormatSet *set = gst_drm_source_get_formats(source);
  for (guint i = 0; gst_drm_format_set_get(set, i, &fourcc, &modifier); i++)
    found.emplace(fourcc, modifier);
  const g_autofree gchar *text = gst_drm_format_set_to_string(set);
  fail_unless(found == wanted, "%s", text);
  gst_drm_format_set_unref(set);
  g_ptr_array_unref(list);
}
GST_END_TEST

// Frames of each pair arrive.
GST_START_TEST(test_the_boards_frames)
{
  for (const char *format : {"NV12:0x0100000000000002", "NV12", "P010:0x0100000000000002",
                             "XR24:0x0100000000000001", "XR24", "YUYV"}) {
    set_driver("machine=" + kBoard);
    Pipeline pipeline(source("pattern=frame-counter num-buffers=2", dma_caps(format, 320, 240)));
    fail_unless(pipeline.play(), "%s", format);
    for (std::uint64_t i = 0; i < 2; i++) {
      g_autoptr(GstSample) sample = pipeline.pull();
      fail_unless(sample != nullptr, "%s: %s", format, pipeline.message(GST_MESSAGE_ERROR).c_str());
      const auto counter = read_counter(read_frame(sample));
      fail_unless(counter.valid && counter.frame == i, "%s", format);
    }
  }
}
GST_END_TEST

Suite *va_machine_suite()
{
  Suite *suite = suite_create("va_machine");
  TCase *tcase = tcase_create("board");
  suite_add_tcase(suite, tcase);
  tcase_add_test(tcase, test_the_boards_pairs);
  tcase_add_test(tcase, test_the_boards_frames);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(va_machine)
