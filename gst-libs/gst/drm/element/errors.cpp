// SPDX-License-Identifier: LGPL-2.1-or-later
#include "errors.hpp"

#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "chain.hpp"

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

namespace {

// "It failed" or "It failed.": the end of a sentence that another one follows.
std::string ended(const std::string &text)
{
  return text.empty() || text.ends_with('.') || text.ends_with('?') ? text : text + ".";
}

// What a process lacks, and whose limits are the user's to raise. Empty for any other error.
const char *advice_on_lack(int sys_errno)
{
  switch (sys_errno) {
  case EMFILE:
    return "Raise the process's limit of open files (ulimit -n).";
  case ENFILE:
    return "Raise the system's limit of open files (fs.file-max).";
  case ENOMEM:
    return "Free memory, or raise the process's limit of it (ulimit -v).";
  default:
    return "";
  }
}

} // namespace

void set_text(GstStructure *details, const char *field, const std::string &text)
{
  const g_autofree gchar *valid = g_utf8_make_valid(text.c_str(), -1);
  gst_structure_set(details, field, G_TYPE_STRING, valid, nullptr);
}

Failure::Failure(BusError on_bus, std::string what, Error why)
    : on_bus_(on_bus), what_(std::move(what)), why_(std::move(why)),
      facts_(gst_structure_new_empty("GstDrmFailure"))
{
}

Failure::Failure(std::string what, const Error &why)
    : Failure(bus_error_of(why), std::move(what), why)
{
}

Failure &Failure::advise(std::string advice)
{
  advice_ = std::move(advice);
  return *this;
}

Failure &Failure::add(const char *field, const std::string &value)
{
  if (!value.empty())
    set_text(facts_.get(), field, value);
  return *this;
}

Failure &Failure::add(const char *field, std::uint64_t value)
{
  gst_structure_set(facts_.get(), field, G_TYPE_UINT64, guint64{value}, nullptr);
  return *this;
}

Failure &Failure::add(const char *field, const GstCaps *caps)
{
  if (caps)
    gst_structure_set(facts_.get(), field, GST_TYPE_CAPS, caps, nullptr);
  return *this;
}

Failure &Failure::add_property(const char *name, const std::string &value)
{
  return add("property", name).add("value", value);
}

void post_failure(GstElement *element, const Failure &failure)
{
  const Error &why = failure.why_;
  const std::string said =
      ended(failure.what_.empty() ? why.message : failure.what_ + ": " + why.message);
  std::string advice = failure.advice_;
  if (const std::string more = advice_on_lack(why.sys_errno); !more.empty())
    advice += (advice.empty() ? "" : " ") + more;
  const g_autofree gchar *facts = gst_structure_to_string(failure.facts_.get());
  gchar *debug =
      g_strdup_printf("code %d, errno %d, %s", static_cast<int>(why.code), why.sys_errno, facts);
  GstStructure *details = gst_structure_copy(failure.facts_.get());
  set_text(details, "reason", why.message);
  if (!advice.empty())
    set_text(details, "advice", advice);
  post_with_details(element, failure.on_bus_,
                    Error{why.code, advice.empty() ? said : said + " " + advice, why.sys_errno},
                    details, debug);
}

void post_error(GstElement *element, const Error &error, const char *what)
{
  post_failure(element, Failure(what ? what : "", error));
}

void post_with_details(GstElement *element, BusError on_bus, const Error &error,
                       GstStructure *details, gchar *debug)
{
  set_text(details, "text", error.message);
  // code is a GstDrmError
  gst_structure_set(details, "code", G_TYPE_INT, static_cast<int>(error.code), "errno", G_TYPE_INT,
                    error.sys_errno, nullptr);
  gchar *valid_debug = g_utf8_make_valid(debug ? debug : "", -1);
  g_free(debug);
  gst_element_message_full_with_details(element, GST_MESSAGE_ERROR, on_bus.domain, on_bus.code,
                                        g_strdup(gst_structure_get_string(details, "text")),
                                        valid_debug, __FILE__, GST_FUNCTION, __LINE__, details);
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

void OncePerFailure::post(GstElement *element, const Failure &failure)
{
  std::unique_lock guard(lock_);
  const std::thread::id self = std::this_thread::get_id();
  posting_ended_.wait(guard,
                      [&] { return flushing_ || poster_ == std::thread::id() || poster_ == self; });
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
  post_failure(element, failure);
}

void OncePerFailure::set_flushing(bool flushing)
{
  const std::lock_guard guard(lock_);
  flushing_ = flushing;
  posting_ended_.notify_all();
}

namespace {

bool is_error_of(GstElement *element, GstMessage *message)
{
  return GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR &&
         GST_MESSAGE_SRC(message) == GST_OBJECT_CAST(element);
}

const GstStructure *details_of(GstMessage *message)
{
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message, &details);
  return details;
}

} // namespace

bool is_own_error(GstElement *element, GstMessage *message)
{
  if (!is_error_of(element, message))
    return false;
  const GstStructure *details = details_of(message);
  return details && gst_structure_has_field(details, "text");
}

std::optional<BaseError> base_error_in(GstElement *element, GstMessage *message)
{
  if (!is_error_of(element, message) || is_own_error(element, message))
    return std::nullopt;
  g_autoptr(GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  gst_message_parse_error(message, &error, &debug);
  BaseError found{{error->domain, error->code}, error->message, debug ? debug : ""};
  // GST_ELEMENT_FLOW_ERROR() of gstelement.h
  gint flow = GST_FLOW_OK;
  if (const GstStructure *details = details_of(message))
    gst_structure_get_int(details, "flow-return", &flow);
  found.flow = static_cast<GstFlowReturn>(flow);
  return found;
}

Failure stopped_stream(GstElement *element, GstPad *src, GstFlowReturn flow)
{
  const bool linked = flow != GST_FLOW_NOT_LINKED;
  const std::string receiver = peer_name(src);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(src));
  Failure failure(
      {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED}, std::string(GST_OBJECT_NAME(element)) + " stops",
      Error{ErrorCode::Unsupported,
            linked ? receiver + " takes no more frames (" + gst_flow_get_name(flow) + ")"
                   : "nothing that takes frames is linked to it",
            0});
  failure.advise(linked ? "The first error message of the pipeline says why. Where there is no "
                          "other, an element downstream does not take the caps of the stream."
                        : "Link its source pad to an element that takes video.");
  failure.add("receiver", receiver).add("caps", caps.get());
  return failure;
}

} // namespace gstdrm
