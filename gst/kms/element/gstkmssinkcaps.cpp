// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink: what it offers, what it takes, and the pool it proposes.
#include <algorithm>
#include <string>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>

#include "gstkmsdmabufsink.hpp"
#include "gstkmssinkpool.hpp"

#define GST_CAT_DEFAULT gst_kms_dmabuf_sink_debug

namespace gstdrm {

namespace {

// on screen, in flight, waiting, and one more for moments before a flip
constexpr guint kHeldBuffers = 4;

using CapsPtr = GstPtr<GstCaps>;
using FormatSetPtr = std::unique_ptr<GstDrmFormatSet, decltype(&gst_drm_format_set_unref)>;

void set_sizes(GstCaps *caps, const kms::SizeLimits &limits)
{
  const auto range_or_value = [caps](const char *field, std::uint32_t low, std::uint32_t high) {
    if (low == high)
      gst_caps_set_simple(caps, field, G_TYPE_INT, static_cast<gint>(low), nullptr);
    else
      gst_caps_set_simple(caps, field, GST_TYPE_INT_RANGE, static_cast<gint>(low),
                          static_cast<gint>(high), nullptr);
  };
  range_or_value("width", limits.min_width, std::min(limits.max_width, kMaxFrameSize));
  range_or_value("height", limits.min_height, std::min(limits.max_height, kMaxFrameSize));
  gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
}

// Every GstVideoFormat that has a fourcc: a plane may list any of them.
std::vector<GstVideoFormat> known_formats(bool linear_only)
{
  std::vector<GstVideoFormat> formats;
  auto *type = static_cast<GEnumClass *>(g_type_class_ref(GST_TYPE_VIDEO_FORMAT));
  for (guint i = 0; i < type->n_values; i++) {
    const auto format = static_cast<GstVideoFormat>(type->values[i].value);
    guint64 modifier = 0;
    if (gst_drm_format_from_video_format(format, &modifier) != 0 &&
        (!linear_only || modifier == kModLinear))
      formats.push_back(format);
  }
  g_type_class_unref(type);
  return formats;
}

void append_plain(GstCaps *caps, const std::vector<GstVideoFormat> &formats, const char *feature)
{
  GValue list = G_VALUE_INIT;
  gst_value_list_init(&list, static_cast<guint>(formats.size()));
  for (const GstVideoFormat format : formats) {
    GValue name = G_VALUE_INIT;
    g_value_init(&name, G_TYPE_STRING);
    g_value_set_string(&name, gst_video_format_to_string(format));
    gst_value_list_append_and_take_value(&list, &name);
  }
  GstStructure *structure = gst_structure_new_empty("video/x-raw");
  gst_structure_take_value(structure, "format", &list);
  gst_caps_append_structure_full(caps, structure,
                                 feature ? gst_caps_features_new_single(feature) : nullptr);
}

GstCaps *make_template_caps()
{
  GstCaps *caps = gst_caps_new_empty();
  gst_caps_append_structure_full(
      caps, gst_structure_new("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", nullptr),
      gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  append_plain(caps, known_formats(true), nullptr);
  // the implicit modifier: answered only where the driver enumerates no explicit ones
  append_plain(caps, known_formats(false), GST_CAPS_FEATURE_MEMORY_DMABUF);
  set_sizes(caps, {1, 1, kMaxFrameSize, kMaxFrameSize});
  return caps;
}

FormatSetPtr to_public(const FormatSet &formats)
{
  FormatSetPtr set(gst_drm_format_set_new(), gst_drm_format_set_unref);
  for (const Format &format : formats.pairs())
    gst_drm_format_set_add(set.get(), format.fourcc, format.modifier);
  return set;
}

// Linear layouts of a plane's formats: those of a driver without modifiers count as linear here,
// since that is what plain video/x-raw promises and what such a driver's own CPU buffers are.
FormatSetPtr linear_of(const FormatSet &formats)
{
  FormatSetPtr set(gst_drm_format_set_new(), gst_drm_format_set_unref);
  for (const Format &format : formats.pairs())
    if (format.modifier == kModLinear || format.modifier == kModImplicit)
      gst_drm_format_set_add(set.get(), format.fourcc, kModLinear);
  return set;
}

// Where upstream leaves the choice to the order of a list: what every display takes at full speed,
// before deep, alpha and grey formats.
constexpr GstVideoFormat kPreferred[] = {GST_VIDEO_FORMAT_BGRx, GST_VIDEO_FORMAT_NV12,
                                         GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YUY2};

// Plain video/x-raw caps of a set's linear members, preferred ones first.
GstCaps *raw_caps(const GstDrmFormatSet *set)
{
  GstCaps *caps = gst_caps_new_empty();
  FormatSetPtr rest(gst_drm_format_set_copy(set), gst_drm_format_set_unref);
  for (const GstVideoFormat format : kPreferred) {
    FormatSetPtr one(gst_drm_format_set_new(), gst_drm_format_set_unref);
    guint64 modifier = 0;
    const guint32 fourcc = gst_drm_format_from_video_format(format, &modifier);
    if (!gst_drm_format_set_contains(set, fourcc, modifier))
      continue;
    gst_drm_format_set_add(one.get(), fourcc, modifier);
    gst_caps_append(caps, gst_drm_format_set_to_raw_caps(one.get()));
    rest.reset(gst_drm_format_set_subtract(rest.get(), one.get()));
  }
  gst_caps_append(caps, gst_drm_format_set_to_raw_caps(rest.get()));
  return caps;
}

GstCaps *display_caps(const Display &display, ZeroCopy zero_copy)
{
  GstCaps *caps = gst_drm_format_set_to_caps(to_public(display.formats()).get());
  if (zero_copy == ZeroCopy::Prefer)
    gst_caps_append(caps, raw_caps(linear_of(display.formats()).get()));
  set_sizes(caps, display.limits());
  return caps;
}

kms::ColorEncoding encoding_of(const GstVideoInfo &vinfo)
{
  switch (vinfo.colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT709:
    return kms::ColorEncoding::Bt709;
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return kms::ColorEncoding::Bt2020;
  default:
    return kms::ColorEncoding::Bt601;
  }
}

kms::Chromaticity chromaticity(const GstVideoMasteringDisplayInfoCoordinates &from)
{
  return {from.x, from.y}; // both in units of 0.00002
}

// Only streams that are made for it: the metadata of others means nothing to a display.
std::optional<kms::HdrMetadata> hdr_of(const GstVideoInfo &vinfo, const GstCaps *caps)
{
  kms::HdrMetadata hdr;
  if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_SMPTE2084)
    hdr.transfer = kms::TransferFunction::Pq;
  else if (vinfo.colorimetry.transfer == GST_VIDEO_TRANSFER_ARIB_STD_B67)
    hdr.transfer = kms::TransferFunction::Hlg;
  else
    return std::nullopt;
  GstVideoMasteringDisplayInfo mastering;
  if (gst_video_mastering_display_info_from_caps(&mastering, caps)) {
    for (std::size_t i = 0; i < hdr.primaries.size(); i++)
      hdr.primaries[i] = chromaticity(mastering.display_primaries[i]);
    hdr.white_point = chromaticity(mastering.white_point);
    hdr.max_luminance = mastering.max_display_mastering_luminance; // both in 0.0001 cd/m2
    hdr.min_luminance = mastering.min_display_mastering_luminance;
  }
  GstVideoContentLightLevel light;
  if (gst_video_content_light_level_from_caps(&light, caps)) {
    hdr.max_content_light_level = light.max_content_light_level; // both in cd/m2
    hdr.max_frame_average_light_level = light.max_frame_average_light_level;
  }
  return hdr;
}

kms::Picture picture_of(const GstDrmVideoInfo &info, Format format, const GstCaps *caps)
{
  const GstVideoInfo &vinfo = info.vinfo;
  kms::Picture picture;
  picture.format = format;
  picture.width = static_cast<std::uint32_t>(GST_VIDEO_INFO_WIDTH(&vinfo));
  picture.height = static_cast<std::uint32_t>(GST_VIDEO_INFO_HEIGHT(&vinfo));
  if (GST_VIDEO_INFO_FPS_N(&vinfo) > 0 && GST_VIDEO_INFO_FPS_D(&vinfo) > 0)
    picture.rate = {static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_N(&vinfo)),
                    static_cast<std::uint32_t>(GST_VIDEO_INFO_FPS_D(&vinfo))};
  picture.encoding = encoding_of(vinfo);
  picture.range = vinfo.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? kms::ColorRange::Full
                                                                         : kms::ColorRange::Limited;
  if (GST_VIDEO_INFO_PAR_N(&vinfo) > 0 && GST_VIDEO_INFO_PAR_D(&vinfo) > 0) {
    picture.par_n = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_N(&vinfo));
    picture.par_d = static_cast<std::uint32_t>(GST_VIDEO_INFO_PAR_D(&vinfo));
  }
  picture.hdr = hdr_of(vinfo, caps);
  return picture;
}

