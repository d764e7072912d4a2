// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegltexturepool.hpp"

#include <string>

#include <gst/drm/element/pool.hpp>

namespace gstdrm {

Result<GstPtr<GstBufferPool>> open_texture_pool(GstGLContext *context, GstCaps *caps,
                                                const GstVideoInfo &info, SyncPoints sync_points)
{
  if (const Result<void> room = room_for_pool(); !room)
    return room.error();
  auto pool = GstPtr<GstBufferPool>::adopt(gst_gl_buffer_pool_new(context));
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)), 0,
                                    0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_GL_TEXTURE_TARGET_2D);
  if (sync_points == SyncPoints::OfEachBuffer)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_GL_SYNC_META);
  if (!gst_buffer_pool_set_config(pool.get(), config) ||
      !gst_buffer_pool_set_active(pool.get(), TRUE))
    return Error{ErrorCode::Allocation,
                 std::string("GL has no memory for textures of ") + GST_VIDEO_INFO_NAME(&info) +
                     ", " + std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
                     std::to_string(GST_VIDEO_INFO_HEIGHT(&info)),
                 0};
  return pool;
}

Result<GstPtr<GstBuffer>> acquire_texture(GstBufferPool *pool)
{
  GstBuffer *acquired = nullptr;
  if (gst_buffer_pool_acquire_buffer(pool, &acquired, nullptr) != GST_FLOW_OK)
    return Error{ErrorCode::Allocation, "There is no GL memory for another frame", 0};
  return GstPtr<GstBuffer>::adopt(acquired);
}

void close_texture_pool(GstPtr<GstBufferPool> &pool)
{
  if (pool)
    gst_buffer_pool_set_active(pool.get(), FALSE);
  pool.reset();
}

} // namespace gstdrm
