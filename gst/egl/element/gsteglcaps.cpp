// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglcaps.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/drm/gstdrmcaps-strings.hpp>

#include "gsteglcaps-parts.hpp"
#include "gsteglformats.hpp"

namespace gstdrm {

namespace {

using Way = UploadFormats::Way;

// The pairs that a structure of the sink pad's caps allows.
FormatSet pairs_of(const CapsPart &part, FrameKind kind, const UploadFormats &formats)
{
  if (kind == FrameKind::DmaDrm)
    return part.formats ? part.formats->set() : formats.all();
  const std::uint64_t modifier = kind == FrameKind::Plain ? kModLinear : kModImplicit;
  const GValue *value = gst_structure_get_value(part.rest.get(), "format");
  std::vector<Format> pairs;
  if (!value) {
    for (const Format &pair : formats.all().pairs())
      if (pair.modifier == modifier && name_of(pair.fourcc) != GST_VIDEO_FORMAT_UNKNOWN)
        pairs.push_back(pair);
  } else {
    for_each_string(value, [&](const char *text) {
      if (const std::uint32_t fourcc = fourcc_of(gst_video_format_from_string(text)))
        pairs.push_back({fourcc, modifier});
    });
  }
  return FormatSet::from_pairs(std::move(pairs));
}

CapsPart texture_part(const CapsPart &frame, const Way &way, const FormatSet &pairs)
{
  CapsPart part = copy_part(frame);
  part.features.reset(gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_GL_MEMORY));
  part.formats.reset();
  if (!way.keeps_colours)
    drop_colours(part);
  if (way.form.format == GST_VIDEO_FORMAT_UNKNOWN)
    set_names(part, names_of(pairs));
  else
    set_text(part, "format", gst_video_format_to_string(way.form.format));
  set_text(part, "texture-target", target_name(way.form.target));
  return part;
}

// Before there is a device: what the source pad's template says.
void append_any_texture(CapsParts &result, const CapsPart &frame)
{
  for (CapsPart &part : take_apart(upload_src_template().get())) {
    StructurePtr rest(gst_structure_copy(frame.rest.get()));
    gst_structure_remove_fields(rest.get(), "width", "height", "format", "colorimetry",
                                "chroma-site", nullptr);
    gst_structure_foreach(
        part.rest.get(),
        [](GQuark field, const GValue *value, gpointer into) noexcept -> gboolean {
          const char *name = g_quark_to_string(field);
          if (!g_str_equal(name, "width") && !g_str_equal(name, "height"))
            gst_structure_id_set_value(static_cast<GstStructure *>(into), field, value);
          return TRUE;
        },
        rest.get());
    for (const char *field : {"width", "height"})
      gst_structure_set_value(rest.get(), field, gst_structure_get_value(frame.rest.get(), field));
    merge_part(result, CapsPart{std::move(rest), std::move(part.features), std::nullopt});
  }
}

void append_textures(CapsParts &result, const CapsPart &frame, FrameKind kind,
                     const UploadFormats &formats)
{
  if (!formats.is_known()) {
    append_any_texture(result, frame);
    return;
  }
  const FormatSet pairs = pairs_of(frame, kind, formats);
  for (const Way &way : formats.ways()) {
    const FormatSet common = FormatSet::intersect(pairs, way.of(has_fields(frame)));
    if (!common.empty())
      merge_part(result, texture_part(frame, way, common));
  }
}

// The structures that frames of `part` may have.
CapsParts textures_of(const CapsParts &parts, const UploadFormats &formats)
{
  CapsPart drm = empty_part(GST_CAPS_FEATURE_MEMORY_DMABUF, formats.max_size());
  set_text(drm, "format", "DMA_DRM");
  const CapsPart implicit = empty_part(GST_CAPS_FEATURE_MEMORY_DMABUF, formats.max_size());
  const CapsPart plain = empty_part(feature_of(FrameKind::Plain), formats.max_size());
  CapsParts result;
  for (const CapsPart &part : parts) {
    if (const auto frame = within(part, drm))
      append_textures(result, *frame, FrameKind::DmaDrm, formats);
    // other names of drm-format are no pairs of these
    if (const auto frame = within(part, implicit); frame && !part.formats)
      append_textures(result, *frame, FrameKind::Implicit, formats);
    if (const auto frame = within(part, plain); frame && !part.formats && formats.takes_plain())
      append_textures(result, *frame, FrameKind::Plain, formats);
  }
  return result;
}

// ANY says what the template says.
CapsParts parts_of(GstPadDirection direction, const GstCaps *caps)
{
  if (!gst_caps_is_any(caps))
    return take_apart(caps);
  const GstPtr<GstCaps> all =
      direction == GST_PAD_SINK ? upload_sink_template() : upload_src_template();
  return take_apart(all.get());
}

// The way of a fixed pair into fixed caps of the source pad.
const Way *way_of(const GstDrmVideoInfo &in, const GstCaps *out, const UploadFormats &formats,
                  bool is_copy)
{
  if (!out || gst_caps_is_any(out) || gst_caps_is_empty(out))
    return nullptr;
  const GstStructure *structure = gst_caps_get_structure(out, 0);
  const char *format = gst_structure_get_string(structure, "format");
  const char *target = gst_structure_get_string(structure, "texture-target");
  const bool fields =
      GST_VIDEO_INFO_INTERLACE_MODE(&in.vinfo) != GST_VIDEO_INTERLACE_MODE_PROGRESSIVE;
  for (const Way &way : formats.ways()) {
    const GstVideoFormat made =
        way.form.format == GST_VIDEO_FORMAT_UNKNOWN ? name_of(in.drm_fourcc) : way.form.format;
    if (way.is_copy == is_copy && way.of(fields).contains({in.drm_fourcc, in.drm_modifier}) &&
        g_strcmp0(format, gst_video_format_to_string(made)) == 0 &&
        (!target || std::strcmp(target, target_name(way.form.target)) == 0))
      return &way;
  }
  return nullptr;
}

} // namespace

