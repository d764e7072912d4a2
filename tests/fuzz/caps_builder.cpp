// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fuzz/caps_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <gst/video/video.h>

namespace gstdrm::test {

namespace {

constexpr const char *kFields[] = {"format", "drm-format", "width", "height", "framerate", "interlace-mode", "colorimetry", "chroma-site", "pixel-aspect-ratio", "multiview-mode", "multiview-flags", "views", "field-order", "max-framerate", "other"};
constexpr const char *kNames[] = {"video/x-raw", "video/x-raw", "video/x-raw", "image/jpeg"};
constexpr const char *kFeatures[] = {"memory:DMABuf", "memory:SystemMemory", "ANY", "memory:DMABuf, format:Interlaced", "memory:VAMemory", "format:Interlaced", "meta:GstVideoOverlayComposition, memory:DMABuf"};
constexpr const char *kWords[] = {"DMA_DRM", "NV12", "XR24", "NV12:0x0100000000000002", "XR24:0x0200000028a01f04", "NV12:0X1", "NV12:0x0", "NV12:0x00ffffffffffffff", "BGRx", "NV12_4L4", "ENCODED", "UNKNOWN", "alternate", "interleaved", "progressive", "mono", "side-by-side", "none", "bt709", "1:3:5:1", "mpeg2", "jpeg", "top-field-first", "R8  ", "RG16_BE", ""};
constexpr gint kNumbers[] = {0, 1, 2, 16, 480, 640, 16384, G_MAXINT, -1, G_MININT + 1};

enum Kind { String, Number, Fraction, List, IntRange, NullString, Array, Unsigned, Long, UnsignedLong, Boolean, Double, FractionRange, DoubleRange, LongRange, Structure, Bitmask, Enum, FlagSet, kKinds };

gint number(Bytes &bytes)
{
  const std::size_t choice = bytes.choose(G_N_ELEMENTS(kNumbers) + 2);
  return choice < G_N_ELEMENTS(kNumbers) ? kNumbers[choice] : bytes.number<gint16>();
}

GValue value_of(Bytes &bytes, std::size_t kind, int depth);

std::string word(Bytes &bytes)
{
  const std::size_t choice = bytes.choose(G_N_ELEMENTS(kWords) + 4);
  if (choice < G_N_ELEMENTS(kWords))
    return kWords[choice];
  // caps have UTF-8; the functions that take strings have a target of their own
  g_autofree gchar *valid = g_utf8_make_valid(bytes.text(24).c_str(), -1);
  return valid;
}

// Ranges have a beginning below their end.
std::pair<gint, gint> ordered(Bytes &bytes)
{
  const gint a = number(bytes);
  const gint b = number(bytes);
  return a == b ? std::pair(a == G_MAXINT ? a - 1 : a, a == G_MAXINT ? a : a + 1) : std::minmax({a, b});
}

// All of one type, as GStreamer asks for, that of the items of items included: so further containers are copies.
template <typename Append> void fill_list(Bytes &bytes, GValue *list, int depth, Append &&append)
{
  const std::size_t kind = bytes.choose(kKinds);
  const std::size_t size = bytes.choose(5);
  GValue first = G_VALUE_INIT;
  for (std::size_t n = 0; n < size; ++n) {
    GValue item = G_VALUE_INIT;
    if (n > 0 && (kind == List || kind == Array)) {
      g_value_init(&item, G_VALUE_TYPE(&first));
      g_value_copy(&first, &item);
    } else {
      // strings and NULL strings have one type
      item = value_of(bytes, kind == NullString && n % 2 ? std::size_t{String} : kind, depth + 1);
    }
    if (n == 0) {
      g_value_init(&first, G_VALUE_TYPE(&item));
      g_value_copy(&item, &first);
    }
    append(list, &item);
  }
  if (size > 0)
    g_value_unset(&first);
}

GstStructure *build_structure(Bytes &bytes, const char *name, int depth)
{
  GstStructure *structure = gst_structure_new_empty(name);
  for (std::size_t n = bytes.choose(8); n > 0; --n) {
    const char *field = bytes.pick(kFields);
    GValue value = value_of(bytes, bytes.choose(kKinds), depth);
    gst_structure_take_value(structure, field, &value);
  }
  return structure;
}

GValue range_of(Bytes &bytes, std::size_t kind)
{
  GValue value = G_VALUE_INIT;
  const auto [low, high] = ordered(bytes);
  if (kind == IntRange) {
    g_value_init(&value, GST_TYPE_INT_RANGE);
    gst_value_set_int_range(&value, low, high);
  } else if (kind == LongRange) {
    g_value_init(&value, GST_TYPE_INT64_RANGE);
    gst_value_set_int64_range(&value, low, high);
  } else if (kind == DoubleRange) {
    // No range ends where another begins: GStreamer (1.22, gst_value_intersect_double_range_double_range()) sets the one
    // number that they have in common as an integer, a CRITICAL of its own.
    g_value_init(&value, GST_TYPE_DOUBLE_RANGE);
    gst_value_set_double_range(&value, low - 0.25, high + 0.5);
  } else {
    g_value_init(&value, GST_TYPE_FRACTION_RANGE);
    gst_value_set_fraction_range_full(&value, low, 1, high, 1);
  }
  return value;
}

GValue container_of(Bytes &bytes, std::size_t kind, int depth)
{
  GValue value = G_VALUE_INIT;
  if (kind == List) {
    g_value_init(&value, GST_TYPE_LIST);
    fill_list(bytes, &value, depth, gst_value_list_append_and_take_value);
  } else if (kind == Array) {
    g_value_init(&value, GST_TYPE_ARRAY);
    fill_list(bytes, &value, depth, gst_value_array_append_and_take_value);
  } else {
    g_value_init(&value, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&value, build_structure(bytes, "inner", depth + 1));
  }
  return value;
}

GValue scalar_of(Bytes &bytes, std::size_t kind)
{
  GValue value = G_VALUE_INIT;
  switch (kind) {
  case Number:
    g_value_init(&value, G_TYPE_INT);
    g_value_set_int(&value, number(bytes));
    break;
  case Unsigned:
    g_value_init(&value, G_TYPE_UINT);
    g_value_set_uint(&value, static_cast<guint>(number(bytes)));
    break;
  case Long:
    g_value_init(&value, G_TYPE_INT64);
    g_value_set_int64(&value, bytes.number<gint64>());
    break;
  case UnsignedLong:
    g_value_init(&value, G_TYPE_UINT64);
    g_value_set_uint64(&value, bytes.number<guint64>());
    break;
  case Boolean:
    g_value_init(&value, G_TYPE_BOOLEAN);
    g_value_set_boolean(&value, bytes.choose(2) != 0);
    break;
  case Double:
    g_value_init(&value, G_TYPE_DOUBLE);
    g_value_set_double(&value, number(bytes));
    break;
  case Fraction: {
    const gint n = number(bytes);
    const gint d = number(bytes);
    g_value_init(&value, GST_TYPE_FRACTION);
    gst_value_set_fraction(&value, n, d == 0 ? 1 : d);
    break;
  }
  case Bitmask:
    g_value_init(&value, GST_TYPE_BITMASK);
    gst_value_set_bitmask(&value, bytes.number<guint64>());
    break;
  case Enum:
    g_value_init(&value, GST_TYPE_VIDEO_INTERLACE_MODE);
    g_value_set_enum(&value, static_cast<gint>(bytes.choose(4)));
    break;
  case FlagSet:
    g_value_init(&value, GST_TYPE_VIDEO_MULTIVIEW_FLAGSET);
    gst_value_set_flagset(&value, bytes.number<guint16>(), bytes.number<guint16>());
    break;
  default:
    g_value_init(&value, G_TYPE_STRING);
    if (kind != NullString)
      g_value_set_string(&value, word(bytes).c_str());
    break;
  }
  return value;
}

GValue value_of(Bytes &bytes, std::size_t kind, int depth)
{
  constexpr int kDeepest = 4;
  if (kind == List || kind == Array || kind == Structure)
    return depth < kDeepest ? container_of(bytes, kind, depth) : scalar_of(bytes, NullString);
  if (kind == IntRange || kind == LongRange || kind == DoubleRange || kind == FractionRange)
    return range_of(bytes, kind);
  return scalar_of(bytes, kind);
}

} // namespace

GstCaps *build_caps(Bytes &bytes)
{
  const std::size_t n = bytes.choose(6);
  if (n == 5)
    return gst_caps_new_any();
  GstCaps *caps = gst_caps_new_empty();
  for (std::size_t i = 0; i < n; ++i) {
    const char *name = bytes.pick(kNames);
    const char *features = bytes.pick(kFeatures);
    gst_caps_append_structure_full(caps, build_structure(bytes, name, 0), gst_caps_features_from_string(features));
  }
  return caps;
}

} // namespace gstdrm::test
