// SPDX-License-Identifier: LGPL-2.1-or-later
// A plugin with one filter, drmmark: it draws a white square into the upper left corner of frames
// in linear DMA buffers, in place. docs/new-element.md walks through it.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include <drm_fourcc.h>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/core/unique_fd.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/element/explain.hpp>
#include <gst/drm/element/failed_negotiation.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/element/properties.hpp>
#include <gst/drm/element/stats.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/video/video.h>

#include "config.h"

using namespace gstdrm;

// One object per element. Any thread uses zero_copy and stats(), the streaming thread all the rest.
class Mark {
public:
  explicit Mark(GstBaseTransform *element) : element_(element) {}
  std::atomic<ZeroCopy> zero_copy{ZeroCopy::Prefer};
  [[nodiscard]] GstStructure *stats() const { return stats_.to_structure(); }

  // A CAPS event, which `pass_on` gives to the base class. Refused caps end in one message that
  // says which element takes what, and what to do.
  bool take_caps(GstEvent *event, const std::function<bool(GstEvent *)> &pass_on)
  {
    return failure_.take(GST_ELEMENT(element_), event, pass_on, [this](const GstCaps *caps) {
      return describe_mismatch(
          {nothing_in_common(GST_ELEMENT(element_)),
           {origin_name(element_->sinkpad), "has", caps},
           restrictions_after(element_->srcpad)},
          [](const GstCaps *, const GstCaps *) { return "Put dmabufdownload after drmmark."; });
    });
  }

  bool set_caps(GstCaps *caps)
  {
    pool_.reset();
    caps_ = GstPtr<GstCaps>::share(caps);
    GError *error = nullptr;
    return gst_drm_video_info_from_caps_full(&info_, caps, &error) || fail(take_error(error));
  }

  // The buffer to draw into: `input`, or a copy where another element holds its memory too.
  bool make_writable(GstBuffer *input, GstBuffer **output)
  {
    GstDrmFrame frame; // the layout comes from elsewhere: it is checked before a pixel is touched
    GError *error = nullptr;
    if (!gst_drm_frame_from_buffer(&frame, input, &info_, &error) || !wait_for(input, &error))
      return fail(take_error(error));
    *output = input;
    if (gst_buffer_is_writable(input) && gst_buffer_is_all_memory_writable(input))
      return true;
    if (zero_copy == ZeroCopy::Require)
      return fail({ErrorCode::Unsupported,
                   "zero-copy=require forbids to copy a frame that another element holds too. Put "
                   "drmmark before the tee, or set zero-copy=prefer.",
                   0});
    stats_.count_copy(GST_ELEMENT(element_), info_.vinfo.size, "another element holds the frame");
    return copy(input, output);
  }

  bool draw(GstBuffer *buffer)
  {
    GstVideoFrame frame; // mapping a dma-buf brackets the access with DMA_BUF_IOCTL_SYNC
    if (!gst_video_frame_map(&frame, &info_.vinfo, buffer, GST_MAP_READWRITE))
      return fail({ErrorCode::Import, "The CPU cannot map a DMA buffer for writing.", 0});
    auto *row = static_cast<guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
    const gint columns = std::min(kSide, info_.vinfo.width),
               rows = std::min(kSide, info_.vinfo.height);
    for (gint y = 0; y < rows; y++, row += GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0))
      std::memset(row, 0xff, columns * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0));
    gst_video_frame_unmap(&frame);
    stats_.frames++;
    return true;
  }

private:
  static constexpr gint kSide = 16; // pixels

  bool fail(const Error &error)
  {
    failure_.post(GST_ELEMENT(element_), error);
    return false;
  }

  static bool wait_for(GstBuffer *buffer, GError **error)
  {
    GstDrmSyncMeta *meta = gst_buffer_get_drm_sync_meta(buffer);
    const UniqueFd fence(meta ? gst_drm_sync_meta_dup_acquire_fence(meta) : -1);
    auto state = GST_DRM_FENCE_STATE_SIGNALLED;
    return !fence || (gst_drm_fence_wait(fence.get(), GST_SECOND, &state, error) &&
                      state == GST_DRM_FENCE_STATE_SIGNALLED);
  }

  bool open_pool()
  {
    GError *error = nullptr;
    const auto allocator = GstPtr<GstDrmAllocator>::adopt(
        gst_drm_allocator_new(GST_DRM_ALLOCATOR_KIND_AUTO, nullptr, &error));
    if (!allocator)
      return fail(take_error(error));
    auto made = configure_pool(allocator.get(), {caps_.get()});
    if (!made || !gst_buffer_pool_set_active(made->pool.get(), TRUE))
      return fail(made ? Error{ErrorCode::Allocation, "No DMA buffer for a copy.", 0}
                       : made.error());
    pool_ = std::move(made->pool);
    return true;
  }

  bool copy(GstBuffer *input, GstBuffer **output)
  {
    if (!pool_ && !open_pool())
      return false;
    if (gst_buffer_pool_acquire_buffer(pool_.get(), output, nullptr) != GST_FLOW_OK)
      return fail({ErrorCode::Allocation, "No DMA buffer for the copy.", 0});
    GstVideoFrame from{}, to{};
    if (gst_video_frame_map(&from, &info_.vinfo, input, GST_MAP_READ)) {
      if (gst_video_frame_map(&to, &info_.vinfo, *output, GST_MAP_WRITE)) {
        gst_video_frame_copy(&to, &from);
        gst_video_frame_unmap(&to);
      }
      gst_video_frame_unmap(&from);
    }
    if (!to.buffer)
      return fail({ErrorCode::Import, "The CPU cannot map the DMA buffers of a copy.", 0});
    return true;
  }

  GstBaseTransform *const element_;
  FailedNegotiation failure_;
  Stats stats_;
  GstPtr<GstCaps> caps_;
  GstDrmVideoInfo info_{};     // of caps_, which are the same on both pads
  GstPtr<GstBufferPool> pool_; // for copies; made for the first one
};

