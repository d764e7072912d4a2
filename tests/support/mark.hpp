// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin of docs/examples/mark.cpp, linked into a test program.
#pragma once

#include <gst/gst.h>

extern "C" {
GST_PLUGIN_STATIC_DECLARE(drmmark);
}

namespace gstdrm::test {

inline void register_mark()
{
  GST_PLUGIN_STATIC_REGISTER(drmmark);
  // the plugin and its feature live as long as the registry
  GstPlugin *plugin = gst_registry_find_plugin(gst_registry_get(), "drmmark");
  GstPluginFeature *feature = gst_registry_lookup_feature(gst_registry_get(), "drmmark");
  GST_OBJECT_FLAG_SET(plugin, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  GST_OBJECT_FLAG_SET(feature, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  gst_object_unref(feature);
  gst_object_unref(plugin);
}

} // namespace gstdrm::test
