// SPDX-License-Identifier: LGPL-2.1-or-later
#include "driver.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace gstdrm::test::vadriver {
namespace {

constexpr int kUserLimitMs = 5000; // a fence that never signals must not hang a test

void fill_around(const Surface &to, const Rect &inside, std::uint32_t argb,
                 const Conversion &colours)
{
  const auto left = static_cast<std::uint32_t>(inside.x);
  const auto top = static_cast<std::uint32_t>(inside.y);
  const auto right = left + inside.width;
  const auto bottom = top + inside.height;
  fill(to, {0, 0, to.width, top}, argb, colours);
  fill(to, {0, static_cast<std::int32_t>(bottom), to.width, to.height - bottom}, argb, colours);
  fill(to, {0, inside.y, left, inside.height}, argb, colours);
  fill(to, {static_cast<std::int32_t>(right), inside.y, to.width - right, inside.height}, argb,
       colours);
}

void render(const Picture &picture)
{
  if (picture.upload)
    picture.upload();
  for (const auto &one : picture.blits) {
    if (one.background >> 24 != 0)
      fill_around(*picture.target, one.target_rect, one.background, one.colours);
    if (one.source)
      blit(*one.source, one.source_rect, *picture.target, one.target_rect, one.colours, one.turn,
           {one.field, one.before.get()});
  }
}

// "renderD128"; empty where the descriptor is no open file.
std::string node_name(int fd)
{
  char path[256];
  const auto length =
      ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  const std::string_view whole(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(whole.substr(whole.rfind('/') + 1));
}

// The process of whoever calls the driver, where a real one takes it down.
void end_process(Mishap mishap)
{
  switch (mishap) {
  case Mishap::Crash:
    std::signal(SIGSEGV, SIG_DFL); // a sanitizer would turn it into an exit
    std::raise(SIGSEGV);
    break;
  case Mishap::Hang:
    while (true)
      ::pause();
  case Mishap::Exit:
    ::_exit(3);
  case Mishap::Error:
    break;
  }
}

// Lines that are no answer to anybody.
void print_something(int fd)
{
  constexpr std::string_view kLines =
      "none the driver says so\nend\n\xff\xfe garbage without an end of its line";
  (void)!::write(fd, kLines.data(), kLines.size());
}

Mapping map_counters(const std::string &path)
{
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), sizeof(CounterPage)) != 0)
    return {};
  auto mapping = Mapping::map(fd.get(), sizeof(CounterPage));
  return mapping ? std::move(*mapping) : Mapping();
}

} // namespace

std::unique_ptr<Driver> Driver::create(int drm_fd)
{
  std::unique_ptr<Driver> driver(new Driver);
  const char *text = std::getenv("GST_DRM_VA_TEST");
  std::string error;
  if (!parse_settings(settings_of_node(text ? text : "", node_name(drm_fd)), driver->settings,
                      error)) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return nullptr;
  }
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (driver->settings.prints)
      print_something(fd);
  driver->counters_ = &driver->local_;
  if (!driver->settings.counters_path.empty()) {
    driver->counters_file_ = map_counters(driver->settings.counters_path);
    if (!driver->counters_file_.data()) {
      std::fprintf(stderr, "GST_DRM_VA_TEST: %s cannot be written\n",
                   driver->settings.counters_path.c_str());
      return nullptr;
    }
    // mmap() aligns to a page
    driver->counters_ =
        static_cast<CounterPage *>(static_cast<void *>(driver->counters_file_.data()));
  }
  if (driver->settings.async_ms > 0) {
    driver->spare_.resize(kPicturesAtHand);
    for (Picture &spare : driver->spare_)
      empty(spare);
    driver->worker_ = std::thread(&Driver::work, driver.get());
  }
  return driver;
}

Driver::~Driver()
{
  {
    const std::lock_guard guard(queue_lock_);
    quit_ = true;
  }
  queue_changed_.notify_all();
  if (worker_.joinable())
    worker_.join();
}

// With memory for the blits of a next picture.
void Driver::empty(Picture &picture)
{
  picture.target.reset();
  picture.upload = nullptr;
  picture.blits.clear();
  picture.blits.reserve(kBlitsAtHand);
  picture.wait_for = {};
}

VAStatus Driver::count(Counter counter, VAStatus failure)
{
  const auto nth = ++(*counters_)[counter];
  const auto name = kCounterNames[static_cast<std::size_t>(counter)];
  for (const auto &planned : settings.failures) {
    if (planned.call != name || (planned.nth != 0 && planned.nth != nth))
      continue;
    end_process(planned.mishap);
    return failure;
  }
  return VA_STATUS_SUCCESS;
}

bool Driver::has_format(const PixelFormat &format) const
{
  if (settings.formats.empty())
    return true;
  return std::find(settings.formats.begin(), settings.formats.end(), format.va_fourcc) !=
         settings.formats.end();
}

void Driver::submit(Picture &picture)
{
  if (settings.async_ms == 0) {
    wait_for_users(*picture.target, kUserLimitMs);
    render(picture);
    return;
  }
  ++picture.target->pending;
  picture.wait_for = users_of(*picture.target);
  {
    const std::lock_guard guard(queue_lock_);
    const UniqueFd fence = timeline_.add();
    if (fence && settings.fences)
      attach_write_fence(*picture.target, fence.get());
    if (spare_.empty())
      spare_.emplace_back();
    std::swap(spare_.front(), picture);
    queue_.splice(queue_.end(), spare_, spare_.begin());
  }
  queue_changed_.notify_all();
}

void Driver::work()
{
  std::unique_lock guard(queue_lock_);
  while (true) {
    queue_changed_.wait(guard, [this] { return quit_ || !queue_.empty(); });
    if (queue_.empty())
      return;
    std::list<Picture> drawn;
    drawn.splice(drawn.end(), queue_, queue_.begin());
    Picture &picture = drawn.front();
    guard.unlock();
    wait_for(picture.wait_for, kUserLimitMs);
    std::this_thread::sleep_for(std::chrono::milliseconds(settings.async_ms));
    render(picture);
    guard.lock();
    --picture.target->pending;
    timeline_.signal_next();
    queue_changed_.notify_all();
    empty(picture); // under the lock: who waited for the picture finds its surfaces let go of
    spare_.splice(spare_.end(), drawn);
  }
}

bool Driver::wait_idle(const Surface &surface, std::uint64_t timeout_ns)
{
  std::unique_lock guard(queue_lock_);
  const auto idle = [&surface] { return surface.pending == 0; };
  if (timeout_ns == VA_TIMEOUT_INFINITE) {
    queue_changed_.wait(guard, idle);
    return true;
  }
  return queue_changed_.wait_for(guard, std::chrono::nanoseconds(timeout_ns), idle);
}

} // namespace gstdrm::test::vadriver
