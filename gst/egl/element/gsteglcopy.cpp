// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gsteglcopy.hpp"

#include <string>
#include <utility>

#include <gst/drm/core/format.hpp>
#include <gst/drm/element/crop.hpp>
#include <gst/drm/element/mappable_frame.hpp>
#include <gst/drm/element/mapped_frame.hpp>
#include <gst/drm/element/pixel_copy.hpp>

namespace gstdrm {

namespace {

bool names_dma_drm(GstBuffer *frame)
{
  const GstVideoMeta *meta = gst_buffer_get_video_meta(frame);
  return meta && meta->format == GST_DRM_VIDEO_FORMAT_DMA_DRM;
}

} // namespace

void CopyToGl::begin(GstGLContext *context, const GstDrmVideoInfo &in, GstCaps *out_caps,
                     guint kept_downstream)
{
  close();
  pool_.begin(context, out_caps, SyncPoints::None, kept_downstream);
  copies_ = can_copy(in) && gst_drm_video_info_to_video_info(&in, &in_) &&
            gst_video_info_from_caps(&out_, out_caps);
}

void CopyToGl::close()
{
  pool_.close();
  converter_.reset();
  copies_ = false;
}

bool CopyToGl::can_copy(const GstDrmVideoInfo &in)
{
  GstVideoInfo info;
  // an implicit modifier may stand for tiles
  return in.drm_modifier == kModLinear && gst_drm_video_info_to_video_info(&in, &info) &&
         GST_VIDEO_INFO_FORMAT(&info) != GST_VIDEO_FORMAT_UNKNOWN &&
         GST_VIDEO_INFO_FORMAT(&info) != GST_DRM_VIDEO_FORMAT_DMA_DRM &&
         GST_VIDEO_INFO_N_PLANES(&info) > 0;
}

Result<void> CopyToGl::make_converter()
{
  out_.fps_n = in_.fps_n; // the converter asks for the same
  out_.fps_d = in_.fps_d;
  out_.interlace_mode = in_.interlace_mode;
  converter_ = FrameConverter::create(in_, out_);
  if (converter_)
    return {};
  advice_ = "Ask for another format downstream.";
  return Error{ErrorCode::Unsupported,
               std::string("The CPU cannot convert ") + GST_VIDEO_INFO_NAME(&in_) + " to " +
                   GST_VIDEO_INFO_NAME(&out_),
               0};
}

Result<void> CopyToGl::fill(GstBuffer *made, GstBuffer *in)
{
  if (!converter_) {
    const Result<std::uint64_t> copied = copy_frame(made, in, out_);
    return copied ? Result<void>{} : copied.error();
  }
  MappedFrame from(in, in_, GST_MAP_READ);
  MappedFrame to(made, out_, GST_MAP_WRITE);
  if (!from)
    advice_ = "Have upstream allocate memory that the CPU can map, such as a udmabuf.";
  if (!from || !to)
    return Error{ErrorCode::Import,
                 from ? "The CPU cannot map the GL memory of a copy for writing"
                      : "The CPU cannot map the frame for reading",
                 0};
  converter_->convert(from.get(), to.get());
  return {};
}

Result<GstPtr<GstBuffer>> CopyToGl::copy(GstBuffer *in)
{
  advice_ = "";
  if (!copies_) {
    advice_ = "Ask upstream for linear frames.";
    return Error{ErrorCode::Unsupported, "The CPU can copy linear frames of a GstVideoFormat alone",
                 0};
  }
  if (const GstVideoMeta *meta = gst_buffer_get_video_meta(in))
    if (const auto checked = check_format_number(*meta); !checked)
      return checked.error();
  auto frame = names_dma_drm(in) ? with_named_format(in, in_) : GstPtr<GstBuffer>::share(in);
  if (is_padded_frame(frame.get(), in_)) {
    Result<GstPtr<GstBuffer>> picture = visible_picture(frame.get(), in_);
    if (!picture)
      return picture;
    frame = std::move(*picture);
  }
  if (Result<void> checked = check_mappable_frame(frame.get(), in_); !checked)
    return checked.error();
  if (!converter_ && GST_VIDEO_INFO_FORMAT(&in_) != GST_VIDEO_INFO_FORMAT(&out_))
    if (Result<void> converter = make_converter(); !converter)
      return converter.error();
  Result<GstPtr<GstBuffer>> made = pool_.acquire();
  if (!made || !*made)
    return made;
  if (const Result<void> filled = fill(made->get(), frame.get()); !filled)
    return filled.error();
  return made;
}

} // namespace gstdrm
