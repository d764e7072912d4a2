// SPDX-License-Identifier: LGPL-2.1-or-later
// Format sets of the engines and of the public library, from one to the other.
#pragma once

#include <memory>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/gstdrmformatset.h>

namespace gstdrm {

struct UnrefFormatSet {
  void operator()(GstDrmFormatSet *set) const noexcept { gst_drm_format_set_unref(set); }
};
// One reference of a set.
using FormatSetPtr = std::unique_ptr<GstDrmFormatSet, UnrefFormatSet>;

// A new set with one owner, who may add to it.
FormatSetPtr to_public(const FormatSet &formats);
FormatSet from_public(const GstDrmFormatSet &formats);

} // namespace gstdrm
