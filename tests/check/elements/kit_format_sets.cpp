// SPDX-License-Identifier: LGPL-2.1-or-later
// Format sets of the engines and of the public library.
#include <vector>

#include <gst/drm/drm.h>
#include <gst/drm/element/format_sets.hpp>

#include "support/check_main.hpp"

namespace {

using namespace gstdrm;

constexpr guint32 kNv12 = 0x3231564e;
constexpr guint32 kXr24 = 0x34325258;
constexpr guint64 kYTiled = G_GUINT64_CONSTANT(0x0100000000000002);

struct Row {
  std::vector<Format> pairs;
  const char *text;
};
const Row kRows[] = {
    {{}, "{ }"},
    {{{kNv12, kModLinear}}, "{ NV12 }"},
    {{{kXr24, kYTiled}, {kNv12, kModImplicit}}, "{ NV12 (implicit), XR24:0x0100000000000002 }"},
    {{{kNv12, kModImplicit}, {kNv12, kModLinear}, {kNv12, kYTiled}}, "{ NV12, NV12 (implicit), NV12:0x0100000000000002 }"},
};

void expect_text(const GstDrmFormatSet *set, const char *expected)
{
  g_autofree gchar *text = gst_drm_format_set_to_string(set);
  fail_unless_equals_string(text, expected);
}

GST_START_TEST(test_there_and_back)
{
  const Row &row = kRows[__i__];
  const FormatSet formats = FormatSet::from_pairs(row.pairs);
  const FormatSetPtr set = to_public(formats);
  expect_text(set.get(), row.text);
  fail_unless(from_public(*set) == formats);
}
GST_END_TEST

Suite *kit_format_sets_suite()
{
  Suite *suite = suite_create("kit: format sets");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_there_and_back, 0, G_N_ELEMENTS(kRows));
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kit_format_sets)
