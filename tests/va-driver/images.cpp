// SPDX-License-Identifier: LGPL-2.1-or-later
// Images: pictures that the CPU sees, and the buffers that they, and pipeline parameters, lie in.
#include <algorithm>
#include <cstring>

#include "driver.hpp"

namespace gstdrm::test::vadriver {
namespace {

VAStatus query_formats(VADriverContextP context, VAImageFormat *formats, int *count)
{
  const auto &driver = Driver::of(context);
  *count = 0;
  for (const auto &format : all_formats()) {
    if (driver.has_format(format))
      formats[(*count)++] = image_format(format);
  }
  return VA_STATUS_SUCCESS;
}

VABufferID add_buffer(Driver &driver, Buffer buffer)
{
  const auto id = driver.next_id();
  driver.buffers[id] = std::move(buffer);
  return id;
}

void add_image(Driver &driver, VAImage &image, const PixelFormat &format)
{
  image.image_id = driver.next_id();
  driver.images[image.image_id] = {image, &format};
}

// Rows of 16-byte multiples, one plane after the other.
VAImage lay_out_image(const PixelFormat &format, unsigned width, unsigned height)
{
  VAImage image{};
  image.format = image_format(format);
  image.width = static_cast<std::uint16_t>(width);
  image.height = static_cast<std::uint16_t>(height);
  image.num_planes = format.n_planes;
  for (unsigned i = 0; i < format.n_planes; ++i) {
    const auto &shape = format.planes[i];
    image.pitches[i] = ((width + shape.hsub - 1) / shape.hsub * shape.bytes + 15) / 16 * 16;
    image.offsets[i] = image.data_size;
    image.data_size += image.pitches[i] * ((height + shape.vsub - 1) / shape.vsub);
  }
  return image;
}

VAStatus create_image(VADriverContextP context, VAImageFormat *wanted, int width, int height,
                      VAImage *image)
{
  auto &driver = Driver::of(context);
  const auto *format = format_by_va(wanted->fourcc);
  if (!format || !driver.has_format(*format))
    return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
  const auto limit = static_cast<int>(driver.settings.max_size);
  if (width < 1 || height < 1 || width > limit || height > limit)
    return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
  const std::lock_guard guard(driver.lock);
  *image = lay_out_image(*format, static_cast<unsigned>(width), static_cast<unsigned>(height));
  Buffer buffer;
  buffer.type = VAImageBufferType;
  buffer.data.resize(image->data_size);
  image->buf = add_buffer(driver, std::move(buffer));
  add_image(driver, *image, *format);
  return VA_STATUS_SUCCESS;
}

VAStatus derive_image(VADriverContextP context, VASurfaceID id, VAImage *image)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Derive); status != VA_STATUS_SUCCESS)
    return status;
  const auto surface = driver.surface(id);
  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  // An image is linear and lies in one piece of memory.
  if (!driver.settings.derive || surface->objects.size() != 1 ||
      surface->planes[0].layout.tiling != Tiling::Linear)
    return VA_STATUS_ERROR_OPERATION_FAILED;
  const auto &format = *surface->format;
  *image = {};
  image->format = image_format(format);
  image->width = static_cast<std::uint16_t>(surface->width);
  image->height = static_cast<std::uint16_t>(surface->height);
  image->data_size = static_cast<std::uint32_t>(surface->objects[0].mapping.size());
  image->num_planes = format.n_planes;
  for (unsigned i = 0; i < format.n_planes; ++i) {
    image->pitches[i] = surface->planes[i].layout.stride_bytes;
    image->offsets[i] = static_cast<std::uint32_t>(surface->planes[i].offset_bytes);
  }
  Buffer buffer;
  buffer.type = VAImageBufferType;
  buffer.surface = surface;
  image->buf = add_buffer(driver, std::move(buffer));
  add_image(driver, *image, format);
  return VA_STATUS_SUCCESS;
}

VAStatus destroy_image(VADriverContextP context, VAImageID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  const auto it = driver.images.find(id);
  if (it == driver.images.end())
    return VA_STATUS_ERROR_INVALID_IMAGE;
  driver.buffers.erase(it->second.va.buf);
  driver.images.erase(it);
  return VA_STATUS_SUCCESS;
}

enum class Direction { ToImage, ToSurface };

// One row of a plane, in the runs that the surface's tiling has.
void move_row(const Surface &surface, unsigned plane, std::uint32_t x_bytes, std::uint32_t y,
              std::uint8_t *row, std::uint32_t row_bytes, Direction direction)
{
  for (std::uint32_t done = 0; done < row_bytes;) {
    std::uint32_t run = 0;
    auto *bytes = surface.at(plane, x_bytes + done, y, &run);
    run = std::min(run, row_bytes - done);
    if (direction == Direction::ToImage)
      std::memcpy(row + done, bytes, run);
    else
      std::memcpy(bytes, row + done, run);
    done += run;
  }
}

void move_planes(const Surface &surface, const Image &image, std::vector<std::uint8_t> &data,
                 const Rect &surface_at, const Rect &image_at, Direction direction)
{
  const auto sx = static_cast<std::uint32_t>(surface_at.x);
  const auto sy = static_cast<std::uint32_t>(surface_at.y);
  const auto ix = static_cast<std::uint32_t>(image_at.x);
  const auto iy = static_cast<std::uint32_t>(image_at.y);
  for (unsigned i = 0; i < image.format->n_planes; ++i) {
    const auto &shape = image.format->planes[i];
    const auto row_bytes = (image_at.width + shape.hsub - 1) / shape.hsub * shape.bytes;
    const auto rows = (image_at.height + shape.vsub - 1) / shape.vsub;
    for (std::uint32_t y = 0; y < rows; ++y) {
      auto *row = data.data() + image.va.offsets[i] +
                  static_cast<std::size_t>(image.va.pitches[i]) * (iy / shape.vsub + y) +
                  ix / shape.hsub * shape.bytes;
      move_row(surface, i, sx / shape.hsub * shape.bytes, sy / shape.vsub + y, row, row_bytes,
               direction);
    }
  }
}

