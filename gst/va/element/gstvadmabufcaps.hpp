// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc's caps: what the device can do, and what is agreed on with downstream.
#pragma once

#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_choice.hpp"
#include "engine/va_formats.hpp"

namespace gstdrm::va {

// DMA_DRM with every pair, the implicit members, and plain video/x-raw for the linear ones. Without
// capabilities (no device) drm-format is left out, which means every format.
GstPtr<GstCaps> device_caps(const Capabilities *capabilities);

// One way to go on: a structure that downstream takes, with one fourcc of it.
struct Offer {
  GstPtr<GstCaps> caps; // one structure, size and rate fixed; drm-format or format still open
  bool is_plain =
      false; // video/x-raw without memory:DMABuf: linear, for peers that know no DMA_DRM
  Candidate candidate;
};

// `common`: what both sides can do, in downstream's order. Offers come in that order too.
std::vector<Offer> make_offers(const GstCaps *common, const Capabilities &capabilities);
// The offer's caps with the modifier that the allocator chose.
GstPtr<GstCaps> settle(const Offer &offer, std::uint64_t modifier);

} // namespace gstdrm::va
