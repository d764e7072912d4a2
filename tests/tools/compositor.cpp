// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs a program while a Wayland compositor takes what a table lists.
// Usage: test-compositor TABLE PROGRAM ARGUMENT...
#include "support/compositor.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "support/gpu_table.hpp"

namespace {

int run(int argc, char **argv)
{
  if (argc < 3)
    return EXIT_FAILURE;
  std::string name = argv[1];
  name = name.substr(name.rfind('/') + 1);
  gstdrm::test::CompositorPlan plan;
  plan.table = gstdrm::test::load_gpu_table(name.substr(0, name.rfind('.')));
  plan.tranches.resize(1);
  for (std::size_t i = 0; i < plan.table.size(); i++)
    plan.tranches[0].indices.push_back(static_cast<std::uint16_t>(i));
  const gstdrm::test::Compositor compositor(plan);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv(argv[2], argv + 2);
    ::_exit(127);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status)
             ? WEXITSTATUS(status)
             : EXIT_FAILURE;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    return run(argc, argv);
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return EXIT_FAILURE;
  }
}
