// SPDX-License-Identifier: LGPL-2.1-or-later
// Why two sides of a stream have nothing in common, for people and for applications.
#include "gstdrmexplain.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <gst/allocators/gstdmabuf.h>

#include "gstdrm-guard-private.hpp"
#include "gstdrm-private.hpp"
#include "gstdrmcaps-words.hpp"
#include "gstdrmconstraints-private.hpp"
#include "gstdrmformatset-private.hpp"

using gstdrm::GstPtr;

namespace {

// One of the two, as caps, or as constraints.
struct Side {
  std::string name;
  std::variant<std::monostate, GstPtr<GstCaps>, gstdrm::Constraints> value;

  [[nodiscard]] const GstCaps *caps() const
  {
    const auto *caps = std::get_if<GstPtr<GstCaps>>(&value);
    return caps ? caps->get() : nullptr;
  }
};

Side side_of(const gchar *name, const char *unnamed, const GValue *value)
{
  Side side{name ? name : unnamed, {}};
  if (GST_VALUE_HOLDS_CAPS(value) && gst_value_get_caps(value))
    side.value = GstPtr<GstCaps>::share(const_cast<GstCaps *>(gst_value_get_caps(value)));
  else if (G_VALUE_HOLDS(value, GST_TYPE_DRM_FORMAT_SET) && g_value_get_boxed(value))
    side.value = GstPtr<GstCaps>::adopt(
        gst_drm_format_set_to_caps(static_cast<const GstDrmFormatSet *>(g_value_get_boxed(value))));
  else if (G_VALUE_HOLDS(value, GST_TYPE_DRM_CONSTRAINTS) && g_value_get_boxed(value))
    side.value = static_cast<const GstDrmConstraints *>(g_value_get_boxed(value))->values;
  return side;
}

// Caps beside constraints: what the caps say of formats.
std::optional<gstdrm::Constraints> constraints_of(const Side &side)
{
  if (const auto *constraints = std::get_if<gstdrm::Constraints>(&side.value)) {
    gstdrm::Constraints named = *constraints;
    named.name = named.name.empty() ? side.name : named.name;
    return named;
  }
  if (!side.caps())
    return std::nullopt;
  gstdrm::Constraints made;
  made.name = side.name;
  if (GstDrmFormatSet *set = gst_drm_format_set_new_from_caps(side.caps())) {
    made.formats = set->set;
    gst_drm_format_set_unref(set);
  }
  return made;
}

struct Explanation {
  std::string sent;
  std::string taken;
  std::string common; // of the fourccs, where the pairs have nothing in common
  std::string miss;
  std::string advice;
  bool only_features_differ = false; // two structures would meet without their caps features
};

std::string advice_for_field(const std::string &field)
{
  if (field == "width" || field == "height")
    return "Put an element that scales between them (videoscale), or let both have one size.";
  if (field == "framerate")
    return "Put videorate between them, or let both have one rate.";
  if (field == "interlace-mode")
    return "Put deinterlace between them.";
  return "Let both have one " + field + ".";
}

bool has_memory(const GstCaps *caps, const char *feature)
{
  for (guint i = 0; i < gst_caps_get_size(caps); ++i)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i), feature))
      return true;
  return false;
}

std::string advice_for_memory(const GstCaps *sent, const GstCaps *taken)
{
  const auto one_has = [](const GstCaps *one, const GstCaps *other, const char *feature) {
    return has_memory(one, feature) && !has_memory(other, feature);
  };
  constexpr const char *kDmaBuf = GST_CAPS_FEATURE_MEMORY_DMABUF;
  constexpr const char *kSystem = GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY;
  constexpr const char *kGl = "memory:GLMemory"; // GST_CAPS_FEATURE_MEMORY_GL_MEMORY
  if (one_has(taken, sent, kDmaBuf)) {
    if (has_memory(sent, kSystem))
      return "Put dmabufupload between them.";
    if (has_memory(sent, kGl))
      return "Put egldmabufdownload between them.";
    return "Put an element between them that gives memory:DMABuf (vapostproc for memory:VAMemory).";
  }
  if (one_has(sent, taken, kDmaBuf)) {
    if (has_memory(taken, kSystem))
      return "Put dmabufdownload between them; it reads linear frames.";
    if (has_memory(taken, kGl))
      return "Put egldmabufupload between them.";
    return "Put an element between them that takes memory:DMABuf.";
  }
  return "";
}

