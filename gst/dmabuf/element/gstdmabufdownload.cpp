// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufdownload
 * @title: dmabufdownload
 * @short_description: linear DMA buffers to video in system memory
 *
 * Takes linear DMA buffers and sends them as plain `video/x-raw`, for elements that read with the
 * CPU. The memory stays the same and is mapped by whoever reads it; only where downstream knows no
 * GstVideoMeta and the rows are padded is a frame copied, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! dmabufdownload ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/format.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/needs.hpp>
#include <gst/drm/element/pool.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>

#include "gstdmabufframe.hpp"
#include "gstdmabuftransform.hpp"

GST_DEBUG_CATEGORY_STATIC(dmabuf_download_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_download_debug

namespace gstdrm {

namespace {

constexpr const char *kBreaksCaps = "Upstream breaks its own caps.";

// All state belongs to the streaming thread, from set_caps() and the allocation query on.
class Downloader final : public Transformer {
public:
  explicit Downloader(GstBaseTransform *element);

  bool stop() override;
  bool set_caps(GstCaps *incaps, GstCaps *outcaps) override;
  bool decide_allocation(GstQuery *query) override;
  bool propose_allocation(GstQuery *decide_query, GstQuery *query) override;

protected:
  GstFlowReturn process(GstPtr<GstBuffer> &frame) override;
  [[nodiscard]] std::string suggest(const GstCaps *upstream,
                                    const GstCaps *downstream) const override;

private:
  GstFlowReturn fail(const Error &error, const char *advice);
  GstFlowReturn check_input(GstPtr<GstBuffer> &frame);
  GstFlowReturn prove_mappable(GstBuffer *frame);
  const char *reason_to_copy(GstPtr<GstBuffer> &frame) const;
  GstFlowReturn copy(GstPtr<GstBuffer> &frame, const char *reason);
  GstFlowReturn acquire(GstPtr<GstBuffer> &buffer);
  bool configure_pool(GstBufferPool *pool) const;
  void drop_pool();

  GstDrmVideoInfo info_{}; // of the input
  bool dmabuf_input_ = false;
  GstPtr<GstCaps> plain_caps_;
  bool takes_video_meta_ = false;         // downstream reads GstVideoMeta
  bool takes_crop_meta_ = false;          // downstream crops
  GstPtr<GstBufferPool> downstream_pool_; // not configured before the first copy
  guint min_buffers_ = 0;
  guint max_buffers_ = 0;
  GstPtr<GstBufferPool> copy_pool_;
  bool proved_mappable_ = false; // since set_caps(): the CPU could map a frame
};

Downloader::Downloader(GstBaseTransform *element) : Transformer(element, kDownloadRules) {}

void Downloader::drop_pool()
{
  close_pool(copy_pool_);
  downstream_pool_.reset();
}

bool Downloader::stop()
{
  drop_pool();
  plain_caps_.reset();
  return Transformer::stop();
}

// --- negotiation ---------------------------------------------------------------------------------

bool Downloader::set_caps(GstCaps *incaps, GstCaps *outcaps)
{
  drop_pool();
  proved_mappable_ = false;
  if (!read_caps(incaps, info_))
    return false;
  resolve_implicit(info_, implicit_modifier);
  dmabuf_input_ = is_dmabuf_caps(incaps);
  plain_caps_ = GstPtr<GstCaps>::share(outcaps);
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " from %" GST_PTR_FORMAT, outcaps, incaps);
  return true;
}

bool Downloader::decide_allocation(GstQuery *query)
{
  drop_pool();
  takes_video_meta_ = gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  takes_crop_meta_ = gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  min_buffers_ = max_buffers_ = 0;
  if (gst_query_get_n_allocation_pools(query) > 0) {
    GstBufferPool *pool = nullptr;
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, &min_buffers_, &max_buffers_);
    downstream_pool_.reset(pool);
  }
  // Frames are passed on as they come, so a pool is made when a first one cannot be; the base class
  // would activate a pool that is left here.
  while (gst_query_get_n_allocation_pools(query) > 0)
    gst_query_remove_nth_allocation_pool(query, 0);
  return true;
}

// What upstream should know: strides may be any, frames may be larger than the picture, and
// downstream keeps so many buffers.
bool Downloader::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  if (!base_transform_class()->propose_allocation(element_, decide_query, query))
    return false;
  for (const GType api : {GST_VIDEO_META_API_TYPE, GST_VIDEO_CROP_META_API_TYPE})
    if (!gst_query_find_allocation_meta(query, api, nullptr))
      gst_query_add_allocation_meta(query, api, nullptr);
  gst_query_add_allocation_pool(
      query, nullptr, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info_.vinfo)), min_buffers_, 0);
  Needs needs;
  needs.buffers_held = min_buffers_;
  needs.cpu_access = GST_DRM_ACCESS_READ;
  add_needs(GST_ELEMENT(element_), query, needs);
  return true;
}