// The pair as the planes list it: for a driver without modifiers linear is not a word.
Format engine_format(const GstDrmVideoInfo &info, const FormatSet &formats)
{
  const Format format{info.drm_fourcc, info.drm_modifier};
  const Format implicit{info.drm_fourcc, kModImplicit};
  if (format.modifier == kModLinear && !formats.contains(format) && formats.contains(implicit))
    return implicit;
  return format;
}

bool has_dmabuf_feature(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

std::string size_text(std::uint32_t width, std::uint32_t height)
{
  return std::to_string(width) + "x" + std::to_string(height);
}

// Where the picture's size is what the display does not take: which ones it does. Empty where the
// size is not the matter.
std::string describe_size_refusal(const kms::SizeLimits &limits, const GstCaps *caps)
{
  gint width = 0;
  gint height = 0;
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  if (!gst_structure_get_int(structure, "width", &width) ||
      !gst_structure_get_int(structure, "height", &height))
    return "";
  const auto between = [](gint value, std::uint32_t low, std::uint32_t high) {
    return value > 0 && static_cast<std::uint32_t>(value) >= low &&
           static_cast<std::uint32_t>(value) <= high;
  };
  if (between(width, limits.min_width, limits.max_width) &&
      between(height, limits.min_height, limits.max_height))
    return "";
  return "The display takes sizes from " + size_text(limits.min_width, limits.min_height) + " to " +
         size_text(limits.max_width, limits.max_height) + ", in every format.";
}

// Both sides of a failed negotiation, for the log.
void log_refusal(GstBaseSink *sink, const Display &display, const GstCaps *caps,
                 const std::string &sizes)
{
  if (!sizes.empty()) {
    GST_WARNING_OBJECT(sink, "upstream sent %" GST_PTR_FORMAT ". %s", caps, sizes.c_str());
    return;
  }
  gchar *ours = gst_drm_format_set_to_string(to_public(display.formats()).get());
  GST_WARNING_OBJECT(sink, "upstream sent %" GST_PTR_FORMAT "; the planes take %s", caps, ours);
  g_free(ours);
}

Result<void> apply_caps(GstBaseSink *sink, SinkState &state, Display &display, GstCaps *caps)
{
  GError *error = nullptr;
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_from_caps_full(&info, caps, &error))
    return take_error(error, ErrorCode::Caps);
  const bool plain = !has_dmabuf_feature(caps);
  if (plain && state.zero_copy() == ZeroCopy::Require)
    return Error{
        ErrorCode::Caps,
        "Plain video/x-raw caps do not promise DMA buffers, and zero-copy=require forbids the "
        "copy that system memory needs. Put dmabufupload before the sink, or set "
        "zero-copy=prefer.",
        0};
  const Format format = engine_format(info, display.formats());
  const kms::Picture picture = picture_of(info, format, caps);
  if (Result<void> configured = display.configure(picture); !configured)
    return configured;
  const std::optional<Refusal> refusal = display.refusal(picture);
  state.refusals.begin(refusal ? refusal->reason : "");
  state.info = info;
  state.format = format;
  state.plain = plain;
  state.imports_refused = false;
  state.release_fences = false; // until the producer of this stream says so
  if (state.scanout_pool)
    gst_buffer_pool_set_active(state.scanout_pool.get(), FALSE);
  state.scanout_pool.reset();
  GST_INFO_OBJECT(sink, "will show %s, %dx%d on %s", describe_format(format).c_str(),
                  GST_VIDEO_INFO_WIDTH(&info.vinfo), GST_VIDEO_INFO_HEIGHT(&info.vinfo),
                  display.describe().c_str());
  return {};
}

} // namespace

