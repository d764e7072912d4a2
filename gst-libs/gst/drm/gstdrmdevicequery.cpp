// SPDX-License-Identifier: LGPL-2.1-or-later
// On which device a consumer imports: said in the allocation query, so that a producer can tell
// that it draws on another one.
#include "gstdrmdevicequery.h"

#include <sys/stat.h>

#include "core/drm_node.hpp"
#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmsync.h"

namespace {

// Name and field of the parameters (docs/buffers.md).
constexpr const char *kDeviceStructure = "GstDrmDevice";
constexpr const char *kDeviceField = "drm-device";

bool read_device(const GstStructure *params, guint64 *device)
{
  return params && gst_structure_has_name(params, kDeviceStructure) &&
         gst_structure_get_uint64(params, kDeviceField, device);
}

} // namespace

/**
 * gst_drm_query_add_device:
 * @query: (transfer none): a writable allocation query, in a consumer's answer to it
 * @device_fd: an open node of the consumer's DRM device, card or render node; not kept
 *
 * A consumer says on which device it imports buffers. A producer that draws on another device can
 * then name the mismatch, instead of a slow or failing import that nobody explains. It says nothing
 * about whether the import works.
 *
 * Adds an entry for #GST_DRM_SYNC_META_API_TYPE with the parameters `GstDrmDevice,
 * drm-device=(guint64)N`, where N is the `st_rdev` of the node. Nodes of one device have different
 * numbers: gst_drm_device_is_same() compares them.
 *
 * Returns: %FALSE when @device_fd is no character device, or an entry is there already; the query
 * is then as before
 *
 * Since: 0.1
 */
gboolean gst_drm_query_add_device(GstQuery *query, gint device_fd) noexcept
{
  g_return_val_if_fail(GST_IS_QUERY(query), FALSE);
  g_return_val_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION, FALSE);

  struct stat status {};
  if (::fstat(device_fd, &status) != 0 || !S_ISCHR(status.st_mode) ||
      gst_drm_query_get_device(query, nullptr))
    return FALSE;
  GstStructure *params = gst_structure_new(kDeviceStructure, kDeviceField, G_TYPE_UINT64,
                                           static_cast<guint64>(status.st_rdev), nullptr);
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, params);
  gst_structure_free(params);
  return TRUE;
}

/**
 * gst_drm_query_get_device:
 * @query: (transfer none): an answered allocation query
 * @device: (out) (optional): the `st_rdev` of a node of the consumer's device
 *
 * Reads what gst_drm_query_add_device() added.
 *
 * Returns: whether the consumer said on which device it imports, with gst_drm_query_add_device()
 *
 * Since: 0.1
 */
gboolean gst_drm_query_get_device(GstQuery *query, guint64 *device) noexcept
{
  g_return_val_if_fail(GST_IS_QUERY(query), FALSE);
  g_return_val_if_fail(GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION, FALSE);

  guint64 number = 0;
  for (guint i = 0; i < gst_query_get_n_allocation_metas(query); i++) {
    const GstStructure *params = nullptr;
    if (gst_query_parse_nth_allocation_meta(query, i, &params) == GST_DRM_SYNC_META_API_TYPE &&
        read_device(params, &number)) {
      if (device)
        *device = number;
      return TRUE;
    }
  }
  return FALSE;
}

/**
 * gst_drm_device_is_same:
 * @device_a: the `st_rdev` of a device node, as gst_drm_query_get_device() gives it
 * @device_b: that of another one, or the same
 * @error: return location for a #GError, or %NULL
 *
 * The card and the render node of one graphics device have different numbers. They are one device
 * where sysfs has one device behind both (`/sys/dev/char/MAJOR:MINOR/device`). A display controller
 * and a GPU on one chip are two devices.
 *
 * A number is the same device as itself, without a look at sysfs. Reads files of sysfs: call it once
 * per negotiation, not once per frame.
 *
 * Returns: %TRUE where both are nodes of one device; %FALSE without @error where they are not; %FALSE
 * with @error set where it cannot be told. Errors: %GST_DRM_ERROR_DEVICE: no device is known behind
 * one of the numbers, or sysfs is not there
 *
 * Since: 0.1
 */
gboolean gst_drm_device_is_same(guint64 device_a, guint64 device_b, GError **error) noexcept
try {
  g_return_val_if_fail(error == nullptr || *error == nullptr, FALSE);

  const auto same = gstdrm::is_same_drm_device(device_a, device_b);
  if (!same) {
    gstdrm::propagate(error, same.error());
    return FALSE;
  }
  return *same;
} catch (...) {
  return gstdrm::caught(FALSE, __func__, error);
}
