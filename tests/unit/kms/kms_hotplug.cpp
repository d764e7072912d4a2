// SPDX-License-Identifier: LGPL-2.1-or-later
// What uevents mean to a display; and a display that comes back another.
#include "gst/kms/engine/card/kms_hotplug.hpp"
#include "gst/kms/engine/card/kms_own_thread.hpp"

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace {

using namespace gstdrm::kms;

struct Row {
  const char *name;
  std::string text;
  Uevent expected;
};

std::string uevent(std::initializer_list<const char *> lines)
{
  std::string text;
  for (const char *line : lines)
    text += std::string(line) + '\0';
  return text;
}

const Row kRows[] = {
    {"hotplug",
     uevent({"change@/devices/faux/vkms/drm/card1", "ACTION=change",
             "DEVPATH=/devices/faux/vkms/drm/card1", "SUBSYSTEM=drm", "HOTPLUG=1", "MAJOR=226",
             "MINOR=1", "DEVNAME=dri/card1", "DEVTYPE=drm_minor", "SEQNUM=812"}),
     Uevent::Changed},
    {"lease",
     uevent({"change@/d", "ACTION=change", "SUBSYSTEM=drm", "LEASE=1", "MAJOR=226", "MINOR=1"}),
     Uevent::Changed},
    {"removed", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=1"}),
     Uevent::Removed},
    {"another card",
     uevent({"change@/d", "ACTION=change", "SUBSYSTEM=drm", "HOTPLUG=1", "MAJOR=226", "MINOR=2"}),
     Uevent::Other},
    {"another card removed",
     uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=128"}),
     Uevent::Other},
    {"another subsystem with the same numbers",
     uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=block", "MAJOR=226", "MINOR=1"}),
     Uevent::Other},
    {"a connector's own, without a node", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm"}),
     Uevent::Other},
    {"no minor", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226"}),
     Uevent::Other},
    {"no number", uevent({"remove@/d", "ACTION=remove", "SUBSYSTEM=drm", "MAJOR=226", "MINOR=x"}),
     Uevent::Other},
    {"cut off", std::string("change@/d\0ACTION=change\0SUBSYSTEM=drm\0MAJOR=226\0MINOR=1", 55),
     Uevent::Changed},
    {"empty", "", Uevent::Other},
    {"zeros", std::string(9, '\0'), Uevent::Other},
};

class Uevents : public testing::TestWithParam<Row> {};

TEST_P(Uevents, read)
{
  const Row &row = GetParam();
  EXPECT_EQ(read_uevent(row.text.data(), row.text.size(), makedev(226, 1)), row.expected)
      << row.name;
}

INSTANTIATE_TEST_SUITE_P(Rows, Uevents, testing::ValuesIn(kRows));

struct Woken : HotplugHandler {
  std::atomic<int> times{0};
  bool begun = false; // not atomic: TSan tells where a thread runs before on_begin() has returned
  std::atomic<bool> called_early{false};
  void on_begin() noexcept override
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    begun = true;
  }
  std::atomic<pid_t> thread{0};
  std::function<void()> call = [] {};
  void on_hotplug() noexcept override {}
  void on_device_removed() noexcept override {}
  void on_woken() noexcept override
  {
    called_early = called_early || !begun;
    thread = gettid();
    call();
    times++;
  }
  [[nodiscard]] bool await(int wanted) const
  {
    for (int ms = 0; ms < 10'000 && times < wanted; ms++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return times >= wanted;
  }
};

std::unique_ptr<HotplugMonitor> start(HotplugHandler &handler)
{
  auto monitor = HotplugMonitor::start(0, handler);
  EXPECT_TRUE(monitor) << monitor.error().message;
  return std::move(*monitor);
}

// How often the thread has gone to sleep.
std::string sleeps_of(pid_t thread)
{
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("voluntary_ctxt_switches"))
      return line;
  return "";
}

TEST(Monitor, calls_when_it_is_woken)
{
  Woken handler;
  const auto monitor = start(handler);
  for (int i = 1; i < 4; i++) {
    monitor->wake();
    ASSERT_TRUE(handler.await(i));
  }
  EXPECT_TRUE(handler.begun);
  EXPECT_FALSE(handler.called_early);
}

TEST(Monitor, sleeps_until_it_is_woken)
{
  if (UeventSocket(0).fd() < 0)
    GTEST_SKIP() << "no uevents come here: the thread has to look at the connector itself";
  Woken handler;
  const auto monitor = start(handler);
  monitor->wake();
  ASSERT_TRUE(handler.await(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(100)); // asleep again
  // An event of the machine's hardware wakes it as well.
  constexpr int kTries = 3;
  bool slept = false;
  for (int i = 0; i < kTries && !slept; i++) {
    const std::string before = sleeps_of(handler.thread);
    ASSERT_FALSE(before.empty());
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    slept = sleeps_of(handler.thread) == before;
  }
  EXPECT_TRUE(slept);
}

// As a bus handler does that ends the pipeline.
TEST(Monitor, may_be_let_go_where_it_calls)
{
  Woken handler;
  std::atomic<bool> ready{false};
  std::unique_ptr<HotplugMonitor> monitor;
  handler.call = [&] {
    while (!ready)
      std::this_thread::yield();
    monitor.reset();
  };
  monitor = start(handler);
  HotplugMonitor &running = *monitor;
  running.wake();
  ready = true;
  ASSERT_TRUE(handler.await(1));
}

// The thread that ends it holds what the handler waits for.
TEST(Monitor, is_not_waited_for_in_code_of_the_application)
{
  static Woken handler; // the thread leaves it last
  static std::atomic<bool> inside{false}, ended{false};
  std::atomic<bool> in_time{false};
  handler.call = [&in_time] {
    const InApplicationCallback outside;
    inside = true;
    for (int ms = 0; ms < 20'000 && !ended; ms++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = ended.load();
  };
  auto monitor = start(handler);
  monitor->wake();
  while (!inside)
    std::this_thread::yield();
  monitor.reset();
  ended = true;
  ASSERT_TRUE(handler.await(1));
  EXPECT_TRUE(in_time);
}

} // namespace
