// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include <gst/gst.h>

namespace gstdrm::test {

// Caps of a few structures whose fields collide often: lists, ranges, single values, absent.
class RandomCaps {
public:
  explicit RandomCaps(guint32 seed) : random_(seed) {}
  GstCaps *caps()
  {
    if (one_in(40))
      return gst_caps_new_any();
    GstCaps *caps = gst_caps_new_empty();
    for (guint n = random_() % 4; n > 0; --n)
      gst_caps_append_structure_full(caps, structure(), features());
    return caps;
  }

private:
  bool one_in(guint n) { return random_() % n == 0; }
  template <std::size_t N> const char *pick(const char *const (&from)[N])
  {
    return from[random_() % N];
  }
  GstCapsFeatures *features()
  {
    if (one_in(12))
      return gst_caps_features_new_any();
    return gst_caps_features_from_string(
        pick({"memory:DMABuf", "memory:DMABuf", "memory:DMABuf", "memory:SystemMemory",
              "memory:DMABuf, meta:GstVideoOverlayComposition"}));
  }
  template <std::size_t N>
  void add_strings(GstStructure *structure, const char *field, const char *const (&from)[N])
  {
    if (one_in(5))
      return;
    if (one_in(3)) {
      gst_structure_set(structure, field, G_TYPE_STRING, pick(from), nullptr);
      return;
    }
    // no member twice: to GStreamer a list with one differs from the same without
    std::vector<const char *> members(std::begin(from), std::end(from));
    std::shuffle(members.begin(), members.end(), random_);
    members.resize(1 + random_() % N);
    GValue list = G_VALUE_INIT;
    g_value_init(&list, GST_TYPE_LIST);
    for (const char *member : members) {
      GValue item = G_VALUE_INIT;
      g_value_init(&item, G_TYPE_STRING);
      g_value_set_string(&item, member);
      gst_value_list_append_and_take_value(&list, &item);
    }
    gst_structure_take_value(structure, field, &list);
  }
  void add_size(GstStructure *structure)
  {
    if (one_in(3))
      return;
    const int first = static_cast<int>(random_() % 5) + 1;
    if (one_in(2))
      gst_structure_set(structure, "width", G_TYPE_INT, first, nullptr);
    else
      gst_structure_set(structure, "width", GST_TYPE_INT_RANGE, first, first + 3, nullptr);
  }
  GstStructure *structure()
  {
    GstStructure *structure = gst_structure_new_empty(one_in(10) ? "image/jpeg" : "video/x-raw");
    add_strings(structure, "format", {"DMA_DRM", "NV12", "BGRx"});
    add_strings(structure, "drm-format",
                {"NV12", "XR24", "AR24", "R8  ", "XR24_BE", "NV12:0x0100000000000001",
                 "NV12:0x0100000000000002", "XR24:0x0100000000000001"});
    add_size(structure);
    return structure;
  }
  std::mt19937 random_;
};

} // namespace gstdrm::test
