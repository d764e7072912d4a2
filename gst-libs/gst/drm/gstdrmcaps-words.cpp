// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmcaps-words.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <unordered_set>

#include <gst/allocators/gstdmabuf.h>

#include "gstdrm-private.hpp"
#include "gstdrmcaps-strings.hpp"
#include "gstdrmformat.h"
#include "gstdrmformatset.h"

namespace gstdrm {

namespace {

constexpr const char *kMore = "…";

std::string take(gchar *text)
{
  const g_autofree gchar *owned = text;
  return owned ? owned : "";
}

bool all_writable(const GstStructure *structure);

// GStreamer says CRITICAL of values that it cannot write: NULL strings in lists, and types without
// a text. Caps with such values come from plugins that were never tested.
bool is_writable(const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value) != nullptr;
  if (GST_VALUE_HOLDS_LIST(value)) {
    for (guint i = 0; i < gst_value_list_get_size(value); ++i)
      if (!is_writable(gst_value_list_get_value(value, i)))
        return false;
    return true;
  }
  if (GST_VALUE_HOLDS_ARRAY(value)) {
    for (guint i = 0; i < gst_value_array_get_size(value); ++i)
      if (!is_writable(gst_value_array_get_value(value, i)))
        return false;
    return true;
  }
  if (GST_VALUE_HOLDS_STRUCTURE(value))
    return gst_value_get_structure(value) && all_writable(gst_value_get_structure(value));
  static const GType kTypes[] = {
      G_TYPE_INT,         G_TYPE_UINT,          G_TYPE_INT64,          G_TYPE_UINT64,
      G_TYPE_BOOLEAN,     G_TYPE_DOUBLE,        G_TYPE_FLOAT,          GST_TYPE_FRACTION,
      GST_TYPE_INT_RANGE, GST_TYPE_INT64_RANGE, GST_TYPE_DOUBLE_RANGE, GST_TYPE_FRACTION_RANGE,
      GST_TYPE_BITMASK,   GST_TYPE_FLAG_SET,    GST_TYPE_BUFFER};
  return std::any_of(std::begin(kTypes), std::end(kTypes),
                     [value](GType type) { return G_VALUE_HOLDS(value, type); });
}

bool all_writable(const GstStructure *structure)
{
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    if (!is_writable(gst_structure_get_value(structure, field)))
      return false;
  }
  return true;
}

std::string text_of(const GValue *value)
{
  return is_writable(value) ? take(gst_value_serialize(value)) : "unreadable";
}

// As gst_caps_to_string() would, a value that it cannot write by its type alone.
std::string structure_text(const GstCaps *caps, guint index)
{
  const GstStructure *structure = gst_caps_get_structure(caps, index);
  const GstCapsFeatures *features = gst_caps_get_features(caps, index);
  std::string text = gst_structure_get_name(structure);
  if (!gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    text.append("(").append(take(gst_caps_features_to_string(features))).append(")");
  for (gint i = 0; i < gst_structure_n_fields(structure); ++i) {
    const gchar *field = gst_structure_nth_field_name(structure, static_cast<guint>(i));
    const GValue *value = gst_structure_get_value(structure, field);
    text += std::string(", ") + field + "=(" + G_VALUE_TYPE_NAME(value) + ")";
    text += text_of(value);
  }
  return text;
}

// A string that came from outside may be of any length; it is cut before a whole UTF-8 character.
std::string cut(std::string text, std::size_t limit)
{
  if (text.size() <= limit)
    return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U)
    limit--;
  text.resize(limit);
  return text + kMore;
}

// Texts in the order in which they came, each once; lists have thousands of drm-formats.
class Distinct {
public:
  void add(std::string text)
  {
    if (!text.empty() && known_.insert(text).second)
      texts_.push_back(std::move(text));
  }
  [[nodiscard]] const std::vector<std::string> &texts() const noexcept { return texts_; }

private:
  std::vector<std::string> texts_;
  std::unordered_set<std::string> known_;
};

void add_strings(Distinct &found, const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value) && g_value_get_string(value))
    found.add(g_value_get_string(value));
  for (guint i = 0; GST_VALUE_HOLDS_LIST(value) && i < gst_value_list_get_size(value); i++)
    add_strings(found, gst_value_list_get_value(value, i));
}

// Caps of which something can be said: neither ANY nor EMPTY.
bool says_something(const GstCaps *caps)
{
  return caps && !gst_caps_is_any(caps) && !gst_caps_is_empty(caps);
}

