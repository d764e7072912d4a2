// SPDX-License-Identifier: LGPL-2.1-or-later
// Many threads in one place at once. What they do is only worth something where a race is seen:
// under TSan (`./run tests`), which needs no unlucky moment, only two threads that use no lock
// between them.
#pragma once

#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace gstdrm::test {

// Runs all at the same time, returns when all have returned. None may use GoogleTest's or
// libcheck's assertions: these belong to the main thread.
inline void at_once(const std::vector<std::function<void()>> &jobs)
{
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  for (const std::function<void()> &job : jobs)
    threads.emplace_back(job);
  for (std::thread &thread : threads)
    thread.join();
}

// 'S' while it sleeps: the third field of /proc/self/task/TID/stat (proc(5)), behind the name in
// brackets.
inline char state_of_thread(pid_t tid)
{
  std::ifstream file("/proc/self/task/" + std::to_string(tid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  return end == std::string::npos ? '?' : line.at(end + 2);
}

} // namespace gstdrm::test
