// SPDX-License-Identifier: LGPL-2.1-or-later
// From the caps of textures to those of the frames that they can come from.
#include <span>
#include <utility>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrmcaps-strings.hpp>

#include "gsteglcaps-parts.hpp"
#include "gsteglformats.hpp"

namespace gstdrm {

namespace {

using Way = UploadFormats::Way;

// Pairs that a texture may come from: those whose colorimetry is the texture's own, and others.
struct Sources {
  struct Pairs {
    FormatSet same_colours, other_colours;
    void add(const Way &way, const FormatSet &pairs)
    {
      FormatSet &set = way.keeps_colours ? same_colours : other_colours;
      set = FormatSet::unite(set, pairs);
    }
  };
  Pairs imported, copied;
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
    const FormatSet &all = way.of(has_fields(texture));
    FormatSet pairs;
    if (way.form.format == GST_VIDEO_FORMAT_UNKNOWN)
      pairs = named_by(texture, all);
    else if (allows(texture, "format", gst_video_format_to_string(way.form.format)))
      pairs = all;
    (way.is_copy ? sources.copied : sources.imported).add(way, pairs);
  }
  return sources;
}

CapsPart frame_part(const CapsPart &texture, FrameKind kind)
{
  CapsPart part = copy_part(texture);
  part.features.reset(gst_caps_features_new_single(feature_of(kind)));
  gst_structure_remove_fields(part.rest.get(), "format", "texture-target", nullptr);
  return part;
}

// DMA_DRM of the explicit pairs, memory:DMABuf with the names of the implicit ones.
void append_dmabuf(CapsParts &result, const CapsPart &base, const FormatSet &pairs)
{
  std::vector<Format> explicit_pairs;
  std::vector<Format> implicit_pairs;
  for (const Format &pair : pairs.pairs())
    (pair.modifier == kModImplicit ? implicit_pairs : explicit_pairs).push_back(pair);
  if (!explicit_pairs.empty()) {
    CapsPart part = copy_part(base);
    part.features.reset(gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
    set_text(part, "format", "DMA_DRM");
    part.formats = FormatList(FormatSet::from_pairs(std::move(explicit_pairs)));
    merge_part(result, std::move(part));
  }
  std::vector<GstVideoFormat> names = names_of(FormatSet::from_pairs(std::move(implicit_pairs)));
  std::erase(names, GST_VIDEO_FORMAT_UNKNOWN);
  if (!names.empty()) {
    CapsPart part = copy_part(base);
    part.features.reset(gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
    set_names(part, names);
    merge_part(result, std::move(part));
  }
}

void append_plain(CapsParts &result, const CapsPart &base, const FormatSet &pairs)
{
  std::vector<GstVideoFormat> names;
  for (const Format &pair : FormatList(pairs).pairs())
    if (pair.modifier == kModLinear && name_of(pair.fourcc) != GST_VIDEO_FORMAT_UNKNOWN)
      names.push_back(name_of(pair.fourcc));
  if (names.empty())
    return;
  CapsPart part = copy_part(base);
  part.features.reset(gst_caps_features_new_single(feature_of(FrameKind::Plain)));
  set_names(part, names);
  merge_part(result, std::move(part));
}

// Before there is a device: what the sink pad's template says, with the sizes of the texture.
void append_any_frame(CapsParts &result, const CapsPart &base)
{
  for (const CapsPart &own : take_apart(upload_sink_template().get())) {
    CapsPart part = copy_part(base);
    part.features.reset(gst_caps_features_copy(own.features.get()));
    gst_structure_set_value(part.rest.get(), "format",
                            gst_structure_get_value(own.rest.get(), "format"));
    merge_part(result, std::move(part));
  }
}

void append_frames(CapsParts &result, const CapsPart &texture, const UploadFormats &formats)
{
  const CapsPart same = frame_part(texture, FrameKind::DmaDrm);
  CapsPart other = copy_part(same);
  drop_colours(other);
  if (!formats.is_known()) {
    append_any_frame(result, other);
    return;
  }
  const Sources sources = sources_of(texture, formats);
  const auto unite = [](const FormatSet &a, const FormatSet &b) { return FormatSet::unite(a, b); };
  FormatSet same_imports = sources.imported.same_colours;
  FormatSet other_imports = sources.imported.other_colours;
  FormatSet same_copies = sources.copied.same_colours;
  FormatSet other_copies = sources.copied.other_colours;
  if (!has_colours(same)) { // then it is one list
    same_imports = unite(same_imports, std::exchange(other_imports, {}));
    same_copies = unite(same_copies, std::exchange(other_copies, {}));
  }
  append_dmabuf(result, same, same_imports);
  append_dmabuf(result, other, other_imports);
  if (formats.takes_plain()) {
    append_plain(result, same, unite(same_imports, same_copies));
    append_plain(result, other, unite(other_imports, other_copies));
  }
  append_dmabuf(result, same, FormatSet::subtract(same_copies, same_imports));
  append_dmabuf(result, other, FormatSet::subtract(other_copies, other_imports));
}

} // namespace

CapsParts frames_of(const CapsParts &parts, const UploadFormats &formats)
{
  const CapsPart limit = empty_part(GST_CAPS_FEATURE_MEMORY_GL_MEMORY, formats.max_size());
  CapsParts result;
  for (const CapsPart &part : parts) {
    if (const auto texture = within(part, limit); texture && !part.formats)
      append_frames(result, *texture, formats);
  }
  return result;
}

} // namespace gstdrm
