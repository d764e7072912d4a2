// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_own_thread.hpp"

#include <mutex>
#include <system_error>
#include <utility>

#include "kms_objects.hpp"

namespace gstdrm::kms {

Result<void> OwnThread::start(const std::shared_ptr<OwnThread> &own, const std::string &name)
{
  Result<WakeFd> wake = WakeFd::create();
  if (!wake)
    return wake.error();
  own->wake_ = std::move(*wake);
  try {
    own->thread_ = std::thread([own, name = "kms-" + name] {
      pthread_setname_np(pthread_self(), name.c_str());
      current_own_thread = own.get();
      own->run();
      {
        const std::lock_guard guard(own->lock_);
        own->ended_ = true;
      }
      own->changed_.notify_all();
    });
  } catch (const std::system_error &failure) {
    return device_error("No " + name + " thread (" + failure.what() +
                            "). Raise the limits on threads (ulimit -u) and on memory (ulimit -v).",
                        failure.code().value());
  }
  return {};
}

void OwnThread::stop()
{
  quit_ = true;
  wake_.wake();
  bool ends = false;
  if (!is_current()) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [this] { return ended_ || outside_ > 0; });
    ends = ended_;
  }
  if (ends)
    thread_.join();
  else
    thread_.detach();
}

void OwnThread::enter_application() noexcept
{
  {
    const std::lock_guard guard(lock_);
    outside_++;
  }
  changed_.notify_all();
}

void OwnThread::leave_application() noexcept
{
  const std::lock_guard guard(lock_);
  outside_--;
}

} // namespace gstdrm::kms
