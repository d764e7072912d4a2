// SPDX-License-Identifier: LGPL-2.1-or-later
// Test imports at the negotiated size, in memory of the element's own.
#include <string>
#include <utility>

#include <gst/drm/drm.h>
#include <gst/drm/element/errors.hpp>
#include <gst/drm/gstdrmframe-private.hpp>

#include "gstegldmabufupload.hpp"
#include "gstegluploader.hpp"

#define GST_CAT_DEFAULT gst_egl_dmabuf_upload_debug

namespace gstdrm {

namespace {

// Proofs that are remembered; a stream may change its size with each frame.
constexpr std::size_t kMostProofs = 256;

using Allocator = GstPtr<GstDrmAllocator>;

Result<Allocator> open_allocator(GstDrmAllocatorKind kind, const char *device)
{
  GError *error = nullptr;
  auto allocator = Allocator::adopt(gst_drm_allocator_new(kind, device, &error));
  if (!allocator)
    return take_error(error);
  return allocator;
}

// Memory that a device can import, byte by byte; else shared memory, which a real device refuses.
Result<Allocator> open_byte_allocator()
{
  for (const auto kind : {GST_DRM_ALLOCATOR_KIND_UDMABUF, GST_DRM_ALLOCATOR_KIND_DMA_HEAP})
    if (Result<Allocator> opened = open_allocator(kind, nullptr))
      return opened;
  return open_allocator(GST_DRM_ALLOCATOR_KIND_MEMFD, nullptr);
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
  GstMemory *memory = gst_allocator_alloc(GST_ALLOCATOR(allocator), size, nullptr);
  const std::shared_ptr<const void> kept(static_cast<const void *>(memory), [memory](const void *) {
    if (memory)
      gst_memory_unref(memory);
  });
  if (!memory)
    return Error{ErrorCode::Allocation,
                 "no " + std::to_string(size) + " bytes for a test import could be allocated", 0};
  const int fd = gst_fd_memory_get_fd(memory);
  const Result<ObjectInfo> object = query_object(fd);
  if (!object)
    return object.error();
  layout->format = format;
  for (std::size_t i = 0; i < layout->n_planes; i++) {
    layout->planes[i].fd = fd;
    layout->planes[i].object = *object;
  }
  return egl::ScratchFrame{*layout, kept};
}

// A frame in the driver's own memory, laid out as the modifier says.
Result<egl::ScratchFrame> tiled_scratch(GstDrmAllocator *allocator, Format format,
                                        std::uint32_t width, std::uint32_t height)
{
  GError *error = nullptr;
  GstBuffer *buffer = gst_drm_allocator_alloc_frame(allocator, format.fourcc, width, height,
                                                    &format.modifier, 1, nullptr, nullptr, &error);
  if (!buffer)
    return take_error(error);
  const std::shared_ptr<const void> kept(static_cast<const void *>(buffer),
                                         [buffer](const void *) { gst_buffer_unref(buffer); });
  GstDrmVideoInfo info;
  if (!gst_drm_video_info_set_format(&info, format.fourcc, format.modifier, width, height, &error))
    return take_error(error);
  const Result<FrameLayout> layout = frame_layout_of(buffer, info);
  if (!layout)
    return layout.error();
  return egl::ScratchFrame{*layout, kept};
}

} // namespace

egl::Probe EglUploader::probe(const std::shared_ptr<GlThread> &thread, const ProofKey &key)
{
  const auto &[format, width, height, shape] = key;
  egl::Probe probe;
  if (format.modifier == kModImplicit) {
    probe.reason = "what an implicit modifier stands for is known to whoever allocates";
    return probe;
  }
  const bool linear = format.modifier == kModLinear;
  const std::string &node = thread->device()->driver().node;
  const Result<Allocator> allocator =
      linear ? open_byte_allocator()
             : open_allocator(GST_DRM_ALLOCATOR_KIND_GBM, node.empty() ? nullptr : node.c_str());
  if (!allocator) {
    probe.reason = allocator.error().message;
    return probe;
  }
  const egl::MakeScratch make = [&](Format pair, std::uint32_t w, std::uint32_t h,
                                    std::uint32_t stride_align) {
    return linear ? linear_scratch(allocator->get(), pair, w, h, stride_align)
                  : tiled_scratch(allocator->get(), pair, w, h);
  };
  const Result<void> ran = thread->run([&](egl::Device &) -> Result<void> {
    probe = egl::probe_import(thread->device(), format, width, height, shape, make);
    return {};
  });
  if (!ran) { // what was tried on a context that is lost says nothing of the format
    probe = {};
    probe.reason = ran.error().message;
  }
  // that a device refuses shared memory says nothing of its formats
  if (probe.outcome == egl::Probe::Outcome::Refused &&
      gst_drm_allocator_get_kind(allocator->get()) == GST_DRM_ALLOCATOR_KIND_MEMFD)
    probe.outcome = egl::Probe::Outcome::NotTried;
  return probe;
}

// Whether frames of this size can be imported so. What is refused leaves the offer.
bool EglUploader::prove(const GstDrmVideoInfo &in, const TextureForm &form)
{
  const std::shared_ptr<GlThread> thread = offer_.thread();
  if (!thread || !settings().prove)
    return true;
  if (proved_thread_ != thread || proofs_.size() >= kMostProofs)
    proofs_.clear();
  proved_thread_ = thread;
  const ProofKey key{{in.drm_fourcc, in.drm_modifier},
                     static_cast<std::uint32_t>(in.vinfo.width),
                     static_cast<std::uint32_t>(in.vinfo.height),
                     form.shape};
  auto known = proofs_.find(key);
  if (known == proofs_.end())
    known = proofs_.emplace(key, probe(thread, key)).first;
  const egl::Probe &probe = known->second;
  if (probe.outcome != egl::Probe::Outcome::Refused) {
    stride_align_ = probe.stride_align;
    GST_DEBUG_OBJECT(element_, "%s, rows of a multiple of %u bytes%s%s",
                     describe_format(std::get<Format>(key)).c_str(), probe.stride_align,
                     probe.reason.empty() ? "" : "; not proved: ", probe.reason.c_str());
    return true;
  }
  refusal_ = thread->device()->driver().describe() + " lists " +
             describe_format(std::get<Format>(key)) + ", but refused a test import of " +
             std::to_string(in.vinfo.width) + "x" + std::to_string(in.vinfo.height) + ": " +
             probe.reason + ".";
  GST_WARNING_OBJECT(element_, "%s", refusal_.c_str());
  if (offer_.refuse(form.shape,
                    {std::get<Format>(key), std::get<1>(key), std::get<2>(key), probe.reason}))
    offer_changed();
  return false;
}

} // namespace gstdrm
