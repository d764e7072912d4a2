// SPDX-License-Identifier: LGPL-2.1-or-later
#include "trace_file.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>

namespace gstdrm::verify {

namespace {
constexpr std::chrono::milliseconds kPeriod{250};
} // namespace

TraceFile::TraceFile(Trace &trace, std::string path, std::function<void()> at_stop)
    : trace_(trace), path_(std::move(path)), at_stop_(std::move(at_stop)), pid_(::getpid())
{
}

void TraceFile::start()
{
  const std::lock_guard lock(lock_);
  if (ends_ || thread_.joinable())
    return;
  // no signal of the application is handled on a thread that it does not know
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void TraceFile::run() noexcept
try {
  ::pthread_setname_np(::pthread_self(), "drmverify");
  const std::string stop = path_ + ".stop";
  std::uint64_t written = 0;
  std::unique_lock lock(lock_);
  while (!ends_) {
    lock.unlock();
    if (::access(stop.c_str(), F_OK) == 0) {
      ended_ = true;
      at_stop_();
      write(true);
      ::unlink(stop.c_str());
      return;
    }
    if (const std::uint64_t frames = trace_.frames(); frames != written) {
      written = frames;
      write(false);
    }
    lock.lock();
    wake_.wait_for(lock, kPeriod, [this] { return ends_; });
  }
} catch (const std::exception &exception) {
  GSTDRM_WARNING("the trace is no longer written: %s", exception.what());
}

void TraceFile::write(bool finished)
{
  trace_.look();
  // a device, such as /dev/null, is no file that could be replaced
  std::error_code none;
  const bool is_file =
      !std::filesystem::exists(path_, none) || std::filesystem::is_regular_file(path_, none);
  const std::string part = is_file ? path_ + ".part" : path_;
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << trace_.to_json(finished);
  file.close();
  if (!file || (is_file && std::rename(part.c_str(), path_.c_str()) != 0))
    GSTDRM_WARNING("cannot write %s: %s", path_.c_str(), errno_text(errno).c_str());
}

void TraceFile::stop() noexcept
{
  if (::getpid() != pid_) {
    if (thread_.joinable())
      thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(lock_);
    ends_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void TraceFile::finish() noexcept
try {
  stop();
  if (::getpid() == pid_ && !has_ended() && trace_.frames() > 0)
    write(true);
} catch (const std::exception &exception) {
  GSTDRM_WARNING("the end of the trace is not written: %s", exception.what());
}

} // namespace gstdrm::verify