std::string Downloader::suggest(const GstCaps *upstream, const GstCaps *downstream) const
{
  const CapsRules rules = this->rules();
  const GstPtr<GstCaps> can_send = gstdrm::transform_caps(rules, GST_PAD_SINK, upstream);
  if (gst_caps_is_empty(can_send.get())) {
    const std::vector<std::string> formats = strings_of(upstream, "drm-format");
    const std::string text = formats.empty() ? "" : formats.front();
    guint32 fourcc = 0;
    guint64 modifier = GST_DRM_MODIFIER_LINEAR;
    if (!text.empty() && gst_drm_format_parse(text.c_str(), &fourcc, &modifier, nullptr) &&
        modifier != GST_DRM_MODIFIER_LINEAR)
      return text + " (" + describe_modifier(modifier) +
             ") is a device's own layout, which a CPU cannot read: ask upstream for " +
             text.substr(0, text.find(':')) +
             " without a modifier, which is linear, or download with the "
             "device that wrote it (glupload ! gldownload for OpenGL).";
    if (!text.empty())
      return text +
             " has no GstVideoFormat of the same bytes: ask upstream for another drm-format.";
    if (!rules.implicit_is_linear && has_implicit(upstream))
      return std::string(
                 "A CPU reads linear frames only, and these caps do not say in which layout "
                 "theirs lie. ") +
             advise_implicit(ImplicitModifier::Auto, false);
    return "Only DMA_DRM with a linear drm-format, or plain video, can be mapped by a CPU: a "
           "dmabuf with an "
           "implicit modifier has an unknown layout.";
  }
  const std::string field = differing_field(upstream, downstream);
  if (!field.empty())
    return "Put videoconvertscale after it, to change what differs.";
  return "Put videoconvert after it.";
}

// --- frames --------------------------------------------------------------------------------------

GstFlowReturn Downloader::fail(const Error &error, const char *advice)
{
  return fail_frame("cannot read a frame of", error, advice);
}

// The frame is what the caps say, and its device is done with it.
GstFlowReturn Downloader::check_input(GstPtr<GstBuffer> &frame)
{
  if (dmabuf_input_) {
    if (const auto layout = importable_layout(frame.get(), info_); !layout)
      return fail(layout.error(), kBreaksCaps);
    // Nobody who reads plain video knows the pseudo-format that a GstVideoMeta may name.
    share_frame(frame, info_.vinfo);
  }
  if (const auto checked = check_mappable_layout(frame.get(), info_.vinfo); !checked)
    return fail(checked.error(), kBreaksCaps);
  const auto waited =
      wait_for_device(GST_ELEMENT(element_), frame.get(), stats_, waits_.interrupt());
  if (!waited)
    return fail(waited.error(), "The device may hang; see the kernel log.");
  return *waited == Waited::Interrupted ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

// Not every exporter lets the CPU map its memory, and the reader's own message would not say which
// exporter it was.
GstFlowReturn Downloader::prove_mappable(GstBuffer *frame)
{
  if (proved_mappable_)
    return GST_FLOW_OK;
  for (guint i = 0; i < gst_buffer_n_memory(frame); i++) {
    GstMapInfo map;
    if (!gst_memory_map(gst_buffer_peek_memory(frame, i), &map, GST_MAP_READ))
      return fail(Error{ErrorCode::Import,
                        "Its memory " + std::to_string(i) + " cannot be mapped by the CPU", 0},
                  "Download with the device that wrote it (glupload ! gldownload for OpenGL).");
    gst_memory_unmap(gst_buffer_peek_memory(frame, i), &map);
  }
  proved_mappable_ = true;
  return GST_FLOW_OK;
}

bool Downloader::configure_pool(GstBufferPool *pool) const
{
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, plain_caps_.get(),
                                    static_cast<guint>(GST_VIDEO_INFO_SIZE(&info_.vinfo)),
                                    min_buffers_, max_buffers_);
  if (takes_video_meta_)
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  return gst_buffer_pool_set_config(pool, config) && gst_buffer_pool_set_active(pool, TRUE);
}