GstPtr<GstCaps> upload_sink_template()
{
  CapsParts parts;
  parts.push_back(empty_part(GST_CAPS_FEATURE_MEMORY_DMABUF));
  set_text(parts.back(), "format", "DMA_DRM");
  parts.push_back(empty_part(feature_of(FrameKind::Plain)));
  set_names(parts.back(), frame_names());
  parts.push_back(empty_part(
      GST_CAPS_FEATURE_MEMORY_DMABUF)); // the implicit modifier, where the driver lists no other
  set_names(parts.back(), frame_names());
  return GstPtr<GstCaps>::adopt(put_together(std::move(parts)));
}

GstPtr<GstCaps> upload_src_template()
{
  CapsParts parts;
  for (const egl::Target target : {egl::Target::Texture2D, egl::Target::External}) {
    parts.push_back(empty_part(GST_CAPS_FEATURE_MEMORY_GL_MEMORY));
    set_text(parts.back(), "format", "RGBA");
    set_text(parts.back(), "texture-target", target_name(target));
  }
  parts.insert(parts.begin() + 1, empty_part(GST_CAPS_FEATURE_MEMORY_GL_MEMORY));
  set_names(parts[1], texture_names());
  set_text(parts[1], "texture-target", target_name(egl::Target::Texture2D));
  return GstPtr<GstCaps>::adopt(put_together(std::move(parts)));
}

CapsParts upload_parts(GstPadDirection direction, const GstCaps *caps, const UploadFormats &formats)
{
  const CapsParts parts = parts_of(direction, caps);
  return direction == GST_PAD_SINK ? textures_of(parts, formats) : frames_of(parts, formats);
}

GstPtr<GstCaps> upload_transform(GstPadDirection direction, const GstCaps *caps,
                                 const UploadFormats &formats)
{
  return GstPtr<GstCaps>::adopt(put_together(upload_parts(direction, caps, formats)));
}

std::optional<TextureForm> texture_form(const GstDrmVideoInfo &in, const GstCaps *out,
                                        const UploadFormats &formats)
{
  const Way *way = way_of(in, out, formats, false);
  if (!way)
    return std::nullopt;
  TextureForm form = way->form;
  if (form.format == GST_VIDEO_FORMAT_UNKNOWN)
    form.format = name_of(in.drm_fourcc);
  return form;
}

bool is_copy_form(const GstDrmVideoInfo &in, const GstCaps *out, const UploadFormats &formats)
{
  return way_of(in, out, formats, true) != nullptr;
}

bool promises_dmabuf(const GstCaps *caps)
{
  return !gst_caps_is_any(caps) && !gst_caps_is_empty(caps) &&
         gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                    GST_CAPS_FEATURE_MEMORY_DMABUF) != FALSE;
}

} // namespace gstdrm
