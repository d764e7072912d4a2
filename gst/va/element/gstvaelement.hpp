// SPDX-License-Identifier: LGPL-2.1-or-later
// What vadmabufsrc and vadmabufconvert have in common: types, properties, pad templates, counters,
// warnings and errors.
#pragma once

#include <string>

#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/gst.h>

#include "engine/va_device.hpp"
#include "engine/va_display.hpp"

#define GST_TYPE_VA_DMABUF_SRC (gst_va_dmabuf_src_get_type())
#define GST_TYPE_VA_DMABUF_CONVERT (gst_va_dmabuf_convert_get_type())
GType gst_va_dmabuf_src_get_type(void);
GType gst_va_dmabuf_convert_get_type(void);

namespace gstdrm::va {

// The properties that both elements have.
template <auto member> constexpr auto device_property()
{
  return property<member>("device", "Device",
                          "Render node, such as /dev/dri/renderD128; none: the first whose VA-API "
                          "driver exports DMA buffers",
                          kReadyProperty);
}
template <auto member> constexpr auto num_surfaces_property()
{
  return property<member>("num-surfaces", "Number of surfaces",
                          "Frames that may be drawn, on their way or held at once; all are "
                          "allocated when the format is agreed on",
                          kReadyProperty, {2, 64});
}
// A template with the caps of every node of this machine.
void add_machine_template(GstElementClass *klass, const char *name, GstPadDirection direction);

// The value of drm-stats with the counters of the display, which are 0 without one. (transfer full)
GstStructure *display_stats(const Stats &stats, const Display *display);

// Warns if downstream imports frames on another device and `warned` is false; sets `warned`.
void compare_devices(GstElement *element, const Display &display, GstQuery *query, bool &warned);

// Posts that the element cannot start. `node` is the property `device`; empty if it is not set.
void post_no_device(GstElement *element, const Error &error, const std::string &node);

// Advice about a frame that could not be made. `sender` is the element that sent the input frame;
// empty for a source. `device` may be nullptr.
[[nodiscard]] std::string advice_on_frame(const Error &error, const Device *device,
                                          const std::string &sender);

// Posts that no common format could be allocated. `refusals` has the driver's reason for each.
void post_not_allocated(GstElement *element, const Display &display, const Error &refusals,
                        const GstCaps *caps);

} // namespace gstdrm::va