GstFlowReturn Downloader::acquire(GstPtr<GstBuffer> &buffer)
{
  if (!copy_pool_) {
    auto pool = std::move(downstream_pool_);
    if (!pool || !configure_pool(pool.get())) {
      if (const auto room = room_for_pool(); !room)
        return fail(room.error(), "Close what else the process has open.");
      pool.reset(gst_video_buffer_pool_new());
      max_buffers_ = 0;
      if (!configure_pool(pool.get()))
        return fail(Error{ErrorCode::Allocation, "There is no memory for the copy", 0},
                    "Close what else uses memory, or choose a smaller size.");
    }
    copy_pool_ = std::move(pool);
  }
  return waits_.acquire(copy_pool_.get(), buffer);
}

GstFlowReturn Downloader::copy(GstPtr<GstBuffer> &frame, const char *reason)
{
  if (zero_copy == ZeroCopy::Require)
    return refuse_copy(reason,
                       "Put an element that reads GstVideoMeta after it (videoconvert), or set "
                       "zero-copy=prefer.",
                       plain_caps_.get());
  GstPtr<GstBuffer> output;
  if (const GstFlowReturn ret = acquire(output); ret != GST_FLOW_OK)
    return ret;
  if (const auto checked = check_mappable_layout(output.get(), info_.vinfo); !checked)
    return fail(Error{checked.error().code, "Downstream's pool: " + checked.error().message,
                      checked.error().sys_errno},
                "Put an element that brings buffers of its own after it (videoconvert).");
  if (const auto copied =
          copy_into(output.get(), frame.get(), info_.vinfo, takes_crop_meta_, reason);
      !copied)
    return fail(copied.error(), "");
  frame = std::move(output);
  return GST_FLOW_OK;
}

// Why a checked frame cannot be passed on as it is; nullptr where it can, changed to what
// downstream reads.
const char *Downloader::reason_to_copy(GstPtr<GstBuffer> &frame) const
{
  const GstVideoInfo &info = info_.vinfo;
  if (dmabuf_input_ && !gst_buffer_get_video_meta(frame.get()))
    return "the memory cannot be shared while it is being written";
  const bool padded = is_padded_frame(frame.get(), info);
  const bool crops =
      takes_video_meta_ && takes_crop_meta_ && gst_buffer_get_video_crop_meta(frame.get());
  if (padded && !crops && !crop_in_place(frame, info, 1))
    return "the visible picture begins inside a block of pixels, or the memory cannot be shared";
  if (!takes_video_meta_ && !has_default_layout(frame.get(), info))
    return "downstream reads no GstVideoMeta and the rows are padded";
  if (!padded && !crops)
    drop_crop(frame);
  return nullptr;
}

GstFlowReturn Downloader::process(GstPtr<GstBuffer> &frame)
{
  GstFlowReturn ret = check_input(frame);
  if (ret == GST_FLOW_OK)
    ret = prove_mappable(frame.get());
  if (ret != GST_FLOW_OK)
    return ret;
  const char *reason = reason_to_copy(frame);
  return reason ? copy(frame, reason) : GST_FLOW_OK;
}

} // namespace

} // namespace gstdrm

// --- the GObject shell ---------------------------------------------------------------------------

struct GstDmaBufDownload {
  GstDmaBufTransform parent;
};

struct GstDmaBufDownloadClass {
  GstDmaBufTransformClass parent_class;
};

using gstdrm::Downloader;

G_DEFINE_TYPE(GstDmaBufDownload, gst_dmabuf_download, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufdownload, "dmabufdownload", GST_RANK_NONE,
                            gst_dmabuf_download_get_type())

static void gst_dmabuf_download_class_init(GstDmaBufDownloadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_download_debug, "dmabufdownload", 0,
                          "DMA buffers to system memory");
  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(
      element_class, "DMA buffer downloader", "Filter/Video",
      "Gives linear DMA buffers to elements that read with the CPU", "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::linear_dmabuf_template(), gstdrm::plain_template(),
                            gstdrm::implicit_dmabuf_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC, {gstdrm::plain_template()});
}

static void gst_dmabuf_download_init(GstDmaBufDownload *self)
{
  gstdrm::set_transformer(GST_DMABUF_TRANSFORM(self),
                          std::make_unique<Downloader>(GST_BASE_TRANSFORM(self)));
}
