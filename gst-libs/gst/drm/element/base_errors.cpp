// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base_errors.hpp"

#include "chain.hpp"

namespace gstdrm {

namespace {

bool is_error_of(GstElement *element, GstMessage *message)
{
  return GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR &&
         GST_MESSAGE_SRC(message) == GST_OBJECT_CAST(element);
}

const GstStructure *details_of(GstMessage *message)
{
  const GstStructure *details = nullptr;
  gst_message_parse_error_details(message, &details);
  return details;
}

} // namespace

bool is_own_error(GstElement *element, GstMessage *message)
{
  if (!is_error_of(element, message))
    return false;
  const GstStructure *details = details_of(message);
  return details && gst_structure_has_field(details, "text");
}

std::optional<BaseError> base_error_in(GstElement *element, GstMessage *message)
{
  if (!is_error_of(element, message) || is_own_error(element, message))
    return std::nullopt;
  g_autoptr(GError) error = nullptr;
  g_autofree gchar *debug = nullptr;
  gst_message_parse_error(message, &error, &debug);
  BaseError found{{error->domain, error->code}, error->message, debug ? debug : ""};
  // GST_ELEMENT_FLOW_ERROR() of gstelement.h
  gint flow = GST_FLOW_OK;
  if (const GstStructure *details = details_of(message))
    gst_structure_get_int(details, "flow-return", &flow);
  found.flow = static_cast<GstFlowReturn>(flow);
  return found;
}

Failure stopped_stream(GstElement *element, GstPad *src, GstFlowReturn flow)
{
  const bool linked = flow != GST_FLOW_NOT_LINKED;
  const std::string receiver = peer_name(src);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(src));
  Failure failure(
      {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED}, std::string(GST_OBJECT_NAME(element)) + " stops",
      Error{ErrorCode::Unsupported,
            linked ? receiver + " takes no more frames (" + gst_flow_get_name(flow) + ")"
                   : "nothing that takes frames is linked to it",
            0});
  failure.advise(linked ? "The first error message of the pipeline says why. Where there is no "
                          "other, an element downstream does not take the caps of the stream."
                        : "Link its source pad to an element that takes video.");
  failure.add("receiver", receiver).add("caps", caps.get());
  return failure;
}

} // namespace gstdrm