struct DrmMark {
  GstBaseTransform parent;
  Mark *mark; // made in init, deleted in finalize
};
struct DrmMarkClass {
  GstBaseTransformClass parent_class;
};
enum { PROP_0, PROP_ZERO_COPY, PROP_DRM_STATS };

G_DEFINE_TYPE(DrmMark, drm_mark, GST_TYPE_BASE_TRANSFORM)

static Mark &mark_of(gpointer element)
{
  return *static_cast<DrmMark *>(element)->mark;
}

static void drm_mark_set_property(GObject *object, guint, const GValue *value,
                                  GParamSpec *) noexcept
{
  mark_of(object).zero_copy = zero_copy_from(value); // the only property that can be written
}

static void drm_mark_get_property(GObject *object, guint id, GValue *value, GParamSpec *) noexcept
{
  if (id == PROP_ZERO_COPY)
    set_zero_copy(value, mark_of(object).zero_copy);
  else
    g_value_take_boxed(value, mark_of(object).stats());
}

static gboolean drm_mark_sink_event(GstBaseTransform *trans, GstEvent *event) noexcept
try {
  const auto pass_on = [trans](GstEvent *passed) {
    return GST_BASE_TRANSFORM_CLASS(drm_mark_parent_class)->sink_event(trans, passed) != FALSE;
  };
  return GST_EVENT_TYPE(event) == GST_EVENT_CAPS ? mark_of(trans).take_caps(event, pass_on)
                                                 : pass_on(event);
} catch (...) {
  return caught_in(trans, FALSE, __func__);
}

static gboolean drm_mark_set_caps(GstBaseTransform *trans, GstCaps *incaps, GstCaps *) noexcept
try {
  return mark_of(trans).set_caps(incaps);
} catch (...) {
  return caught_in(trans, FALSE, __func__);
}

static GstFlowReturn drm_mark_prepare_output_buffer(GstBaseTransform *trans, GstBuffer *input,
                                                    GstBuffer **output) noexcept
try {
  if (!mark_of(trans).make_writable(input, output))
    return GST_FLOW_ERROR;
  if (*output != input)
    GST_BASE_TRANSFORM_GET_CLASS(trans)->copy_metadata(trans, input, *output);
  return GST_FLOW_OK;
} catch (...) {
  return caught_in(trans, GST_FLOW_ERROR, __func__);
}

static GstFlowReturn drm_mark_transform_ip(GstBaseTransform *trans, GstBuffer *buffer) noexcept
try {
  return mark_of(trans).draw(buffer) ? GST_FLOW_OK : GST_FLOW_ERROR;
} catch (...) {
  return caught_in(trans, GST_FLOW_ERROR, __func__);
}

static void drm_mark_finalize(GObject *object) noexcept
{
  delete static_cast<DrmMark *>(static_cast<gpointer>(object))->mark;
  G_OBJECT_CLASS(drm_mark_parent_class)->finalize(object);
}

static void drm_mark_class_init(DrmMarkClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = drm_mark_set_property;
  object_class->get_property = drm_mark_get_property;
  object_class->finalize = drm_mark_finalize;
  install_common_properties(object_class,
                            {PROP_ZERO_COPY, "What to do where a frame would have to be copied",
                             PROP_DRM_STATS, "Counters since the element was made"});

  GstDrmFormatSet *set = gst_drm_format_set_new();
  for (const guint32 fourcc : {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888, DRM_FORMAT_NV12})
    gst_drm_format_set_add(set, fourcc, GST_DRM_MODIFIER_LINEAR);
  const auto caps = GstPtr<GstCaps>::adopt(gst_drm_format_set_to_caps(set));
  gst_drm_format_set_unref(set);
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  for (const auto &[name, direction] : {std::pair("sink", GST_PAD_SINK), {"src", GST_PAD_SRC}})
    gst_element_class_add_pad_template(
        element_class, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
  gst_element_class_set_static_metadata(element_class, "Mark on DMA buffers", "Filter/Video",
                                        "Draws a white square in place", "gst-drm");

  GstBaseTransformClass *transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->sink_event = drm_mark_sink_event;
  transform_class->set_caps = drm_mark_set_caps;
  transform_class->prepare_output_buffer = drm_mark_prepare_output_buffer;
  transform_class->transform_ip = drm_mark_transform_ip;
}

static void drm_mark_init(DrmMark *self)
{
  self->mark = new Mark(&self->parent);
}

static gboolean plugin_init(GstPlugin *plugin) noexcept
{
  return gst_element_register(plugin, "drmmark", GST_RANK_NONE, drm_mark_get_type());
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, drmmark, "An example of the element kit",
                  plugin_init, VERSION, GST_LICENSE, GST_PACKAGE_NAME, GST_PACKAGE_ORIGIN)
