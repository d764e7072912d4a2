// SPDX-License-Identifier: LGPL-2.1-or-later
// How vadmabufsrc and downstream agree: format, modifier, device, pool.
#include <algorithm>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmdevicequery.h>

#include "gstvadmabufallocator.hpp"
#include "gstvadmabufsrc-source.hpp"

#define GST_CAT_DEFAULT gst_va_dmabuf_src_debug

namespace gstdrm::va {
namespace {

constexpr guint kFewestSurfaces = 2; // one is shown while the next is drawn

// Makes the pool allocate `count` buffers; returns how many it could allocate.
guint fill_pool(GstBufferPool *pool, guint count)
{
  GstBufferPoolAcquireParams params = {};
  params.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  std::vector<GstPtr<GstBuffer>> buffers;
  GstBuffer *buffer = nullptr;
  while (buffers.size() < count &&
         gst_buffer_pool_acquire_buffer(pool, &buffer, &params) == GST_FLOW_OK)
    buffers.push_back(GstPtr<GstBuffer>::adopt(buffer));
  return static_cast<guint>(buffers.size());
}

} // namespace

void Source::post_nothing_common(const GstCaps *own)
{
  const Display &display = *device()->display;
  const Mismatch mismatch = describe_mismatch(
      {display.node() + " (" + display.vendor() + ") and downstream have no format in common.",
       {"The device", "makes", own},
       restrictions_after(GST_BASE_SRC_PAD(element_))},
      [](const GstCaps *, const GstCaps *) {
        return "Put an element between them that converts, such as vapostproc, or choose another "
               "device.";
      });
  post_mismatch(GST_ELEMENT(element_), mismatch);
}

bool Source::negotiate()
{
  const auto device = this->device();
  const auto own = device_caps(&device->capabilities);
  const auto agreement = producer_.agree(GST_BASE_SRC_PAD(element_), own.get(),
                                         device->capabilities.formats, allocator_.get());
  switch (agreement.outcome) {
  case Producer::Outcome::Agreed:
    return gst_base_src_set_caps(element_, agreement.caps.get()) != FALSE;
  case Producer::Outcome::NothingInCommon:
    post_nothing_common(own.get());
    return false;
  case Producer::Outcome::NotAllocated:
    break;
  }
  GST_ELEMENT_ERROR(element_, RESOURCE, NO_SPACE_LEFT,
                    ("No surface could be allocated in any format that downstream takes. %s. Try "
                     "another size, or limit the formats with a capsfilter.",
                     agreement.refusals.c_str()),
                    ("common %" GST_PTR_FORMAT, agreement.common.get()));
  return false;
}

bool Source::set_caps(GstCaps *caps)
{
  g_autoptr(GError) error = nullptr;
  GstDrmVideoInfo info;
  gst_drm_video_info_init(&info);
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error)) {
    GST_ELEMENT_ERROR(element_, CORE, CAPS, ("%s", error->message),
                      ("caps %" GST_PTR_FORMAT, caps));
    return false;
  }
  const auto wanted = copy_properties();
  auto frames = FrameSource::create(GST_ELEMENT(element_), *device(), info, wanted.pattern,
                                    wanted.argb, stats, *worker_);
  if (!frames) {
    post("The pattern cannot be prepared", frames.error());
    return false;
  }
  if ((*frames)->uses_cpu() && wanted.zero_copy == ZeroCopy::Require) {
    GST_ELEMENT_ERROR(element_, CORE, NEGOTIATION,
                      ("%s (%s) has no video processing, so the CPU would write every frame, and "
                       "zero-copy=require forbids "
                       "that. Use zero-copy=prefer, or another device.",
                       device()->display->node().c_str(), device()->display->vendor().c_str()),
                      (nullptr));
    return false;
  }
  // Timestamps continue from the first frame of the new caps.
  timeline_ = {next_frame_, timeline_.at(next_frame_), GST_VIDEO_INFO_FPS_N(&info.vinfo),
               GST_VIDEO_INFO_FPS_D(&info.vinfo)};
  info_ = info;
  frames_ = std::move(frames).value();
  return true;
}

