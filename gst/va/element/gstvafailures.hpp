// SPDX-License-Identifier: LGPL-2.1-or-later
// Error messages that vadmabufsrc and vadmabufconvert have in common. They are posted without a
// lock, by the streaming thread or by the thread that starts the element.
#pragma once

#include <string>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmvideoinfo.h>

#include "engine/va_device.hpp"
#include "engine/va_display.hpp"

namespace gstdrm::va {

// The element cannot start. `node` is the property `device`, empty where it is not set.
void post_no_device(GstElement *element, const Error &error, const std::string &node);

// What to do about a frame that could not be made. `sender` made the one that it is made of; empty:
// nobody. `device` may be none.
[[nodiscard]] std::string advice_on_frame(const Error &error, const Device *device,
                                          const std::string &sender);

// `refusals` is what the driver said of each format that downstream takes too.
void post_not_allocated(GstElement *element, const Display &display, const Error &refusals,
                        const GstCaps *caps);

// There are no kFewestSurfaces for a pool of frames of `info`. `why` is of make_largest_pool().
void post_no_pool(GstElement *element, GstDrmAllocator *allocator, const Display &display,
                  const GstDrmVideoInfo &info, const GstCaps *caps, const Error &why);

} // namespace gstdrm::va
