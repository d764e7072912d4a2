// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_vpp.hpp"

namespace gstdrm::va {

VARectangle rectangle(const Rect &rect)
{
  return {static_cast<std::int16_t>(rect.x), static_cast<std::int16_t>(rect.y),
          static_cast<std::uint16_t>(rect.width), static_cast<std::uint16_t>(rect.height)};
}

VAProcColorStandardType standard_of(Matrix matrix)
{
  switch (matrix) {
  case Matrix::Bt709:
    return VAProcColorStandardBT709;
  case Matrix::Bt2020:
    return VAProcColorStandardBT2020;
  case Matrix::Bt601:
    break;
  }
  return VAProcColorStandardBT601;
}

Result<VideoContext> open_video_processing(const std::shared_ptr<Display> &display)
{
  VAConfigID config_id = VA_INVALID_ID;
  VAStatus status = vaCreateConfig(display->count(), VAProfileNone, VAEntrypointVideoProc, nullptr,
                                   0, &config_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateConfig for video processing", status);
  VideoContext made;
  made.config = Config(display, config_id);
  VAContextID context_id = VA_INVALID_ID;
  status = vaCreateContext(display->count(), config_id, 0, 0, 0, nullptr, 0, &context_id);
  if (status != VA_STATUS_SUCCESS)
    return display->error(ErrorCode::Device, "vaCreateContext for video processing", status);
  made.context = Context(display, context_id);
  return made;
}

Result<void> draw_picture(const Context &context, const Surface &target, std::span<VABufferID> ids)
{
  auto &display = context.display();
  VAStatus status = vaBeginPicture(display.count(), context.id(), target.id());
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaBeginPicture", status);
  const VAStatus rendered =
      vaRenderPicture(display.count(), context.id(), ids.data(), static_cast<int>(ids.size()));
  // After a failure too, or the context would still be between vaBeginPicture() and vaEndPicture().
  status = vaEndPicture(display.count(), context.id());
  if (rendered != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaRenderPicture", rendered);
  if (status != VA_STATUS_SUCCESS)
    return display.error(ErrorCode::Device, "vaEndPicture", status);
  return {};
}

} // namespace gstdrm::va
