// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmpassthrough.hpp"

#include <utility>

#include <gst/drm/element/chain.hpp>
#include <gst/drm/element/transform_query.hpp>

namespace gstdrm {

void PassedCaps::watch()
{
  failed_.watch(element_->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
  failed_.watch_caps(element_->sinkpad);
}

bool PassedCaps::take(GstEvent *event, const GstBaseTransformClass *base)
{
  return failed_.take(
      GST_ELEMENT(element_), event,
      [&](GstEvent *passed) { return base->sink_event(element_, passed) != FALSE; },
      [this](const GstCaps *caps) { return mismatch(caps); });
}

Mismatch PassedCaps::mismatch(const GstCaps *caps) const
{
  const auto own = GstPtr<GstCaps>::adopt(gst_pad_get_pad_template_caps(element_->sinkpad));
  std::vector<Restriction> receivers = restrictions_after(element_->srcpad);
  if (!caps_meet(own.get(), caps))
    receivers.insert(receivers.begin(), {GST_OBJECT_NAME(element_), "takes", own, false});
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin_name(element_->sinkpad), "has", caps},
                            std::move(receivers)},
                           [](const GstCaps *, const GstCaps *) {
                             return "Put a converter between them (videoconvert for plain video, "
                                    "vadmabufconvert for DMA buffers).";
                           });
}

std::optional<gboolean> pass_query(GstBaseTransform *trans, GstPadDirection direction,
                                   GstQuery *query) noexcept
{
  GstPad *pad = direction == GST_PAD_SINK ? trans->sinkpad : trans->srcpad;
  if (answer_in_null(GST_ELEMENT(trans), pad, query))
    return TRUE;
  GstCaps *caps = nullptr;
  switch (GST_QUERY_TYPE(query)) {
  case GST_QUERY_CAPS:
    return answer_without_filter(direction, query, [=](GstQuery *whole) {
      return gst_pad_proxy_query_caps(pad, whole) != FALSE;
    });
  case GST_QUERY_ACCEPT_CAPS:
    gst_query_parse_accept_caps(query, &caps);
    if (caps && !gst_caps_is_any(caps) && gst_caps_is_fixed(caps))
      return std::nullopt;
    gst_query_set_accept_caps_result(query, FALSE);
    return TRUE;
  default:
    return std::nullopt;
  }
}

Result<void> make_writable(GstPtr<GstBuffer> &buffer)
{
  if (gst_buffer_is_writable(buffer.get()))
    return {};
  auto copy = GstPtr<GstBuffer>::adopt(gst_buffer_copy(buffer.get()));
  const guint n_memories = gst_buffer_n_memory(buffer.get());
  bool shared = copy && gst_buffer_n_memory(copy.get()) == n_memories;
  for (guint i = 0; shared && i < n_memories; i++)
    shared = gst_buffer_peek_memory(copy.get(), i) == gst_buffer_peek_memory(buffer.get(), i);
  if (!shared)
    return Error{
        ErrorCode::Unsupported,
        "Another element holds the frame, and its memory cannot be shared. Put the element "
        "before the tee.",
        0};
  gst_buffer_add_parent_buffer_meta(copy.get(), buffer.get());
  buffer = std::move(copy);
  return {};
}

} // namespace gstdrm
