// SPDX-License-Identifier: LGPL-2.1-or-later
// What the source pad of a producer adds to allocation queries and to their answers.
#pragma once

#include <functional>

#include <gst/gst.h>

namespace gstdrm {

// Announces release fences (gst_drm_query_announce_release_fences()) in every allocation query that
// leaves the source pad while `waits` is true; always, where no `waits` is given. For elements
// whose pools wait for the release fences of a buffer before they hand it out again. `waits` is
// called by the thread that sends the query, and is kept as long as the pad.
//
// Adds the constraints of all consumers to the answers (gst_drm_pad_gather_constraints()).
void set_up_producer_pad(GstPad *src, std::function<bool()> waits = {});

} // namespace gstdrm
