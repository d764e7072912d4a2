// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes surfaces with one modifier of a list, and exports them as DMA buffers. A driver's
// description of an export is checked before it is used.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>

#include <va/va_drmcommon.h>

#include <gst/drm/core/allocated_frame.hpp>
#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "va_formats.hpp"
#include "va_objects.hpp"

namespace gstdrm::va {

// What is asked of drivers that take no list of modifiers.
enum class Tiling { Any, None };

// `modifiers` are all that the consumers take; the driver chooses one. An empty list leaves the
// modifier to the driver, which is asked for a linear layout with Tiling::None: va.h's external
// buffer descriptor, without tiling.
Result<Surface> create_surface(const std::shared_ptr<Display> &display, const PixelFormat &format,
                               std::uint32_t width, std::uint32_t height,
                               std::span<const std::uint64_t> modifiers,
                               Tiling tiling = Tiling::Any);

// Exports as one composed layer, or as separate layers where the driver cannot do that.
Result<AllocatedFrame> export_surface(const Surface &surface, const PixelFormat &format,
                                      std::uint32_t width, std::uint32_t height,
                                      std::span<const std::uint64_t> modifiers);

// Checks the driver's answer, `descriptor`, against the other arguments, which say what was asked
// for. Takes ownership of the file descriptors in `descriptor`, on failure too, and closes each
// once.
Result<AllocatedFrame> read_descriptor(const VADRMPRIMESurfaceDescriptor &descriptor,
                                       const PixelFormat &format, std::uint32_t width,
                                       std::uint32_t height,
                                       std::span<const std::uint64_t> modifiers);

// The layout of a frame that was exported, with borrowed descriptors. `objects` are what its
// descriptors refer to, in the same order; without them, the descriptors are asked.
FrameLayout layout_of(const AllocatedFrame &frame, std::span<const ObjectInfo> objects);
Result<FrameLayout> layout_of(const AllocatedFrame &frame);

// How long the device may take for one picture. A GPU that hangs is reset by its driver within
// about ten seconds; what takes longer than this is lost for the viewer.
inline constexpr std::chrono::milliseconds kDeviceLimit{5000};
// vaSyncSurface2: blocks until the device has finished drawing into the surface, for kDeviceLimit
// at most; ErrorCode::Sync after that. With a driver that has only vaSyncSurface, without a limit.
Result<void> sync_surface(const Surface &surface);
// vaQuerySurfaceStatus: whether the device still draws into the surface. Does not block.
Result<bool> is_rendering(const Surface &surface);

} // namespace gstdrm::va
