// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes surfaces with one modifier of a list, and exports them as DMA buffers; imports DMA buffers
// of other devices as surfaces. A driver's description of an export is checked before it is used.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include <va/va_drmcommon.h>

#include <gst/drm/core/allocated_frame.hpp>
#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/job_worker.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "va_formats.hpp"
#include "va_objects.hpp"

namespace gstdrm::va {

// The description with which a driver imports DMA buffers: VADRMPRIMESurfaceDescriptor with a
// modifier, or the older VASurfaceAttribExternalBuffers without one.
enum class ImportBy { Prime2, Prime };

// The layout requested from drivers that take no list of modifiers.
enum class Tiling { Any, None };

// `modifiers` are all that the consumers take; the driver chooses one. An empty list leaves the
// modifier to the driver, which is asked for a linear layout with Tiling::None: va.h's external
// buffer descriptor, without tiling.
Result<Surface> create_surface(const std::shared_ptr<Display> &display, const PixelFormat &format,
                               std::uint32_t width, std::uint32_t height,
                               std::span<const std::uint64_t> modifiers,
                               Tiling tiling = Tiling::Any);

// Exports as one composed layer, or as separate layers if the driver cannot compose.
Result<AllocatedFrame> export_surface(const Surface &surface, const PixelFormat &format,
                                      std::uint32_t width, std::uint32_t height,
                                      std::span<const std::uint64_t> modifiers);

// Checks the driver's `descriptor` against the other arguments, the request. Takes ownership of the
// file descriptors in `descriptor`, on failure too, and closes each once.
Result<AllocatedFrame> read_descriptor(const VADRMPRIMESurfaceDescriptor &descriptor,
                                       const PixelFormat &format, std::uint32_t width,
                                       std::uint32_t height,
                                       std::span<const std::uint64_t> modifiers);

// The layout of an exported frame, with borrowed descriptors. `objects` describes the dma-bufs in
// the same order; the second function queries them.
FrameLayout layout_of(const AllocatedFrame &frame, std::span<const ObjectInfo> objects);
Result<FrameLayout> layout_of(const AllocatedFrame &frame);

// Makes a surface in the memory of a frame whose layout has passed check_layout(). The caller keeps
// its descriptors: drivers duplicate them or take a handle. ErrorCode::Import if the driver refuses
// the frame.
Result<Surface> import_surface(const std::shared_ptr<Display> &display, ImportBy way,
                               const FrameLayout &layout);

// Time limit of the device for one picture. Drivers reset a GPU that hangs within about ten
// seconds; a viewer notices earlier.
inline constexpr std::chrono::milliseconds kDeviceLimit{5000};
// vaSyncSurface2: blocks until the device has finished drawing into the surface. ErrorCode::Sync
// after kDeviceLimit. Drivers that have only vaSyncSurface block without a limit.
Result<void> sync_surface(const Surface &surface);
// vaQuerySurfaceStatus: returns true while the device draws into the surface. Does not block.
Result<bool> is_rendering(const Surface &surface);

// A drawing that SyncWorker waits for.
struct SyncJob {
  std::shared_ptr<Surface> surface; // the target
  UniqueFd fence;                   // of the drawing; empty to wait in vaSyncSurface
  std::shared_ptr<const void> read; // what the device reads; released after the drawing
};

// A thread that waits for drawings.
class SyncWorker : public JobWorker<SyncJob> {
public:
  SyncWorker();
};

} // namespace gstdrm::va
