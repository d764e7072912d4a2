// SPDX-License-Identifier: LGPL-2.1-or-later
// Features of caps. Header only.
#pragma once

#include <gst/gst.h>

namespace gstdrm {

// Whether a structure of the caps has features that pass the test. Of ANY caps, and of none, no.
template <typename Test> bool any_features(const GstCaps *caps, Test test)
{
  if (!caps || gst_caps_is_any(caps))
    return false;
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    if (test(gst_caps_get_features(caps, i)))
      return true;
  return false;
}

} // namespace gstdrm
