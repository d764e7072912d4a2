// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstvafailures.hpp"

#include <gst/drm/core/descriptors.hpp>
#include <gst/drm/element/advice.hpp>

#include "gstvadmabufpool.hpp"

namespace gstdrm::va {

void post_no_device(GstElement *element, const Error &error, const std::string &node)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ_WRITE},
                  std::string(GST_OBJECT_NAME(element)) + " has no VA-API device", error);
  failure.advise("Install the VA-API driver of the GPU, name it with LIBVA_DRIVER_NAME, or set the "
                 "device property to a render node that has one.");
  if (!node.empty())
    failure.add_property("device", node).add("device", node);
  post_failure(element, failure);
}

std::string advice_on_frame(const Error &error, const Device *device, const std::string &sender)
{
  const bool said = error.code == ErrorCode::Device ? device && device->display->has_gone()
                                                    : error.code == ErrorCode::Unsupported;
  if (said) // by the error's own sentence
    return "";
  if (error.code == ErrorCode::Device)
    return "See the kernel log, and start the pipeline again.";
  return sender.empty() ? "Choose another size, another format, or another device."
                        : advice_on(error, sender);
}

void post_not_allocated(GstElement *element, const Display &display, const Error &refusals,
                        const GstCaps *caps)
{
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element)) + " could allocate no surface on " +
                      display.node() + " in any format that downstream takes",
                  refusals);
  failure.advise("Try another size, or limit the formats with a capsfilter.");
  post_failure(element, failure.add("device", display.node()).add("caps", caps));
}

namespace {

// The pool only logs its error; allocating once more gives a GError. `lack` is that of the pool.
Error reason_without_pool(GstDrmAllocator *allocator, const GstDrmVideoInfo &info,
                          const GstCaps *caps, int lack)
{
  GError *error = nullptr;
  const auto frame = GstPtr<GstBuffer>::adopt(gst_drm_allocator_alloc_frame(
      allocator, info.drm_fourcc, static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo)),
      static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo)), &info.drm_modifier, 1, nullptr,
      nullptr, &error));
  Error why{ErrorCode::Allocation, "the driver gives one, but not two at once", 0};
  if (error)
    why = take_error(error);
  else if (lack != 0)
    why.message += text_of_lack(lack);
  else if (!gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:DMABuf"))
    why.message =
        "the driver's strides or offsets are not GStreamer's defaults, and downstream does not "
        "take GstVideoMeta, which says where the planes are";
  why.sys_errno = lack;
  return why;
}

} // namespace

void post_no_pool(GstElement *element, GstDrmAllocator *allocator, const Display &display,
                  const GstDrmVideoInfo &info, const GstCaps *caps, const Error &why)
{
  const auto width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info.vinfo));
  const auto height = static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info.vinfo));
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element)) + " has no surfaces on " + display.node() +
                      " for frames of " + std::to_string(width) + "x" + std::to_string(height) +
                      " (at least " + std::to_string(kFewestSurfaces) + " are needed)",
                  why.message.empty() ? reason_without_pool(allocator, info, caps, why.sys_errno)
                                      : why);
  failure.advise("Lower the size, close what else uses the device, or put an element between that "
                 "converts.");
  post_failure(element, failure.add("device", display.node()).add("caps", caps));
}

} // namespace gstdrm::va
