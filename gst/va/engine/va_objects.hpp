// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of libva's objects. Each owner destroys its object once, and keeps the object's display
// open until then.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <va/va.h>

#include "va_display.hpp"

namespace gstdrm::va {

// One id of a display and the call that destroys it.
template <VAStatus (*destroy)(VADisplay, VAGenericID)> class Handle {
public:
  Handle() noexcept = default;
  Handle(std::shared_ptr<Display> display, VAGenericID id) noexcept
      : display_(std::move(display)), id_(id)
  {
  }
  Handle(Handle &&other) noexcept
      : display_(std::move(other.display_)), id_(std::exchange(other.id_, VA_INVALID_ID))
  {
  }
  Handle &operator=(Handle &&other) noexcept
  {
    std::swap(display_, other.display_);
    std::swap(id_, other.id_);
    return *this;
  }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  ~Handle()
  {
    if (display_ && id_ != VA_INVALID_ID)
      (void)destroy(display_->count(), id_);
  }

  [[nodiscard]] VAGenericID id() const noexcept { return id_; }
  [[nodiscard]] Display &display() const noexcept { return *display_; }
  explicit operator bool() const noexcept { return id_ != VA_INVALID_ID; }

private:
  std::shared_ptr<Display> display_;
  VAGenericID id_ = VA_INVALID_ID;
};

inline VAStatus destroy_surface(VADisplay display, VAGenericID id)
{
  return vaDestroySurfaces(display, &id, 1);
}

using Config = Handle<vaDestroyConfig>;
using Context = Handle<vaDestroyContext>;
using Buffer = Handle<vaDestroyBuffer>;
using ImageHandle = Handle<vaDestroyImage>;
using Surface = Handle<destroy_surface>;

} // namespace gstdrm::va
