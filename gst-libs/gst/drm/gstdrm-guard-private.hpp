// SPDX-License-Identifier: LGPL-2.1-or-later
// The border between C++ and C: what every C function and callback of this tree does with an
// exception. A function that could meet one is a function-try-block that ends in
//   catch (...) { return gstdrm::caught(FALSE, __func__, error); }
// and every one is noexcept. Never installed.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include <gst/gst.h>

#include "gstdrmerror.h"

namespace gstdrm {

// Turns the exception that is being handled into a GError, unless `error` has one already.
// std::bad_alloc and std::length_error mean that memory ran out; any other exception is a fault of
// this library, and the message says so.
inline void describe_exception(const char *function, GError **error) noexcept
{
  // the category of the library; the name finds it, from a plugin as well
  static GstDebugCategory *const category = _gst_debug_category_new("drmformat", 0, nullptr);
  const auto tell = [&](GstDrmError code, const char *why, const char *whose) {
    GST_CAT_ERROR(category, "%s failed: %s%s", function, why, whose);
    if (error && !*error)
      g_set_error(error, GST_DRM_ERROR, code, "%s failed: %s%s", function, why, whose);
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
[[nodiscard]] T caught(T value, const char *function, GError **error = nullptr) noexcept
{
  describe_exception(function, error);
  return value;
}

// The same for a callback without a value.
inline void caught(const char *function) noexcept
{
  describe_exception(function, nullptr);
}

// The same for a callback of an element: the stream ends with a message on the bus.
template <typename T>
[[nodiscard]] T caught_in(gpointer element, T value, const char *function) noexcept
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
                                        __FILE__, function, __LINE__, details);
  g_error_free(error);
  return value;
}

} // namespace gstdrm
