// SPDX-License-Identifier: LGPL-2.1-or-later
// A surface: dma-bufs and where its planes lie in them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <va/va.h>
#include <va/va_drmcommon.h>

#include "formats.hpp"
#include "memory.hpp"
#include "settings.hpp"
#include "tiling.hpp"

namespace gstdrm::test::vadriver {

struct Plane {
  unsigned object = 0;
  std::uint64_t offset_bytes = 0;
  TiledPlane layout;
};

struct Surface {
  const PixelFormat *format = nullptr;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint64_t modifier = 0;
  std::vector<Object> objects;
  std::array<Plane, 3> planes{};
  bool listed = false;              // made with a list of modifiers
  std::atomic<unsigned> pending{0}; // pictures that are not done

  // Address of byte `x_bytes` of row `y` of a plane; `run_bytes` gets how many bytes follow it.
  [[nodiscard]] std::uint8_t *at(unsigned plane, std::uint32_t x_bytes, std::uint32_t y,
                                 std::uint32_t *run_bytes = nullptr) const
  {
    const auto &p = planes[plane];
    const auto run = tiled_run(p.layout, x_bytes, y);
    if (run_bytes)
      *run_bytes = run.length_bytes;
    return objects[p.object].mapping.data() + p.offset_bytes + run.offset_bytes;
  }
};

// The first of the driver's preferences that is in `allowed` and that this format can have. Where
// `allowed` is empty, what the driver makes by itself of that many rows.
std::optional<std::uint64_t> choose_modifier(const Settings &settings, const PixelFormat &format,
                                             std::uint32_t height,
                                             std::span<const std::uint64_t> allowed);
bool can_lay_out(const PixelFormat &format, std::uint64_t modifier);

std::shared_ptr<Surface> allocate_surface(const Settings &settings, const PixelFormat &format,
                                          std::uint32_t width, std::uint32_t height,
                                          std::uint64_t modifier);
// nullptr for a descriptor that does not fit the format or its objects.
std::shared_ptr<Surface> import_surface(const VADRMPRIMESurfaceDescriptor &descriptor,
                                        std::uint32_t width, std::uint32_t height);
// What vaExportSurfaceHandle answers, true to the surface; the descriptors belong to the caller.
VAStatus export_surface(const Surface &surface, bool composed,
                        VADRMPRIMESurfaceDescriptor &descriptor);
// Then the names that the settings have for the format, and the modifier where that is not told.
void rename_export(const Settings &settings, const Surface &surface,
                   VADRMPRIMESurfaceDescriptor &descriptor);
// Then the lie that the settings ask for, if any.
void tell_lie(Lie lie, VADRMPRIMESurfaceDescriptor &descriptor);

} // namespace gstdrm::test::vadriver
