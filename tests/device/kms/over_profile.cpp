// SPDX-License-Identifier: LGPL-2.1-or-later
// over_profile PROFILE PROGRAM...: runs GstCheck programs one after another on a display of vkms that plays a driver's
// (played_profile.hpp), in one box, and joins their TAP. In the box, without vkms's default device. Alone, it makes the display.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "played_profile.hpp"
#include "support/check_main.hpp"

using namespace gstdrm::test;

namespace {

// What a program prints, while it runs.
class Output {
public:
  explicit Output(const std::string &program) : file_(popen(("exec '" + program + "'").c_str(), "re")) {}
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;
  ~Output() { end(); }
  bool next(char *line, int size) { return file_ && std::fgets(line, size, file_) != nullptr; }
  // Of wait(); -1: it did not begin.
  int end()
  {
    FILE *file = std::exchange(file_, nullptr);
    return file ? pclose(file) : -1;
  }

private:
  FILE *file_;
};

class Joined {
public:
  // Its cases, numbered on; and one that has failed where the program does not end as its cases say.
  void run(const std::string &program)
  {
    const std::string name = program.substr(program.rfind('/') + 1);
    std::printf("# %s\n", name.c_str());
    Output output(program);
    unsigned planned = 0, cases = 0, failed = 0;
    char line[4096];
    for (; output.next(line, sizeof(line)); std::fflush(stdout)) {
      const bool bad = std::strncmp(line, "not ok ", 7) == 0;
      const char *what = std::strstr(line, " - ");
      if (std::sscanf(line, "1..%u", &planned) == 1)
        continue;
      if (!bad && std::strncmp(line, "ok ", 3) != 0) {
        std::fputs(line, stdout);
        continue;
      }
      cases++;
      failed += bad;
      std::printf("%s %u%s", bad ? "not ok" : "ok", ++count_, what ? what : "\n");
    }
    const int status = output.end();
    if (cases == 0 || cases != planned || (status != 0) != (failed != 0)) {
      std::printf("not ok %u - %s: %u of %u cases, %u failed, status %d\n", ++count_, name.c_str(), cases, planned, failed, status);
      failed++;
    }
    failed_ += failed;
  }
  [[nodiscard]] int end() const
  {
    std::printf("1..%u\n", count_);
    return failed_ != 0;
  }

private:
  unsigned count_ = 0, failed_ = 0;
};

// The display is the kernel's, and outlives this process.
GST_START_TEST(test_make)
{
  auto device = std::make_unique<ConfigfsDevice>("played", std::vector<OutputSpec>(1));
  g_print("# %s\n", device->path().c_str());
  static_cast<void>(device.release());
}
GST_END_TEST

Suite *make_suite()
{
  Suite *s = suite_create("over-profile");
  TCase *tc = tcase_create("display");
  suite_add_tcase(s, tc);
  tcase_add_test(tc, test_make);
  return s;
}

} // namespace

int main(int argc, char **argv)
{
  if (argc < 3) {
    gst_check_init(&argc, &argv);
    return run_suite(make_suite());
  }
  setenv("GST_DRM_TEST_PROFILE", argv[1], 1);
  Joined joined;
  joined.run(argv[0]);
  for (int i = 2; i < argc; i++)
    joined.run(argv[i]);
  return joined.end();
}
