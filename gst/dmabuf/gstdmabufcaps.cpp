// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufcaps.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/gstdrmformat.h>
#include <gst/drm/gstdrmformatset.h>

namespace gstdrm {

namespace {

enum class Kind { Plain, DmaDrm, Other };

struct StructureDeleter {
  void operator()(GstStructure *structure) const noexcept { gst_structure_free(structure); }
};
using StructurePtr = std::unique_ptr<GstStructure, StructureDeleter>;

class Value {
public:
  explicit Value(GType type) noexcept { g_value_init(&value_, type); }
  ~Value() { g_value_unset(&value_); }
  Value(const Value &) = delete;
  Value &operator=(const Value &) = delete;
  GValue *get() noexcept { return &value_; }

private:
  GValue value_ = G_VALUE_INIT;
};

void append_string(GValue *list, const char *text)
{
  GValue value = G_VALUE_INIT;
  g_value_init(&value, G_TYPE_STRING);
  g_value_set_string(&value, text);
  gst_value_list_append_and_take_value(list, &value);
}

// Every string of a caps field, be it one string or a list of them.
template <typename F> void for_each_string(const GValue *value, F &&take)
{
  if (!value)
    return;
  if (G_VALUE_HOLDS_STRING(value)) {
    take(g_value_get_string(value));
  } else if (GST_VALUE_HOLDS_LIST(value)) {
    for (guint i = 0; i < gst_value_list_get_size(value); i++)
      for_each_string(gst_value_list_get_value(value, i), take);
  }
}

// The DRM name of a linear format: "NV12", "XR24".
std::string drm_name(GstVideoFormat format)
{
  guint64 modifier = 0;
  const guint32 fourcc = gst_drm_format_from_video_format(format, &modifier);
  g_autofree gchar *text = gst_drm_format_to_string(fourcc, modifier);
  return text ? text : "";
}

std::vector<GstVideoFormat> find_linear_formats()
{
  std::vector<GstVideoFormat> found;
  guint n_formats = 0;
  const GstVideoFormat *formats = gst_video_formats_raw(&n_formats);
  for (guint i = 0; i < n_formats; i++) {
    const GstVideoFormatInfo *info = gst_video_format_get_info(formats[i]);
    guint64 modifier = GST_DRM_MODIFIER_IMPLICIT;
    const guint32 fourcc = gst_drm_format_from_video_format(formats[i], &modifier);
    // A palette is not part of a DRM framebuffer, and a format that does not come back as itself
    // would be a conversion.
    if (fourcc && modifier == GST_DRM_MODIFIER_LINEAR && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE(info) &&
        gst_drm_format_to_video_format(fourcc, modifier) == formats[i])
      found.push_back(formats[i]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

GstPtr<GstCaps> video_caps(const char *feature)
{
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "width", GST_TYPE_INT_RANGE, 1, G_MAXINT,
                                      "height", GST_TYPE_INT_RANGE, 1, G_MAXINT, nullptr);
  if (feature)
    gst_caps_set_features_simple(caps, gst_caps_features_new_single(feature));
  return GstPtr<GstCaps>::adopt(caps);
}

Kind kind_of(const GstCaps *caps, guint index)
{
  const GstStructure *structure = gst_caps_get_structure(caps, index);
  GstCapsFeatures *features = gst_caps_get_features(caps, index);
  if (!gst_structure_has_name(structure, "video/x-raw") || gst_caps_features_is_any(features))
    return Kind::Other;
  if (gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    return Kind::Plain;
  if (gst_caps_features_get_size(features) != 1 ||
      !gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF))
    return Kind::Other;
  // Without DMA_DRM it is the old dialect with an implicit modifier, which nothing here can write.
  bool dma_drm = false;
  for_each_string(gst_structure_get_value(structure, "format"),
                  [&](const char *format) { dma_drm |= g_strcmp0(format, "DMA_DRM") == 0; });
  return dma_drm ? Kind::DmaDrm : Kind::Other;
}

// The linear formats that a structure's field allows; all of them where the field is absent.
std::vector<GstVideoFormat> formats_of(const GstStructure *structure, Kind kind)
{
  const GValue *value =
      gst_structure_get_value(structure, kind == Kind::DmaDrm ? "drm-format" : "format");
  if (!value)
    return linear_formats();
  std::vector<GstVideoFormat> formats;
  for_each_string(value, [&](const char *text) {
    GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;
    guint32 fourcc = 0;
    guint64 modifier = 0;
    if (kind == Kind::Plain)
      format = gst_video_format_from_string(text);
    else if (text && gst_drm_format_parse(text, &fourcc, &modifier, nullptr) &&
             modifier == GST_DRM_MODIFIER_LINEAR)
      format = gst_drm_format_to_video_format(fourcc, modifier);
    if (is_linear_format(format))
      formats.push_back(format);
  });
  return formats;
}

void set_string_list(GstStructure *structure, const char *field,
                     const std::vector<std::string> &texts)
{
  if (texts.size() == 1) {
    gst_structure_set(structure, field, G_TYPE_STRING, texts.front().c_str(), nullptr);
    return;
  }
  Value list(GST_TYPE_LIST);
  for (const std::string &text : texts)
    append_string(list.get(), text.c_str());
  gst_structure_set_value(structure, field, list.get());
}

void set_formats(GstStructure *structure, Kind kind, const std::vector<GstVideoFormat> &formats)
{
  std::vector<std::string> texts;
  texts.reserve(formats.size());
  for (GstVideoFormat format : formats)
    texts.push_back(kind == Kind::DmaDrm ? drm_name(format) : gst_video_format_to_string(format));
  if (kind == Kind::DmaDrm)
    gst_structure_set(structure, "format", G_TYPE_STRING, "DMA_DRM", nullptr);
  else
    gst_structure_remove_field(structure, "drm-format");
  set_string_list(structure, kind == Kind::DmaDrm ? "drm-format" : "format", texts);
}

// A copy of the structure that says the same in the other (or the same) dialect; empty where it
// allows no linear format. The structure's own list is replaced, never compared with another.
StructurePtr translate(const GstStructure *structure, Kind from, Kind to)
{
  const std::vector<GstVideoFormat> formats = formats_of(structure, from);
  if (formats.empty())
    return {};
  StructurePtr result(gst_structure_copy(structure));
  set_formats(result.get(), to, formats);
  return result;
}

void append(GstPtr<GstCaps> &caps, StructurePtr structure, Kind kind)
{
  if (!structure)
    return;
  if (kind == Kind::DmaDrm)
    gst_caps_append_structure_full(caps.get(), structure.release(),
                                   gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  else // plain lists are short, and a sink often says the same in both dialects
    caps = GstPtr<GstCaps>::adopt(gst_caps_merge_structure(caps.release(), structure.release()));
}

GstCaps *resolve(const CapsRules &rules, GstPadDirection direction, const GstCaps *caps)
{
  const bool dmabuf = rules.dmabuf_passes || direction == rules.dmabuf_pad;
  GstPtr<GstCaps> all = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  if (dmabuf)
    gst_caps_append(all.get(), any_dmabuf_template().release());
  gst_caps_append(all.get(), plain_template().release());
  return gst_drm_caps_intersect(caps, all.get());
}

} // namespace

const std::vector<GstVideoFormat> &linear_formats()
{
  static const std::vector<GstVideoFormat> formats = find_linear_formats();
  return formats;
}

bool is_linear_format(GstVideoFormat format)
{
  return std::binary_search(linear_formats().begin(), linear_formats().end(), format);
}

GstPtr<GstCaps> plain_template()
{
  GstPtr<GstCaps> caps = video_caps(nullptr);
  set_formats(gst_caps_get_structure(caps.get(), 0), Kind::Plain, linear_formats());
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
  GstPtr<GstCaps> caps = video_caps(GST_CAPS_FEATURE_MEMORY_DMABUF);
  set_formats(gst_caps_get_structure(caps.get(), 0), Kind::DmaDrm, linear_formats());
  return caps;
}

void add_pad_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                      std::initializer_list<GstPtr<GstCaps>> parts)
{
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (const GstPtr<GstCaps> &part : parts)
    gst_caps_append(caps.get(), gst_caps_copy(part.get()));
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

GstPtr<GstCaps> transform_caps(const CapsRules &rules, GstPadDirection direction,
                               const GstCaps *caps)
{
  // Resolves ANY, whole or in features, and absent formats; the order stays that of `caps`.
  const auto known = GstPtr<GstCaps>::adopt(resolve(rules, direction, caps));
  auto result = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  const auto each = [&](Kind from, Kind to) {
    for (guint i = 0; i < gst_caps_get_size(known.get()); i++) {
      if (kind_of(known.get(), i) != from)
        continue;
      const GstStructure *structure = gst_caps_get_structure(known.get(), i);
      // DMA_DRM passes as it is, tiled or not
      append(result,
             from == Kind::DmaDrm && to == from ? StructurePtr(gst_structure_copy(structure))
                                                : translate(structure, from, to),
             to);
    }
  };
  if (rules.dmabuf_passes)
    each(Kind::DmaDrm, Kind::DmaDrm);
  if (direction != rules.dmabuf_pad)
    each(Kind::Plain, Kind::DmaDrm);
  if (direction == rules.dmabuf_pad)
    each(Kind::DmaDrm, Kind::Plain);
  each(Kind::Plain, Kind::Plain);
  return result;
}

} // namespace gstdrm
