// SPDX-License-Identifier: LGPL-2.1-or-later
// Mistakes made on purpose, which the environment of the other tests has to report, and the same
// without the mistake. Usage: planted leak | no-leak | race | no-race
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "support/live_objects.hpp"

namespace {

constexpr int kBuffers = 20;

void make_buffers(bool leak)
{
  for (int i = 0; i < kBuffers; ++i) {
    GstBuffer *buffer = gst_buffer_new();
    if (!leak)
      gst_buffer_unref(buffer);
  }
}

int count(bool locked)
{
  int sum = 0;
  std::mutex sum_lock; // guards sum, for who takes it
  const auto add = [&] {
    std::unique_lock lock(sum_lock, std::defer_lock);
    if (locked)
      lock.lock();
    ++sum;
  };
  std::thread other(add);
  add();
  other.join();
  return sum;
}

} // namespace

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  const std::string_view mistake = argc == 2 ? argv[1] : "";
  if (mistake == "leak" || mistake == "no-leak")
    make_buffers(mistake == "leak");
  else if (mistake == "race" || mistake == "no-race")
    std::printf("%d\n", count(mistake == "no-race"));
  else
    return EXIT_SUCCESS; // for a test that wants a failure, no success is worse than a usage
                         // message
  return gstdrm::test::report_live_objects() ? EXIT_FAILURE : EXIT_SUCCESS;
}
