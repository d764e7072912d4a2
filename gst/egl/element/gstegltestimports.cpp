// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegltestimports.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gst/drm/core/constraints.hpp>
#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrmframe-private.hpp>

namespace gstdrm {

namespace {

// Results that are remembered; a stream may change its size with each frame.
constexpr std::size_t kMostResults = 256;

// Where the frames of test imports lie.
struct Memory {
  GstDrmAllocatorKind kind;
  std::string device;
  // A driver that refuses a frame there refuses all frames of that kind.
  bool proves;
};

// In the order in which they are tried. A device without an IOMMU takes contiguous memory alone,
// and many refuse what the CPU's pages are: that says nothing of what a camera or decoder sends. A
// software driver reads what the CPU can read.
std::vector<Memory> memories_for(Format format, const egl::Driver &driver)
{
  if (format.modifier != kModLinear)
    return {{GST_DRM_ALLOCATOR_KIND_GBM, driver.node, true}};
  std::vector<Memory> all = {{GST_DRM_ALLOCATOR_KIND_UDMABUF, "", driver.is_software},
                             {GST_DRM_ALLOCATOR_KIND_DMA_HEAP, "", driver.is_software}};
  if (!driver.is_software) {
    if (!driver.node.empty())
      all.push_back({GST_DRM_ALLOCATOR_KIND_GBM, driver.node, true});
    for (const char *heap : kContiguousHeaps)
      all.push_back({GST_DRM_ALLOCATOR_KIND_DMA_HEAP, heap, false});
  }
  all.push_back({GST_DRM_ALLOCATOR_KIND_MEMFD, "", false});
  return all;
}

// A linear frame whose rows are as tight as the alignment lets them be.
Result<egl::ScratchFrame> linear_scratch(GstDrmAllocator *allocator, Format format,
                                         std::uint32_t width, std::uint32_t height,
                                         std::uint32_t stride_align)
{
  std::uint64_t size = 0;
  Result<FrameLayout> layout =
      make_linear_layout(format.fourcc, width, height, stride_align, 1, size);
  if (!layout)
    return layout.error();
  const auto memory = std::make_shared<GstPtr<GstMemory>>(
      GstPtr<GstMemory>::adopt(gst_allocator_alloc(GST_ALLOCATOR(allocator), size, nullptr)));
  if (!*memory)
    return Error{ErrorCode::Allocation,
                 "no " + std::to_string(size) + " bytes for a test import could be allocated", 0};
  const int fd = gst_fd_memory_get_fd(memory->get());
  const Result<ObjectInfo> object = query_object(fd);
  if (!object)
    return object.error();
  layout->format = format;
  for (std::size_t i = 0; i < layout->n_planes; i++) {
    layout->planes[i].fd = fd;
    layout->planes[i].object = *object;
  }
  return egl::ScratchFrame{*layout, memory};
}

// A frame in the driver's own memory, laid out as the modifier says.
Result<egl::ScratchFrame> driver_scratch(GstDrmAllocator *allocator, Format format,
                                         std::uint32_t width, std::uint32_t height,
                                         std::uint32_t stride_align)
{
  GstVideoAlignment rows;
  gst_video_alignment_reset(&rows);
  for (guint &mask : rows.stride_align)
    mask = stride_align - 1;
  GError *error = nullptr;
  const auto buffer = std::make_shared<GstPtr<GstBuffer>>(GstPtr<GstBuffer>::adopt(
      gst_drm_allocator_alloc_frame(allocator, format.fourcc, width, height, &format.modifier, 1,
                                    stride_align > 1 ? &rows : nullptr, nullptr, &error)));
  if (!*buffer)
    return take_error(error);
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_set_format(&info, format.fourcc, format.modifier, width, height, &error))
    return take_error(error);
  const Result<FrameLayout> layout = frame_layout_of(buffer->get(), info);
  if (!layout)
    return layout.error();
  return egl::ScratchFrame{*layout, buffer};
}

egl::Probe import_in(const std::shared_ptr<GlThread> &thread, const TestImports::Frame &frame,
                     GstDrmAllocator *allocator)
{
  const bool from_driver = gst_drm_allocator_get_kind(allocator) == GST_DRM_ALLOCATOR_KIND_GBM;
  const egl::MakeScratch make = [&](Format pair, std::uint32_t w, std::uint32_t h,
                                    std::uint32_t stride_align) {
    return from_driver ? driver_scratch(allocator, pair, w, h, stride_align)
                       : linear_scratch(allocator, pair, w, h, stride_align);
  };
  egl::Probe probe;
  const Result<void> ran = thread->run([&](egl::Device &) -> Result<void> {
    probe = egl::probe_import(thread->device(), frame.format, frame.width, frame.height,
                              frame.shape, make, frame.hints, frame.target);
    return {};
  });
  if (!ran) { // what was tried on a context that is lost says nothing of the format
    probe = {};
    probe.reason = ran.error().message;
  }
  return probe;
}

egl::Probe test_import(const std::shared_ptr<GlThread> &thread, const TestImports::Frame &frame)
{
  egl::Probe none; // the result if no memory proves anything
  if (frame.format.modifier == kModImplicit) {
    none.reason = "what an implicit modifier stands for is known to whoever allocates";
    return none;
  }
  bool tried = false;
  for (const Memory &memory : memories_for(frame.format, thread->device()->driver())) {
    if (tried && memory.kind == GST_DRM_ALLOCATOR_KIND_MEMFD)
      break; // shared memory is for machines without any other
    g_autoptr(GError) error = nullptr;
    const auto allocator = GstPtr<GstDrmAllocator>::adopt(gst_drm_allocator_new(
        memory.kind, memory.device.empty() ? nullptr : memory.device.c_str(), &error));
    if (!allocator) {
      if (none.reason.empty())
        none.reason = error->message;
      continue;
    }
    const egl::Probe probe = import_in(thread, frame, allocator.get());
    if (probe.outcome == egl::Probe::Outcome::Taken ||
        (probe.outcome == egl::Probe::Outcome::Refused && memory.proves))
      return probe;
    if (!std::exchange(tried, true) || none.reason.empty())
      none.reason = probe.reason;
  }
  return none;
}

} // namespace

egl::Probe TestImports::run(const std::shared_ptr<GlThread> &thread, const Frame &frame)
{
  if (thread_.lock() != thread || results_.size() >= kMostResults)
    results_.clear();
  thread_ = thread;
  if (const auto known = results_.find(frame); known != results_.end())
    return known->second;
  const egl::Probe result = test_import(thread, frame);
  // the next time there may be memory, or a descriptor
  if (result.outcome != egl::Probe::Outcome::NotTried)
    results_.emplace(frame, result);
  return result;
}

void TestImports::forget()
{
  results_.clear();
  thread_.reset();
}

} // namespace gstdrm
