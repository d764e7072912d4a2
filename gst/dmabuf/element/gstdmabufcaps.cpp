// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufcaps.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>
#include <gst/drm/gstdrmformat.h>

namespace gstdrm {

namespace {

// The DRM name of a linear format: "NV12", "XR24".
gchar *drm_name(GstVideoFormat format)
{
  guint64 modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(format, &modifier);
  return gst_drm_format_to_string(fourcc, modifier);
}

// The GstVideoFormats of the pairs with this modifier, in their order.
std::vector<GstVideoFormat> names_of(const FormatList &list, std::uint64_t modifier)
{
  std::vector<GstVideoFormat> names;
  for (const Format &pair : list.pairs()) {
    const GstVideoFormat name = gst_drm_format_to_video_format(pair.fourcc, kModLinear);
    if (pair.modifier == modifier && name != GST_VIDEO_FORMAT_UNKNOWN)
      names.push_back(name);
  }
  return names;
}

std::vector<GstVideoFormat> find_linear_formats()
{
  std::vector<Format> found;
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  for (guint i = 0; i < n_formats; i++) {
    const GstVideoFormatInfo *info = gst_video_format_get_info(formats[i]);
    Format pair;
    pair.fourcc = gst_drm_format_from_video_format(formats[i], &pair.modifier);
    // A palette is not part of a DRM framebuffer, and a format that does not come back as itself
    // would be a conversion.
    if (pair.fourcc && pair.modifier == kModLinear && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE(info) &&
        gst_drm_format_to_video_format(pair.fourcc, pair.modifier) == formats[i])
      found.push_back(pair);
  }
  return names_of(FormatList(FormatSet::from_pairs(std::move(found))), kModLinear);
}

GstPtr<GstCaps> video_caps(const char *feature)
{
  constexpr auto kMost = static_cast<int>(kMaxFrameSize);
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, kMost,
                                      "height", GST_TYPE_INT_RANGE, 1, kMost, nullptr);
  if (feature)
    gst_caps_set_features_simple(caps, gst_caps_features_new_single(feature));
  return GstPtr<GstCaps>::adopt(caps);
}

// The formats that a part allows, in DMA_DRM those of this modifier; all where it names none.
std::vector<GstVideoFormat> formats_of(const CapsPart &part, CapsKind kind, std::uint64_t modifier)
{
  const GValue *value = gst_structure_get_value(part.rest.get(), "format");
  if (kind == CapsKind::DmaDrm ? !part.formats.has_value() : value == nullptr)
    return linear_formats();
  std::vector<GstVideoFormat> formats;
  if (kind == CapsKind::DmaDrm)
    formats = names_of(*part.formats, modifier);
  else
    for_each_string(value, [&formats](const char *text) {
      formats.push_back(gst_video_format_from_string(text));
    });
  std::erase_if(formats, [](GstVideoFormat format) { return !is_linear_format(format); });
  return formats;
}

void set_names(GstStructure *structure, const std::vector<GstVideoFormat> &formats)
{
  set_strings(structure, "format", formats,
              [](GstVideoFormat format) { return g_strdup(gst_video_format_to_string(format)); });
}

FormatList drm_formats(const std::vector<GstVideoFormat> &formats, std::uint64_t modifier)
{
  std::vector<Format> pairs;
  pairs.reserve(formats.size());
  for (GstVideoFormat format : formats) {
    Format pair;
    pair.fourcc = gst_drm_format_from_video_format(format, &pair.modifier);
    pair.modifier = modifier;
    pairs.push_back(pair);
  }
  return FormatList::in_order(std::move(pairs));
}

void append(CapsParts &parts, std::optional<CapsPart> part, CapsKind kind)
{
  if (part && kind == CapsKind::DmaDrm)
    parts.push_back(std::move(*part));
  else if (part) // plain lists are short, and a sink often says the same in both dialects
    merge_part(parts, std::move(*part));
}

CapsParts all_parts(bool dmabuf, bool implicit)
{
  const GstPtr<GstCaps> all = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  if (dmabuf)
    gst_caps_append(all.get(), any_dmabuf_template().release());
  if (implicit)
    gst_caps_append(all.get(), implicit_dmabuf_template().release());
  gst_caps_append(all.get(), plain_template().release());
  append_with_overlays(all.get());
  return take_apart(all.get());
}

// ANY, whole or in features, and absent formats in words; the order stays that of `caps`.
CapsParts resolve(const CapsRules &rules, GstPadDirection direction, const GstCaps *caps)
{
  // Never freed: a streaming thread may still ask while the process ends.
  const auto keep = [](bool dmabuf, bool implicit) -> const CapsParts & {
    return *std::make_unique<CapsParts>(all_parts(dmabuf, implicit)).release();
  };
  static const CapsParts &plain = keep(false, false);
  static const CapsParts &with_dmabuf = keep(true, false);
  static const CapsParts &with_implicit = keep(true, true);
  const bool dmabuf = rules.dmabuf_passes || direction == rules.dmabuf_pad;
  const bool implicit = rules.implicit_is_linear && direction == rules.dmabuf_pad;
  const CapsParts &all = implicit ? with_implicit : dmabuf ? with_dmabuf : plain;
  if (!gst_caps_is_any(caps))
    return intersect_parts(take_apart(caps), all);
  CapsParts copies;
  std::transform(all.begin(), all.end(), std::back_inserter(copies), copy_part);
  return copies;
}

// What a template says beside the formats of plain video: transform_parts() knows those, and 60
// strings against 60 others, each with each, are what half of an answer would cost. The formats
// beside memory:DMABuf stay, or they would be any, DMA_DRM too.
CapsParts limits_of(const GstCaps *pad_template)
{
  CapsParts limits = take_apart(pad_template);
  for (CapsPart &part : limits) {
    const GValue *formats = gst_structure_get_value(part.rest.get(), "format");
    if (kind_of(part) == CapsKind::Plain && GST_VALUE_HOLDS_LIST(formats) &&
        gst_value_list_get_size(formats) == linear_formats().size())
      gst_structure_remove_field(part.rest.get(), "format");
  }
  return limits;
}

GQuark limits_quark()
{
  return g_quark_from_static_string("gst-drm-template-limits");
}

void free_limits(gpointer limits) noexcept
{
  std::default_delete<CapsParts>()(static_cast<CapsParts *>(limits));
}

} // namespace

