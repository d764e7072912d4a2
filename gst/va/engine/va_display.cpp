// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_display.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <va/va_drm.h>
#include <va/va_str.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>

namespace gstdrm::va {
namespace {

std::string trim(std::string text)
{
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

void collect_message(void *user, const char *message)
{
  auto &messages = *static_cast<std::string *>(user);
  if (!messages.empty())
    messages += "; ";
  messages += trim(message);
}

void drop_message(void * /*user*/, const char * /*message*/) {}

} // namespace

Result<std::shared_ptr<Display>> Display::open(const std::string &node)
{
  std::shared_ptr<Display> display(new Display(node));
  display->fd_ = UniqueFd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!display->fd_) {
    const int reason = errno;
    const char *hint = reason == EACCES ? "; its group may, often that is render" : "";
    GSTDRM_DEBUG("%s cannot be opened: %s", node.c_str(), errno_text(reason).c_str());
    return Error{ErrorCode::Device, node + " cannot be opened: " + errno_text(reason) + hint,
                 reason};
  }
  struct stat status {};
  if (::fstat(display->fd_.get(), &status) == 0)
    display->device_number_ = status.st_rdev;
  if (auto initialised = display->initialise(); !initialised)
    return initialised.error();
  return display;
}

Result<void> Display::initialise()
{
  display_ = vaGetDisplayDRM(fd_.get());
  if (!display_)
    return Error{ErrorCode::Device, node_ + " is no DRM device to libva (vaGetDisplayDRM)"};
  // By default libva writes its messages to stderr; here they become part of the Error.
  (void)vaSetErrorCallback(display_, collect_message, &messages_);
  (void)vaSetInfoCallback(display_, drop_message, nullptr);
  int major = 0;
  int minor = 0;
  const VAStatus status = vaInitialize(display_, &major, &minor);
  (void)vaSetErrorCallback(display_, drop_message, nullptr);
  if (status != VA_STATUS_SUCCESS) {
    auto failed = error(ErrorCode::Device, "vaInitialize", status);
    if (!messages_.empty())
      failed.message += ": " + messages_;
    return failed;
  }
  const char *vendor = vaQueryVendorString(display_);
  vendor_ = vendor ? vendor : "unnamed driver";
  GSTDRM_INFO("opened %s with VA-API %d.%d: %s", node_.c_str(), major, minor, vendor_.c_str());
  return {};
}

Display::~Display()
{
  // vaTerminate() also frees the VADisplay of a driver that could not be initialised.
  if (display_)
    (void)vaTerminate(display_);
}

Error Display::error(ErrorCode code, const char *call, VAStatus status) const
{
  char number[16];
  (void)std::snprintf(number, sizeof number, " (0x%x)", static_cast<unsigned>(status));
  std::string where = std::string(call) + " on " + node_;
  if (!vendor_.empty())
    where += " (" + vendor_ + ")";
  GSTDRM_DEBUG("refused: %s: %s%s", where.c_str(), vaStatusStr(status), number);
  return Error{code, where + ": " + vaErrorStr(status) + number};
}

} // namespace gstdrm::va
