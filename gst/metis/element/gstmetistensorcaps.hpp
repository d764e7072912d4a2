// SPDX-License-Identifier: LGPL-2.1-or-later
// The field `tensors` of caps, in which decoders of GStreamer 1.28 and newer say which tensors they
// take: groups of outputs, each with id, type and dimensions.
#pragma once

#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>

#include "engine/model.hpp"

namespace gstdrm::metis {

// The caps without the field, for elements before the inference, which have no tensors.
GstPtr<GstCaps> without_tensors(GstPtr<GstCaps> caps);

// Fixed caps, with the model's tensors where `downstream` asks for tensors and takes these. Error
// of code Caps: it takes others alone.
Result<GstPtr<GstCaps>> with_tensors(GstPtr<GstCaps> caps, const GstCaps *downstream,
                                     const Model &model);

} // namespace gstdrm::metis
