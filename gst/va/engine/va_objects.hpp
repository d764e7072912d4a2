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
template <typename Destroyer> class Handle {
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
      Destroyer::destroy(display_->count(), id_);
  }

  [[nodiscard]] VAGenericID id() const noexcept { return id_; }
  [[nodiscard]] Display &display() const noexcept { return *display_; }
  explicit operator bool() const noexcept { return id_ != VA_INVALID_ID; }

private:
  std::shared_ptr<Display> display_;
  VAGenericID id_ = VA_INVALID_ID;
};

struct DestroyConfig {
  static void destroy(VADisplay display, VAGenericID id) { (void)vaDestroyConfig(display, id); }
};
struct DestroyContext {
  static void destroy(VADisplay display, VAGenericID id) { (void)vaDestroyContext(display, id); }
};
struct DestroyBuffer {
  static void destroy(VADisplay display, VAGenericID id) { (void)vaDestroyBuffer(display, id); }
};
struct DestroyImage {
  static void destroy(VADisplay display, VAGenericID id) { (void)vaDestroyImage(display, id); }
};
struct DestroySurface {
  static void destroy(VADisplay display, VAGenericID id)
  {
    (void)vaDestroySurfaces(display, &id, 1);
  }
};

using Config = Handle<DestroyConfig>;
using Context = Handle<DestroyContext>;
using Buffer = Handle<DestroyBuffer>;
using ImageHandle = Handle<DestroyImage>;
using Surface = Handle<DestroySurface>;

} // namespace gstdrm::va
