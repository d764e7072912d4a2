// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps in words, for messages that a person reads.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <gst/gst.h>

namespace gstdrm {

// The caps in full, as gst_caps_to_string() writes them; a value without a text is "unreadable".
// Empty for nullptr.
std::string text_of(const GstCaps *caps);

// The caps in the words of a user: "DMA_DRM NV12, XR24:0x0100000000000001 (INTEL_X_TILED); plain
// NV12, I420". The text ends with "and 23 more" where more than `limit` bytes would be needed.
std::string describe_caps(const GstCaps *caps, std::size_t limit = 80);

// "641x481"; empty where the caps do not fix the size.
std::string size_of(const GstCaps *caps);

// The strings that a field has in the structures of the caps, each once.
std::vector<std::string> strings_of(const GstCaps *caps, const char *field);

// The texts one after the other. The result ends with "…" where more than `limit` bytes would be
// needed.
std::string join(const std::vector<std::string> &texts, const char *separator, std::size_t limit);

// The first field other than the format on which no structure of `taken` agrees with the first
// structure of `sent`, as "width 641 against [ 1, 600 ]". Empty where every field agrees.
std::string differing_field(const GstCaps *sent, const GstCaps *taken);

// The caps features of two structures of one kind of memory that would meet without them:
// "memory:DMABuf, meta:GstVideoOverlayComposition against memory:DMABuf". Empty if there are none.
std::string differing_features(const GstCaps *sent, const GstCaps *taken);

// What keeps the two apart: a differing field, another kind of memory, other caps features, other
// modifiers of the same fourcc, or the formats. Empty where they meet, and where one of them says
// nothing.
std::string nearest_miss(const GstCaps *sent, const GstCaps *taken);

// What is wrong with caps that a person wrote, and what to write in its place, in whole sentences:
// a drm-format that is none, GStreamer's name of a format, caps of DMA buffers without DMA_DRM.
// Empty where nothing is, and for nullptr.
std::string mistake_in(const GstCaps *caps);

} // namespace gstdrm
