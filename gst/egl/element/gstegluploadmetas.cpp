// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadmetas.hpp"

#include <gst/video/video.h>

namespace gstdrm {

namespace {

// Metas of other memory, and of how it is held, are not those of a texture.
bool holds_for_textures(const GstMetaInfo *info)
{
  return info->api != GST_VIDEO_META_API_TYPE && info->api != GST_PARENT_BUFFER_META_API_TYPE &&
         !gst_meta_api_type_has_tag(info->api, _gst_meta_tag_memory) &&
         !gst_meta_api_type_has_tag(info->api, _gst_meta_tag_memory_reference);
}

gboolean copy_meta(GstBuffer *in, GstMeta **meta, gpointer data) noexcept
{
  const GstMetaInfo *info = (*meta)->info;
  if (!info->transform_func || !holds_for_textures(info))
    return TRUE;
  GstMetaTransformCopy whole = {FALSE, 0, G_MAXSIZE};
  info->transform_func(static_cast<GstBuffer *>(data), *meta, in, _gst_meta_transform_copy, &whole);
  return TRUE;
}

} // namespace

void copy_metadata(GstBuffer *out, GstBuffer *in)
{
  gst_buffer_copy_into(
      out, in, static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS),
      0, G_MAXSIZE);
  gst_buffer_foreach_meta(in, copy_meta, out);
}

} // namespace gstdrm
