// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_display.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <va/va_backend.h>
#include <va/va_drm.h>
#include <va/va_drmcommon.h>
#include <va/va_str.h>

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/log.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "va_text.hpp"

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

// libva's messages about the driver's file and the folders where it looks for it.
void log_message(void * /*user*/, const char *message)
{
  GSTDRM_DEBUG("%s%s", kLibvaSays, trim(message).c_str());
}

// A VADisplay that was opened here, and the descriptor that it uses.
struct Opened {
  Opened() = default;
  Opened(const Opened &) = delete;
  Opened &operator=(const Opened &) = delete;
  ~Opened()
  {
    // vaTerminate() also frees the VADisplay of a driver that could not be initialised.
    if (display)
      (void)vaTerminate(display);
  }

  UniqueFd fd;
  VADisplay display = nullptr;
};

// The display's descriptor of the DRM node, borrowed; -1 if there is none. Displays of DRM, X11 and
// Wayland keep it in the driver's context (va_drmcommon.h, struct drm_state).
int drm_fd_of(VADisplay display)
{
  const auto *context = static_cast<VADisplayContextP>(display)->pDriverContext;
  const auto *state = context ? static_cast<const drm_state *>(context->drm_state) : nullptr;
  return state ? state->fd : -1;
}

Result<std::uint64_t> number_of_node(const std::string &node)
{
  struct stat status {};
  if (::stat(node.c_str(), &status) == 0)
    return std::uint64_t{status.st_rdev};
  const int reason = errno;
  return Error{ErrorCode::Device, node + " is not there: " + errno_text(reason), reason};
}

} // namespace

Result<std::shared_ptr<Display>> Display::open(const std::string &node)
{
  std::shared_ptr<Display> display(new Display(node));
  const auto opened = std::make_shared<Opened>();
  opened->fd = UniqueFd(::open(node.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened->fd) {
    const int reason = errno;
    const char *hint = reason == EACCES ? "; its group may, often that is render" : "";
    GSTDRM_DEBUG("%s cannot be opened: %s", node.c_str(), errno_text(reason).c_str());
    return Error{ErrorCode::Device, node + " cannot be opened: " + errno_text(reason) + hint,
                 reason};
  }
  struct stat status {};
  if (::fstat(opened->fd.get(), &status) == 0)
    display->device_number_ = status.st_rdev;
  // take ownership before any call that may throw
  opened->display = display->display_ = vaGetDisplayDRM(opened->fd.get());
  display->owner_ = opened;
  if (auto initialised = display->initialise(); !initialised)
    return initialised.error();
  return display;
}

Result<std::shared_ptr<Display>> Display::adopt(VADisplay foreign, const std::string &node,
                                                std::shared_ptr<void> owner)
{
  if (!foreign || vaDisplayIsValid(foreign) == 0)
    return Error{ErrorCode::Device, "the VADisplay is NULL, or none that libva has open"};
  struct stat status {};
  if (::fstat(drm_fd_of(foreign), &status) != 0)
    return Error{ErrorCode::Device, "the VADisplay does not say of which DRM device it is"};
  const std::uint64_t theirs = status.st_rdev;
  const auto number = node.empty() ? Result<std::uint64_t>(theirs) : number_of_node(node);
  if (!number)
    return number.error();
  const auto same = is_same_drm_device(*number, theirs);
  if (!same || !*same)
    return Error{ErrorCode::Device,
                 "the VADisplay is of " + drm_node_path(theirs) + ", not of " + node};
  if (!vaQueryVendorString(foreign))
    return Error{ErrorCode::Device, "the VADisplay was not initialised with vaInitialize()"};
  std::shared_ptr<Display> display(new Display(node.empty() ? drm_node_path(theirs) : node));
  display->display_ = foreign;
  display->owner_ = std::move(owner);
  display->device_number_ = *number;
  display->read_vendor();
  GSTDRM_INFO("shares a display of %s: %s", display->node_.c_str(), display->vendor_.c_str());
  return display;
}

std::shared_ptr<Display> Display::share() const
{
  std::shared_ptr<Display> display(new Display(node_));
  display->vendor_ = vendor_;
  display->owner_ = owner_;
  display->display_ = display_;
  display->device_number_ = device_number_;
  return display;
}

void Display::read_vendor()
{
  const char *vendor = vaQueryVendorString(display_);
  vendor_ = vendor ? one_line(vendor) : "unnamed driver";
}

Result<void> Display::initialise()
{
  if (!display_)
    return Error{ErrorCode::Device, node_ + " is no DRM device to libva (vaGetDisplayDRM)"};
  // By default libva writes its messages to stderr; here they become part of the Error.
  (void)vaSetErrorCallback(display_, collect_message, &messages_);
  (void)vaSetInfoCallback(display_, log_message, nullptr);
  int major = 0;
  int minor = 0;
  const VAStatus status = vaInitialize(display_, &major, &minor);
  (void)vaSetErrorCallback(display_, drop_message, nullptr);
  (void)vaSetInfoCallback(display_, drop_message, nullptr);
  if (status != VA_STATUS_SUCCESS) {
    auto failed = error(ErrorCode::Device, "vaInitialize", status);
    if (!messages_.empty())
      failed.message += ": " + messages_;
    return failed;
  }
  read_vendor();
  GSTDRM_INFO("opened %s with VA-API %d.%d: %s", node_.c_str(), major, minor, vendor_.c_str());
  return {};
}

Error Display::error(ErrorCode code, const char *call, VAStatus status) const
{
  char number[16];
  (void)std::snprintf(number, sizeof number, " (0x%x)", static_cast<unsigned>(status));
  std::string where = std::string(call) + " on " + node_;
  if (!vendor_.empty())
    where += " (" + vendor_ + ")";
  GSTDRM_DEBUG("refused: %s: %s%s", where.c_str(), vaStatusStr(status), number);
  const int sys_errno = out_of_descriptors(kDescriptorsOfFrame); // no VAStatus tells
  std::string text = where + ": " + vaErrorStr(status) + number + text_of_lack(sys_errno);
  if (has_gone())
    text += ". " + node_ +
            " has gone: its GPU was unplugged, or its driver was unloaded. Stop the "
            "pipeline, and set another device";
  return Error{code, std::move(text), sys_errno};
}

bool Display::is_of(const std::string &node) const
{
  const auto number = number_of_node(node);
  const auto same = number ? is_same_drm_device(*number, device_number_) : Result<bool>(false);
  return same && *same;
}

// Drivers have no status for a device that is gone.
bool Display::has_gone() const
{
  const auto number = number_of_node(node_);
  return device_number_ != 0 && (!number || *number != device_number_);
}

} // namespace gstdrm::va
