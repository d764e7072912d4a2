// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmerror
 * @title: GstDrmError
 * @short_description: errors of the library
 *
 * Every #GError of this library has the domain %GST_DRM_ERROR. Its message is one sentence for a
 * person: what failed with which numbers, and why.
 *
 * Beside the codes that a function names, each one that has a #GError may fail with
 * %GST_DRM_ERROR_ALLOCATION where the process is out of memory.
 */
#include "gstdrmerror.h"

#include "core/result.hpp"

namespace {

using gstdrm::ErrorCode;
static_assert(static_cast<int>(ErrorCode::Format) == GST_DRM_ERROR_FORMAT);
static_assert(static_cast<int>(ErrorCode::Caps) == GST_DRM_ERROR_CAPS);
static_assert(static_cast<int>(ErrorCode::Layout) == GST_DRM_ERROR_LAYOUT);
static_assert(static_cast<int>(ErrorCode::Device) == GST_DRM_ERROR_DEVICE);
static_assert(static_cast<int>(ErrorCode::Allocation) == GST_DRM_ERROR_ALLOCATION);
static_assert(static_cast<int>(ErrorCode::Import) == GST_DRM_ERROR_IMPORT);
static_assert(static_cast<int>(ErrorCode::Sync) == GST_DRM_ERROR_SYNC);
static_assert(static_cast<int>(ErrorCode::Conflict) == GST_DRM_ERROR_CONFLICT);
static_assert(static_cast<int>(ErrorCode::Unsupported) == GST_DRM_ERROR_UNSUPPORTED);

} // namespace

/**
 * gst_drm_error_quark:
 *
 * The error domain of this library; use the %GST_DRM_ERROR macro.
 *
 * Returns: the quark
 *
 * Since: 0.1
 */
GQuark gst_drm_error_quark(void) noexcept
{
  static const GQuark quark = g_quark_from_static_string("gst-drm-error-quark");
  return quark;
}
