// SPDX-License-Identifier: LGPL-2.1-or-later
// GstCheck programs whose standard output is TAP and nothing else.
#pragma once

// before gstcheck.h, whose macro fail() would meet std::ios::fail()
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <unistd.h>

#include <gst/check/gstcheck.h>

#include "live_objects.hpp"

// libcheck's own writes the place of each check that holds to a file, which a program needs to have died for it to be read:
// two thirds of the time of a test that looks at every pixel.
extern "C" inline void _mark_point(const char *, int) {}

namespace gstdrm::test {

// GST_CHECK_MAIN() would mix libcheck's own report into the TAP.
inline int run_suite(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_SILENT);
  const int failed = srunner_ntests_failed(runner);
  if (failed > 0) { // what a case left running may never end
    fflush(nullptr);
    _exit(1);
  }
  srunner_free(runner);
  const unsigned leaked = report_live_objects();
  return leaked > 0 ? 1 : 0;
}

// A message that a test is about, each line a TAP comment.
inline void say(const std::string &message)
{
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);)
    g_print("# says: %s\n", line.c_str());
}

} // namespace gstdrm::test

// Runs code that has to fail g_return_if_fail() in this project's own log domain.
// (ASSERT_CRITICAL() hears of GStreamer's domains only.)
#define EXPECT_CRITICAL(...)                                                                       \
  do {                                                                                             \
    g_test_expect_message("GStreamer-DRM", G_LOG_LEVEL_CRITICAL, "*assertion*failed*");            \
    __VA_ARGS__;                                                                                   \
    g_test_assert_expected_messages();                                                             \
  } while (0)

#define GST_DRM_CHECK_MAIN(name)                                                                   \
  int main(int argc, char **argv)                                                                  \
  {                                                                                                \
    gst_check_init(&argc, &argv);                                                                  \
    return gstdrm::test::run_suite(name##_suite());                                                \
  }
