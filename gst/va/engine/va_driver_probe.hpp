// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds the pairs of one driver, format by format, for query_capabilities().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/result.hpp>

#include "va_formats.hpp"
#include "va_probe.hpp"
#include "va_surface.hpp"

namespace gstdrm::va {

class DriverProbe {
public:
  DriverProbe(std::shared_ptr<Display> display, Capabilities &capabilities)
      : display_(std::move(display)), capabilities_(capabilities)
  {
  }

  // Adds the format's pairs that can be drawn into. `listed`: modifiers that the driver lists.
  void probe(const PixelFormat &format, std::span<const std::uint64_t> listed);
  // Called after the last probe(): adds formats that can be read but not drawn into.
  void probe_sources(std::span<const std::uint64_t> listed);
  // The first failure for want of descriptors, which says nothing about the format.
  [[nodiscard]] const std::optional<Error> &out_of_descriptors() const
  {
    return out_of_descriptors_;
  }

private:
  enum class Use { Drawn, Read };
  struct Size {
    std::uint32_t width; // pixels
    std::uint32_t height;
  };

  void find_pairs(const PixelFormat &format, std::span<const std::uint64_t> listed);
  void keep_found(FormatSet &formats) const;
  void probe_own_choice(const PixelFormat &format);
  void probe_linear(const PixelFormat &format);
  [[nodiscard]] bool has(std::uint64_t modifier) const;
  // Allocates, exports and uses a surface. Returns its modifier, or nullopt after a failure.
  std::optional<std::uint64_t> try_pair(const PixelFormat &format, Size wanted,
                                        std::span<const std::uint64_t> modifiers, Tiling tiling);
  Result<void> use(const Surface &surface, const AllocatedFrame &frame, const PixelFormat &format);
  Result<void> draw(const Surface &surface, const PixelFormat &format, Size size);
  Result<void> read(const AllocatedFrame &frame, const PixelFormat &format);
  Result<void> read_into(const Format &pair, const FrameLayout &layout, const PixelFormat &from);
  std::nullopt_t refuse(const Error &error);

  static constexpr Size kSmall{64, 64};
  static constexpr Size kPicture{640, 480};

  std::shared_ptr<Display> display_;
  Capabilities &capabilities_;
  Use use_ = Use::Drawn;
  std::vector<const PixelFormat *> not_drawn_; // allocated and exported, but not drawn into
  std::vector<Format> found_;                  // pairs of the current format
  bool used_ = false;                          // a surface of the current format was used
  bool tried_list_ = false;
  std::optional<Error> out_of_descriptors_;
};

} // namespace gstdrm::va
