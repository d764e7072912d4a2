// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabufexplain.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/gstdrmformat.h>

namespace gstdrm {

namespace {

struct Free {
  void operator()(gchar *text) const noexcept { g_free(text); }
};

std::string take(gchar *text)
{
  const std::unique_ptr<gchar, Free> owned(text);
  return owned ? owned.get() : "";
}

// GStreamer writes a CRITICAL to the log where it has to print such a list.
bool has_null_string(const GValue *value)
{
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value) == nullptr;
  if (!GST_VALUE_HOLDS_LIST(value))
    return false;
  for (guint i = 0; i < gst_value_list_get_size(value); i++)
    if (has_null_string(gst_value_list_get_value(value, i)))
      return true;
  return false;
}

bool has_null_string(const GstCaps *caps)
{
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    for (guint k = 0; k < static_cast<guint>(gst_structure_n_fields(structure)); k++)
      if (has_null_string(
              gst_structure_get_value(structure, gst_structure_nth_field_name(structure, k))))
        return true;
  }
  return false;
}

std::string text_of(const GValue *value)
{
  if (value && has_null_string(value))
    return "a list with a string that is NULL";
  return value ? take(gst_value_serialize(value)) : "";
}

std::string text_of(const GstCaps *caps)
{
  if (caps && has_null_string(caps))
    return "caps with a string that is NULL";
  return caps ? take(gst_caps_to_string(caps)) : "";
}

std::string shorten(std::string text, std::size_t limit)
{
  if (text.size() <= limit)
    return text;
  // Cut at a whole entry, so that no half of a modifier looks like one.
  const std::size_t end = text.find_last_of(",;", limit);
  text.resize(end == std::string::npos ? limit : end);
  return text + ", …";
}

// Templates end there, whatever the format and the peer.
bool is_too_large(const GstCaps *caps)
{
  const auto beyond = [&](const char *field) {
    gint value = 0;
    return caps && !gst_caps_is_any(caps) && !gst_caps_is_empty(caps) &&
           gst_structure_get_int(gst_caps_get_structure(caps, 0), field, &value) &&
           value > static_cast<gint>(kMaxFrameSize);
  };
  return beyond("width") || beyond("height");
}

// "641x481", "" where the size is not fixed
std::string size_of(const GstCaps *caps)
{
  if (!caps || gst_caps_is_any(caps) || gst_caps_is_empty(caps))
    return "";
  const GstStructure *structure = gst_caps_get_structure(caps, 0);
  gint width = 0;
  gint height = 0;
  if (!gst_structure_get_int(structure, "width", &width) ||
      !gst_structure_get_int(structure, "height", &height))
    return "";
  return std::to_string(width) + "x" + std::to_string(height);
}

void add_distinct(std::vector<std::string> &texts, std::string text)
{
  if (!text.empty() && std::find(texts.begin(), texts.end(), text) == texts.end())
    texts.push_back(std::move(text));
}

std::string join(const std::vector<std::string> &texts, const char *separator)
{
  std::string joined;
  for (const std::string &text : texts)
    joined += (joined.empty() ? "" : separator) + text;
  return joined;
}

// The value of every string field of this name in structures with (or without) dmabuf memory.
std::vector<std::string> strings_of(const GstCaps *caps, const char *field)
{
  std::vector<std::string> found;
  for (guint i = 0; caps && !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++) {
    const GValue *value = gst_structure_get_value(gst_caps_get_structure(caps, i), field);
    if (value && G_VALUE_HOLDS_STRING(value) && g_value_get_string(value))
      add_distinct(found, g_value_get_string(value));
    for (guint k = 0; value && GST_VALUE_HOLDS_LIST(value) && k < gst_value_list_get_size(value);
         k++)
      add_distinct(found, text_of(gst_value_list_get_value(value, k)));
  }
  return found;
}

std::string first_drm_format(const GstCaps *caps)
{
  const std::vector<std::string> found = strings_of(caps, "drm-format");
  return found.empty() ? "" : found.front();
}

// Buffers of one field each, `interlace-mode=alternate`: the pad templates have none, as nobody
// downstream that takes DMA buffers could tell them from frames of half the height.
bool sends_fields(const GstCaps *caps)
{
  if (!caps || gst_caps_is_any(caps))
    return false;
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i),
                                   GST_CAPS_FEATURE_FORMAT_INTERLACED))
      return true;
  return false;
}

constexpr const char *kWeaveFields =
    "Buffers of one field each (interlace-mode=alternate) are not taken: have upstream weave them "
    "(interlace-mode=interleaved).";

std::string fix_for_field(const std::string &field)
{
  if (field.starts_with("width") || field.starts_with("height") ||
      field.starts_with("pixel-aspect-ratio"))
    return "Put videoscale before it, or choose another size.";
  if (field.starts_with("framerate"))
    return "Put videorate before it.";
  if (field.starts_with("interlace-mode"))
    return "Put deinterlace before it.";
  return "Put videoconvert before it.";
}

} // namespace

