// SPDX-License-Identifier: LGPL-2.1-or-later
#include "explain.hpp"

#include <algorithm>

#include <gst/allocators/gstdmabuf.h>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/element/caps_features.hpp>
#include <gst/drm/element/chain.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmexplain.h>

namespace gstdrm {

namespace {

// Every element's pad templates end at that size, whatever the format and the peer.
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

// The structures of `caps` whose features one of `like` has; all of them where there are none.
// Whoever sends plain video wants to know which plain formats are taken.
GstPtr<GstCaps> of_same_memory(const GstCaps *caps, const GstCaps *like)
{
  auto same = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
  for (guint i = 0; like && i < gst_caps_get_size(caps); i++)
    for (guint k = 0; k < gst_caps_get_size(like); k++)
      if (gst_caps_features_is_equal(gst_caps_get_features(caps, i),
                                     gst_caps_get_features(like, k))) {
        gst_caps_append_structure_full(same.get(),
                                       gst_structure_copy(gst_caps_get_structure(caps, i)),
                                       gst_caps_features_copy(gst_caps_get_features(caps, i)));
        break;
      }
  return gst_caps_is_empty(same.get()) ? GstPtr<GstCaps>::share(const_cast<GstCaps *>(caps)) : same;
}

std::string wants(const Restriction &one, const GstCaps *sent)
{
  return one.name + " " + one.verb + " " +
         describe_caps(of_same_memory(one.caps.get(), sent).get());
}

std::string in_parentheses(const std::string &text)
{
  return text.empty() ? "" : " (" + text + ")";
}

const GstCaps *sendable(const Sender &sender)
{
  return sender.sendable ? sender.sendable : sender.caps;
}

// What keeps the receiver from the sender. Where nothing of the sender's caps can be sent at all,
// the caps themselves are compared.
std::string miss(const Sender &sender, const GstCaps *taken)
{
  const GstCaps *sent = sendable(sender);
  return nearest_miss(sent && !gst_caps_is_empty(sent) ? sent : sender.caps, taken);
}

// What is wrong, and what to do about it, each in whole sentences.
struct Refused {
  std::string facts;
  std::string advice;
};

bool any_has(const GstCaps *caps, const char *feature)
{
  for (guint i = 0; caps && !gst_caps_is_any(caps) && i < gst_caps_get_size(caps); i++)
    if (gst_caps_features_contains(gst_caps_get_features(caps, i), feature))
      return true;
  return false;
}

// What helps whatever the element can convert, given what keeps the two sides apart. Empty where
// that depends on the element.
std::string suggest_for_any(const Sender &sender, const std::string &apart)
{
  // No element takes a field each: it could not be told from a frame of half the height.
  if (any_has(sender.caps, GST_CAPS_FEATURE_FORMAT_INTERLACED))
    return "Buffers of one field each (interlace-mode=alternate) are not taken: have upstream "
           "weave them (interlace-mode=interleaved).";
  if (apart.starts_with("framerate "))
    return "Put videorate after " + sender.name + ", or let both have one framerate.";
  if (apart.starts_with("interlace-mode ") && !any_has(sender.caps, GST_CAPS_FEATURE_MEMORY_DMABUF))
    return "Put deinterlace after " + sender.name + ", or let both have one interlace-mode.";
  return "";
}

// "sink0 (fakesink) takes DMA_DRM NV12 (width 641 against 640)." "Put …"
Refused describe_one(const Sender &sender, const Restriction &one, const Suggest &suggest)
{
  const GstCaps *caps = one.caps.get();
  const std::string apart = miss(sender, caps);
  const std::string facts = wants(one, sender.caps) + in_parentheses(apart) + ".";
  if (one.is_filter && gst_caps_is_empty(caps))
    return {facts, "Its caps are EMPTY: write those that the stream may have."};
  if (std::string mistake = one.is_filter ? mistake_in(caps) : ""; !mistake.empty())
    return {facts, std::move(mistake)};
  std::string fix = suggest_for_any(sender, apart);
  if (fix.empty())
    fix = suggest(sender.caps, caps);
  return {facts, fix + (one.is_filter ? " Or change the caps of " + one.name + "." : "")};
}

// Two receivers that nothing can please, whatever comes: a capsfilter and its sink, or two branches
// of a tee. Empty where there are none, and where none is found among the first pairs: each pair is
// two lists that are intersected string by string, 16 ms for those of real GPUs.
Refused describe_conflict(const Sender &sender, const std::vector<Restriction> &receivers)
{
  int left = 64; // pairs: all of 11 receivers
  for (const Restriction &later : receivers) {
    for (const Restriction &one : receivers) {
      if (&one == &later)
        break;
      if (left-- == 0)
        return {};
      if (caps_meet(one.caps.get(), later.caps.get()))
        continue;
      // a vendor's decoder is asked for such caps, as its manual says
      if (one.is_filter && has_implicit(one.caps.get()) && !has_implicit(later.caps.get()))
        return {wants(one, sender.caps) + ", which names no layout, and " + later.name +
                    " takes no such caps.",
                "For linear frames set implicit-modifier=linear there (modifier=linear in a "
                "dmabufrelabel), or write format=DMA_DRM and drm-format in " +
                    one.name + "."};
      const std::string facts = wants(one, sender.caps) + " and " + wants(later, sender.caps) +
                                in_parentheses(differing_field(one.caps.get(), later.caps.get())) +
                                ", which have nothing in common.";
      for (const Restriction *either : {&one, &later})
        if (std::string mistake = either->is_filter ? mistake_in(either->caps.get()) : "";
            !mistake.empty())
          return {facts, std::move(mistake)};
      return {facts,
              (one.is_filter ? "Change the caps of " + one.name : "Let both take one format") +
                  ", or put a converter (videoconvert) before " + later.name + "."};
    }
  }
  return {};
}

// Whether frames can have what is sent and what is taken at once.
bool agree(const GstCaps *sent, const GstCaps *taken)
{
  const auto both =
      GstPtr<GstCaps>::adopt(without_contradictions(made(gst_drm_caps_intersect(sent, taken))));
  return !gst_caps_is_empty(both.get());
}

// Who refuses: the receiver whose caps leave nothing of what can be sent, else the last one.
const Restriction *refusing_receiver(const Negotiation &negotiation)
{
  const std::vector<Restriction> &receivers = negotiation.receivers;
  const GstCaps *sent = sendable(negotiation.sender);
  for (const Restriction &one : receivers)
    if (gst_caps_is_empty(one.caps.get()) || (sent && !agree(sent, one.caps.get())))
      return &one;
  return receivers.empty() ? nullptr : &receivers.back();
}

std::shared_ptr<const GstStructure> details_of(const Negotiation &negotiation)
{
  const Restriction *receiver = refusing_receiver(negotiation);
  if (!receiver || !negotiation.sender.caps)
    return {};
  GValue sent = G_VALUE_INIT;
  GValue taken = G_VALUE_INIT;
  g_value_init(&sent, GST_TYPE_CAPS);
  g_value_init(&taken, GST_TYPE_CAPS);
  const GstCaps *sendable_caps = sendable(negotiation.sender);
  gst_value_set_caps(&sent,
                     gst_caps_is_empty(sendable_caps) ? negotiation.sender.caps : sendable_caps);
  gst_value_set_caps(&taken, receiver->caps.get());
  GstStructure *details = nullptr;
  g_free(gst_drm_explain_mismatch(negotiation.sender.name.c_str(), &sent, receiver->name.c_str(),
                                  &taken, &details));
  g_value_unset(&sent);
  g_value_unset(&taken);
  return std::shared_ptr<const GstStructure>(details, [](const GstStructure *structure) {
    if (structure)
      gst_structure_free(const_cast<GstStructure *>(structure));
  });
}

Refused describe_refusal(const Negotiation &negotiation, const Suggest &suggest)
{
  const Sender &sender = negotiation.sender;
  const std::vector<Restriction> &receivers = negotiation.receivers;
  if (is_too_large(sender.caps))
    return {"No frame here has more than " + std::to_string(kMaxFrameSize) +
                " pixels in a direction.",
            "Put videoscale before it."};
  if (receivers.empty())
    return {"Nothing that handles frames is linked after it.",
            "Link its source pad to a sink or a converter."};
  const GstCaps *sent = sendable(sender);
  const auto refuses = [&](const Restriction &one) { return sent && !agree(sent, one.caps.get()); };
  const auto device = std::find_if(receivers.begin(), receivers.end(), [&](const Restriction &one) {
    return !one.reason.empty() && refuses(one);
  });
  if (device != receivers.end())
    return {device->name + ": " + device->reason + ".", ""};
  const auto is_empty = [](const Restriction &one) { return gst_caps_is_empty(one.caps.get()); };
  const auto nothing = std::find_if(receivers.begin(), receivers.end(), is_empty);
  if (nothing != receivers.end())
    return describe_one(sender, *nothing, suggest);
  if (Refused conflict = describe_conflict(sender, receivers); !conflict.facts.empty())
    return conflict;
  const auto refusing = std::find_if(receivers.begin(), receivers.end(), refuses);
  return describe_one(sender, refusing != receivers.end() ? *refusing : receivers.back(), suggest);
}

} // namespace

Mismatch describe_mismatch(const Negotiation &negotiation, const Suggest &suggest)
{
  const Sender &sender = negotiation.sender;
  const std::string size = size_of(sender.caps);
  const Refused refused = describe_refusal(negotiation, suggest);
  Mismatch result;
  result.advice = refused.advice;
  result.text = negotiation.headline + " " + sender.name + " " + sender.verb + " " +
                describe_caps(sender.caps) + (size.empty() ? "" : " in " + size) + ". " +
                refused.facts + (refused.advice.empty() ? "" : " " + refused.advice);
  result.debug = "upstream " + sender.name + ": " + text_of(sender.caps);
  for (const Restriction &each : negotiation.receivers)
    result.debug += "\ndownstream " + each.name + ": " + text_of(each.caps.get());
  result.details = details_of(negotiation);
  return result;
}

std::string nothing_in_common(GstElement *element)
{
  return std::string(GST_OBJECT_NAME(element)) + " finds nothing in common.";
}

std::string advice_on(const Error &error, const std::string &sender)
{
  switch (error.code) {
  case ErrorCode::Format:
  case ErrorCode::Caps:
  case ErrorCode::Layout:
    return "Have " + sender + " send frames that fit their caps and their GstVideoMeta.";
  case ErrorCode::Import:
    return "Have " + sender + " allocate in another way, or choose another size or format.";
  case ErrorCode::Conflict:
  case ErrorCode::Unsupported:
    return "Choose another size or format with a capsfilter.";
  case ErrorCode::Allocation:
    return "Choose a smaller size, or let go of frames sooner downstream.";
  case ErrorCode::Sync:
    return "The device may hang; see the kernel log.";
  case ErrorCode::Device:
    break;
  }
  return "";
}

Failure unreadable_caps(GstPad *sink, const Error &error, const GstCaps *caps)
{
  const std::string sender = peer_name(sink);
  Failure failure({}, error);
  failure.advise("Mend the caps of " + sender + ".").add("sender", sender).add("caps", caps);
  return failure;
}

} // namespace gstdrm