// "XR24:0x0100000000000001 (INTEL_X_TILED)"; a linear format needs no name for its modifier. Some
// names list every parameter of a layout: the number before them is enough then.
std::string with_modifier_name(const std::string &drm_format)
{
  constexpr std::size_t kLongestName = 32; // bytes
  guint32 fourcc = 0;
  guint64 modifier = GST_DRM_MODIFIER_LINEAR;
  if (!gst_drm_format_parse(drm_format.c_str(), &fourcc, &modifier, nullptr) ||
      modifier == GST_DRM_MODIFIER_LINEAR)
    return drm_format;
  return drm_format + " (" + cut(take(gst_drm_modifier_describe(modifier)), kLongestName) + ")";
}

// One kind of caps, such as "plain", and what is in it.
struct Part {
  std::string kind;
  Distinct entries;
};

void add_part(std::vector<Part> &parts, const std::string &kind, std::vector<std::string> entries)
{
  auto part =
      std::find_if(parts.begin(), parts.end(), [&](const Part &p) { return p.kind == kind; });
  if (part == parts.end())
    part = parts.insert(parts.end(), Part{kind, {}});
  for (std::string &entry : entries)
    part->entries.add(std::move(entry));
}

std::vector<std::string> strings_of_field(const GstStructure *structure, const char *field)
{
  Distinct found;
  if (const GValue *value = gst_structure_get_value(structure, field))
    add_strings(found, value);
  return found.texts();
}

void add_structure(std::vector<Part> &parts, const GstStructure *structure,
                   const GstCapsFeatures *features)
{
  if (!gst_structure_has_name(structure, "video/x-raw"))
    return add_part(parts, gst_structure_get_name(structure), {});
  std::vector<std::string> formats = strings_of_field(structure, "format");
  std::vector<std::string> drm_formats = strings_of_field(structure, "drm-format");
  const bool any_format = formats.empty();
  if (gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    return add_part(parts, "plain",
                    any_format ? std::vector<std::string>{"video in any format"} : formats);
  if (!drm_formats.empty()) {
    for (std::string &format : drm_formats)
      format = with_modifier_name(format);
    return add_part(parts, "DMA_DRM", std::move(drm_formats));
  }
  if (formats == std::vector<std::string>{"DMA_DRM"})
    return add_part(parts, "DMA_DRM", {"in any drm-format"});
  add_part(parts, take(gst_caps_features_to_string(features)),
           any_format ? std::vector<std::string>{"in any format"} : formats);
}

// "memory:DMABuf"; "system memory" where no feature names another one.
std::string memory_of(const GstCapsFeatures *features)
{
  for (guint i = 0; i < gst_caps_features_get_size(features); i++) {
    const std::string feature = gst_caps_features_get_nth(features, i);
    if (feature.starts_with("memory:") && feature != GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY)
      return feature;
  }
  return "system memory";
}

// The kinds of memory of the caps, each once. Empty if a structure takes any memory.
std::vector<std::string> memories_of(const GstCaps *caps)
{
  Distinct memories;
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GstCapsFeatures *features = gst_caps_get_features(caps, i);
    if (gst_caps_features_is_any(features))
      return {};
    memories.add(memory_of(features));
  }
  return memories.texts();
}

// One structure of the caps, without its features.
GstPtr<GstCaps> structure_alone(const GstCaps *caps, guint i)
{
  GstCaps *alone = gst_caps_new_empty();
  gst_caps_append_structure(alone, gst_structure_copy(gst_caps_get_structure(caps, i)));
  return GstPtr<GstCaps>::adopt(alone);
}

// "system memory against memory:DMABuf"; empty if a kind of memory is common to both.
std::string differing_memory(const GstCaps *sent, const GstCaps *taken)
{
  constexpr std::size_t kLongest = 100; // bytes
  const std::vector<std::string> ours = memories_of(sent);
  const std::vector<std::string> theirs = memories_of(taken);
  if (ours.empty() || theirs.empty() ||
      std::find_first_of(ours.begin(), ours.end(), theirs.begin(), theirs.end()) != ours.end())
    return "";
  return join(ours, " or ", kLongest) + " against " + join(theirs, " or ", kLongest);
}

// A fourcc that both have in DMA_DRM caps, whatever the modifiers; empty where there is none.
std::string common_fourcc(const GstCaps *sent, const GstCaps *taken)
{
  const auto fourcc = [](const std::string &format) { return format.substr(0, format.find(':')); };
  std::unordered_set<std::string> theirs;
  for (const std::string &format : strings_of(taken, "drm-format"))
    theirs.insert(fourcc(format));
  for (const std::string &ours : strings_of(sent, "drm-format"))
    if (theirs.contains(fourcc(ours)))
      return fourcc(ours);
  return "";
}

} // namespace

