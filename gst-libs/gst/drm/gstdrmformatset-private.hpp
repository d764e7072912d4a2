// SPDX-License-Identifier: LGPL-2.1-or-later
// The format set behind its C name, for this library's own sources. Never installed.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include <gst/gst.h>

#include "core/format_list.hpp"
#include "gstdrmformatset.h"

struct _GstDrmFormatSet {
  std::atomic<int> ref_count{1};
  gstdrm::FormatSet set;
};

namespace gstdrm {

// Inline, because every result of the set operations is made by it.
inline GstDrmFormatSet *wrap_format_set(FormatSet &&set)
{
  auto wrapped = std::make_unique<GstDrmFormatSet>();
  wrapped->set = std::move(set);
  return wrapped.release();
}

// The strings of a `drm-format` field: one, or a list, nested ones included. Adds to `pairs`; what
// is no drm-format is logged and left out, and values of other types are.
void collect_drm_formats(const GValue *value, std::vector<Format> &pairs);

// The pairs of every structure with memory:DMABuf, as gst_drm_format_set_new_from_caps() finds
// them; nullopt if the caps take any format.
std::optional<FormatList> formats_of_caps(const GstCaps *caps);

// The same pairs as a `drm-format` value: a string where there is one, else a list in their order.
// None of them may be implicit.
void set_drm_formats(GstStructure *structure, std::span<const Format> pairs);

} // namespace gstdrm
