// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:gstdrmsource
 * @title: GstDrmSource
 * @short_description: what the devices of this machine can take
 *
 * Every user of pixel buffers lists the pairs of fourcc and modifier that it supports: KMS the
 * planes' IN_FORMATS, EGL and Vulkan their dma-buf queries, VA-API what it exports, V4L2 its
 * queues' formats, a Wayland compositor what it puts on the screen.
 * The functions gst_drm_enumerate_kms() and so on ask all devices of one kind, and return one
 * #GstDrmSource for each plane, display or queue. Listed is not usable: an import of a real buffer
 * may still fail.
 *
 * EGL, GBM, VA-API and Vulkan load drivers into the process, which a bad driver can end. The
 * program `gst-drm-inspect-1.0 --save` asks each of them in a process of its own.
 */
#include "gstdrmenumerate.h"

#include <initializer_list>
#include <memory>
#include <utility>

#include "config.h"
#include "gstdrm-guard-private.hpp"
#include "gstdrmsource-private.hpp"

namespace {

void unref_source(gpointer source) noexcept
{
  gst_drm_source_unref(static_cast<GstDrmSource *>(source));
}

struct UnrefArray {
  void operator()(GPtrArray *array) const noexcept { g_ptr_array_unref(array); }
};
using SourceArray = std::unique_ptr<GPtrArray, UnrefArray>;

void add_all(GPtrArray *array, gstdrm::Sources &&sources)
{
  for (gstdrm::Source &source : sources) {
    auto wrapped = std::make_unique<GstDrmSource>();
    wrapped->source = std::move(source);
    g_ptr_array_add(array, wrapped.release());
  }
}

// Stands in for an interface that this library was built without.
[[maybe_unused]] gstdrm::Sources without()
{
  return {};
}
#ifdef HAVE_GBM
gstdrm::Sources list_gbm()
{
  return gstdrm::enumerate_gbm();
}
#else
constexpr auto list_gbm = without;
#endif
#ifdef HAVE_EGL_HEADERS
gstdrm::Sources list_egl()
{
  return gstdrm::enumerate_egl();
}
#else
constexpr auto list_egl = without;
#endif
#ifdef HAVE_VULKAN_HEADERS
gstdrm::Sources list_vulkan()
{
  return gstdrm::enumerate_vulkan();
}
#else
constexpr auto list_vulkan = without;
#endif
#ifdef HAVE_WAYLAND
constexpr auto list_wayland = gstdrm::enumerate_wayland;
constexpr auto list_wayland_surface = gstdrm::enumerate_wayland_surface;
#else
constexpr auto list_wayland = without;
gstdrm::Sources list_wayland_surface(wl_display *, wl_surface *)
{
  return {};
}
#endif

GPtrArray *list(std::initializer_list<gstdrm::Sources (*)()> kinds)
{
  SourceArray array(g_ptr_array_new_with_free_func(unref_source));
  for (auto *kind : kinds)
    add_all(array.get(), kind());
  return array.release();
}

// For a function that was interrupted by an exception: still a list.
GPtrArray *empty_list() noexcept
{
  return g_ptr_array_new_with_free_func(unref_source);
}

} // namespace

