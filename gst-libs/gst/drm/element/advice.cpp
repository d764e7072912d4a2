// SPDX-License-Identifier: LGPL-2.1-or-later
#include "advice.hpp"

#include <gst/drm/element/chain.hpp>

namespace gstdrm {

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
