// SPDX-License-Identifier: LGPL-2.1-or-later
#include "errors.hpp"

#include <cerrno>
#include <string>
#include <thread>

namespace gstdrm {

BusError bus_error_of(const Error &error) noexcept
{
  if (error.code == ErrorCode::Unsupported || error.code == ErrorCode::Caps)
    return {GST_CORE_ERROR, GST_CORE_ERROR_NEGOTIATION};
  if (error.code == ErrorCode::Layout || error.code == ErrorCode::Import)
    return {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT};
  switch (error.sys_errno) {
  case EACCES:
  case EPERM:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_AUTHORIZED};
  case ENODEV:
  case ENOENT:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
  case EBUSY:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_BUSY};
  default:
    return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
  }
}

void post_error(GstElement *element, const Error &error, const char *what)
{
  const std::string text = what ? std::string(what) + ": " + error.message : error.message;
  const BusError on_bus = bus_error_of(error);
  gchar *debug =
      g_strdup_printf("code %d, errno %d", static_cast<int>(error.code), error.sys_errno);
  // A path or a driver's name may be no UTF-8, which a structure does not take.
  gchar *valid = g_utf8_make_valid(text.c_str(), -1);
  // code is a GstDrmError
  GstStructure *details =
      gst_structure_new("details", "code", G_TYPE_INT, static_cast<int>(error.code), "errno",
                        G_TYPE_INT, error.sys_errno, "text", G_TYPE_STRING, valid, nullptr);
  gst_element_message_full_with_details(element, GST_MESSAGE_ERROR, on_bus.domain, on_bus.code,
                                        valid, debug, __FILE__, GST_FUNCTION,
                                        __LINE__, details);
}

Error take_error(GError *error, std::optional<ErrorCode> code)
{
  Error taken{ErrorCode::Device, error ? error->message : "unknown error", 0};
  if (error && error->domain == GST_DRM_ERROR)
    taken.code = static_cast<ErrorCode>(error->code);
  taken.code = code.value_or(taken.code);
  g_clear_error(&error);
  return taken;
}

void OncePerFailure::post(GstElement *element, const Error &error)
{
  std::unique_lock guard(lock_);
  const std::thread::id self = std::this_thread::get_id();
  posting_ended_.wait(guard, [&] { return poster_ == std::thread::id() || poster_ == self; });
  if (std::exchange(posted_, true))
    return;
  // A handler of the message may make the element fail once more, after a reset().
  const std::thread::id outer = std::exchange(poster_, self);
  guard.unlock();
  struct End {
    OncePerFailure &failure;
    std::thread::id outer;
    ~End()
    {
      const std::lock_guard guard(failure.lock_);
      failure.poster_ = outer;
      failure.posting_ended_.notify_all();
    }
  } const end{*this, outer};
  post_error(element, error);
}

} // namespace gstdrm
