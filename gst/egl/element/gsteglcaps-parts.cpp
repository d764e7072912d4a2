// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglcaps-parts.hpp"

#include <cstring>
#include <utility>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrmcaps-strings.hpp>

#include "gsteglformats.hpp"

namespace gstdrm {

CapsPart empty_part(const char *feature, std::uint32_t max_size)
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

bool has_fields(const CapsPart &part)
{
  return !allows(part, "interlace-mode", "progressive");
}

// The part within a limit of this element, which has features and sizes.
std::optional<CapsPart> within(const CapsPart &part, const CapsPart &limit)
{
  if (!gst_caps_features_is_equal(part.features.get(), limit.features.get()))
    return std::nullopt;
  StructurePtr rest(gst_structure_intersect(part.rest.get(), limit.rest.get()));
  if (!rest)
    return std::nullopt;
  return CapsPart{std::move(rest), FeaturesPtr(gst_caps_features_copy(limit.features.get())),
                  part.formats};
}

std::vector<GstVideoFormat> names_of(const FormatSet &pairs)
{
  std::vector<GstVideoFormat> names;
  for (const Format &pair : FormatList(pairs).pairs())
    if (const GstVideoFormat name = name_of(pair.fourcc);
        names.empty() || names.back() != name) // the pairs of a fourcc are neighbours
      names.push_back(name);
  return names;
}

} // namespace gstdrm
