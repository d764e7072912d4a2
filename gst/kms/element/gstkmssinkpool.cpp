// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkpool.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>

namespace gstdrm {

Result<GstPtr<GstBufferPool>> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                                guint &size, guint min_buffers)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator =
      gst_drm_allocator_new_for_fd(GST_DRM_ALLOCATOR_KIND_DUMB, display.device().fd(), &error);
  if (!allocator)
    return take_error(error, ErrorCode::Allocation);
  auto pool = GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator));
  gst_object_unref(allocator);
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps, size, min_buffers, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool.get(), config)) {
    gchar *text = gst_caps_to_string(caps);
    Error failed{ErrorCode::Allocation,
                 display.device().name() + " makes no scanout buffers for " + text + ".", 0};
    g_free(text);
    return failed;
  }
  config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, nullptr);
  gst_structure_free(config);
  return pool;
}

} // namespace gstdrm
