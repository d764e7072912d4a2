// SPDX-License-Identifier: LGPL-2.1-or-later
// The property `implicit-modifier`: which pairs an element offers for it, and what frames of
// implicit caps are (docs/caps.md). Plain functions, any thread.
#pragma once

#include <string>

#include <gst/drm/core/format_set.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmimplicitmodifier.h>
#include <gst/drm/gstdrmvideoinfo.h>

namespace gstdrm {

enum class ImplicitModifier {
  Auto = GST_DRM_IMPLICIT_MODIFIER_AUTO,
  Refuse = GST_DRM_IMPLICIT_MODIFIER_REFUSE,
  Linear = GST_DRM_IMPLICIT_MODIFIER_LINEAR,
  Driver = GST_DRM_IMPLICIT_MODIFIER_DRIVER,
};

// What an element offers of the pairs that its device lists. Linear adds the implicit modifier to
// each fourcc that is listed as LINEAR, and leaves out all other implicit pairs; Driver adds it to
// each fourcc.
FormatSet with_implicit(const FormatSet &listed, ImplicitModifier setting);
// The same of a producer. For Driver it offers the implicit pairs that its device makes, as for
// Auto: it cannot make others.
FormatSet producer_formats(const FormatSet &made, ImplicitModifier setting);

// Linear: an info of implicit caps becomes that of LINEAR frames. No other info changes.
void resolve_implicit(GstDrmVideoInfo &info, ImplicitModifier setting);

// The caps that a pool of such frames is made for: of LINEAR frames where the info changes.
GstPtr<GstCaps> resolved_caps(GstCaps *caps, ImplicitModifier setting);

// Refuse: an error of code Caps for an info of implicit caps.
Result<void> check_implicit(const GstDrmVideoInfo &info, ImplicitModifier setting);

// What to do about implicit caps that an element does not offer. `has_driver`: the element imports
// frames, and does not read them with the CPU alone.
std::string advise_implicit(ImplicitModifier setting, bool has_driver);

} // namespace gstdrm
