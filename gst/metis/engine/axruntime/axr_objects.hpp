// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of the runtime's objects, and its errors.
#pragma once

#include <cerrno>
#include <memory>
#include <string>

#include <gst/drm/core/result.hpp>

#include "axr_api.hpp"

namespace gstdrm::metis::axr {

// The context would destroy what was made of it, but an object of a failed attempt goes at once.
struct Destroy {
  void (*destroy)(const Object *) = nullptr;
  template <typename T> void operator()(T *object) const noexcept { destroy(as_object(object)); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

template <typename T> Owned<T> owned(const Api &api, T *object) noexcept
{
  return Owned<T>(object, Destroy{api.destroy});
}

// EIO for codes without a meaning of their own here.
inline int errno_of(int code) noexcept
{
  switch (static_cast<Code>(code)) {
  case Code::ConnectionError:
    return ENODEV;
  case Code::DeviceInUse:
    return EBUSY;
  default:
    return EIO;
  }
}

// What the runtime says about the last failure of `object`. To be called before any other function
// of the runtime on this thread: the text lasts until then.
inline std::string last_error(const Api &api, const Object *object)
{
  const char *text = api.last_error_string(object);
  return text && *text ? text : "the runtime gives no reason";
}

// Of a function that returned no object. `hint` is a sentence.
inline Error failed(const Api &api, const Context *context, const std::string &what,
                    const std::string &hint)
{
  const std::string why = last_error(api, as_object(context));
  const int code = api.last_error ? api.last_error(as_object(context)) : -1;
  return Error{ErrorCode::Device, what + " failed: " + why + ". " + hint, errno_of(code)};
}

} // namespace gstdrm::metis::axr
