// SPDX-License-Identifier: LGPL-2.1-or-later
#include "in_place_frames.hpp"

#include <string>
#include <utility>

#include "errors.hpp"
#include "explain.hpp"
#include "frame_import.hpp"
#include "frame_wait.hpp"

namespace gstdrm {
namespace {

// gst_video_frame_map() refuses a frame whose GstVideoMeta names the pseudo-format of DMA_DRM, as
// producers of GStreamer 1.24 do. While this lives, the meta names the real format. Nobody else
// holds the buffer.
class NamedFormat {
public:
  NamedFormat(GstBuffer *frame, const GstVideoInfo &info)
      : meta_(gst_buffer_get_video_meta(frame)),
        before_(meta_ ? meta_->format : GST_VIDEO_FORMAT_UNKNOWN)
  {
    if (meta_)
      meta_->format = GST_VIDEO_INFO_FORMAT(&info);
  }
  NamedFormat(const NamedFormat &) = delete;
  NamedFormat &operator=(const NamedFormat &) = delete;
  ~NamedFormat()
  {
    if (meta_)
      meta_->format = before_;
  }

private:
  GstVideoMeta *const meta_;
  const GstVideoFormat before_;
};

} // namespace

InPlaceFrames::InPlaceFrames(GstBaseTransform *element, std::unique_ptr<InPlaceFilter> filter,
                             const char *suggestion)
    : element_(element), filter_(std::move(filter)), suggestion_(suggestion),
      copier_(element, [this] { return failure_.claim(); })
{
  failure_.watch(element->sinkpad, [this](const GstCaps *filter) { return mismatch(filter); });
}

Mismatch InPlaceFrames::mismatch(const GstCaps *caps) const
{
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin_name(element_->sinkpad), "has", caps},
                            restrictions_after(element_->srcpad)},
                           [this](const GstCaps *, const GstCaps *) { return suggestion_; });
}

void InPlaceFrames::start()
{
  stats_.reset();
  failure_.reset();
  interrupt_.clear();
}

void InPlaceFrames::stop()
{
  copier_.set_caps(nullptr);
}

bool InPlaceFrames::sink_event(GstEvent *event, const std::function<bool(GstEvent *)> &pass_on)
{
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START)
    end_waits();
  else if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    interrupt_.clear();
    failure_.reset(); // the application tries again
  }
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS)
    return pass_on(event);
  return failure_.take(GST_ELEMENT(element_), event, pass_on,
                       [this](const GstCaps *caps) { return mismatch(caps); });
}

bool InPlaceFrames::set_caps(GstCaps *caps, GstCaps *)
{
  copier_.set_caps(caps);
  GError *error = nullptr;
  if (!gst_drm_video_info_from_caps_full(&info_, caps, &error))
    return fail(take_error(error)) == GST_FLOW_OK;
  const Result<void> taken = filter_->take_caps(info_);
  return taken || fail(taken.error()) == GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::make_writable(GstBuffer *input, GstBuffer **output)
{
  // The layout comes from another element: it is checked before a pixel is touched.
  const auto layout = frame_layout_of(input, info_);
  if (!layout)
    return fail_frame(layout.error(), "Upstream breaks its own caps.");
  const Result<Waited> waited = wait_for_device(GST_ELEMENT(element_), input, stats_, interrupt_);
  if (!waited)
    return fail_frame(waited.error(), "The device may hang; see the kernel log.");
  if (*waited == Waited::Interrupted)
    return GST_FLOW_FLUSHING;
  if (!gst_buffer_is_writable(input) || !gst_buffer_is_all_memory_writable(input))
    return copy(input, output);
  *output = input;
  return GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::process(GstBuffer *frame)
{
  const Result<void> processed = [&] {
    const NamedFormat named(frame, info_.vinfo);
    return filter_->process(frame, info_);
  }();
  if (!processed)
    return fail(processed.error());
  failure_.succeed();
  stats_.frames++;
  return GST_FLOW_OK;
}

GstFlowReturn InPlaceFrames::fail(const Error &error)
{
  failure_.post(GST_ELEMENT(element_), error);
  return GST_FLOW_ERROR;
}

GstFlowReturn InPlaceFrames::fail_frame(const Error &error, const char *advice)
{
  const std::string sender = peer_name(element_->sinkpad);
  const auto caps = GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(element_->sinkpad));
  Failure failure(std::string(GST_OBJECT_NAME(element_)) + " cannot take a frame of " + sender,
                  error);
  failure_.post(GST_ELEMENT(element_),
                failure.advise(advice).add("sender", sender).add("caps", caps.get()));
  return GST_FLOW_ERROR;
}

GstFlowReturn InPlaceFrames::copy(GstBuffer *input, GstBuffer **output)
{
  if (zero_copy_ == ZeroCopy::Require)
    return fail({ErrorCode::Unsupported,
                 "zero-copy=require forbids to copy a frame that another element holds too. Put "
                 "this element before the tee, or set zero-copy=prefer.",
                 0});
  auto copied = copier_.copy(input, info_.vinfo);
  if (!copied)
    return fail(copied.error());
  stats_.count_copy(GST_ELEMENT(element_), info_.vinfo.size, "another element holds the frame");
  *output = copied->release();
  return GST_FLOW_OK;
}

} // namespace gstdrm