std::string advice_for(const Explanation &explained, const GstCaps *sent, const GstCaps *taken)
{
  const std::string field = gstdrm::differing_field(sent, taken);
  if (gst_caps_is_empty(sent) || gst_caps_is_empty(taken))
    return "A side with EMPTY caps takes nothing: look at what limits it.";
  if (!field.empty())
    return advice_for_field(field.substr(0, field.find(' ')));
  if (explained.miss.ends_with("with other modifiers"))
    return "Let the sender allocate with a modifier that the receiver takes, linear where it takes "
           "that, or put an element that the GPU copies with between them.";
  if (std::string advice = advice_for_memory(sent, taken); !advice.empty())
    return advice;
  if (explained.only_features_differ)
    return "Let both have the same caps features.";
  return "Put a converter between them (videoconvert for plain video), or let one of them take a "
         "format of the other.";
}

// The modifiers that each side has of the fourccs that both have.
std::string common_fourccs(const GstCaps *sent, const GstCaps *taken)
{
  std::unique_ptr<GstDrmFormatSet, decltype(&gst_drm_format_set_unref)> a(
      gst_drm_format_set_new_from_caps(sent), gst_drm_format_set_unref);
  std::unique_ptr<GstDrmFormatSet, decltype(&gst_drm_format_set_unref)> b(
      gst_drm_format_set_new_from_caps(taken), gst_drm_format_set_unref);
  if (!a || !b)
    return "";
  std::vector<std::string> names;
  std::uint32_t last = 0;
  for (const gstdrm::Format &format : a->set.pairs())
    if (format.fourcc != last && b->set.contains_fourcc(last = format.fourcc))
      names.push_back(gstdrm::fourcc_to_string(format.fourcc));
  constexpr std::size_t kLongest = 100; // bytes
  return gstdrm::join(names, ", ", kLongest);
}

// None where the two meet.
std::optional<Explanation> explain_caps(const GstCaps *sent, const GstCaps *taken)
{
  if (gstdrm::caps_meet(sent, taken))
    return std::nullopt;
  Explanation explained;
  explained.sent = gstdrm::describe_caps(sent);
  explained.taken = gstdrm::describe_caps(taken);
  explained.only_features_differ = !gstdrm::differing_features(sent, taken).empty();
  if (!explained.only_features_differ)
    explained.common = common_fourccs(sent, taken);
  explained.miss = gstdrm::nearest_miss(sent, taken);
  explained.advice = advice_for(explained, sent, taken);
  return explained;
}

std::optional<Explanation> explain_constraints(const gstdrm::Constraints &sent,
                                               const gstdrm::Constraints &taken)
{
  const gstdrm::Constraints *const both[] = {&sent, &taken};
  const auto outcome = gstdrm::reconcile(both);
  const auto *conflict = std::get_if<gstdrm::Conflict>(&outcome);
  if (!conflict)
    return std::nullopt;
  Explanation explained;
  for (const gstdrm::KeyConflict &failure : conflict->failures) {
    constexpr std::size_t kLongest = 200; // bytes
    const std::string key(gstdrm::constraint_key_facts(failure.key).name);
    const char *separator = explained.miss.empty() ? "" : ", ";
    explained.sent += separator + key + " " + gstdrm::describe_value(sent, failure.key, kLongest);
    explained.taken += separator + key + " " + gstdrm::describe_value(taken, failure.key, kLongest);
    explained.miss += separator + key + ": " + failure.why;
    if (const std::string changes = gstdrm::describe_changes(*conflict, failure); !changes.empty())
      explained.advice += (explained.advice.empty() ? "" : " ") + changes;
  }
  return explained;
}