const std::vector<GstVideoFormat> &linear_formats()
{
  static const std::vector<GstVideoFormat> formats = find_linear_formats();
  return formats;
}

bool is_linear_format(GstVideoFormat format)
{
  return std::find(linear_formats().begin(), linear_formats().end(), format) !=
         linear_formats().end();
}

bool is_dmabuf_caps(const GstCaps *caps)
{
  return gst_caps_features_contains(gst_caps_get_features(caps, 0), GST_CAPS_FEATURE_MEMORY_DMABUF);
}

GstPtr<GstCaps> plain_template()
{
  GstPtr<GstCaps> caps = video_caps(nullptr);
  set_names(gst_caps_get_structure(caps.get(), 0), linear_formats());
  return caps;
}

GstPtr<GstCaps> any_dmabuf_template()
{
  GstPtr<GstCaps> caps = video_caps(GST_CAPS_FEATURE_MEMORY_DMABUF);
  gst_caps_set_simple(caps.get(), "format", G_TYPE_STRING, "DMA_DRM", nullptr);
  return caps;
}

GstPtr<GstCaps> linear_dmabuf_template()
{
  GstPtr<GstCaps> caps = any_dmabuf_template();
  set_strings(gst_caps_get_structure(caps.get(), 0), "drm-format", linear_formats(), drm_name);
  return caps;
}

GstPtr<GstCaps> implicit_dmabuf_template()
{
  GstPtr<GstCaps> caps = video_caps(GST_CAPS_FEATURE_MEMORY_DMABUF);
  set_names(gst_caps_get_structure(caps.get(), 0), linear_formats());
  return caps;
}