std::string suggest_for_upload(const GstCaps *upstream, const GstCaps *downstream)
{
  if (sends_fields(upstream))
    return kWeaveFields;
  const GstPtr<GstCaps> can_send = transform_caps(kUploadRules, GST_PAD_SINK, upstream);
  const GstPtr<GstCaps> can_take = transform_caps(kUploadRules, GST_PAD_SRC, downstream);
  const std::vector<std::string> sent = strings_of(can_send.get(), "drm-format");
  const std::vector<std::string> taken = strings_of(downstream, "drm-format");
  std::vector<std::string> plain = strings_of(can_take.get(), "format");
  std::erase(plain, "DMA_DRM");
  std::string tiled;
  for (const std::string &format : sent)
    if (std::any_of(taken.begin(), taken.end(),
                    [&](const auto &t) { return t.starts_with(format + ":"); }))
      tiled = format;

  if (gst_caps_is_empty(downstream))
    return "Its source pad has no peer that takes video: link it to a sink or a converter.";
  if (plain.empty())
    return "A CPU can write linear layouts only, and downstream takes none: upload with the device "
           "that "
           "reads the frames (glupload for OpenGL), or choose a downstream element that takes "
           "linear.";
  const std::string alternative = shorten(join(plain, ", "), 120);
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

std::string suggest_for_download(const GstCaps *upstream, const GstCaps *downstream)
{
  if (sends_fields(upstream))
    return kWeaveFields;
  const GstPtr<GstCaps> can_send = transform_caps(kDownloadRules, GST_PAD_SINK, upstream);
  if (gst_caps_is_empty(can_send.get())) {
    const std::string text = first_drm_format(upstream);
    guint32 fourcc = 0;
    guint64 modifier = GST_DRM_MODIFIER_LINEAR;
    if (!text.empty() && gst_drm_format_parse(text.c_str(), &fourcc, &modifier, nullptr) &&
        modifier != GST_DRM_MODIFIER_LINEAR)
      return text + " (" + take(gst_drm_modifier_describe(modifier)) +
             ") is a device's own layout, which a CPU cannot read: ask upstream for " +
             text.substr(0, text.find(':')) +
             " without a modifier, which is linear, or download with the "
             "device that wrote it (glupload ! gldownload for OpenGL).";
    if (!text.empty())
      return text +
             " has no GstVideoFormat of the same bytes: ask upstream for another drm-format.";
    return "Only DMA_DRM with a linear drm-format, or plain video, can be mapped by a CPU: a "
           "dmabuf with an "
           "implicit modifier has an unknown layout.";
  }
  const std::string field = differing_field(upstream, downstream);
  if (!field.empty())
    return "Put videoconvertscale or videorate after it, to change what differs.";
  return "Put videoconvert after it.";
}

std::string describe_caps(const GstCaps *caps, std::size_t limit)
{
  if (!caps || gst_caps_is_empty(caps))
    return "nothing";
  if (gst_caps_is_any(caps))
    return "anything";
  std::vector<std::string> parts;
  for (guint i = 0; i < gst_caps_get_size(caps); i++) {
    const GstStructure *structure = gst_caps_get_structure(caps, i);
    GstCapsFeatures *features = gst_caps_get_features(caps, i);
    const GValue *format = gst_structure_get_value(structure, "format");
    const GValue *drm_format = gst_structure_get_value(structure, "drm-format");
    const bool plain = gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
    if (!gst_structure_has_name(structure, "video/x-raw"))
      add_distinct(parts, gst_structure_get_name(structure));
    else if (plain)
      add_distinct(parts,
                   "plain " + (format ? text_of(format) : std::string("video in any format")));
    else if (drm_format)
      add_distinct(parts, "DMA_DRM " + text_of(drm_format));
    else if (text_of(format) == "DMA_DRM")
      add_distinct(parts, "DMA_DRM in any drm-format");
    else
      add_distinct(parts, take(gst_caps_features_to_string(features)) + " " +
                              (format ? text_of(format) : std::string("in any format")));
  }
  return shorten(join(parts, "; "), limit);
}

std::string differing_field(const GstCaps *upstream, const GstCaps *downstream)
{
  static constexpr std::array kFields = {
      "width",       "height",      "framerate",     "interlace-mode", "pixel-aspect-ratio",
      "colorimetry", "chroma-site", "multiview-mode"};
  if (!upstream || gst_caps_is_any(upstream) || gst_caps_is_empty(upstream))
    return "";
  const GstStructure *sent = gst_caps_get_structure(upstream, 0);
  for (const char *field : kFields) {
    const GValue *ours = gst_structure_get_value(sent, field);
    std::vector<std::string> theirs;
    bool agreed = !ours || gst_caps_is_any(downstream) || gst_caps_is_empty(downstream);
    for (guint i = 0; !agreed && i < gst_caps_get_size(downstream); i++) {
      const GValue *value = gst_structure_get_value(gst_caps_get_structure(downstream, i), field);
      agreed = !value || gst_value_intersect(nullptr, ours, value);
      add_distinct(theirs, text_of(value));
    }
    if (!agreed)
      return std::string(field) + " " + text_of(ours) + " against " +
             shorten(join(theirs, " or "), 100);
  }
  return "";
}

namespace {

// Memory:DMABuf caps that name a GstVideoFormat: an implicit modifier, often written by mistake.
std::string implicit_format(const GstCaps *caps)
{
  for (guint i = 0; !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++) {
    const char *format = gst_structure_get_string(gst_caps_get_structure(caps, i), "format");
    if (format && std::strcmp(format, "DMA_DRM") != 0 &&
        gst_caps_features_contains(gst_caps_get_features(caps, i), GST_CAPS_FEATURE_MEMORY_DMABUF))
      return format;
  }
  return "";
}

std::string wants(const Restriction &one)
{
  return one.name + (one.is_filter ? " allows " : " takes ") + describe_caps(one.caps.get());
}

// "sink0 (fakesink) takes DMA_DRM NV12 (width 641 against 640). Put …"
std::string describe_one(GstDmaBufTransform *self, const GstCaps *upstream, const Restriction &one)
{
  const GstCaps *caps = one.caps.get();
  const std::string field = differing_field(upstream, caps);
  const std::string implicit = implicit_format(caps);
  std::string text = wants(one) + (field.empty() ? "" : " (" + field + ")") + ". ";
  if (one.is_filter && gst_caps_is_empty(caps))
    return text + "Its caps are EMPTY: write those that the stream may have.";
  if (one.is_filter && !implicit.empty())
    return text + "With memory:DMABuf, format=" + implicit +
           " stands for a layout that only a driver knows: write format=DMA_DRM and drm-format "
           "in " +
           one.name + ".";
  text += GST_DMABUF_TRANSFORM_GET_CLASS(self)->suggest(upstream, caps);
  return one.is_filter ? text + " Or change the caps of " + one.name + "." : text;
}

// What can leave the element while upstream sends `upstream`.
GstPtr<GstCaps> sendable(GstDmaBufTransform *self, const GstCaps *upstream)
{
  const GstPtr<GstCaps> any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  return transform_caps(*GST_DMABUF_TRANSFORM_GET_CLASS(self)->rules, GST_PAD_SINK,
                        upstream ? upstream : any.get());
}

// Two downstream that nothing can please, whatever comes: a capsfilter and its sink, or two
// branches of a tee. Empty where there are none.
std::string describe_conflict(const std::vector<Restriction> &chain)
{
  for (const Restriction &later : chain) {
    for (const Restriction &one : chain) {
      if (&one == &later)
        break;
      if (gst_caps_can_intersect(one.caps.get(), later.caps.get()))
        continue;
      const std::string field = differing_field(one.caps.get(), later.caps.get());
      return wants(one) + " and " + wants(later) + (field.empty() ? "" : " (" + field + ")") +
             ", which have nothing in common. " +
             (one.is_filter ? "Change the caps of " + one.name : "Let both take one format") +
             ", or put a converter (videoconvert) before " + later.name + ".";
    }
  }
  return "";
}

// Who refuses: two that contradict each other, or the first whose caps leave nothing of what can be
// sent.
std::string describe_refusal(GstDmaBufTransform *self, const GstCaps *upstream,
                             const std::vector<Restriction> &chain)
{
  if (chain.empty())
    return "and nothing that handles frames is linked after it. Link its source pad to a sink or a "
           "converter.";
  const auto is_empty = [](const Restriction &one) { return gst_caps_is_empty(one.caps.get()); };
  const auto nothing = std::find_if(chain.begin(), chain.end(), is_empty);
  if (nothing != chain.end())
    return describe_one(self, upstream, *nothing);
  if (std::string conflict = describe_conflict(chain); !conflict.empty())
    return conflict;
  const GstPtr<GstCaps> sent = sendable(self, upstream);
  const auto refuses = [&](const Restriction &one) {
    return !gst_caps_can_intersect(sent.get(), one.caps.get());
  };
  const auto refusing = std::find_if(chain.begin(), chain.end(), refuses);
  return describe_one(self, upstream, refusing != chain.end() ? *refusing : chain.back());
}

} // namespace

Mismatch describe_mismatch(GstDmaBufTransform *self, const GstCaps *upstream)
{
  GstBaseTransform *trans = GST_BASE_TRANSFORM(self);
  GstPad *src = GST_BASE_TRANSFORM_SRC_PAD(trans);
  const std::vector<Restriction> chain = restrictions_after(src);
  const std::string from = origin_name(GST_BASE_TRANSFORM_SINK_PAD(trans));
  const std::string size = size_of(upstream);

  Mismatch result;
  result.text =
      std::string(GST_OBJECT_NAME(self)) + " finds nothing in common: " + from + " has " +
      describe_caps(upstream) + (size.empty() ? "" : " in " + size) + ", " +
      (is_too_large(upstream) ? "and no frame here has more than " + std::to_string(kMaxFrameSize) +
                                    " pixels in a direction: put videoscale before it."
                              : describe_refusal(self, upstream, chain));
  result.debug = "upstream " + from + ": " + text_of(upstream);
  for (const Restriction &each : chain)
    result.debug += "\ndownstream " + each.name + ": " + text_of(each.caps.get());
  return result;
}

} // namespace gstdrm
