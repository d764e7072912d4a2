// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-dmabufupload
 * @title: dmabufupload
 * @short_description: system-memory video into DMA buffers
 *
 * Takes video in system memory and sends it as linear DMA buffers: `format=DMA_DRM` where
 * downstream takes that, plain `video/x-raw` in dmabuf memory where it knows no DMA_DRM. Upstream
 * is offered a pool of such buffers; frames that upstream writes there are passed on as they are,
 * others are copied once, and counted in `drm-stats`.
 *
 * ## Example
 * |[
 * gst-launch-1.0 videotestsrc ! dmabufupload ! kmsdmabufsink
 * ]|
 *
 * Since: 0.1
 */
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/producer.hpp>
#include <gst/drm/element/property_rows.hpp>
#include <gst/drm/gstdrm-guard-private.hpp>
#include <gst/drm/gstdrmcaps-words.hpp>

#include "gstdmabufallocation.hpp"
#include "gstdmabufframe.hpp"
#include "gstdmabuftransform.hpp"

GST_DEBUG_CATEGORY(dmabuf_upload_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_upload_debug

namespace gstdrm {

namespace {

class Uploader final : public Transformer {
public:
  explicit Uploader(GstBaseTransform *element);

  // Any thread.
  UploadAllocation &allocation() noexcept { return allocation_; }
  // Before the element changes its state.
  void prepare_state_change(GstStateChange transition);

  bool start() override;
  bool stop() override;
  bool sink_event(GstEvent *event) override;
  bool set_caps(GstCaps *incaps, GstCaps *outcaps) override;
  bool decide_allocation(GstQuery *query) override;
  bool propose_allocation(GstQuery *decide_query, GstQuery *query) override;

protected:
  GstFlowReturn process(GstPtr<GstBuffer> &frame) override;
  [[nodiscard]] std::string suggest(const GstCaps *upstream,
                                    const GstCaps *downstream) const override;

private:
  const char *reason_to_copy(GstPtr<GstBuffer> &frame);
  [[nodiscard]] bool has_tight_rows(GstBuffer *buffer, const FrameLayout &layout) const;
  GstFlowReturn pass_through(GstPtr<GstBuffer> &frame);
  GstFlowReturn copy(GstPtr<GstBuffer> &frame, const char *reason);
  GstFlowReturn fail(const Error &error);

  UploadAllocation allocation_;
  GstDrmVideoInfo info_{}; // streaming thread: of the input, of plain video its linear layout
};

Uploader::Uploader(GstBaseTransform *element)
    : Transformer(element, kUploadRules), allocation_(element, negotiation_)
{
}

// --- negotiation ---------------------------------------------------------------------------------

bool Uploader::set_caps(GstCaps *incaps, GstCaps *outcaps)
{
  allocation_.forget_copies();
  if (!read_caps(incaps, info_))
    return false;
  gst_base_transform_set_passthrough(element_, is_dmabuf_caps(incaps));
  if (is_dmabuf_caps(incaps)) {
    GST_INFO_OBJECT(element_, "passing %" GST_PTR_FORMAT " through", incaps);
    return true;
  }
  allocation_.begin(info_, incaps, !is_dmabuf_caps(outcaps));
  GST_INFO_OBJECT(element_, "%" GST_PTR_FORMAT " from %" GST_PTR_FORMAT, outcaps, incaps);
  return true;
}

bool Uploader::decide_allocation(GstQuery *query)
{
  return allocation_.decide(query);
}

bool Uploader::propose_allocation(GstQuery *decide_query, GstQuery *query)
{
  if (!base_transform_class()->propose_allocation(element_, decide_query, query))
    return false;
  return gst_base_transform_is_passthrough(element_) || allocation_.propose(query);
}

// --- what helps where nothing is in common -------------------------------------------------------

guint depth_of(const std::string &format)
{
  const GstVideoFormat number = gst_video_format_from_string(format.c_str());
  return number == GST_VIDEO_FORMAT_UNKNOWN
             ? 0
             : GST_VIDEO_FORMAT_INFO_DEPTH(gst_video_format_get_info(number), 0);
}

// Where upstream has more than 8 bits, formats that keep them come first.
void put_deep_first(const GstCaps *upstream, std::vector<std::string> &formats)
{
  const std::vector<std::string> sent = strings_of(upstream, "format");
  if (!sent.empty() &&
      std::none_of(sent.begin(), sent.end(), [](const auto &f) { return depth_of(f) <= 8; }))
    std::stable_partition(formats.begin(), formats.end(),
                          [](const auto &format) { return depth_of(format) > 8; });
}

std::string fix_for_field(const std::string &field)
{
  if (field.starts_with("width") || field.starts_with("height") ||
      field.starts_with("pixel-aspect-ratio"))
    return "Put videoscale before it, or choose another size.";
  return "Put videoconvert before it.";
}

std::string Uploader::suggest(const GstCaps *upstream, const GstCaps *downstream) const
{
  const CapsRules rules = this->rules();
  const GstPtr<GstCaps> can_send = gstdrm::transform_caps(rules, GST_PAD_SINK, upstream);
  const GstPtr<GstCaps> can_take = gstdrm::transform_caps(rules, GST_PAD_SRC, downstream);
  const std::vector<std::string> sent = strings_of(can_send.get(), "drm-format");
  const std::vector<std::string> taken = strings_of(downstream, "drm-format");
  std::vector<std::string> plain = strings_of(can_take.get(), "format");
  std::erase(plain, "DMA_DRM");
  put_deep_first(upstream, plain);
  std::string tiled;
  for (const std::string &format : sent)
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const auto &t) { return t.starts_with(format + ":"); }))
      tiled = format;

  if (gst_caps_is_empty(downstream))
    return "Its source pad has no peer that takes video: link it to a sink or a converter.";
  if (plain.empty() && !rules.implicit_is_linear && has_implicit(downstream))
    return "Downstream takes DMA buffers, and does not say in which layout: have it say which "
           "modifier it means (format=DMA_DRM), or set implicit-modifier=linear where it takes "
           "linear frames.";
  if (plain.empty())
    return "A CPU can write linear layouts only, and downstream takes none: upload with the device "
           "that "
           "reads the frames (glupload for OpenGL), or choose a downstream element that takes "
           "linear.";
  const std::string alternative = join(plain, ", ", 120);
  if (gst_caps_is_empty(can_send.get()))
    return "Upstream's format has no linear DRM fourcc of the same bytes: put videoconvert before "
           "it, "
           "for one of " +
           alternative + ".";
  if (!tiled.empty())
    return "Downstream takes " + tiled +
           " in tiled layouts only, which a CPU cannot write: put videoconvert "
           "before it, for one of " +
           alternative + ", or upload with the device that reads the frames.";
  const std::string field = differing_field(upstream, downstream);
  if (!field.empty())
    return fix_for_field(field);
  return "Put videoconvert before it, for one of " + alternative + ".";
}

