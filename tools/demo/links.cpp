// SPDX-License-Identifier: LGPL-2.1-or-later
#include "links.hpp"

#include <gst/drm/drm.h>
#include <gst/video/video.h>

namespace demo {
namespace {

// "DMA_DRM YU12 320x240", "system memory I420 320x240"
std::string describe_caps(GstCaps *caps)
{
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  g_autoptr(GError) error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    return take(gst_caps_to_string(caps));
  const std::string size =
      std::to_string(info.vinfo.width) + "x" + std::to_string(info.vinfo.height) + " at " +
      std::to_string(info.vinfo.fps_n) + "/" + std::to_string(info.vinfo.fps_d);
  if (gst_drm_is_dma_drm_caps(caps))
    return "drm-format=" + take(gst_drm_format_to_string(info.drm_fourcc, info.drm_modifier)) +
           " " + take(gst_drm_modifier_describe(info.drm_modifier)) + ", " + size;
  return "format=" + std::string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info.vinfo))) +
         ", " + size;
}

// The pad of an element behind the ghost pads of bins. Takes a reference and returns one.
GstPad *behind_ghosts(GstPad *pad)
{
  while (pad && GST_IS_PROXY_PAD(pad)) {
    g_autoptr(GstProxyPad) internal = gst_proxy_pad_get_internal(GST_PROXY_PAD(pad));
    gst_object_unref(pad);
    pad = internal ? gst_pad_get_peer(GST_PAD(internal)) : nullptr;
  }
  return pad;
}

// The sink pad for this source pad of an element, or the source pad for a sink pad.
GstPad *other_side(GstPad *pad)
{
  g_autoptr(GstIterator) linked = gst_pad_iterate_internal_links(pad);
  GValue value = G_VALUE_INIT;
  GstPad *found = nullptr;
  if (linked && gst_iterator_next(linked, &value) == GST_ITERATOR_OK)
    found = GST_PAD(g_value_dup_object(&value));
  if (G_IS_VALUE(&value))
    g_value_unset(&value);
  return found;
}

} // namespace

std::string take(gchar *text)
{
  std::string result = text ? text : "";
  g_free(text);
  return result;
}

std::vector<std::string> links_before(GstElement *sink)
{
  std::vector<std::string> links;
  g_autoptr(GstPad) to = gst_element_get_static_pad(sink, "sink");
  while (to) {
    g_autoptr(GstPad) from = behind_ghosts(gst_pad_get_peer(to));
    g_autoptr(GstCaps) caps = from ? gst_pad_get_current_caps(from) : nullptr;
    if (!caps ||
        !g_str_has_prefix(gst_structure_get_name(gst_caps_get_structure(caps, 0)), "video/x-raw"))
      break;
    g_autoptr(GstElement) source = gst_pad_get_parent_element(from);
    g_autoptr(GstElement) target = gst_pad_get_parent_element(to);
    links.insert(links.begin(), take(g_strdup_printf("  %-16s -> %-16s %s",
                                                     source ? GST_ELEMENT_NAME(source) : "?",
                                                     target ? GST_ELEMENT_NAME(target) : "?",
                                                     describe_caps(caps).c_str())));
    gst_object_unref(to);
    to = other_side(from);
  }
  return links;
}

} // namespace demo
