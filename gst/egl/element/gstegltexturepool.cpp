// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegltexturepool.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <gst/drm/gstdrm-guard-private.hpp>

namespace gstdrm {
namespace {

// As many as egldmabufdownload makes at most, and no more than half of the machine's memory has
// room for: what the GPU has is not known here, and GL fails late, elsewhere.
guint most_textures(gsize frame_bytes, guint kept_downstream)
{
  constexpr guint64 kMost = 64;
  const guint64 most = std::min(kMost, frames_in_half_of_memory(frame_bytes));
  return static_cast<guint>(std::max<guint64>(most, kept_downstream + 2));
}

using SharedNotices = std::shared_ptr<PoolNotices>;

void delete_notices(gpointer notices) noexcept
{
  delete static_cast<SharedNotices *>(notices);
}

gboolean on_time(GstClock *, GstClockTime, GstClockID, gpointer notices)
{
  (*static_cast<SharedNotices *>(notices))->post_exhausted();
  return TRUE;
}

} // namespace

void TexturePool::begin(GstGLContext *context, GstCaps *caps, SyncPoints sync_points,
                        guint kept_downstream)
{
  close();
  context_ = GstPtr<GstGLContext>::share(context);
  caps_ = GstPtr<GstCaps>::share(caps);
  sync_points_ = sync_points;
  kept_downstream_ = kept_downstream;
}

Result<void> TexturePool::open()
{
  if (Result<void> room = room_for_pool(); !room)
    return room;
  GstVideoInfo info;
  gst_video_info_from_caps(&info, caps_.get());
  auto pool = GstPtr<GstBufferPool>::adopt(gst_gl_buffer_pool_new(context_.get()));
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  gst_buffer_pool_config_set_params(config, caps_.get(),
                                    static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)), 0,
                                    most_textures(GST_VIDEO_INFO_SIZE(&info), kept_downstream_));
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_GL_TEXTURE_TARGET_2D);
  if (sync_points_ == SyncPoints::OfEachBuffer)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_GL_SYNC_META);
  if (!gst_buffer_pool_set_config(pool.get(), config) ||
      !gst_buffer_pool_set_active(pool.get(), TRUE))
    return Error{ErrorCode::Allocation,
                 std::string("GL has no memory for textures of ") + GST_VIDEO_INFO_NAME(&info) +
                     ", " + std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
                     std::to_string(GST_VIDEO_INFO_HEIGHT(&info)),
                 0};
  notices_ = std::make_shared<PoolNotices>(element_);
  pool_.keep(std::move(pool));
  return {};
}

void TexturePool::close()
{
  pool_.drop();
  notices_.reset();
  caps_.reset();
  context_.reset();
}

// Posts that the pool is exhausted once a second has passed: GStreamer's own pools say nothing
// while they wait.
GstFlowReturn TexturePool::wait(GstPtr<GstBuffer> &buffer)
{
  const auto clock = GstPtr<GstClock>::adopt(gst_system_clock_obtain());
  GstClockID alarm =
      gst_clock_new_single_shot_id(clock.get(), gst_clock_get_time(clock.get()) + GST_SECOND);
  (void)gst_clock_id_wait_async(alarm, logging<on_time>, new SharedNotices(notices_),
                                delete_notices);
  const GstFlowReturn flow = pool_.acquire(buffer);
  gst_clock_id_unschedule(alarm);
  gst_clock_id_unref(alarm);
  return flow;
}

Result<GstPtr<GstBuffer>> TexturePool::acquire()
{
  if (!pool_.get())
    if (Result<void> opened = open(); !opened)
      return opened.error();
  GstPtr<GstBuffer> buffer;
  GstFlowReturn flow = pool_.acquire_now(buffer);
  if (flow == GST_FLOW_EOS)
    flow = wait(buffer);
  if (flow != GST_FLOW_OK && flow != GST_FLOW_FLUSHING)
    return Error{ErrorCode::Allocation, "There is no GL memory for another frame", 0};
  return buffer;
}

} // namespace gstdrm