// --- frames --------------------------------------------------------------------------------------

// Rows that upstream wrote into the offered memory the way GStreamer lays them out by default, as
// it knows no GstVideoMeta. In memory of upstream's own, its device knows what it does.
bool Uploader::has_tight_rows(GstBuffer *buffer, const FrameLayout &layout) const
{
  if (!allocation_.made_as_bytes(gst_buffer_peek_memory(buffer, 0)))
    return false;
  for (std::size_t i = 0; i < layout.n_planes; i++)
    if (layout.planes[i].stride_bytes % allocation_.alignment() != 0)
      return true;
  return false;
}

// Why a frame cannot be passed on as it is; nullptr where it can, changed to what downstream reads.
const char *Uploader::reason_to_copy(GstPtr<GstBuffer> &frame)
{
  const GstVideoInfo &info = info_.vinfo;
  switch (memory_kind(frame.get())) {
  case MemoryKind::Mixed:
    return "some planes are outside dmabuf memory";
  case MemoryKind::NoDmaBuf:
    if (allocation_.offered_a_pool())
      return "upstream did not take the offered pool: its frames are in system memory";
    return "upstream asked for no pool: its frames are in system memory";
  case MemoryKind::DmaBuf:
    break;
  }
  const Result<FrameLayout> layout = importable_layout(frame.get(), info_);
  if (!layout) {
    GST_DEBUG_OBJECT(element_, "%s", layout.error().message.c_str());
    return "upstream's dmabuf has a layout that devices cannot import";
  }
  if (!allocation_.wants_own_rows() && has_tight_rows(frame.get(), *layout))
    return "upstream knows no GstVideoMeta, and devices want rows of a multiple of 256 bytes";
  if (is_padded_frame(frame.get(), info) && !crop_in_place(frame, info, allocation_.alignment()))
    return "the visible picture begins where no plane of a DMA buffer can";
  if (!allocation_.may_pad_rows() && !has_default_layout(frame.get(), info))
    return "downstream reads no GstVideoMeta and upstream's rows are padded";
  if (!allocation_.suits_consumers(frame.get()))
    return "a consumer downstream asks for other rows or other memory";
  if (!share_frame(frame, info))
    return "upstream's memory cannot be shared while it is being written";
  if (!allocation_.takes_crop_meta())
    drop_crop(frame);
  return nullptr;
}

