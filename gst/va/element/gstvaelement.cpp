// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvaelement.hpp"

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/gstdrmdevicequery.h>

#include "gstvamachine.hpp"

GST_DEBUG_CATEGORY_EXTERN(gst_va_dmabuf_src_debug);
#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {

void add_machine_template(GstElementClass *klass, const char *name, GstPadDirection direction)
{
  const auto caps = machine_caps(direction);
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

GstStructure *display_stats(const Stats &stats, const Display *display)
{
  GstStructure *structure = stats.to_structure();
  gst_structure_set(structure, "surfaces", G_TYPE_UINT64,
                    display ? display->surfaces.load() : guint64{0}, "exports", G_TYPE_UINT64,
                    display ? display->exports.load() : guint64{0}, "va-calls", G_TYPE_UINT64,
                    display ? display->calls() : guint64{0}, nullptr);
  return structure;
}

void compare_devices(GstElement *element, const Display &display, GstQuery *query, bool &warned)
{
  guint64 other = 0;
  if (warned || !gst_drm_query_get_device(query, &other))
    return;
  g_autoptr(GError) unknown = nullptr;
  if (gst_drm_device_is_same(other, display.device_number(), &unknown))
    return;
  if (unknown)
    GST_DEBUG_OBJECT(element, "taken for another device: %s", unknown->message);
  warned = true;
  GST_ELEMENT_WARNING(
      element, RESOURCE, SETTINGS,
      ("Frames come from %s, downstream imports them on %s, another device: each frame crosses the "
       "bus, "
       "or the import fails. Set the device property to a render node of that device if it has "
       "one.",
       display.node().c_str(), drm_node_path(other).c_str()),
      ("drm-device %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT, display.device_number(), other));
}

void post_no_device(GstElement *element, const Error &error, const std::string &node)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE},
                  std::string(GST_OBJECT_NAME(element)) + " has no VA-API device", error);
  failure.advise("Install the VA-API driver of the GPU, name it with LIBVA_DRIVER_NAME, or set the "
                 "device property to a render node that has one.");
  if (!node.empty())
    failure.add_property("device", node).add("device", node);
  post_failure(element, failure);
}

std::string advice_on_frame(const Error &error, const Device *device, const std::string &sender)
{
  const bool has_advice = error.code == ErrorCode::Device ? device && device->display->has_gone()
                                                          : error.code == ErrorCode::Unsupported;
  if (has_advice) // in the error's own sentence
    return "";
  if (error.code == ErrorCode::Device)
    return "See the kernel log, and start the pipeline again.";
  return sender.empty() ? "Choose another size, another format, or another device."
                        : advice_on(error, sender);
}

void post_not_allocated(GstElement *element, const Display &display, const Error &refusals,
                        const GstCaps *caps)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element)) + " could allocate no surface on " +
                      display.node() + " in any format that downstream takes",
                  refusals);
  failure.advise("Try another size, or limit the formats with a capsfilter.");
  post_failure(element, failure.add("device", display.node()).add("caps", caps));
}

} // namespace gstdrm::va
