// SPDX-License-Identifier: LGPL-2.1-or-later
// Brightness, contrast, saturation and hue, which some drivers have as properties of planes or of
// CRTCs. Pure functions of values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/output/kms_output.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

enum class BalanceKind { Brightness, Contrast, Saturation, Hue };
inline constexpr std::size_t kBalanceKinds = 4;
// The KMS properties, by BalanceKind.
inline constexpr std::array<const char *, kBalanceKinds> kBalanceProperties = {
    "brightness", "contrast", "saturation", "hue"};

// What the viewer has set; nullopt: the driver's value stays.
using Balance = std::array<std::optional<std::int32_t>, kBalanceKinds>;

// What can be set.
struct BalanceChannel {
  BalanceKind kind = BalanceKind::Brightness;
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::int32_t found = 0; // when the output was read
  friend bool operator==(const BalanceChannel &, const BalanceChannel &) = default;
};

// Those that every plane for the picture has alike, or the CRTC where it is the sink's own.
std::vector<BalanceChannel> balance_channels(const Output &output);

// What the viewer has set becomes part of a commit of a picture on the plane.
void set_balance(Request &request, const Output &output, const Plane &plane,
                 const Balance &balance);

} // namespace gstdrm::kms
