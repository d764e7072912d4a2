// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglcaps.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/drm.h>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/gstdrmcaps-strings.hpp>

#include "gsteglformats.hpp"

namespace gstdrm {

namespace {

using Way = UploadFormats::Way;

// What a structure of the sink pad's caps says about memory.
enum class FrameKind { DmaDrm, Implicit, Plain };

// That memory, with overlays where the other part has them.
FeaturesPtr features_like(const CapsPart &other, const char *memory)
{
  FeaturesPtr features(gst_caps_features_new_single(memory));
  if (gst_caps_features_contains(other.features.get(), kOverlays))
    gst_caps_features_add(features.get(), kOverlays);
  return features;
}

// video/x-raw in that memory, of every size that there is.
CapsPart empty_part(const char *feature, std::uint32_t max_size = kMaxFrameSize)
{
  const auto most = static_cast<int>(max_size);
  return {StructurePtr(gst_structure_new("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, most,
                                         "height", GST_TYPE_INT_RANGE, 1, most, nullptr)),
          FeaturesPtr(gst_caps_features_new_single(feature)), std::nullopt};
}

const char *feature_of(FrameKind kind) noexcept
{
  return kind == FrameKind::Plain ? GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY
                                  : GST_CAPS_FEATURE_MEMORY_DMABUF;
}

const char *target_name(egl::Target target) noexcept
{
  return target == egl::Target::Texture2D ? GST_GL_TEXTURE_TARGET_2D_STR
                                          : GST_GL_TEXTURE_TARGET_EXTERNAL_OES_STR;
}

void set_text(CapsPart &part, const char *field, const char *text)
{
  gst_structure_set(part.rest.get(), field, G_TYPE_STRING, text, nullptr);
}

void set_names(CapsPart &part, const std::vector<GstVideoFormat> &formats)
{
  set_strings(part.rest.get(), "format", formats,
              [](GstVideoFormat format) { return g_strdup(gst_video_format_to_string(format)); });
}

// Textures that upstream has already: they go on as they are. Made once, so that
// no query reads the list.
const CapsPart &own_textures()
{
  static const CapsPart textures = [] {
    CapsPart part = empty_part(GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
    const StructurePtr formats(gst_structure_from_string(
        "video/x-raw, format=(string)" GST_GL_MEMORY_VIDEO_FORMATS_STR, nullptr));
    gst_structure_set_value(part.rest.get(), "format",
                            gst_structure_get_value(formats.get(), "format"));
    return part;
  }();
  return textures;
}

bool has_colours(const CapsPart &part)
{
  return gst_structure_has_field(part.rest.get(), "colorimetry") ||
         gst_structure_has_field(part.rest.get(), "chroma-site");
}

void drop_colours(CapsPart &part)
{
  gst_structure_remove_fields(part.rest.get(), "colorimetry", "chroma-site", nullptr);
}

// Whether a field allows the text; a field that is absent allows everything.
bool allows(const CapsPart &part, const char *field, const char *text)
{
  const GValue *value = gst_structure_get_value(part.rest.get(), field);
  bool found = value == nullptr;
  if (value)
    for_each_string(value, [&](const char *each) { found |= std::strcmp(each, text) == 0; });
  return found;
}

// The part within a limit of this element, which has the memory and sizes.
std::optional<CapsPart> within(const CapsPart &part, const CapsPart &limit)
{
  FeaturesPtr memory(gst_caps_features_copy(part.features.get()));
  if (!gst_caps_features_is_any(memory.get()))
    gst_caps_features_remove(memory.get(), kOverlays);
  if (!gst_caps_features_is_equal(memory.get(), limit.features.get()))
    return std::nullopt;
  StructurePtr rest(gst_structure_intersect(part.rest.get(), limit.rest.get()));
  if (!rest)
    return std::nullopt;
  return CapsPart{std::move(rest), FeaturesPtr(gst_caps_features_copy(part.features.get())),
                  part.formats};
}

// The names of the pairs' linear frames.
std::vector<GstVideoFormat> names_of(const FormatSet &pairs)
{
  std::vector<GstVideoFormat> names;
  for (const Format &pair : FormatList(pairs).pairs())
    if (const GstVideoFormat name = name_of(pair.fourcc);
        names.empty() || names.back() != name) // the pairs of a fourcc are neighbours
      names.push_back(name);
  return names;
}

// What each pad has, but for overlays.
CapsParts sink_parts()
{
  CapsParts parts;
  parts.push_back(empty_part(GST_CAPS_FEATURE_MEMORY_DMABUF));
  set_text(parts.back(), "format", "DMA_DRM");
  parts.push_back(empty_part(feature_of(FrameKind::Plain)));
  set_names(parts.back(), plain_names());
  // the implicit modifier, where the driver lists no other
  parts.push_back(empty_part(GST_CAPS_FEATURE_MEMORY_DMABUF));
  set_names(parts.back(), frame_names());
  return parts;
}

CapsParts src_parts()
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
  return parts;
}

// The parts and the textures that pass, and the same with overlays.
GstPtr<GstCaps> template_of(CapsParts &&parts)
{
  parts.push_back(copy_part(own_textures()));
  auto caps = GstPtr<GstCaps>::adopt(put_together(std::move(parts)));
  append_with_overlays(caps.get());
  return caps;
}

// --- textures of frames --------------------------------------------------------------------------

// The pairs that a structure of the sink pad's caps allows.
FormatSet pairs_of(const CapsPart &part, FrameKind kind, const UploadFormats &formats)
{
  if (kind == FrameKind::DmaDrm)
    return part.formats ? part.formats->set() : formats.all();
  const std::uint64_t modifier = kind == FrameKind::Plain ? kModLinear : kModImplicit;
  const GValue *value = gst_structure_get_value(part.rest.get(), "format");
  if (!value)
    return pairs_where(formats.all(), [modifier](const Format &pair) {
      return pair.modifier == modifier && name_of(pair.fourcc) != GST_VIDEO_FORMAT_UNKNOWN;
    });
  std::vector<Format> pairs;
  for_each_string(value, [&](const char *text) {
    const std::uint32_t fourcc = fourcc_of(gst_video_format_from_string(text));
    if (fourcc != 0 && (kind == FrameKind::Plain || !is_own_number(fourcc)))
      pairs.push_back({fourcc, modifier});
  });
  return FormatSet::from_pairs(std::move(pairs));
}

CapsPart texture_part(const CapsPart &frame, const Way &way, const FormatSet &pairs)
{
  CapsPart part = copy_part(frame);
  part.features = features_like(frame, GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
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
  for (const CapsPart &own : src_parts()) {
    CapsPart part = copy_part(frame);
    part.features = features_like(frame, GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
    part.formats.reset();
    drop_colours(part);
    for (const char *field : {"format", "texture-target"})
      gst_structure_set_value(part.rest.get(), field,
                              gst_structure_get_value(own.rest.get(), field));
    merge_part(result, std::move(part));
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
    const FormatSet common = FormatSet::intersect(pairs, way.of(has_fields(frame.rest.get())));
    if (!common.empty())
      merge_part(result, texture_part(frame, way, common));
  }
}

void append_own(CapsParts &result, const CapsPart &part)
{
  auto texture = within(part, own_textures());
  if (!texture || part.formats)
    return;
  texture->features = features_like(part, GST_CAPS_FEATURE_MEMORY_GL_MEMORY); // ANY is equal to all
  merge_part(result, std::move(*texture));
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
    append_own(result, part);
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

// --- frames of textures --------------------------------------------------------------------------

// Pairs that a texture may come from: those whose colorimetry is the texture's own, and others.
struct Sources {
  FormatSet same_imports, other_imports, same_copies, other_copies;
};

FormatSet named_by(const CapsPart &texture, const FormatSet &pairs)
{
  const GValue *value = gst_structure_get_value(texture.rest.get(), "format");
  if (!value)
    return pairs;
  std::vector<Format> found;
  for_each_string(value, [&](const char *text) {
    const std::span<const Format> same =
        pairs.of_fourcc(fourcc_of(gst_video_format_from_string(text)));
    found.insert(found.end(), same.begin(), same.end());
  });
  return FormatSet::from_pairs(std::move(found));
}

Sources sources_of(const CapsPart &texture, const UploadFormats &formats)
{
  Sources sources;
  for (const Way &way : formats.ways()) {
    if (!allows(texture, "texture-target", target_name(way.form.target)))
      continue;
    const FormatSet &all = way.of(has_fields(texture.rest.get()));
    FormatSet pairs;
    if (way.form.format == GST_VIDEO_FORMAT_UNKNOWN)
      pairs = named_by(texture, all);
    else if (allows(texture, "format", gst_video_format_to_string(way.form.format)))
      pairs = all;
    FormatSet &set = way.is_copy
                         ? (way.keeps_colours ? sources.same_copies : sources.other_copies)
                         : (way.keeps_colours ? sources.same_imports : sources.other_imports);
    set = FormatSet::unite(set, pairs);
  }
  return sources;
}

CapsPart frame_part(const CapsPart &texture)
{
  CapsPart part = copy_part(texture);
  gst_structure_remove_fields(part.rest.get(), "format", "texture-target", nullptr);
  return part;
}

void append_named(CapsParts &result, const CapsPart &base, FrameKind kind, const FormatSet &pairs)
{
  std::vector<GstVideoFormat> names = names_of(pairs);
  std::erase(names, GST_VIDEO_FORMAT_UNKNOWN);
  if (names.empty())
    return;
  CapsPart part = copy_part(base);
  part.features = features_like(base, feature_of(kind));
  set_names(part, names);
  merge_part(result, std::move(part));
}

// DMA_DRM of the explicit pairs, memory:DMABuf with the names of the implicit ones.
void append_dmabuf(CapsParts &result, const CapsPart &base, const FormatSet &all)
{
  const FormatSet pairs = pairs_where(all, [](Format pair) { return !is_own_number(pair.fourcc); });
  const auto is_implicit = [](const Format &pair) { return pair.modifier == kModImplicit; };
  FormatSet explicit_pairs = pairs_where(pairs, std::not_fn(is_implicit));
  if (!explicit_pairs.empty()) {
    CapsPart part = copy_part(base);
    part.features = features_like(base, GST_CAPS_FEATURE_MEMORY_DMABUF);
    set_text(part, "format", "DMA_DRM");
    part.formats = FormatList(std::move(explicit_pairs));
    merge_part(result, std::move(part));
  }
  append_named(result, base, FrameKind::Implicit, pairs_where(pairs, is_implicit));
}

void append_plain(CapsParts &result, const CapsPart &base, const FormatSet &pairs)
{
  const auto is_linear = [](const Format &pair) { return pair.modifier == kModLinear; };
  append_named(result, base, FrameKind::Plain, pairs_where(pairs, is_linear));
}

// Before there is a device: what the sink pad's template says, with the sizes of the texture.
void append_any_frame(CapsParts &result, const CapsPart &base)
{
  for (const CapsPart &own : sink_parts()) {
    CapsPart part = copy_part(base);
    part.features = features_like(base, gst_caps_features_get_nth(own.features.get(), 0));
    gst_structure_set_value(part.rest.get(), "format",
                            gst_structure_get_value(own.rest.get(), "format"));
    merge_part(result, std::move(part));
  }
}

void append_frames(CapsParts &result, const CapsPart &texture, const UploadFormats &formats)
{
  const CapsPart same = frame_part(texture);
  CapsPart other = copy_part(same);
  drop_colours(other);
  if (!formats.is_known()) {
    append_any_frame(result, other);
    return;
  }
  auto [same_imports, other_imports, same_copies, other_copies] = sources_of(texture, formats);
  if (!has_colours(same)) { // then it is one list
    same_imports = FormatSet::unite(same_imports, std::exchange(other_imports, {}));
    same_copies = FormatSet::unite(same_copies, std::exchange(other_copies, {}));
  }
  append_dmabuf(result, same, same_imports);
  append_dmabuf(result, other, other_imports);
  if (formats.takes_plain()) {
    append_plain(result, same, FormatSet::unite(same_imports, same_copies));
    append_plain(result, other, FormatSet::unite(other_imports, other_copies));
  }
  append_dmabuf(result, same, FormatSet::subtract(same_copies, same_imports));
  append_dmabuf(result, other, FormatSet::subtract(other_copies, other_imports));
}

// What the frames may be that become these textures.
CapsParts frames_of(const CapsParts &parts, const UploadFormats &formats)
{
  const CapsPart limit = empty_part(GST_CAPS_FEATURE_MEMORY_GL_MEMORY, formats.max_size());
  CapsParts result;
  for (const CapsPart &part : parts) {
    if (const auto texture = within(part, limit); texture && !part.formats)
      append_frames(result, *texture, formats);
  }
  for (const CapsPart &part : parts)
    append_own(result, part);
  return result;
}

// --- both ----------------------------------------------------------------------------------------

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

bool promises(const GstCaps *caps, const char *memory)
{
  return !gst_caps_is_any(caps) && !gst_caps_is_empty(caps) &&
         gst_caps_features_contains(gst_caps_get_features(caps, 0), memory) != FALSE;
}

} // namespace

GstPtr<GstCaps> upload_sink_template()
{
  return template_of(sink_parts());
}

GstPtr<GstCaps> upload_src_template()
{
  return template_of(src_parts());
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
  return promises(caps, GST_CAPS_FEATURE_MEMORY_DMABUF);
}

bool promises_textures(const GstCaps *caps)
{
  return promises(caps, GST_CAPS_FEATURE_MEMORY_GL_MEMORY);
}

bool read_frame_info(GstDrmVideoInfo &info, const GstCaps *caps, GError **error)
{
  GstVideoInfo video;
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  const char *format = gst_structure_get_string(structure, "format");
  const std::uint32_t fourcc = format ? fourcc_of(gst_video_format_from_string(format)) : 0;
  if (!is_own_number(fourcc) || promises_dmabuf(caps) || !gst_video_info_from_caps(&video, caps))
    return gst_drm_video_info_from_caps_full(&info, caps, error) != FALSE;
  gst_drm_video_info_init(&info);
  info.vinfo = video;
  info.drm_fourcc = fourcc;
  info.drm_modifier = kModLinear;
  return true;
}

} // namespace gstdrm
