// SPDX-License-Identifier: LGPL-2.1-or-later
// What downstream's answer to an ALLOCATION query holds, for an element that makes its own pool.
#pragma once

#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>

namespace gstdrm {

// The largest number of buffers that a pool of the answer has to have.
guint buffers_kept(GstQuery *query);

// The GstDrmAllocators of the answer, those of its pools included, best first. They know best where
// downstream's device can read.
std::vector<GstPtr<GstDrmAllocator>> allocators_offered(GstQuery *query);

// Takes pools and allocators out of the answer: the base class would activate a pool that is left.
void remove_offers(GstQuery *query);

} // namespace gstdrm
