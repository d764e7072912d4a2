// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pool.hpp"

#include <string>

#include <gst/drm/gstdrmbufferpool.h>

#include "caps_text.hpp"

namespace gstdrm {

Result<ConfiguredPool> configure_pool(GstDrmAllocator *allocator, const PoolSetup &setup)
{
  ConfiguredPool made{GstPtr<GstBufferPool>::adopt(gst_drm_buffer_pool_new(allocator)), 0};
  GstStructure *config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_set_params(config, setup.caps, setup.least_size, setup.min_buffers,
                                    setup.max_buffers);
  if (setup.video_meta)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(made.pool.get(), config))
    return Error{ErrorCode::Allocation, "There are no buffers for " + text_of(setup.caps) + ".", 0};
  config = gst_buffer_pool_get_config(made.pool.get());
  gst_buffer_pool_config_get_params(config, nullptr, &made.size, nullptr, nullptr);
  gst_structure_free(config);
  return made;
}

} // namespace gstdrm