/**
 * gst_drm_enumerate_kms:
 *
 * Lists the planes of every `/dev/dri/cardN` with the pairs that they scan out (IN_FORMATS; for a
 * plane without it, its fourccs with the implicit modifier). Needs no rights beyond those of
 * opening the nodes. The kernel makes whoever opens a card that has no master its master; it is
 * given up at once.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each plane,
 * empty on a machine without a display
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_kms(void) noexcept
try {
  return list({gstdrm::enumerate_kms});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_gbm:
 *
 * Lists what libgbm says it allocates on every render node: a fourcc that it can render to with the
 * implicit modifier, one that it makes linear with LINEAR. libgbm lists no other modifiers.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each render
 * node, empty on a machine without one, and in a build without libgbm
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_gbm(void) noexcept
try {
  return list({list_gbm});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_egl:
 *
 * Lists the devices of EGL with the pairs that their displays import. Loads libEGL, and with it the
 * drivers of all GPUs, into this process, where they stay; opens each display, which takes up to
 * a second.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each device,
 *   software renderers included; empty on a machine without libEGL
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_egl(void) noexcept
try {
  return list({list_egl});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_va:
 *
 * Lists what the VA-API driver of every render node exports, by a stream of one frame of
 * vadmabufsrc on each: the pairs are those that its driver allocated, drew and exported. Loads the
 * driver into this process. A driver that gives no answer within 20 seconds
 * (`GST_DRM_VA_PROBE_TIMEOUT`) is listed with that problem, and its thread is left behind.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each render
 * node; empty on a machine without one, where the element vadmabufsrc is not installed, and before
 *   gst_init()
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_va(void) noexcept
try {
  return list({gstdrm::enumerate_va});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_v4l2:
 *
 * Lists the queues of every `/dev/videoN` with the uncompressed formats that have a DRM name. Opens
 * each node, which wakes up some cameras.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each queue,
 * empty on a machine without a video node
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_v4l2(void) noexcept
try {
  return list({gstdrm::enumerate_v4l2});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_vulkan:
 *
 * Lists the physical devices of Vulkan twice, with the pairs of which a DMA buffer becomes an image
 * that shaders sample (`vulkan:renderD128:sampled`), and one that is drawn into
 * (`vulkan:renderD128:drawn`). A pair is listed where the device has it for that use
 * (VK_EXT_image_drm_format_modifier) and says that a DMA buffer of it is importable. Plane counts
 * are the device's. Loads libvulkan, and with it the drivers of all GPUs, into this process, where
 * they stay.
 *
 * Returns: (transfer container) (element-type GstDrmSource): two #GstDrmSource for each device,
 *   software renderers included; empty on a machine without libvulkan or a driver of Vulkan 1.1,
 *   and in a build without the headers of Vulkan
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_vulkan(void) noexcept
try {
  return list({list_vulkan});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_wayland:
 *
 * Lists what the compositor of `WAYLAND_DISPLAY` (`wayland-0` where that is not set) takes as DMA
 * buffers: by zwp_linux_dmabuf_v1, of version 4 the default feedback, one source for each of its
 * tranches in the compositor's order (`wayland:wayland-0:0` is what it likes best), with the device
 * that each is for; of an older version all pairs as one source. Opens a connection of its own, and
 * waits for two seconds at most. `WAYLAND_SOCKET` is not used, because only one user can use it.
 *
 * Returns: (transfer container) (element-type GstDrmSource): one #GstDrmSource for each tranche;
 *   one with a problem where the compositor cannot be asked; empty where there is no compositor,
 * and in a build without libwayland
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_wayland(void) noexcept
try {
  return list({list_wayland});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_wayland_surface:
 * @display: an application's `struct wl_display`
 * @surface: (nullable): a `struct wl_surface` of @display; %NULL for the default feedback
 *
 * Lists what a compositor takes for one surface, as gst_drm_enumerate_wayland() does for all. The
 * feedback of a surface may have a tranche for direct scanout, and changes when the surface moves.
 * Before version 4 of zwp_linux_dmabuf_v1 it is the same for all surfaces. Uses a queue of its own,
 * so that other threads may use @display meanwhile.
 *
 * Returns: (transfer container) (element-type GstDrmSource): as gst_drm_enumerate_wayland()
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_wayland_surface(gpointer display, gpointer surface) noexcept
try {
  g_return_val_if_fail(display != nullptr, empty_list());

  SourceArray array(g_ptr_array_new_with_free_func(unref_source));
  add_all(array.get(), list_wayland_surface(static_cast<wl_display *>(display),
                                            static_cast<wl_surface *>(surface)));
  return array.release();
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}

/**
 * gst_drm_enumerate_all:
 *
 * Lists the sources of gst_drm_enumerate_kms(), gst_drm_enumerate_gbm(), gst_drm_enumerate_egl(),
 * gst_drm_enumerate_va(), gst_drm_enumerate_v4l2(), gst_drm_enumerate_vulkan() and
 * gst_drm_enumerate_wayland(), in this order.
 *
 * Returns: (transfer container) (element-type GstDrmSource): every #GstDrmSource of this machine;
 *   empty where it has no device
 *
 * Since: 0.1
 */
GPtrArray *gst_drm_enumerate_all(void) noexcept
try {
  return list({gstdrm::enumerate_kms, list_gbm, list_egl, gstdrm::enumerate_va,
               gstdrm::enumerate_v4l2, list_vulkan, list_wayland});
} catch (...) {
  return gstdrm::caught(empty_list(), __func__);
}
