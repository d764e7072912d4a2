// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers of drm_fourcc.h that are newer than the oldest libdrm this tree builds with. Values are
// kernel ABI (include/uapi/drm/drm_fourcc.h, Linux 7.0), so a newer header defines the same ones.
#pragma once

#include <cstdint>

#include <drm_fourcc.h>

namespace gstdrm {

constexpr std::uint32_t make_fourcc(char a, char b, char c, char d) noexcept
{
  const auto byte = [](char ch) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(ch));
  };
  return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
}

constexpr std::uint64_t make_modifier(std::uint8_t vendor, std::uint64_t value) noexcept
{
  return std::uint64_t{vendor} << 56 | (value & 0x00ffffffffffffffULL);
}

constexpr std::uint8_t modifier_vendor(std::uint64_t modifier) noexcept
{
  return static_cast<std::uint8_t>(modifier >> 56);
}

constexpr std::uint64_t modifier_value(std::uint64_t modifier) noexcept
{
  return modifier & 0x00ffffffffffffffULL;
}

// 3 plane YCbCr, 16-bit words, value in the low bits
inline constexpr std::uint32_t kFourccS010 = make_fourcc('S', '0', '1', '0');
inline constexpr std::uint32_t kFourccS210 = make_fourcc('S', '2', '1', '0');
inline constexpr std::uint32_t kFourccS410 = make_fourcc('S', '4', '1', '0');
inline constexpr std::uint32_t kFourccS012 = make_fourcc('S', '0', '1', '2');
inline constexpr std::uint32_t kFourccS212 = make_fourcc('S', '2', '1', '2');
inline constexpr std::uint32_t kFourccS412 = make_fourcc('S', '4', '1', '2');
inline constexpr std::uint32_t kFourccS016 = make_fourcc('S', '0', '1', '6');
inline constexpr std::uint32_t kFourccS216 = make_fourcc('S', '2', '1', '6');
inline constexpr std::uint32_t kFourccS416 = make_fourcc('S', '4', '1', '6');
// 4 samples of 10 bits in 5 bytes
inline constexpr std::uint32_t kFourccNv20 = make_fourcc('N', 'V', '2', '0');
inline constexpr std::uint32_t kFourccNv30 = make_fourcc('N', 'V', '3', '0');
// 3 samples of 10 bits in 4 bytes
inline constexpr std::uint32_t kFourccP230 = make_fourcc('P', '2', '3', '0');
inline constexpr std::uint32_t kFourccT430 = make_fourcc('T', '4', '3', '0');
inline constexpr std::uint32_t kFourccYpa4 = make_fourcc('Y', 'P', 'A', '4');

inline constexpr std::uint8_t kVendorMtk = 0x0b;
inline constexpr std::uint8_t kVendorApple = 0x0c;

inline constexpr std::uint64_t kModMtk16L32S = make_modifier(kVendorMtk, 0x1);
inline constexpr std::uint64_t kModMtk16L32SLsbTiled = make_modifier(kVendorMtk, 0x10001);
inline constexpr std::uint64_t kModMtk16L32SLsbRaster = make_modifier(kVendorMtk, 0x20001);

} // namespace gstdrm