CapsKind kind_of(const CapsPart &part)
{
  const GstStructure *structure = part.rest.get();
  const GstCapsFeatures *features = part.features.get();
  if (!gst_structure_has_name(structure, "video/x-raw") || gst_caps_features_is_any(features))
    return CapsKind::Other;
  const bool dmabuf = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF);
  const bool overlays = gst_caps_features_contains(features, kOverlays);
  const bool plain = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY);
  const guint known = (dmabuf ? 1U : 0U) + (overlays ? 1U : 0U) + (plain ? 1U : 0U);
  if (known != gst_caps_features_get_size(features) || (dmabuf && plain))
    return CapsKind::Other;
  if (!dmabuf)
    return CapsKind::Plain;
  const GValue *value = gst_structure_get_value(structure, "format");
  if (!value)
    return CapsKind::Other;
  bool dma_drm = false;
  for_each_string(value,
                  [&](const char *format) { dma_drm |= std::strcmp(format, "DMA_DRM") == 0; });
  if (dma_drm)
    return CapsKind::DmaDrm;
  return part.formats ? CapsKind::Other : CapsKind::Implicit; // a drm-format contradicts a name
}

std::optional<CapsPart> translate(const CapsPart &part, CapsKind from, CapsKind to,
                                  std::uint64_t modifier)
{
  const std::vector<GstVideoFormat> formats = formats_of(part, from, modifier);
  if (formats.empty())
    return std::nullopt;
  const char *feature = to == CapsKind::Plain ? GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY
                                              : GST_CAPS_FEATURE_MEMORY_DMABUF;
  CapsPart result{StructurePtr(gst_structure_copy(part.rest.get())),
                  FeaturesPtr(gst_caps_features_new_single(feature)), std::nullopt};
  if (gst_caps_features_contains(part.features.get(), kOverlays))
    gst_caps_features_add(result.features.get(), kOverlays);
  if (to == CapsKind::DmaDrm) {
    gst_structure_set(result.rest.get(), "format", G_TYPE_STRING, "DMA_DRM", nullptr);
    result.formats = drm_formats(formats, modifier);
  } else {
    set_names(result.rest.get(), formats);
  }
  return result;
}

void add_pad_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                      std::initializer_list<GstPtr<GstCaps>> parts)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (const GstPtr<GstCaps> &part : parts)
    gst_caps_append(caps.get(), gst_caps_copy(part.get()));
  append_with_overlays(caps.get());
  GstPadTemplate *made = gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get());
  g_object_set_qdata_full(G_OBJECT(made), limits_quark(),
                          std::make_unique<CapsParts>(limits_of(caps.get())).release(),
                          free_limits);
  gst_element_class_add_pad_template(klass, made);
}

const CapsParts &template_limits(GstPadTemplate *pad_template)
{
  return *static_cast<const CapsParts *>(
      g_object_get_qdata(G_OBJECT(pad_template), limits_quark()));
}

CapsParts transform_parts(const CapsRules &rules, GstPadDirection direction, const CapsParts &known)
{
  CapsParts result;
  const auto each = [&](CapsKind from, CapsKind to) {
    for (const CapsPart &part : known) {
      if (kind_of(part) != from)
        continue;
      // DMA_DRM passes as it is, tiled or not
      append(result,
             from == CapsKind::DmaDrm && to == from ? copy_part(part)
                                                    : translate(part, from, to, kModLinear),
             to);
    }
  };
  if (rules.dmabuf_passes)
    each(CapsKind::DmaDrm, CapsKind::DmaDrm);
  for (const CapsKind dmabuf : {CapsKind::DmaDrm, CapsKind::Implicit}) {
    if (dmabuf == CapsKind::Implicit && !rules.implicit_is_linear)
      continue;
    if (direction == rules.dmabuf_pad)
      each(dmabuf, CapsKind::Plain);
    else
      each(CapsKind::Plain, dmabuf);
  }
  each(CapsKind::Plain, CapsKind::Plain);
  return result;
}

GstPtr<GstCaps> transform_caps(const CapsRules &rules, GstPadDirection direction,
                               const GstCaps *caps)
{
  return GstPtr<GstCaps>::adopt(
      put_together(transform_parts(rules, direction, resolve(rules, direction, caps))));
}

} // namespace gstdrm
