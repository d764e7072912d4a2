// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_formats.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>

#include <gst/drm/core/log.hpp>

#include "egl_error.hpp"

namespace gstdrm::egl {
namespace {

// Far above what drivers list (Mesa 26.1: 72 formats, 11 modifiers): a count beyond is a mistake of
// the driver's, and not memory to ask for.
constexpr EGLint kMaxListed = 4096;
// A list may change between two calls, and a driver says no more than it was given room for: a list
// that fills the room may go on.
constexpr EGLint kSpareRoom = 8;
constexpr int kTries = 3;

// Both pieces of one list; the two have the same length.
struct Modifiers {
  std::vector<EGLuint64KHR> modifiers;
  std::vector<EGLBoolean> external_only;
};

// How many entries a list has. `ask` gets the room that there is for them, 0 at first, and says how
// many there are; false if the driver refuses the question.
std::optional<std::size_t> read_list(const auto &ask)
{
  EGLint capacity = 0;
  for (int i = 0; i <= kTries; ++i) {
    EGLint count = 0;
    if (!ask(capacity, count))
      return {};
    count = std::clamp(count, 0, kMaxListed);
    if (count < capacity || count == 0 || capacity == kMaxListed)
      return static_cast<std::size_t>(count);
    if (i < kTries)
      capacity = std::min(count, kMaxListed - kSpareRoom) + kSpareRoom;
  }
  return static_cast<std::size_t>(capacity);
}

Result<std::vector<EGLint>> list_formats(const EglCalls &egl, EGLDisplay display)
{
  std::vector<EGLint> formats;
  const auto count = read_list([&](EGLint capacity, EGLint &listed) {
    // what the driver leaves out stays 0, which is no format
    formats.assign(static_cast<std::size_t>(capacity), 0);
    return egl.query_formats(display, capacity, capacity > 0 ? formats.data() : nullptr, &listed);
  });
  if (!count)
    return Error{ErrorCode::Device,
                 "The EGL display does not list the formats that it imports: "
                 "eglQueryDmaBufFormatsEXT() failed with " +
                     egl_error_name(egl.get_error()) + "; update the GPU's driver",
                 0};
  formats.resize(*count);
  return formats;
}

// Error where the driver refuses the question.
Result<Modifiers> list_modifiers(const EglCalls &egl, EGLDisplay display, EGLint format)
{
  Modifiers list;
  const auto count = read_list([&](EGLint capacity, EGLint &listed) {
    // what the driver leaves out stays the implicit modifier
    list.modifiers.assign(static_cast<std::size_t>(capacity), kModImplicit);
    list.external_only.assign(static_cast<std::size_t>(capacity), EGL_TRUE);
    const bool has_room = capacity > 0;
    return egl.query_modifiers(display, format, capacity,
                               has_room ? list.modifiers.data() : nullptr,
                               has_room ? list.external_only.data() : nullptr, &listed);
  });
  if (!count)
    return Error{ErrorCode::Device,
                 "eglQueryDmaBufModifiersEXT() failed with " + egl_error_name(egl.get_error()), 0};
  list.modifiers.resize(*count, kModImplicit);
  list.external_only.resize(*count, EGL_TRUE);
  return list;
}

// The pairs of both kinds as a driver lists them, in any order and more than once.
struct Listed {
  std::vector<Format> texture_2d;
  std::vector<Format> external_only;
};

// Nobody says which target a format without modifiers can have. The extension promises the external
// one alone for YUV, and drivers of that time take RGB as either.
void add_implicit(Listed &listed, std::uint32_t fourcc)
{
  (fourcc_is_yuv(fourcc) ? listed.external_only : listed.texture_2d)
      .push_back({fourcc, kModImplicit});
}

void add_format(Listed &listed, std::uint32_t fourcc, const Modifiers &list)
{
  bool is_explicit = false;
  for (std::size_t i = 0; i < list.modifiers.size(); ++i) {
    // DRM_FORMAT_MOD_INVALID in the list says "whatever the buffer has": the implicit member, and
    // that only where no modifier is listed
    if (list.modifiers[i] == kModImplicit)
      continue;
    is_explicit = true;
    (list.external_only[i] ? listed.external_only : listed.texture_2d)
        .push_back({fourcc, list.modifiers[i]});
  }
  if (!is_explicit)
    add_implicit(listed, fourcc);
}

// A pair that is listed with both flags is left to the target that both allow.
DisplayFormats to_sets(Listed listed)
{
  DisplayFormats formats;
  formats.external_only = FormatSet::from_pairs(std::move(listed.external_only));
  formats.texture_2d = FormatSet::subtract(FormatSet::from_pairs(std::move(listed.texture_2d)),
                                           formats.external_only);
  return formats;
}

DisplayFormats formats_without_a_list()
{
  Listed listed;
  for (const std::uint32_t fourcc :
       {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_XBGR8888, DRM_FORMAT_ABGR8888,
        DRM_FORMAT_RGB565, DRM_FORMAT_R8, DRM_FORMAT_GR88, DRM_FORMAT_NV12, DRM_FORMAT_YUV420})
    add_implicit(listed, static_cast<std::uint32_t>(fourcc));
  return to_sets(std::move(listed));
}

} // namespace

Result<DisplayFormats> query_formats(const EglCalls &egl, EGLDisplay display)
{
  const Names extensions = names_in(egl.query_string(display, EGL_EXTENSIONS));
  if (!extensions.contains("EGL_EXT_image_dma_buf_import"))
    return Error{ErrorCode::Unsupported,
                 "The EGL display imports no dma-buf: it has no EGL_EXT_image_dma_buf_import", 0};
  if (!extensions.contains("EGL_EXT_image_dma_buf_import_modifiers") || !egl.query_formats ||
      !egl.query_modifiers)
    return formats_without_a_list();

  Result<std::vector<EGLint>> fourccs = list_formats(egl, display);
  if (!fourccs)
    return fourccs.error();
  Listed listed;
  for (const EGLint number : *fourccs) {
    const auto fourcc = static_cast<std::uint32_t>(number);
    if (!fourcc_is_valid(fourcc)) {
      GSTDRM_DEBUG("left out 0x%08x, which is no fourcc", fourcc);
      continue;
    }
    const Result<Modifiers> list = list_modifiers(egl, display, number);
    if (list)
      add_format(listed, fourcc, *list);
    else
      GSTDRM_DEBUG("left out %s: %s", fourcc_to_string(fourcc).c_str(),
                   list.error().message.c_str());
  }
  return to_sets(std::move(listed));
}

} // namespace gstdrm::egl