std::string text_of(const Side &sender, const Side &receiver, const Explanation &explained)
{
  std::string text = sender.name + " has " + explained.sent + ". " + receiver.name + " takes " +
                     explained.taken + ". ";
  text += explained.common.empty() ? "They have nothing in common"
                                   : "Both have " + explained.common + ", and no pair in common";
  if (!explained.miss.empty())
    text += " (" + explained.miss + ")";
  return text + ". " + explained.advice;
}

GstStructure *structure_of(const Side &sender, const Side &receiver, const Explanation &explained,
                           const std::string &text) noexcept
{
  GstStructure *structure = gst_structure_new_empty("GstDrmMismatch");
  gstdrm::set_text(structure, "text", text);
  gstdrm::set_text(structure, "sender", sender.name);
  gstdrm::set_text(structure, "sent", explained.sent);
  gstdrm::set_text(structure, "receiver", receiver.name);
  gstdrm::set_text(structure, "taken", explained.taken);
  gstdrm::set_text(structure, "common", explained.common);
  gstdrm::set_text(structure, "nearest-miss", explained.miss);
  gstdrm::set_text(structure, "advice", explained.advice);
  if (sender.caps())
    gst_structure_set(structure, "sent-caps", GST_TYPE_CAPS, sender.caps(), nullptr);
  if (receiver.caps())
    gst_structure_set(structure, "taken-caps", GST_TYPE_CAPS, receiver.caps(), nullptr);
  return structure;
}

} // namespace

/**
 * gst_drm_explain_mismatch:
 * @sender: (nullable): how to call the side that sends: "camera (v4l2src)"
 * @sent: what it has: a #GValue with #GstCaps, a #GstDrmFormatSet or a #GstDrmConstraints
 * @receiver: (nullable): how to call the side that receives
 * @taken: what it takes, likewise
 * @details: (out) (optional) (transfer full) (nullable): the same as a structure, for the details
 *   of a message; %NULL where the two meet
 *
 * Explains why two sides have nothing in common: what each has, with the names of modifiers, what
 * they have in common, what the nearest miss is, and what to do. Constraints are compared with
 * gst_drm_constraints_reconcile(); beside constraints, caps and sets count as formats.
 *
 * The structure is `GstDrmMismatch` with the strings `text`, `sender`, `sent`, `receiver`, `taken`,
 * `common`, `nearest-miss` and `advice`, and for caps and sets `sent-caps` and `taken-caps`. Long
 * lists are cut in the strings, not in the caps.
 *
 * Returns: (transfer full) (nullable): the text; %NULL where the two meet, and where a #GValue
 * holds nothing or something else
 *
 * Since: 0.1
 */
gchar *gst_drm_explain_mismatch(const gchar *sender, const GValue *sent, const gchar *receiver,
                                const GValue *taken, GstStructure **details) noexcept
try {
  if (details)
    *details = nullptr;
  g_return_val_if_fail(G_IS_VALUE(sent), nullptr);
  g_return_val_if_fail(G_IS_VALUE(taken), nullptr);

  const Side from = side_of(sender, "The sender", sent);
  const Side to = side_of(receiver, "The receiver", taken);
  std::optional<Explanation> explained;
  if (from.caps() && to.caps()) {
    explained = explain_caps(from.caps(), to.caps());
  } else {
    const auto a = constraints_of(from);
    const auto b = constraints_of(to);
    if (a && b)
      explained = explain_constraints(*a, *b);
  }
  if (!explained)
    return nullptr;
  const std::string text = text_of(from, to, *explained);
  if (details)
    *details = structure_of(from, to, *explained, text);
  return gstdrm::dup_text(text);
} catch (...) {
  return gstdrm::caught(nullptr, __func__);
}