GstPadTemplate *sink_pad_template()
{
  const CapsPtr caps = CapsPtr::adopt(make_template_caps());
  return gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps.get());
}

GstCaps *sink_get_caps(GstBaseSink *sink, GstCaps *filter) noexcept
try {
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  const std::shared_ptr<Display> display = state.get_display();
  CapsPtr caps = CapsPtr::adopt(display ? display_caps(*display, state.zero_copy())
                                        : gst_pad_get_pad_template_caps(GST_BASE_SINK_PAD(sink)));
  if (filter)
    caps.reset(gst_drm_caps_intersect(filter, caps.get()));
  GST_LOG_OBJECT(sink, "caps %" GST_PTR_FORMAT, caps.get());
  return caps.release();
} catch (...) {
  return caught_in(sink, gst_caps_new_empty(), __func__);
}

gboolean sink_set_caps(GstBaseSink *sink, GstCaps *caps) noexcept
try {
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  const std::shared_ptr<Display> display = state.get_display();
  if (!display)
    return FALSE; // being shut down
  if (state.refusals.has_explained(caps))
    return FALSE;
  Result<void> applied;
  {
    const std::lock_guard repeats(state.repeat_lock); // no frame of the old caps meanwhile
    applied = apply_caps(sink, state, *display, caps);
  }
  state.refusals.set_explained(applied ? nullptr : caps);
  if (!applied) {
    const std::string sizes = describe_size_refusal(display->limits(), caps);
    log_refusal(sink, *display, caps, sizes);
    Error error = applied.error();
    error.message += (sizes.empty() ? "" : " ") + sizes;
    post_error(GST_ELEMENT(sink), error);
  }
  return applied ? TRUE : FALSE;
} catch (...) {
  return caught_in(sink, FALSE, __func__);
}

