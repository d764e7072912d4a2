// SPDX-License-Identifier: LGPL-2.1-or-later
// The border between C++ and C: no exception leaves a C function or a callback of this tree.
//
// Virtual functions and callbacks are made by two templates, of a method or of a C++ function:
//   klass->query = gstdrm::logging<downloader_of, &EglDownloader::query>;
//   klass->set_caps = gstdrm::posting<downloader_of, &EglDownloader::set_caps>;
//   object_class->set_property = gstdrm::logging<set_property>;
// where downloader_of(gpointer) returns the C++ object of an element. What the templates make is
// noexcept. It logs an exception, `posting` also posts it as the element's error, and then it
// returns failure<R>(). Where a function is given to a macro, the template needs brackets.
//
// A public function, and one with a GError, is a function-try-block of its own that ends in
//   catch (...) { return gstdrm::caught(FALSE, __func__, error); }
// Never installed.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <gst/gst.h>

#include "gstdrmerror.h"

namespace gstdrm {

// Turns the exception that is being handled into a GError, unless `error` has one already.
// std::bad_alloc and std::length_error mean that memory ran out; any other exception is a fault of
// this library, and the message says so.
inline void describe_exception(std::string_view function, GError **error) noexcept
{
  // the category of the library; the name finds it, from a plugin as well
  static GstDebugCategory *const category = _gst_debug_category_new("drmformat", 0, nullptr);
  const auto tell = [&](GstDrmError code, const char *why, const char *whose) {
    const auto length = static_cast<int>(function.size());
    GST_CAT_ERROR(category, "%.*s failed: %s%s", length, function.data(), why, whose);
    if (error && !*error)
      g_set_error(error, GST_DRM_ERROR, code, "%.*s failed: %s%s", length, function.data(), why,
                  whose);
  };
  constexpr const char *kOurs = ", a fault of gst-drm; please report it";
  try {
    throw;
  } catch (const std::bad_alloc &) {
    tell(GST_DRM_ERROR_ALLOCATION, "out of memory", "");
  } catch (const std::length_error &) {
    tell(GST_DRM_ERROR_ALLOCATION, "more bytes than can be counted", "");
  } catch (const std::exception &exception) {
    tell(GST_DRM_ERROR_UNSUPPORTED, exception.what(), kOurs);
  } catch (...) {
    tell(GST_DRM_ERROR_UNSUPPORTED, "an unknown exception", kOurs);
  }
}

// In a handler of any exception: describes it and returns `value`, the function's value for a
// failure.
template <typename T>
[[nodiscard]] T caught(T value, std::string_view function, GError **error = nullptr) noexcept
{
  describe_exception(function, error);
  return value;
}

// The same for a callback without a value.
inline void caught(std::string_view function) noexcept
{
  describe_exception(function, nullptr);
}

// In a handler of any exception: ends the stream of the element with a message about it.
inline void post_exception(gpointer element, std::string_view function) noexcept
{
  GError *error = nullptr;
  describe_exception(function, &error);
  // The fields that the details of every error have (docs/errors.md); the element kit is out of
  // reach here. What an exception says of itself may be any bytes.
  gchar *text = g_utf8_make_valid(error->message, -1);
  GstStructure *details =
      gst_structure_new("GstDrmFailure", "text", G_TYPE_STRING, text, "reason", G_TYPE_STRING, text,
                        "code", G_TYPE_INT, error->code, "errno", G_TYPE_INT, 0, nullptr);
  gst_element_message_full_with_details(GST_ELEMENT_CAST(element), GST_MESSAGE_ERROR,
                                        GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED, text, nullptr,
                                        __FILE__, __func__, __LINE__, details);
  g_error_free(error);
}

// What a virtual function or callback returns after an exception.
template <typename R> R failure() noexcept
{
  if constexpr (std::is_same_v<R, GstFlowReturn>)
    return GST_FLOW_ERROR;
  else if constexpr (std::is_same_v<R, GstPadProbeReturn>)
    return GST_PAD_PROBE_OK;
  else if constexpr (std::is_same_v<R, GstCaps *>)
    return gst_caps_new_empty();
  else
    return R(); // FALSE, GST_STATE_CHANGE_FAILURE, nullptr
}

// The name of a function or method as error messages have it: "EglDownloader::set_caps".
template <auto Function> constexpr auto name_of_function() noexcept
{
  // GCC 12: "... [with auto Function = &EglDownloader::set_caps]"; clang 14: "... [Function =
  // &gstdrm::EglDownloader::set_caps]". An unnamed namespace has its name in brackets.
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(0, text.find_first_of(";]"));
  text.remove_prefix(text.find_last_of(" &)}") + 1);
  for (const std::string_view scope : {"::", "gstdrm::"})
    if (text.starts_with(scope))
      text.remove_prefix(scope.size());
  return text;
}

namespace guard {

enum class Report { Log, Post };

// The argument of a virtual function that is the element: the first, or a pad's parent.
inline gpointer element_in(gpointer self, ...) noexcept
{
  return self;
}
inline gpointer element_in(GstPad *, GstObject *parent, ...) noexcept
{
  return parent;
}
inline gpointer element_in(GstPad *, GstPadProbeInfo *, ...) = delete; // a probe only logs

// Calls `call`, which is `Function` or calls it.
template <Report kReport, auto Function, typename R, typename... Args>
R run(const auto &call, Args... args) noexcept
try {
  return call(args...);
} catch (...) {
  if constexpr (kReport == Report::Post)
    post_exception(element_in(args...), name_of_function<Function>());
  else
    describe_exception(name_of_function<Function>(), nullptr);
  return failure<R>();
}

// Becomes a C function of the type that it is assigned to, whose first argument is the element, or
// a pad with the element behind it. bool becomes gboolean, a method without a result returns TRUE,
// and a reference leaves its GstPtr.
template <Report kReport, auto Of, auto Method> struct OfMethod {
  template <typename R, typename Self, typename... Args> static R call(Self *self, Args... args)
  {
    const auto method = [&] { return (Of(self).*Method)(args...); };
    if constexpr (std::is_void_v<decltype(method())> && std::is_same_v<R, gboolean>)
      return method(), TRUE;
    else if constexpr (requires { method().release(); })
      return method().release();
    else
      return method();
  }
  template <typename R, typename Self, typename... Args> using Pointer = R (*)(Self *, Args...);
  template <typename R, typename Self, typename... Args>
  constexpr operator Pointer<R, Self, Args...>() const noexcept
  {
    return [](Self *self, Args... args) noexcept -> R {
      return run<kReport, Method, R>(call<R, Self, Args...>, self, args...);
    };
  }
  template <typename R, typename... Args>
  using PadFunction = R (*)(GstPad *, GstObject *parent, Args...);
  template <typename R, typename... Args>
  constexpr operator PadFunction<R, Args...>() const noexcept
  {
    return [](GstPad *, GstObject *parent, Args... args) noexcept -> R {
      return run<kReport, Method, R>(call<R, GstObject, Args...>, parent, args...);
    };
  }
};

template <Report kReport, auto Of, auto Method> constexpr auto make() noexcept
{
  return OfMethod<kReport, Of, Method>();
}
template <Report kReport, auto Function> constexpr auto make() noexcept
{
  return []<typename R, typename... Args>(R (*)(Args...)) {
    return +[](Args... args) noexcept -> R { return run<kReport, Function, R>(Function, args...); };
  }(Function);
}

} // namespace guard

// See the top of this file. The element that posting<> posts on is the first argument or, behind a
// pad, the second.
template <auto... Parts>
inline constexpr auto posting = guard::make<guard::Report::Post, Parts...>();
template <auto... Parts>
inline constexpr auto logging = guard::make<guard::Report::Log, Parts...>();

} // namespace gstdrm
