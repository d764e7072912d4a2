// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvadmabufcaps.hpp"

#include <gst/drm/element/producer.hpp>

namespace gstdrm::va {

GstPtr<GstCaps> device_caps(const Capabilities *capabilities)
{
  if (!capabilities)
    return producer_caps(nullptr, {});
  return producer_caps(&capabilities->formats, {capabilities->min_width, capabilities->min_height,
                                                capabilities->max_width, capabilities->max_height});
}

} // namespace gstdrm::va
