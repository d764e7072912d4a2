// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstkmssinkpool.hpp"

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>

namespace gstdrm {

Result<ConfiguredPool> make_scanout_pool(const kms::Display &display, GstCaps *caps,
                                         guint least_size, guint min_buffers)
{
  GError *error = nullptr;
  GstDrmAllocator *allocator = gst_drm_allocator_new_for_fd(GST_DRM_ALLOCATOR_KIND_DUMB,
                                                            display.device().memory_fd(), &error);
  if (!allocator)
    return take_error(error, ErrorCode::Allocation);
  const auto owned = GstPtr<GstDrmAllocator>::adopt(allocator);
  auto made = configure_pool(allocator, {caps, min_buffers, 0, true, least_size});
  if (!made)
    return Error{made.error().code, display.device().name() + ": " + made.error().message,
                 made.error().sys_errno};
  return made;
}

} // namespace gstdrm
