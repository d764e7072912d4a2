// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_image.hpp"

namespace gstdrm::test {

Image image_of(const GstVideoInfo &info, GstBuffer *buffer)
{
  Image image(GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
  GstVideoFrame frame;
  ck_assert(gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ));
  for (int y = 0; y < image.height; y++)
    for (int x = 0; x < image.width; x++) {
      const auto *p = static_cast<const guint8 *>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0)) +
                      y * GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0) + x * 4;
      image.at(x, y) = guint32{p[2]} << 16 | guint32{p[1]} << 8 | p[0];
    }
  gst_video_frame_unmap(&frame);
  return image;
}

Image screen_of(GstSample *sample)
{
  GstVideoInfo info;
  ck_assert(gst_video_info_from_caps(&info, gst_sample_get_caps(sample)));
  return image_of(info, gst_sample_get_buffer(sample));
}

Image on_black(int width, int height, const Image &picture, int x, int y)
{
  Image screen(width, height);
  for (int row = 0; row < picture.height; row++)
    for (int column = 0; column < picture.width; column++)
      screen.at(x + column, y + row) = picture.at(column, row);
  return screen;
}

Image cut(const Image &from, int x, int y, int width, int height)
{
  Image part(width, height);
  for (int row = 0; row < height; row++)
    for (int column = 0; column < width; column++)
      part.at(column, row) = from.at(x + column, y + row);
  return part;
}

Image mirrored(const Image &from, bool x_axis, bool y_axis)
{
  Image to(from.width, from.height);
  for (int y = 0; y < from.height; y++)
    for (int x = 0; x < from.width; x++)
      to.at(x, y) = from.at(x_axis ? from.width - 1 - x : x, y_axis ? from.height - 1 - y : y);
  return to;
}

Image turned(const Image &from, int times)
{
  Image image = from;
  for (int i = 0; i < times; i++) {
    Image next(image.height, image.width);
    for (int y = 0; y < next.height; y++)
      for (int x = 0; x < next.width; x++)
        next.at(x, y) = image.at(image.width - 1 - y, x);
    image = next;
  }
  return image;
}

Image scaled(const Image &from, int width, int height)
{
  const auto nearest = [](int i, int source, int destination) {
    return (2 * i + 1) * source / (2 * destination);
  };
  Image to(width, height);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      to.at(x, y) = from.at(nearest(x, from.width, width), nearest(y, from.height, height));
  return to;
}

void compare(const char *row, const Image &got, const Image &expected)
{
  ck_assert_msg(got.width == expected.width && got.height == expected.height,
                "%s: the screen is %dx%d, not %dx%d", row, got.width, got.height, expected.width,
                expected.height);
  for (int y = 0; y < got.height; y++)
    for (int x = 0; x < got.width; x++)
      if (got.at(x, y) != expected.at(x, y)) // each ck_assert() is a system call
        ck_abort_msg("%s at %d,%d: %06x, not %06x", row, x, y, got.at(x, y), expected.at(x, y));
}

Show::Show(const char *properties, int width, int height)
    : sink(properties), info(video_info(plain_caps("BGRx", width, height))),
      noise(make_noise(info, 7)), picture(image_of(info, noise.get()))
{
}

void Show::push()
{
  ck_assert_msg(sink.push(to_dmabuf(info, noise.get(), Shape::Tight).release()) == GST_FLOW_OK,
                "%s", sink.next_message(GST_MESSAGE_ERROR).c_str());
}

void Show::start(const char *more)
{
  ck_assert_msg(sink.set_caps(dma_drm_caps("XR24", GST_VIDEO_INFO_WIDTH(&info),
                                           GST_VIDEO_INFO_HEIGHT(&info), more)),
                "%s", sink.next_message(GST_MESSAGE_ERROR).c_str());
  push();
  push();
}

Image Show::screen(const char *row)
{
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "%s: %s", row, sink.next_message(GST_MESSAGE_WARNING).c_str());
  return screen_of(sample.get());
}

} // namespace gstdrm::test
