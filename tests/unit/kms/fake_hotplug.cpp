// SPDX-License-Identifier: LGPL-2.1-or-later
// The hotplug monitor without its thread: tests say when an event comes, and when time passes.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fake_drm.hpp"
#include "gst/kms/engine/card/kms_hotplug.hpp"
#include "gst/kms/engine/card/kms_own_thread.hpp"

namespace {

// Held while handlers are called, so that the end of a monitor waits for the call of another
// thread, as the real one does, but not where that is InApplicationCallback. A handler may end its own monitor.
std::recursive_mutex lock;
std::vector<gstdrm::kms::HotplugHandler *> handlers;
std::atomic<int> woken{0};

} // namespace

namespace gstdrm::kms {

class HotplugMonitor::Watch {
public:
  explicit Watch(HotplugHandler &handler) : handler_(&handler)
  {
    const std::lock_guard guard(lock);
    handlers.push_back(handler_);
  }
  void end()
  {
    const std::lock_guard guard(lock);
    std::erase(handlers, handler_);
  }

private:
  HotplugHandler *handler_;
};

HotplugMonitor::HotplugMonitor(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t, HotplugHandler &handler)
{
  handler.on_begin();
  return std::unique_ptr<HotplugMonitor>(new HotplugMonitor(std::make_shared<Watch>(handler)));
}

HotplugMonitor::~HotplugMonitor()
{
  watch_->end();
}

void HotplugMonitor::wake() noexcept
{
  woken++;
}

} // namespace gstdrm::kms

int gstdrm::test::fakedrm::wakes()
{
  return woken;
}

namespace {

// The thread that calls, for as long as it holds the lock.
struct Caller : gstdrm::kms::OwnThread {
  Caller() : OwnThread(gstdrm::kLeafLockRank, "Caller") { gstdrm::kms::current_own_thread = this; }
  ~Caller() override { gstdrm::kms::current_own_thread = nullptr; }
  Caller(const Caller &) = delete;
  Caller &operator=(const Caller &) = delete;
  void enter_application() noexcept override { lock.unlock(); }
  void leave_application() noexcept override { lock.lock(); }

private:
  void run() noexcept override {}
};

void call_each(void (gstdrm::kms::HotplugHandler::*what)())
{
  const std::lock_guard guard(lock);
  const Caller caller;
  for (gstdrm::kms::HotplugHandler *handler : std::vector(handlers))
    if (std::count(handlers.begin(), handlers.end(), handler) > 0) // it may have ended meanwhile
      (handler->*what)();
}

} // namespace

void gstdrm::test::fakedrm::hotplug()
{
  call_each(&kms::HotplugHandler::on_hotplug);
}

void gstdrm::test::fakedrm::tick()
{
  call_each(&kms::HotplugHandler::on_woken);
}