// `surface_at` and `image_at` are the upper left corners; sizes are clipped to both.
VAStatus move(Driver &driver, VASurfaceID surface_id, VAImageID image_id, Rect surface_at,
              Rect image_at, Direction direction)
{
  const auto surface = driver.surface(surface_id);
  const auto it = driver.images.find(image_id);
  if (!surface)
    return VA_STATUS_ERROR_INVALID_SURFACE;
  if (it == driver.images.end())
    return VA_STATUS_ERROR_INVALID_IMAGE;
  const auto &image = it->second;
  auto &buffer = driver.buffers[image.va.buf];
  if (image.format != surface->format || buffer.surface)
    return VA_STATUS_ERROR_INVALID_IMAGE_FORMAT;
  const auto sx = static_cast<std::uint32_t>(surface_at.x);
  const auto sy = static_cast<std::uint32_t>(surface_at.y);
  const auto ix = static_cast<std::uint32_t>(image_at.x);
  const auto iy = static_cast<std::uint32_t>(image_at.y);
  if (surface_at.width != image_at.width || surface_at.height != image_at.height ||
      sx + surface_at.width > surface->width || sy + surface_at.height > surface->height ||
      ix + image_at.width > image.va.width || iy + image_at.height > image.va.height)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (direction == Direction::ToSurface && driver.settings.queue_put) {
    Picture picture;
    picture.target = surface;
    picture.upload = [surface, image, data = buffer.data, surface_at, image_at]() mutable {
      move_planes(*surface, image, data, surface_at, image_at, Direction::ToSurface);
    };
    driver.submit(picture);
    return VA_STATUS_SUCCESS;
  }
  move_planes(*surface, image, buffer.data, surface_at, image_at, direction);
  return VA_STATUS_SUCCESS;
}

VAStatus get_image(VADriverContextP context, VASurfaceID surface, int x, int y, unsigned width,
                   unsigned height, VAImageID image)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Get); status != VA_STATUS_SUCCESS)
    return status;
  return move(driver, surface, image, {x, y, width, height}, {0, 0, width, height},
              Direction::ToImage);
}

VAStatus put_image(VADriverContextP context, VASurfaceID surface, VAImageID image, int src_x,
                   int src_y, unsigned src_width, unsigned src_height, int dest_x, int dest_y,
                   unsigned dest_width, unsigned dest_height)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Put); status != VA_STATUS_SUCCESS)
    return status;
  if (!driver.settings.put)
    return VA_STATUS_ERROR_OPERATION_FAILED;
  return move(driver, surface, image, {dest_x, dest_y, dest_width, dest_height},
              {src_x, src_y, src_width, src_height}, Direction::ToSurface);
}

VAStatus create_buffer(VADriverContextP context, VAContextID /*context_id*/, VABufferType type,
                       unsigned size, unsigned count, void *data, VABufferID *id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (const auto status = driver.count(Counter::Buffer); status != VA_STATUS_SUCCESS)
    return status;
  Buffer buffer;
  buffer.type = type;
  buffer.data.resize(static_cast<std::size_t>(size) * count);
  if (data && !buffer.data.empty())
    std::memcpy(buffer.data.data(), data, buffer.data.size());
  *id = add_buffer(driver, std::move(buffer));
  return VA_STATUS_SUCCESS;
}

VAStatus destroy_buffer(VADriverContextP context, VABufferID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  return driver.buffers.erase(id) == 1 ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

VAStatus map_buffer(VADriverContextP context, VABufferID id, void **data)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  const auto it = driver.buffers.find(id);
  if (it == driver.buffers.end())
    return VA_STATUS_ERROR_INVALID_BUFFER;
  auto &buffer = it->second;
  if (buffer.type == VAImageBufferType) {
    if (const auto status = driver.count(Counter::Map); status != VA_STATUS_SUCCESS)
      return status;
  }
  *data = buffer.surface ? buffer.surface->objects[0].mapping.data() : buffer.data.data();
  return VA_STATUS_SUCCESS;
}

VAStatus unmap_buffer(VADriverContextP context, VABufferID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  return driver.buffers.contains(id) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_BUFFER;
}

VAStatus set_elements(VADriverContextP /*context*/, VABufferID /*id*/, unsigned /*count*/)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

} // namespace

void install_images(VADriverVTable &vtable)
{
  vtable.vaQueryImageFormats = in_c<query_formats>;
  vtable.vaCreateImage = in_c<create_image>;
  vtable.vaDeriveImage = in_c<derive_image>;
  vtable.vaDestroyImage = in_c<destroy_image>;
  vtable.vaGetImage = in_c<get_image>;
  vtable.vaPutImage = in_c<put_image>;
  vtable.vaCreateBuffer = in_c<create_buffer>;
  vtable.vaDestroyBuffer = in_c<destroy_buffer>;
  vtable.vaMapBuffer = in_c<map_buffer>;
  vtable.vaUnmapBuffer = in_c<unmap_buffer>;
  vtable.vaBufferSetNumElements = in_c<set_elements>;
}

} // namespace gstdrm::test::vadriver