// Of a frame; of a layout that only its driver knows, what the same pixels take in a linear one of
// four bytes each: the size goes with the number of buffers that are held, and nobody allocates by
// it.
static guint buffer_size(const GstDrmVideoInfo &info)
{
  const gsize size = GST_VIDEO_INFO_SIZE(&info.vinfo);
  const gsize estimate = gsize{4} * static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo)) *
                         static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  return static_cast<guint>(size > 0 ? size : estimate);
}

gboolean sink_propose_allocation(GstBaseSink *sink, GstQuery *query) noexcept
try {
  SinkState &state = *GST_KMS_DMABUF_SINK(sink)->state;
  const std::shared_ptr<Display> display = state.get_display();
  GstCaps *caps = nullptr;
  gboolean need_pool = FALSE;
  gst_query_parse_allocation(query, &caps, &need_pool);
  GstDrmVideoInfo info;
  if (!display || !caps || !gst_drm_video_info_from_caps(&info, caps))
    return FALSE;

  state.release_fences = gst_drm_query_has_release_fences(query);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_query_add_allocation_meta(query, GST_DRM_SYNC_META_API_TYPE, nullptr);
  gst_drm_query_add_device(query, display->device().fd());
  GstPtr<GstBufferPool> pool;
  guint size = buffer_size(info);
  const bool linear = info.drm_modifier == kModLinear || info.drm_modifier == kModImplicit;
  if (need_pool && linear) { // dumb buffers have no other layout
    Result<GstPtr<GstBufferPool>> made = make_scanout_pool(*display, caps, size, kHeldBuffers);
    if (made)
      pool = std::move(*made);
    else
      GST_INFO_OBJECT(sink, "no pool of scanout memory: %s", made.error().message.c_str());
  }
  gst_query_add_allocation_pool(query, pool.get(), size, kHeldBuffers, 0);
  return TRUE;
} catch (...) {
  return caught(FALSE, __func__);
}

} // namespace gstdrm