GstFlowReturn Uploader::fail(const Error &error)
{
  return fail_frame("cannot take a frame of", error, "");
}

GstFlowReturn Uploader::copy(GstPtr<GstBuffer> &frame, const char *reason)
{
  if (zero_copy == ZeroCopy::Require)
    return refuse_copy(reason,
                       "Use an upstream element that writes into the pool it is offered (a decoder "
                       "with direct rendering), or zero-copy=prefer.",
                       nullptr);
  if (const auto checked = check_mappable_layout(frame.get(), info_.vinfo); !checked)
    return fail(checked.error());
  const auto waited =
      wait_for_device(GST_ELEMENT(element_), frame.get(), stats_, waits_.interrupt());
  if (!waited)
    return fail(waited.error());
  if (*waited == Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  GstPtr<GstBuffer> output;
  if (const GstFlowReturn ret = allocation_.acquire(output); ret != GST_FLOW_OK)
    return ret;
  if (const auto copied =
          copy_into(output.get(), frame.get(), info_.vinfo, allocation_.takes_crop_meta(), reason);
      !copied)
    return fail(copied.error());
  frame = std::move(output);
  return GST_FLOW_OK;
}

// A frame that upstream says is a DMA buffer goes on as it is, and is one.
GstFlowReturn Uploader::pass_through(GstPtr<GstBuffer> &frame)
{
  const GstVideoInfo &info = info_.vinfo;
  if (const auto layout = importable_layout(frame.get(), info_); !layout)
    return fail(Error{layout.error().code,
                      layout.error().message + ". The caps of upstream promise DMA buffers", 0});
  if (is_padded_frame(frame.get(), info) && !crop_in_place(frame, info, 1))
    return fail(Error{ErrorCode::Layout,
                      "It has to be cropped, and the visible picture begins where "
                      "no plane of this layout can. Crop it before it gets here",
                      0});
  return GST_FLOW_OK;
}

GstFlowReturn Uploader::process(GstPtr<GstBuffer> &frame)
{
  if (gst_base_transform_is_passthrough(element_))
    return pass_through(frame);
  const char *reason = reason_to_copy(frame);
  const GstFlowReturn flow = reason ? copy(frame, reason) : GST_FLOW_OK;
  if (flow == GST_FLOW_OK)
    allocation_.end_failure();
  return flow;
}

// --- waits and states ----------------------------------------------------------------------------

// A wait for a buffer of a pool here ends with a flush; GstBaseTransform knows nothing of it.
bool Uploader::sink_event(GstEvent *event)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    allocation_.set_flushing(true);
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    allocation_.set_flushing(false);
  return Transformer::sink_event(event);
}

// Waits end before the pads are deactivated, as that waits for the streaming thread. Upstream has
// stopped as well when this element is in NULL, or goes on without it.
void Uploader::prepare_state_change(GstStateChange transition)
{
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
    allocation_.set_flushing(true);
  else if (transition == GST_STATE_CHANGE_READY_TO_NULL)
    allocation_.leave_upstream();
}

bool Uploader::start()
{
  allocation_.start();
  return Transformer::start();
}

bool Uploader::stop()
{
  allocation_.stop();
  return Transformer::stop();
}

} // namespace

} // namespace gstdrm

