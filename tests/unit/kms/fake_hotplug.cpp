// SPDX-License-Identifier: LGPL-2.1-or-later
// The hotplug monitor without its thread: tests say when an event comes, and when time passes.
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "fake_drm.hpp"
#include "gst/kms/engine/card/kms_hotplug.hpp"

namespace {

std::vector<gstdrm::kms::HotplugHandler *> handlers;
std::atomic<int> woken{0};

} // namespace

namespace gstdrm::kms {

class HotplugMonitor::Watch {
public:
  explicit Watch(HotplugHandler &handler) : handler_(&handler) { handlers.push_back(handler_); }
  void end() { std::erase(handlers, handler_); }

private:
  HotplugHandler *handler_;
};

HotplugMonitor::HotplugMonitor(std::shared_ptr<Watch> watch) : watch_(std::move(watch)) {}

Result<std::unique_ptr<HotplugMonitor>> HotplugMonitor::start(dev_t, HotplugHandler &handler)
{
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

void gstdrm::test::fakedrm::hotplug()
{
  for (kms::HotplugHandler *handler : std::vector(handlers))
    handler->on_hotplug();
}

void gstdrm::test::fakedrm::tick()
{
  for (kms::HotplugHandler *handler : std::vector(handlers))
    handler->on_woken();
}
