// SPDX-License-Identifier: LGPL-2.1-or-later
// How a producer says that its buffers may come back with release fences.
#pragma once

#include <functional>

#include <gst/gst.h>

namespace gstdrm {

// Announces release fences (gst_drm_query_announce_release_fences()) in every allocation query that
// leaves the source pad while `when` is true; always, where no `when` is given. For elements whose
// pools wait for the release fences of a buffer before they hand it out again. `when` is called by
// the thread that sends the query, and is kept as long as the pad.
void announce_release_fences_on(GstPad *src, std::function<bool()> when = {});

} // namespace gstdrm