std::string text_of(const GstCaps *caps)
{
  if (!caps)
    return "";
  bool writable = true;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    writable = writable && all_writable(gst_caps_get_structure(caps, i));
  if (writable)
    return take(gst_caps_to_string(caps));
  std::string text;
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    text += (i > 0 ? "; " : "") + structure_text(caps, i);
  return text;
}

std::string describe_caps(const GstCaps *caps, std::size_t limit)
{
  constexpr std::size_t kLongestEntry = 100; // bytes
  if (!caps || gst_caps_is_empty(caps))
    return "nothing";
  if (gst_caps_is_any(caps))
    return "anything";
  std::vector<Part> parts;
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    add_structure(parts, gst_caps_get_structure(caps, i), gst_caps_get_features(caps, i));
  std::string text;
  std::size_t left_out = 0;
  for (const Part &part : parts) {
    std::string next = (text.empty() ? "" : "; ") + part.kind;
    const std::vector<std::string> &entries = part.entries.texts();
    for (std::size_t i = 0; i < entries.size(); i++) {
      next += (i == 0 ? " " : ", ") + cut(entries[i], kLongestEntry);
      if (left_out > 0 || (!text.empty() && text.size() + next.size() > limit))
        left_out++;
      else
        text += std::exchange(next, "");
    }
    if (entries.empty() && left_out == 0)
      text += next; // of a kind without entries
  }
  return left_out > 0 ? text + " and " + std::to_string(left_out) + " more" : text;
}

std::string size_of(const GstCaps *caps)
{
  gint width = 0;
  gint height = 0;
  if (!says_something(caps) ||
      !gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width) ||
      !gst_structure_get_int(gst_caps_get_structure(caps, 0), "height", &height))
    return "";
  return std::to_string(width) + "x" + std::to_string(height);
}

std::vector<std::string> strings_of(const GstCaps *caps, const char *field)
{
  Distinct found;
  for (guint i = 0; says_something(caps) && i < gst_caps_get_size(caps); i++)
    if (const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, i), field))
      add_strings(found, value);
  return found.texts();
}

std::string join(const std::vector<std::string> &texts, const char *separator, std::size_t limit)
{
  std::string joined;
  for (const std::string &text : texts) {
    const std::string next = (joined.empty() ? "" : separator) + text;
    if (joined.size() + next.size() > limit)
      return cut(joined.empty() ? text : joined + separator + kMore, limit);
    joined += next;
  }
  return joined;
}

std::string differing_field(const GstCaps *sent, const GstCaps *taken)
{
  static constexpr std::array kFields = {
      "width",       "height",      "framerate",      "interlace-mode", "pixel-aspect-ratio",
      "colorimetry", "chroma-site", "multiview-mode", "texture-target"};
  constexpr std::size_t kLongest = 100; // bytes
  if (!says_something(sent) || !says_something(taken))
    return "";
  const GstStructure *structure = gst_caps_get_structure(sent, 0);
  for (const char *field : kFields) {
    const GValue *ours = gst_structure_get_value(structure, field);
    Distinct theirs;
    bool agreed = !ours;
    for (guint i = 0; !agreed && i < gst_caps_get_size(taken); i++) {
      const GValue *value = gst_structure_get_value(gst_caps_get_structure(taken, i), field);
      agreed = !value || gst_value_intersect(nullptr, ours, value);
      if (value)
        theirs.add(text_of(value));
    }
    if (!agreed)
      return std::string(field) + " " + cut(text_of(ours), kLongest) + " against " +
             join(theirs.texts(), " or ", kLongest);
  }
  return "";
}

std::string differing_features(const GstCaps *sent, const GstCaps *taken)
{
  for (guint i = 0; says_something(sent) && i < gst_caps_get_size(sent); i++)
    for (guint k = 0; says_something(taken) && k < gst_caps_get_size(taken); k++) {
      const GstCapsFeatures *ours = gst_caps_get_features(sent, i);
      const GstCapsFeatures *theirs = gst_caps_get_features(taken, k);
      if (gst_caps_features_is_any(ours) || gst_caps_features_is_any(theirs) ||
          gst_caps_features_is_equal(ours, theirs) || memory_of(ours) != memory_of(theirs))
        continue;
      if (caps_meet(structure_alone(sent, i).get(), structure_alone(taken, k).get()))
        return take(gst_caps_features_to_string(ours)) + " against " +
               take(gst_caps_features_to_string(theirs));
    }
  return "";
}