void Source::compare_devices(GstQuery *query)
{
  guint64 other = 0;
  if (warned_of_device_ || !gst_drm_query_get_device(query, &other))
    return;
  const auto &display = *device()->display;
  g_autoptr(GError) unknown = nullptr;
  if (gst_drm_device_is_same(other, display.device_number(), &unknown))
    return;
  if (unknown)
    GST_DEBUG_OBJECT(element_, "taken for another device: %s", unknown->message);
  warned_of_device_ = true;
  GST_ELEMENT_WARNING(
      element_, RESOURCE, SETTINGS,
      ("Frames come from %s, downstream imports them on %s, another device: each frame crosses the "
       "bus, "
       "or the import fails. Set the device property to a render node of that device if it has "
       "one.",
       display.node().c_str(), drm_node_path(other).c_str()),
      ("drm-device %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT, display.device_number(), other));
}

GstPtr<GstBufferPool> Source::make_pool(GstCaps *caps, guint surfaces, bool with_meta)
{
  // No minimum: a GstBufferPool that cannot allocate its minimum frees the buffers that it has.
  auto made = configure_pool(allocator_.get(), {caps, 0, surfaces, with_meta});
  if (!made || !gst_buffer_pool_set_active(made->pool.get(), TRUE))
    return {};
  return std::move(made->pool);
}

// Allocates all surfaces at once, so that none is allocated while the stream runs. If the driver runs
// out, the pool is made again with as many as there are.
GstPtr<GstBufferPool> Source::make_largest_pool(GstCaps *caps, guint wanted, bool with_meta)
{
  for (guint surfaces = wanted; surfaces >= kFewestSurfaces;) {
    auto pool = make_pool(caps, surfaces, with_meta);
    const auto made = pool ? fill_pool(pool.get(), surfaces) : 0;
    if (made == surfaces)
      return pool;
    if (pool)
      gst_buffer_pool_set_active(pool.get(), FALSE);
    GST_WARNING_OBJECT(element_, "the driver has surfaces for %u frames only, not for %u", made,
                       surfaces);
    surfaces = made;
  }
  return {};
}

// The pool only logs its error; allocating once more gives a GError for the message.
void Source::post_no_pool(GstCaps *caps)
{
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info_.vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info_.vinfo));
  g_autoptr(GError) error = nullptr;
  const auto frame = GstPtr<GstBuffer>::adopt(
      gst_drm_allocator_alloc_frame(allocator_.get(), info_.drm_fourcc, width, height,
                                    &info_.drm_modifier, 1, nullptr, nullptr, &error));
  const bool plain = !gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf");
  const char *why =
      error ? error->message
      : plain
          ? "the driver's strides or offsets are not GStreamer's defaults, and downstream does not "
            "take GstVideoMeta, which says where the planes are"
          : "it gives one, but not two at once";
  GST_ELEMENT_ERROR(element_, RESOURCE, NO_SPACE_LEFT,
                    ("%s has no surfaces for %u frames of %ux%u, and at least %u are needed: %s. "
                     "Lower the size, close what "
                     "else uses the device, or put an element between that converts.",
                     device()->display->node().c_str(), kFewestSurfaces, width, height,
                     kFewestSurfaces, why),
                    ("caps %" GST_PTR_FORMAT, caps));
}

bool Source::decide_allocation(GstQuery *query)
{
  compare_devices(query);
  GstCaps *caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  guint least = 0; // buffers that downstream keeps
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, nullptr, nullptr, &least, nullptr);
  const auto wanted = std::max(copy_properties().num_surfaces, std::min(least, 64U) + 1);
  auto pool = GstPtr<GstBufferPool>::adopt(gst_base_src_get_buffer_pool(element_));
  if (!pool || !pool_caps_ || !gst_caps_is_equal(caps, pool_caps_.get())) {
    const bool with_meta =
        gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) ||
        gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf");
    if (frames_)
      frames_->drop_ahead();
    pool = make_largest_pool(caps, wanted, with_meta);
    pool_caps_ = GstPtr<GstCaps>::share(caps);
  }
  if (!pool) {
    pool_caps_ = {};
    post_no_pool(caps);
    return false;
  }
  GstStructure *config = gst_buffer_pool_get_config(pool.get());
  guint size = 0;
  guint surfaces = 0;
  gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, &surfaces);
  gst_structure_free(config);
  if (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_set_nth_allocation_pool(query, 0, pool.get(), size, 0, surfaces);
  else
    gst_query_add_allocation_pool(query, pool.get(), size, 0, surfaces);
  return true;
}

} // namespace gstdrm::va
