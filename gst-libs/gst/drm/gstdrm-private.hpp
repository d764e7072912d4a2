// SPDX-License-Identifier: LGPL-2.1-or-later
// Glue between the C++ core and GLib: for this tree's sources alone, never installed.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <gst/gst.h>
#include <gst/video/video-format.h>

#include "core/result.hpp"
#include "gstdrmerror.h"
#include "gstdrmformatset.h"

namespace gstdrm {

// What a C function of this library gave, where nullptr means that its memory ran out: here that is
// the exception again that it was there.
template <typename T> T *made(T *pointer)
{
  if (!pointer)
    throw std::bad_alloc();
  return pointer;
}

// Sole owner of one reference of a GObject, GstMiniObject or other GLib-counted type. adopt() takes
// a transfer-full pointer, share() a transfer-none one, so each call site says which it got.
template <typename T> struct GstTraits {
  static void ref(T *p)
  {
    if constexpr (std::is_same_v<T, GstCaps> || std::is_same_v<T, GstBuffer> ||
                  std::is_same_v<T, GstSample> || std::is_same_v<T, GstMemory> ||
                  std::is_same_v<T, GstQuery> || std::is_same_v<T, GstEvent> ||
                  std::is_same_v<T, GstMessage> || std::is_same_v<T, GstContext>)
      gst_mini_object_ref(GST_MINI_OBJECT_CAST(p));
    else
      g_object_ref(p);
  }
  static void unref(T *p)
  {
    if constexpr (std::is_same_v<T, GstCaps> || std::is_same_v<T, GstBuffer> ||
                  std::is_same_v<T, GstSample> || std::is_same_v<T, GstMemory> ||
                  std::is_same_v<T, GstQuery> || std::is_same_v<T, GstEvent> ||
                  std::is_same_v<T, GstMessage> || std::is_same_v<T, GstContext>)
      gst_mini_object_unref(GST_MINI_OBJECT_CAST(p));
    else
      g_object_unref(p);
  }
};

template <typename T> class GstPtr {
public:
  GstPtr() noexcept = default;
  static GstPtr adopt(T *p) noexcept { return GstPtr(p); }
  static GstPtr share(T *p) noexcept
  {
    if (p)
      GstTraits<T>::ref(p);
    return GstPtr(p);
  }
  GstPtr(GstPtr &&other) noexcept : p_(other.release()) {}
  GstPtr &operator=(GstPtr &&other) noexcept
  {
    reset(other.release());
    return *this;
  }
  GstPtr(const GstPtr &other) noexcept : GstPtr(share(other.p_)) {}
  GstPtr &operator=(const GstPtr &other) noexcept
  {
    if (this != &other)
      *this = share(other.p_);
    return *this;
  }
  ~GstPtr() { reset(); }

  [[nodiscard]] T *get() const noexcept { return p_; }
  T *operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  [[nodiscard]] T *release() noexcept { return std::exchange(p_, nullptr); }
  void reset(T *adopted = nullptr) noexcept
  {
    if (T *old = std::exchange(p_, adopted))
      GstTraits<T>::unref(old);
  }

private:
  explicit GstPtr(T *p) noexcept : p_(p) {}
  T *p_ = nullptr;
};

// The debug category of the library, `drmformat`.
GstDebugCategory *library_debug_category() noexcept;

inline GError *to_gerror(const Error &error)
{
  GError *made =
      g_error_new_literal(GST_DRM_ERROR, static_cast<gint>(error.code), error.message.c_str());
  // a name that came from outside may be any bytes
  gchar *valid = g_utf8_make_valid(made->message, -1);
  g_free(made->message);
  made->message = valid;
  return made;
}

inline void propagate(GError **dest, const Error &error)
{
  if (dest)
    g_propagate_error(dest, to_gerror(error));
}

// Whether the GStreamer that runs has format=DMA_DRM: 1.24 and newer.
inline bool gstreamer_has_dma_drm()
{
  static const bool has = gst_video_format_from_string("DMA_DRM") != GST_VIDEO_FORMAT_UNKNOWN;
  return has;
}

// Whether the two have caps in common. gst_caps_can_intersect() of GStreamer 1.22 reads through a
// null pointer where it compares two lists, one of which has values of several types, such as
// { AB24, (int)4 }.
inline bool caps_meet(const GstCaps *a, const GstCaps *b)
{
  if (gst_caps_is_fixed(a) || gst_caps_is_fixed(b))
    return gst_caps_can_intersect(a, b);
  const auto both = GstPtr<GstCaps>::adopt(made(gst_drm_caps_intersect(a, b)));
  return !gst_caps_is_empty(both.get());
}

} // namespace gstdrm
