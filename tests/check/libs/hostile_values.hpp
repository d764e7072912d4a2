// SPDX-License-Identifier: LGPL-2.1-or-later
// What the rows of the program `hostile` feed to the library: numbers out of range, caps, infos and descriptors that no
// sane caller would pass, and the tables of rows.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include <gst/drm/drm.h>
#include <gst/video/video.h>

#include "support/check_main.hpp"

namespace gstdrm::test::hostile {

inline constexpr guint32 kNv12 = 0x3231564e;
inline constexpr guint32 kXr24 = 0x34325258;
inline constexpr guint64 kYTiled = G_GUINT64_CONSTANT(0x0100000000000002);
inline constexpr guint64 kVivante = G_GUINT64_CONSTANT(0x0600000000000001); // GStreamer names it for NV12

inline constexpr guint32 kFourccs[] = {0, 1, kNv12, kXr24, kNv12 | 1U << 31, 0x20202020, 0x3a3a3a3a, 0x7f7f7f7f, 0x80808080, G_MAXUINT32};
inline constexpr guint64 kModifiers[] = {0, 1, GST_DRM_MODIFIER_IMPLICIT, kYTiled, kVivante, 0x0200000028a6bf04, G_MAXINT64, G_GUINT64_CONSTANT(1) << 63, G_MAXUINT64};
inline constexpr gint kNumbers[] = {G_MININT, -65536, -1, 0, 1, 2, 3, 31, 255, 500, 16384, 16385, G_MAXINT - 1, G_MAXINT};
inline constexpr gsize kOffsets[] = {0, 1, 4095, 1228799, 1228800, G_MAXUINT32, static_cast<gsize>(G_MAXUINT32) + 1, G_MAXSIZE - 1, G_MAXSIZE};
inline const char *const kStrings[] = {"", ":", "NV12", "NV12:", "NV12:0x", "NV12:0X", "NV12:0x0", "\xff\xfe\xfd\xfc", "NV12:0xffffffffffffffffff", "    ", "NULL", "DMA_DRM"};

// Into an enum field, as C would: a cast of such a number to the enum is undefined in C++.
template <typename Enum> void put(Enum &field, gint number)
{
  static_assert(sizeof field == sizeof number);
  std::memcpy(&field, &number, sizeof field);
}

// As an argument; a caller in C passes any number.
template <typename Enum> __attribute__((no_sanitize("undefined"))) Enum enum_of(gint number)
{
  Enum value{};
  put(value, number);
  return value;
}

// A failure has its message, which is not that of an exception, and a success has none. The error is freed.
void check(bool success, GError *&error); // a reference: it is set when the other argument has its value

struct CapsDeleter {
  void operator()(GstCaps *caps) const { gst_caps_unref(caps); }
};
using CapsPtr = std::unique_ptr<GstCaps, CapsDeleter>;

// Caps with one field of a hostile kind, in each form that the library reads.
std::vector<CapsPtr> hostile_caps();

// Infos that were only zeroed, only made, filled well, and filled with nonsense: each as a copy that `call` may change.
void infos(const std::function<void(GstDrmVideoInfo *)> &call);

// Descriptors that are none, or of the wrong kind.
void for_each_hostile_fd(const std::function<void(int)> &call);

// Memory that counts as a dma-buf: a memfd of this size.
GstBuffer *buffer_of(gsize size);

// Buffers without memory, with too little of it, and with a GstVideoMeta that lies.
void for_each_hostile_buffer(const std::function<void(GstBuffer *)> &call);

// Allocation queries for each of the caps, with metas of the library whose parameters are nonsense.
void with_query(const std::function<void(GstQuery *)> &call);

// One public function.
struct Row {
  const char *function;
  void (*feed)();
};

// "The type is registered once": no argument, so nothing to be hostile with.
template <GType (*get)(void) noexcept> void type_row()
{
  fail_unless(get() != 0);
  fail_unless(get() == get());
}

using Rows = std::vector<Row>;
// allocators, pools and the devices that allocation queries name
const Rows &allocation_rows();
// constraints and their conflicts
const Rows &constraint_rows();
// formats, sets of them, and caps
const Rows &format_rows();
// frames, their fences, and what announces fences
const Rows &frame_rows();
const Rows &source_rows();
const Rows &tensor_rows();
const Rows &video_info_rows();

} // namespace gstdrm::test::hostile