namespace {

bool has_video_format(const std::string &drm_format)
{
  guint32 fourcc = 0;
  guint64 modifier = 0;
  return gst_drm_format_parse(drm_format.c_str(), &fourcc, &modifier, nullptr) &&
         gst_drm_format_to_video_format(fourcc, modifier) != GST_VIDEO_FORMAT_UNKNOWN;
}

// Only a text that has a better one is called wrong: drivers have fourccs that nobody else knows.
std::string mistake_in(const std::string &drm_format)
{
  const std::string fourcc = drm_format.substr(0, drm_format.find(':'));
  const std::string modifier = drm_format.substr(fourcc.size());
  if (has_video_format(fourcc) && modifier.empty())
    return "";
  const auto write = [&](const std::string &better) {
    return "drm-format=" + drm_format + " is no format: write drm-format=" + better + ".";
  };
  guint64 named_modifier = 0;
  const guint32 named = gst_drm_format_from_video_format(
      gst_video_format_from_string(fourcc.c_str()), &named_modifier);
  if (std::string better = take(named ? gst_drm_format_to_string(named, named_modifier) : nullptr);
      !better.empty() && better != fourcc)
    return write(better.find(' ') == std::string::npos ? better + modifier : '"' + better + '"');
  if (std::string upper = take(g_ascii_strup(fourcc.c_str(), -1));
      upper != fourcc && has_video_format(upper))
    return write(upper + modifier);
  if (const std::string padded =
          fourcc + std::string(4 - std::min<std::size_t>(fourcc.size(), 4), ' ');
      padded != fourcc && has_video_format(padded))
    return write('"' + padded + modifier + '"');
  g_autoptr(GError) error = nullptr;
  return gst_drm_format_parse(drm_format.c_str(), nullptr, nullptr, &error)
             ? ""
             : std::string(error->message) + ".";
}

std::string mistake_in(const GstStructure *structure, const GstCapsFeatures *features)
{
  const bool dmabuf = gst_caps_features_contains(features, GST_CAPS_FEATURE_MEMORY_DMABUF) != FALSE;
  const GValue *drm_format = gst_structure_get_value(structure, "drm-format");
  const gchar *text = gst_structure_get_string(structure, "format");
  const std::string format = text ? text : "";
  if (!dmabuf && (drm_format || format == "DMA_DRM"))
    return "format=DMA_DRM and drm-format are for DMA buffers: write video/x-raw(memory:DMABuf).";
  std::string mistake;
  for_each_string(drm_format, [&](const char *one) {
    if (mistake.empty())
      mistake = mistake_in(std::string(one));
  });
  if (!mistake.empty())
    return mistake;
  if (dmabuf && drm_format && format != "DMA_DRM")
    return "drm-format is read where format=DMA_DRM stands beside it: write format=DMA_DRM.";
  if (dmabuf && !format.empty() && format != "DMA_DRM")
    return "With memory:DMABuf, format=" + format +
           " stands for a layout that only a driver knows: write format=DMA_DRM and drm-format, "
           "or, for linear frames, set implicit-modifier=linear.";
  if (!dmabuf && !format.empty() && gst_video_format_from_string(text) == GST_VIDEO_FORMAT_UNKNOWN)
    return "GStreamer has no video format " + format + ".";
  return "";
}

} // namespace

std::string mistake_in(const GstCaps *caps)
{
  for (guint i = 0; says_something(caps) && i < gst_caps_get_size(caps); i++)
    if (std::string mistake =
            mistake_in(gst_caps_get_structure(caps, i), gst_caps_get_features(caps, i));
        !mistake.empty())
      return mistake;
  return "";
}

std::string nearest_miss(const GstCaps *sent, const GstCaps *taken)
{
  if (!says_something(sent) || !says_something(taken) || caps_meet(sent, taken))
    return "";
  if (std::string field = differing_field(sent, taken); !field.empty())
    return field;
  if (std::string memory = differing_memory(sent, taken); !memory.empty())
    return memory;
  if (std::string features = differing_features(sent, taken); !features.empty())
    return features;
  if (const std::string fourcc = common_fourcc(sent, taken); !fourcc.empty())
    return fourcc + " with other modifiers";
  return "no format in common";
}

} // namespace gstdrm
