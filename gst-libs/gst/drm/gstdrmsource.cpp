// SPDX-License-Identifier: LGPL-2.1-or-later
// GstDrmSource: what one interface lists. The section comment is in gstdrmenumerate.cpp.
#include <memory>

#include "gstdrm-guard-private.hpp"
#include "gstdrmformatset-private.hpp"
#include "gstdrmsource-private.hpp"

namespace {

const gchar *text_or_null(const std::string &text) noexcept
{
  return text.empty() ? nullptr : text.c_str();
}

} // namespace

GType gst_drm_source_get_type(void) noexcept
{
  static const GType type = g_boxed_type_register_static(
      "GstDrmSource", reinterpret_cast<GBoxedCopyFunc>(gst_drm_source_ref),
      reinterpret_cast<GBoxedFreeFunc>(gst_drm_source_unref));
  return type;
}

/**
 * gst_drm_source_ref: (skip)
 * @source: a #GstDrmSource
 *
 * Shares @source, which never changes.
 *
 * Returns: (transfer full): @source
 *
 * Since: 0.1
 */
GstDrmSource *gst_drm_source_ref(GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  source->ref_count.fetch_add(1, std::memory_order_relaxed);
  return source;
}

/**
 * gst_drm_source_unref: (skip)
 * @source: (transfer full): a #GstDrmSource
 *
 * Gives up one reference; the last one frees @source.
 *
 * Since: 0.1
 */
void gst_drm_source_unref(GstDrmSource *source) noexcept
{
  g_return_if_fail(source != nullptr);

  if (source->ref_count.fetch_sub(1, std::memory_order_acq_rel) == 1)
    std::default_delete<GstDrmSource>()(source);
}

/**
 * gst_drm_source_get_kind:
 * @source: a #GstDrmSource
 *
 * Tells which interface was asked.
 *
 * Returns: the kind
 *
 * Since: 0.1
 */
GstDrmSourceKind gst_drm_source_get_kind(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, GST_DRM_SOURCE_KIND_KMS);

  return static_cast<GstDrmSourceKind>(source->source.kind);
}

/**
 * gst_drm_source_get_name:
 * @source: a #GstDrmSource
 *
 * The name is made of the kind, the node and what is on the node, such as `kms:card0:31` for the
 * plane 31 of `/dev/dri/card0`, `egl:renderD128`, `v4l2:video0:capture`.
 *
 * Returns: (transfer none): a name that no other source of this machine has
 *
 * Since: 0.1
 */
const gchar *gst_drm_source_get_name(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  return source->source.name.c_str();
}

/**
 * gst_drm_source_get_description:
 * @source: a #GstDrmSource
 *
 * Says what @source is, for a person.
 *
 * Returns: (transfer none) (nullable): "primary plane", "EGL display" and the like; %NULL where
 *   nothing more is known than the kind
 *
 * Since: 0.1
 */
const gchar *gst_drm_source_get_description(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  return text_or_null(source->source.description);
}

/**
 * gst_drm_source_get_device:
 * @source: a #GstDrmSource
 *
 * Says where the device is.
 *
 * Returns: (transfer none) (nullable): the path of the node; %NULL for what has none, such as a
 *   software renderer
 *
 * Since: 0.1
 */
const gchar *gst_drm_source_get_device(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  return text_or_null(source->source.device);
}

/**
 * gst_drm_source_get_driver:
 * @source: a #GstDrmSource
 *
 * Names the driver, as the kernel does for KMS and V4L2, and as the library does for the others.
 *
 * Returns: (transfer none) (nullable): the name; %NULL where it is not known
 *
 * Since: 0.1
 */
const gchar *gst_drm_source_get_driver(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  return text_or_null(source->source.driver);
}

/**
 * gst_drm_source_get_problem:
 * @source: a #GstDrmSource
 *
 * A device that is there and cannot be asked, because it vanished or because the user may not open
 * it, is a source without formats that says why.
 *
 * Returns: (transfer none) (nullable): a sentence for a person; %NULL where the device answered
 *
 * Since: 0.1
 */
const gchar *gst_drm_source_get_problem(const GstDrmSource *source) noexcept
{
  g_return_val_if_fail(source != nullptr, nullptr);

  return text_or_null(source->source.problem);
}

/**
 * gst_drm_source_get_formats:
 * @source: a #GstDrmSource
 *
 * Copies the pairs that the device names. Where it names a fourcc without modifiers, that is the
 * pair with %GST_DRM_MODIFIER_IMPLICIT; %GST_DRM_MODIFIER_LINEAR is in the set only where the
 * device, or the definition of its format, says linear.
 *
 * Returns: (transfer full) (nullable): the set, empty where there is a problem; %NULL when out of
 *   memory
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_source_get_formats(const GstDrmSource *source) noexcept
try {
  g_return_val_if_fail(source != nullptr, nullptr);

  return gstdrm::wrap_format_set(gstdrm::FormatSet(source->source.formats));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_source_get_external_only:
 * @source: a #GstDrmSource
 *
 * Copies those of gst_drm_source_get_formats() that an EGL display takes as
 * `GL_TEXTURE_EXTERNAL_OES` alone. Empty for every other kind.
 *
 * Returns: (transfer full) (nullable): the set; %NULL when out of memory
 *
 * Since: 0.1
 */
GstDrmFormatSet *gst_drm_source_get_external_only(const GstDrmSource *source) noexcept
try {
  g_return_val_if_fail(source != nullptr, nullptr);

  return gstdrm::wrap_format_set(gstdrm::FormatSet(source->source.external_only));
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}

/**
 * gst_drm_source_get_n_planes:
 * @source: a #GstDrmSource
 * @fourcc: a DRM fourcc
 * @modifier: a DRM format modifier
 *
 * Counts the memory planes of a pair, planes of compression data included.
 *
 * Returns: 1 to 4; 0 where @source has no such pair, or the layout is not known
 *
 * Since: 0.1
 */
guint gst_drm_source_get_n_planes(const GstDrmSource *source, guint32 fourcc,
                                  guint64 modifier) noexcept
{
  g_return_val_if_fail(source != nullptr, 0);

  return gstdrm::count_planes(source->source, {fourcc, modifier});
}
