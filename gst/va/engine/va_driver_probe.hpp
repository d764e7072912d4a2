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

  // Adds the pairs of the format that are drawn into. `listed`: modifiers that the driver lists.
  void probe(const PixelFormat &format, std::span<const std::uint64_t> listed);
  // Behind all formats: those that were not drawn into may still be read from.
  void probe_sources(std::span<const std::uint64_t> listed);
  // The first refusal in a process that is short of descriptors: of the format, it says nothing.
  [[nodiscard]] const std::optional<Error> &lacking() const { return lacking_; }

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
  // The modifier of a surface that was allocated, exported and used.
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
  std::vector<const PixelFormat *> not_drawn_; // made, exported, and refused as targets
  std::vector<Format> found_;                  // of the current format
  bool used_ = false;                          // a surface of the current format
  bool tried_list_ = false;
  std::optional<Error> lacking_;
};

} // namespace gstdrm::va
