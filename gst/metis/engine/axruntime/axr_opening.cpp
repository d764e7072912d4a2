// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_opening.hpp"

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <gst/drm/core/log.hpp>

namespace gstdrm::metis::axr {

namespace {

// What the thread that opens and the one that waits for it have in common.
struct Opening {
  std::mutex lock; // guards all below; held for no call of the runtime
  std::condition_variable changed;
  std::optional<Result<std::shared_ptr<Session>>> opened;
  bool given_up = false;
};

Result<std::shared_ptr<Session>> open_any(const BackendOptions &options) noexcept
try {
  return Session::open(options);
} catch (...) {
  return Error{ErrorCode::Device, "out of memory", ENOMEM}; // short enough to need none
}

void work(const std::shared_ptr<Opening> &opening, const BackendOptions &options) noexcept
{
  auto opened = open_any(options);
  {
    const std::lock_guard guard(opening->lock);
    if (!opening->given_up) {
      opening->opened = std::move(opened);
      opening->changed.notify_all();
      return;
    }
  }
  GSTDRM_WARNING("axruntime: the model \"%s\" was opened too late, and is closed.",
                 options.model.path.c_str());
}

} // namespace

Result<std::shared_ptr<Session>> open_session(const BackendOptions &options)
{
  const auto opening = std::make_shared<Opening>();
  std::thread thread(work, opening, options);
  std::unique_lock guard(opening->lock);
  if (opening->changed.wait_for(guard, options.open_timeout,
                                [&] { return opening->opened.has_value(); })) {
    auto opened = std::move(*opening->opened);
    guard.unlock();
    thread.join();
    return opened;
  }
  opening->given_up = true;
  guard.unlock();
  thread.detach();
  return Error{
      ErrorCode::Sync,
      "axruntime: Opening the model \"" + options.model.path + "\" took longer than " +
          std::to_string(options.open_timeout.count()) +
          " ms. Look whether the device answers and whether another process loads a model; "
          "raise open-timeout if the model takes that long.",
      ETIMEDOUT};
}

} // namespace gstdrm::metis::axr