// --- the GObject shell ---------------------------------------------------------------------------

struct GstDmaBufUpload {
  GstDmaBufTransform parent;
};

struct GstDmaBufUploadClass {
  GstDmaBufTransformClass parent_class;
};

using gstdrm::AllocationSettings;
using gstdrm::logging;
using gstdrm::posting;
using gstdrm::property;
using gstdrm::Uploader;

G_DEFINE_TYPE(GstDmaBufUpload, gst_dmabuf_upload, GST_TYPE_DMABUF_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(dmabufupload, "dmabufupload", GST_RANK_NONE,
                            gst_dmabuf_upload_get_type())

static Uploader &uploader_of(gpointer object) noexcept
{
  return static_cast<Uploader &>(*GST_DMABUF_TRANSFORM(object)->transformer);
}

static GstStateChangeReturn gst_dmabuf_upload_change_state(GstElement *element,
                                                           GstStateChange transition)
{
  uploader_of(element).prepare_state_change(transition);
  return GST_ELEMENT_CLASS(gst_dmabuf_upload_parent_class)->change_state(element, transition);
}

static const auto &upload_properties()
{
  using S = AllocationSettings;
  constexpr auto flags = gstdrm::kReadyProperty;
  static constexpr std::array rows{
      property<&S::kind>("allocator", "Allocator",
                         "Where dma-bufs come from; auto prefers downstream's own allocator", flags,
                         {.type = gst_drm_allocator_kind_get_type}),
      property<&S::device>(
          "device", "Device",
          "Name of the dma-heap (\"system\"), or path of the DRM node, for the allocator; unset: "
          "the first that works",
          flags),
      property<&S::max_buffers>(
          "max-buffers", "Most buffers",
          "Buffers that a pool may make before it waits until one comes back; 0: as many as half "
          "of the file descriptors and half of the memory allow",
          flags, {0, G_MAXINT}),
  };
  return rows;
}

static void gst_dmabuf_upload_set_property(GObject *object, guint id, const GValue *value,
                                           GParamSpec *pspec)
{
  gstdrm::set_property(object, upload_properties(), id, value, pspec, [object](const auto &set) {
    uploader_of(object).allocation().change_settings(set);
  });
}

static void gst_dmabuf_upload_get_property(GObject *object, guint id, GValue *value,
                                           GParamSpec *pspec)
{
  gstdrm::get_property(object, upload_properties(), id, value, pspec,
                       uploader_of(object).allocation().settings());
}

static void gst_dmabuf_upload_class_init(GstDmaBufUploadClass *klass)
{
  GST_DEBUG_CATEGORY_INIT(dmabuf_upload_debug, "dmabufupload", 0, "system memory to DMA buffers");
  GObjectClass *object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = logging<gst_dmabuf_upload_set_property>;
  object_class->get_property = logging<gst_dmabuf_upload_get_property>;
  gstdrm::install_properties(object_class, upload_properties());

  GstElementClass *element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "DMA buffer uploader", "Filter/Video",
                                        "Puts video from system memory into linear DMA buffers",
                                        "gst-drm contributors");
  gstdrm::add_pad_template(element_class, "sink", GST_PAD_SINK,
                           {gstdrm::plain_template(), gstdrm::any_dmabuf_template()});
  gstdrm::add_pad_template(element_class, "src", GST_PAD_SRC,
                           {gstdrm::any_dmabuf_template(), gstdrm::plain_template(),
                            gstdrm::implicit_dmabuf_template()});

  element_class->change_state = posting<gst_dmabuf_upload_change_state>;
}

static void gst_dmabuf_upload_init(GstDmaBufUpload *self)
{
  gstdrm::set_transformer(GST_DMABUF_TRANSFORM(self),
                          std::make_unique<Uploader>(GST_BASE_TRANSFORM(self)));
  // Frames that are made here come from pools that wait for release fences; in passthrough the
  // query and the frames are upstream's.
  gstdrm::set_up_producer_pad(GST_BASE_TRANSFORM_SRC_PAD(self), [self] {
    return gst_base_transform_is_passthrough(GST_BASE_TRANSFORM(self)) == FALSE;
  });
}
