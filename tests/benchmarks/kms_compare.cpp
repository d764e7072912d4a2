// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink beside upstream's kmssink, in one run on one stream: system calls per frame, by
// name. Per frame means (calls of a run of 300 frames - calls of a run of 100) / (frames rendered
// in the one - in the other), so that what starting costs is left out, and a frame that was dropped
// is no cheap frame. Runs in the box, on virtual time, where two runs give the same.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "kms_player.hpp"
#include "syscall_count.hpp"

namespace {

using gstdrm::bench::Calls;
using gstdrm::bench::Play;
using gstdrm::bench::Wrap;

constexpr unsigned kShort = 100, kLong = 300;
constexpr unsigned kPatience_s = 120;

struct Sink {
  const char *name;
  const char *line;
  bool ours;
};

// Upstream shows in two ways: a plane on a mode that is set, or page flips where it sets the mode
// itself.
constexpr Sink kSinks[] = {
    {"kmsdmabufsink", "kmsdmabufsink driver-name=vkms", true},
    {"kmssink", "kmssink driver-name=vkms", false},
    {"kmssink, force-modesetting", "kmssink driver-name=vkms force-modesetting=true", false},
    {"fakesink (what playing costs)", "fakesink", false},
};
constexpr std::size_t kFirstPeer = 1, kLastPeer = 2;

constexpr std::array<std::pair<const char *, Wrap>, 3> kWraps = {
    {{"same", Wrap::Same}, {"fresh", Wrap::Fresh}, {"dup", Wrap::Dup}}};

struct Run {
  Calls calls;
  std::string stats; // what the player printed

  [[nodiscard]] double rendered() const
  {
    return std::strtod(stats.c_str() + std::strlen("rendered="), nullptr);
  }
};

std::string read_all(int fd)
{
  std::string text;
  char part[256];
  ssize_t got = 0;
  while ((got = read(fd, part, sizeof(part))) > 0)
    text.append(part, static_cast<std::size_t>(got));
  return text;
}

// The player in a process of its own, which starts once it is being counted.
Run run(const Play &request)
{
  int go[2] = {-1, -1}, out[2] = {-1, -1};
  if (pipe(go) != 0 || pipe(out) != 0)
    std::exit(1);
  std::fflush(stdout); // the child's copy
  const pid_t child = fork();
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    char byte = 0;
    if (read(go[0], &byte, 1) != 1)
      std::_Exit(1);
    alarm(kPatience_s);
    const int status = gstdrm::bench::play(request);
    std::fflush(stdout);
    std::_Exit(status);
  }
  Run result;
  close(out[1]);
  const gstdrm::bench::SyscallCount count(child);
  if (write(go[1], "g", 1) != 1)
    std::exit(1);
  result.stats = read_all(out[0]);
  int status = 0;
  waitpid(child, &status, 0);
  for (const int fd : {go[0], go[1], out[0]})
    close(fd);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "%s: the player ended with status %#x\n", request.sink,
                 static_cast<unsigned>(status));
    std::exit(1);
  }
  result.calls = count.read();
  return result;
}

using PerFrame = std::map<std::string, double>;

// System calls in user-mode Linux alone: elsewhere the vDSO answers them.
bool counts(const std::string &name)
{
  return name != "clock_gettime" && name != "gettimeofday";
}

bool is_drm(const std::string &name)
{
  return name.starts_with("ioctl DRM_");
}

double sum(const PerFrame &calls, bool drm_only)
{
  double total = 0;
  for (const auto &[name, value] : calls)
    if (counts(name) && (!drm_only || is_drm(name)))
      total += value;
  return total;
}

PerFrame per_frame(const Play &request, std::string &stats)
{
  Play once = request;
  once.frames = kShort;
  const Run shorter = run(once);
  once.frames = kLong;
  const Run longer = run(once);
  stats = longer.stats;
  PerFrame result;
  for (const auto &[name, value] : longer.calls) {
    const auto before = shorter.calls.find(name);
    const double extra =
        static_cast<double>(value) -
        (before == shorter.calls.end() ? 0.0 : static_cast<double>(before->second));
    if (const double each = extra / (longer.rendered() - shorter.rendered()); each >= 0.01)
      result[name] = each;
  }
  return result;
}

void print(const Sink &sink, const PerFrame &calls, const std::string &stats)
{
  std::printf("  %-30s %5.2f DRM ioctls, %5.2f calls:", sink.name, sum(calls, true),
              sum(calls, false));
  for (const auto &[name, value] : calls)
    if (counts(name))
      std::printf(" %s %.2f,", name.c_str(), value);
  std::printf("\n  %-30s %s", "", stats.c_str());
}

// One stream through all sinks. The peer's cheaper way is what ours is held against.
void compare(const char *wrap_name, Wrap wrap, bool sync)
{
  std::printf("%s memories, sync=%s\n", wrap_name, sync ? "true" : "false");
  std::vector<PerFrame> all;
  for (const Sink &sink : kSinks) {
    std::string stats;
    all.push_back(per_frame({sink.line, wrap, sync, 0}, stats));
    print(sink, all.back(), stats);
  }
  double peer = sum(all[kFirstPeer], false);
  for (std::size_t i = kFirstPeer; i <= kLastPeer; i++)
    peer = std::min(peer, sum(all[i], false));
  const double base = sum(all.back(), false);
  const double ours = sum(all[0], false);
  std::printf("  ours / upstream's cheaper way: %.2f of all calls, %.2f of those that the sink "
              "adds to fakesink's\n\n",
              ours / peer, (ours - base) / (peer - base));
  std::fflush(stdout);
}

} // namespace

int main()
{
  for (const Sink &sink : kSinks) // plug-ins are scanned, once
    (void)run({sink.line, Wrap::Same, false, 1});
  for (const bool sync : {false, true})
    for (const auto &[name, wrap] : kWraps)
      compare(name, wrap, sync);
  return 0;
}
