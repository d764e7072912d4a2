// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink beside upstream's kmssink, in one run on one stream: system calls per frame, by
// name. Per frame means (calls of a run of 300 frames - calls of a run of 100) / (frames rendered
// in the one - in the other), so that what starting costs is left out, and a frame that was dropped
// is no cheap frame. Runs in the box, on virtual time, where two runs give the same.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

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
    {"kmsdmabufsink", "kmsdmabufsink mode=match driver-name=vkms", true},
    {"kmssink", "kmssink driver-name=vkms", false},
    {"kmssink, force-modesetting", "kmssink driver-name=vkms force-modesetting=true", false},
    {"fakesink (what playing costs)", "fakesink", false},
};
constexpr std::size_t kFirstPeer = 1, kLastPeer = 2;

constexpr std::array<std::pair<const char *, Wrap>, 3> kWraps = {
    {{"same", Wrap::Same}, {"fresh", Wrap::Fresh}, {"dup", Wrap::Dup}}};

using gstdrm::bench::CountedRun;
using gstdrm::bench::is_call_elsewhere;
using gstdrm::bench::PerFrame;

CountedRun run(const Play &request)
{
  return gstdrm::bench::run_counted(request.sink, kPatience_s,
                                    [&] { return gstdrm::bench::play(request); });
}

double rendered(const CountedRun &run)
{
  return std::strtod(run.output.c_str() + std::strlen("rendered="), nullptr);
}

bool is_drm(const std::string &name)
{
  return name.starts_with("ioctl DRM_");
}

double sum(const PerFrame &calls, bool drm_only)
{
  double total = 0;
  for (const auto &[name, value] : calls)
    if (is_call_elsewhere(name) && (!drm_only || is_drm(name)))
      total += value;
  return total;
}

PerFrame per_frame(const Play &request, std::string &stats)
{
  Play once = request;
  once.frames = kShort;
  const CountedRun shorter = run(once);
  once.frames = kLong;
  const CountedRun longer = run(once);
  stats = longer.output;
  return gstdrm::bench::per_frame(shorter.calls, longer.calls,
                                  rendered(longer) - rendered(shorter));
}

void print(const Sink &sink, const PerFrame &calls, const std::string &stats)
{
  std::printf("  %-30s %5.2f DRM ioctls, %7.4f calls:", sink.name, sum(calls, true),
              sum(calls, false));
  for (const auto &[name, value] : calls)
    if (is_call_elsewhere(name))
      std::printf(" %s %.4f,", name.c_str(), value);
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
