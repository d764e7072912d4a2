// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws a pattern into surfaces. Video processing composes it from pictures that are uploaded once,
// with VA objects that are made once: three calls for all pieces of a frame, or for each piece with
// drivers that use one parameter buffer per picture. Without video processing the CPU writes it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <gst/drm/core/result.hpp>

#include "va_device.hpp"
#include "va_image.hpp"
#include "va_patterns.hpp"
#include "va_vpp.hpp"

namespace gstdrm::va {

struct RenderRequest {
  Pattern pattern{};
  std::uint32_t fourcc = 0; // of the frames
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t argb = 0; // of Pattern::Solid
  Colours colours;        // of YUV
};

class Renderer {
public:
  static Result<std::unique_ptr<Renderer>> create(const Device &device,
                                                  const RenderRequest &request);
  // Returns the bytes that the CPU wrote: 0 with video processing, which still draws after the
  // return.
  Result<std::uint64_t> render(const Surface &target, std::uint64_t frame,
                               std::uint64_t timestamp_ns);
  [[nodiscard]] bool uses_cpu() const { return sources_.empty(); }

private:
  Renderer(const std::shared_ptr<Display> &display, const RenderRequest &request, Plan plan)
      : display_(display), request_(request), plan_(std::move(plan)), uploader_(display)
  {
  }
  Result<void> prepare_device();
  Result<void> prepare_cpu();
  Result<Surface> upload(const Picture &picture);
  Result<void> add_piece(std::size_t index);
  Result<void> compose(const Surface &target);

  std::shared_ptr<Display> display_;
  RenderRequest request_;
  Plan plan_;
  Uploader uploader_;
  std::vector<Surface> sources_; // one per picture; empty if the CPU draws
  VideoContext context_;
  // Of each piece. The parameter buffers point to the rectangles, so these vectors are never
  // reallocated. Drivers read the rectangles in vaRenderPicture, or, as i965 does, in vaEndPicture.
  std::vector<VARectangle> from_, to_;
  std::vector<Buffer> buffers_;
  std::vector<VABufferID> ids_;
  Picture canvas_; // where the CPU draws
};

} // namespace gstdrm::va
