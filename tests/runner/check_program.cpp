// SPDX-License-Identifier: LGPL-2.1-or-later
// A GstCheck program that does what GST_DRM_RUNNER says, for run_tests.py.
#include <cstdlib>
#include <string_view>

#include "support/check_main.hpp"

namespace {

std::string_view mode()
{
  const char *said = std::getenv("GST_DRM_RUNNER");
  return said ? said : "";
}

GST_START_TEST(test_begins)
{
  fail_if(mode().substr(0, 5) == "fails");
}
GST_END_TEST;

GST_START_TEST(test_ends)
{
  fail_if(mode() == "fails-twice");
  if (mode() == "half-way")
    std::_Exit(EXIT_SUCCESS);
}
GST_END_TEST;

Suite *program_suite()
{
  Suite *suite = suite_create("program");
  TCase *tcase = tcase_create("case");
  tcase_add_test(tcase, test_begins);
  tcase_add_test(tcase, test_ends);
  suite_add_tcase(suite, tcase);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(program)
