// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "result.hpp"

namespace gstdrm {

inline constexpr std::uint64_t kModLinear = 0;
// DRM_FORMAT_MOD_INVALID of drm_fourcc.h: in a format set it stands for the implicit modifier.
inline constexpr std::uint64_t kModImplicit = 0x00ffffffffffffffULL;
inline constexpr std::uint32_t kFourccBigEndian = 1U << 31; // DRM_FORMAT_BIG_ENDIAN
inline constexpr std::size_t kMaxPlanes = 4;                // drm_mode_fb_cmd2 has 4

// One "FOURCC:MODIFIER" pair. Ordered by fourcc, then modifier, so linear comes first in a fourcc.
struct Format {
  std::uint32_t fourcc = 0;
  std::uint64_t modifier = kModLinear;
  friend constexpr auto operator<=>(const Format &, const Format &) = default;
};

// "NV12", "NV12:0x0100000000000002", "R8  ", "XR24_BE"; see docs/caps.md for what is refused and
// why.
Result<Format> parse_format(std::string_view text);
// Fixed-size canonical text for hot paths: length 0 when there is none.
struct FormatText {
  std::array<char, 32> chars{}; // longer than any text, so that a NUL ends it
  std::uint8_t length = 0;
  [[nodiscard]] std::string_view view() const { return {chars.data(), length}; }
};
FormatText format_to_text(Format format) noexcept;

// True for 4 printable ASCII characters (the big-endian bit aside), not all spaces.
bool fourcc_is_valid(std::uint32_t fourcc) noexcept;
// "NV12", for messages; also for fourccs that are no text ("0x12345678").
std::string fourcc_to_string(std::uint32_t fourcc);
// "LINEAR", "INTEL_X_TILED", "NVIDIA_BLOCK_LINEAR_2D(…)", or "VENDOR 0x…"; never empty.
std::string describe_modifier(std::uint64_t modifier);
// "NV12:0x0100000000000002 (INTEL_Y_TILED)", "NV12 (LINEAR)", "NV12 (implicit modifier)".
std::string describe_format(Format format);

// How one plane of a fourcc is laid out in linear memory: blocks of block_width x block_height
// samples of the plane take block_bytes; the plane itself is subsampled by hsub x vsub. A stride is
// the bytes from one row of blocks to the next.
struct PlaneInfo {
  std::uint8_t block_bytes = 0;
  std::uint8_t block_width = 1;
  std::uint8_t block_height = 1;
  std::uint8_t hsub = 1;
  std::uint8_t vsub = 1;
};
struct FourccInfo {
  std::uint32_t fourcc = 0;
  std::uint8_t n_planes = 0;
  std::array<PlaneInfo, kMaxPlanes> planes{};
  bool is_yuv = false;
};
// nullptr for a fourcc whose linear layout is not known here.
const FourccInfo *fourcc_info(std::uint32_t fourcc) noexcept;
// All that fourcc_info() knows, sorted by fourcc.
std::span<const FourccInfo> known_fourccs() noexcept;
// Y'CbCr or Y only: decides default colorimetry. False also for what is not known.
bool fourcc_is_yuv(std::uint32_t fourcc) noexcept;

// Bytes in one row of the plane at this frame width, without padding; 0 where it would overflow 32
// bits.
std::uint32_t plane_row_bytes(const PlaneInfo &plane, std::uint32_t width) noexcept;
// Rows of blocks in the plane at this frame height.
std::uint32_t plane_rows(const PlaneInfo &plane, std::uint32_t height) noexcept;

// Memory planes of the pair, auxiliary (compression) planes included; 0 where it is not known, and
// then 1 to kMaxPlanes planes are accepted.
unsigned memory_plane_count(Format format) noexcept;

} // namespace gstdrm
