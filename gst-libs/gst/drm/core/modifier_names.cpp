// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of modifiers for people: logs, errors, tools. Values from drm_fourcc.h; a field that is not
// known here is left as a number, never guessed. Not by libdrm's drmGetFormatModifierName(): the
// core links no device API, and that call knows the modifiers of the libdrm that is installed
// alone, where drivers of a newer kernel list others.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "drm_facts.hpp"
#include "format.hpp"

namespace gstdrm {

namespace {

struct NamedModifier {
  std::uint64_t modifier;
  const char *name;
};

constexpr NamedModifier kNames[] = {
    {kModLinear, "LINEAR"},
    {kModImplicit, "IMPLICIT"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 1), "INTEL_X_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 2), "INTEL_Y_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 3), "INTEL_Yf_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 4), "INTEL_Y_TILED_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 5), "INTEL_Yf_TILED_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 6), "INTEL_Y_TILED_GEN12_RC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 7), "INTEL_Y_TILED_GEN12_MC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 8), "INTEL_Y_TILED_GEN12_RC_CCS_CC"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 9), "INTEL_4_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 10), "INTEL_4_TILED_DG2_RC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 11), "INTEL_4_TILED_DG2_MC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 12), "INTEL_4_TILED_DG2_RC_CCS_CC"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 13), "INTEL_4_TILED_MTL_RC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 14), "INTEL_4_TILED_MTL_MC_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 15), "INTEL_4_TILED_MTL_RC_CCS_CC"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 16), "INTEL_4_TILED_LNL_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_INTEL, 17), "INTEL_4_TILED_BMG_CCS"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_NVIDIA, 1), "NVIDIA_TEGRA_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_SAMSUNG, 1), "SAMSUNG_64_32_TILE"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_SAMSUNG, 2), "SAMSUNG_16_16_TILE"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_QCOM, 1), "QCOM_COMPRESSED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_QCOM, 2), "QCOM_TILED2"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_QCOM, 3), "QCOM_TILED3"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_BROADCOM, 1), "BROADCOM_VC4_T_TILED"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_BROADCOM, 6), "BROADCOM_UIF"},
    {make_modifier(DRM_FORMAT_MOD_VENDOR_ALLWINNER, 1), "ALLWINNER_TILED"},
    {kModMtk16L32S, "MTK_16L_32S_TILE"},
    {kModMtk16L32SLsbTiled, "MTK_16L_32S_TILE_10BIT_LSBTILED"},
    {kModMtk16L32SLsbRaster, "MTK_16L_32S_TILE_10BIT_LSBRASTER"},
    {make_modifier(kVendorApple, 1), "APPLE_GPU_TILED"},
    {make_modifier(kVendorApple, 2), "APPLE_GPU_TILED_COMPRESSED"},
};

constexpr std::array kVendors = {"NONE",    "INTEL",   "AMD",      "NVIDIA", "SAMSUNG",
                                 "QCOM",    "VIVANTE", "BROADCOM", "ARM",    "ALLWINNER",
                                 "AMLOGIC", "MTK",     "APPLE"};

constexpr std::uint64_t field(std::uint64_t modifier, unsigned shift, std::uint64_t mask) noexcept
{
  return modifier >> shift & mask;
}

constexpr bool bit(std::uint64_t modifier, unsigned shift) noexcept
{
  return field(modifier, shift, 1) != 0;
}

// Collects "NAME(A,B=2)".
class Description {
public:
  explicit Description(const char *name) : text_(name) {}
  void add(const std::string &item)
  {
    text_ += any_ ? "," : "(";
    text_ += item;
    any_ = true;
  }
  void add_if(bool condition, const char *item)
  {
    if (condition)
      add(item);
  }
  void add_number(const char *name, std::uint64_t value)
  {
    add(std::string(name) + "=" + std::to_string(value));
  }
  void add_nonzero(const char *name, std::uint64_t value)
  {
    if (value != 0)
      add_number(name, value);
  }
  [[nodiscard]] std::string finish() const { return any_ ? text_ + ")" : text_; }

private:
  std::string text_;
  bool any_ = false;
};

const char *amd_tile_name(std::uint64_t version, std::uint64_t tile) noexcept
{
  if (version == 5) { // AMD_FMT_MOD_TILE_VER_GFX12
    constexpr std::array gfx12 = {"LINEAR", "256B_2D", "4K_2D", "64K_2D", "256K_2D"};
    return tile < gfx12.size() ? gfx12[tile] : nullptr;
  }
  switch (tile) {
  case AMD_FMT_MOD_TILE_GFX9_64K_S:
    return "64K_S";
  case AMD_FMT_MOD_TILE_GFX9_64K_D:
    return "64K_D";
  case 22:
    return "4K_D_X";
  case AMD_FMT_MOD_TILE_GFX9_64K_S_X:
    return "64K_S_X";
  case AMD_FMT_MOD_TILE_GFX9_64K_D_X:
    return "64K_D_X";
  case AMD_FMT_MOD_TILE_GFX9_64K_R_X:
    return "64K_R_X";
  case AMD_FMT_MOD_TILE_GFX11_256K_R_X:
    return "256K_R_X";
  default:
    return nullptr;
  }
}

void describe_amd_dcc(Description &text, std::uint64_t modifier)
{
  constexpr std::array blocks = {"64B", "128B", "256B", "3"};
  text.add("DCC");
  text.add_if(bit(modifier, AMD_FMT_MOD_DCC_RETILE_SHIFT), "RETILE");
  text.add_if(bit(modifier, AMD_FMT_MOD_DCC_PIPE_ALIGN_SHIFT), "PIPE_ALIGN");
  text.add_if(bit(modifier, AMD_FMT_MOD_DCC_INDEPENDENT_64B_SHIFT), "INDEPENDENT_64B");
  text.add_if(bit(modifier, AMD_FMT_MOD_DCC_INDEPENDENT_128B_SHIFT), "INDEPENDENT_128B");
  text.add(std::string("MAX_COMPRESSED_BLOCK=") +
           blocks[field(modifier, AMD_FMT_MOD_DCC_MAX_COMPRESSED_BLOCK_SHIFT, 3)]);
  text.add_if(bit(modifier, AMD_FMT_MOD_DCC_CONSTANT_ENCODE_SHIFT), "CONSTANT_ENCODE");
}

std::string describe_amd(std::uint64_t modifier)
{
  constexpr std::array versions = {"GFX8", "GFX9", "GFX10", "GFX10_RBPLUS", "GFX11", "GFX12"};
  const std::uint64_t version =
      field(modifier, AMD_FMT_MOD_TILE_VERSION_SHIFT, AMD_FMT_MOD_TILE_VERSION_MASK);
  const std::uint64_t tile = field(modifier, AMD_FMT_MOD_TILE_SHIFT, AMD_FMT_MOD_TILE_MASK);

  Description text("AMD");
  text.add(version < versions.size() ? versions[version] : "VERSION=" + std::to_string(version));
  const char *tile_name = amd_tile_name(version, tile);
  text.add(tile_name ? tile_name : "TILE=" + std::to_string(tile));
  if (bit(modifier, AMD_FMT_MOD_DCC_SHIFT))
    describe_amd_dcc(text, modifier);
  text.add_nonzero("PIPE_XOR_BITS", field(modifier, AMD_FMT_MOD_PIPE_XOR_BITS_SHIFT, 7));
  text.add_nonzero("BANK_XOR_BITS", field(modifier, AMD_FMT_MOD_BANK_XOR_BITS_SHIFT, 7));
  text.add_nonzero("PACKERS", field(modifier, AMD_FMT_MOD_PACKERS_SHIFT, 7));
  text.add_nonzero("RB", field(modifier, AMD_FMT_MOD_RB_SHIFT, 7));
  text.add_nonzero("PIPE", field(modifier, AMD_FMT_MOD_PIPE_SHIFT, 7));
  return text.finish();
}

// Only with bit 4 set and the reserved bits clear is it a block linear layout.
std::string describe_nvidia(std::uint64_t modifier)
{
  constexpr std::uint64_t kReserved = 0x00fffffffc000fe0ULL; // bits 5 to 11 and 26 to 55
  if (!bit(modifier, 4) || (modifier & kReserved) != 0)
    return {};
  Description text("NVIDIA_BLOCK_LINEAR_2D");
  text.add_number("HEIGHT_LOG2", field(modifier, 0, 0xf));
  std::array<char, 8> kind{};
  std::snprintf(kind.data(), kind.size(), "0x%02x",
                static_cast<unsigned>(field(modifier, 12, 0xff)));
  text.add(std::string("KIND=") + kind.data());
  text.add_number("GENERATION", field(modifier, 20, 3));
  text.add_number("SECTOR", field(modifier, 22, 1));
  text.add_number("COMPRESSION", field(modifier, 23, 7));
  return text.finish();
}

std::string describe_afbc(std::uint64_t modifier)
{
  constexpr std::array block_sizes = {"?", "16x16", "32x8", "64x4", "32x8_64x4"};
  constexpr std::array flags = {"YTR", "SPLIT", "SPARSE", "CBR", "TILED", "SC", "DB", "BCH", "USM"};
  const std::uint64_t size = field(modifier, 0, 0xf);
  if (size == 0 || size >= block_sizes.size() || (modifier & 0x000fffffffffe000ULL) != 0)
    return {};
  Description text("ARM_AFBC");
  text.add(block_sizes[size]);
  for (unsigned i = 0; i < flags.size(); ++i)
    text.add_if(bit(modifier, 4 + i), flags[i]);
  return text.finish();
}

std::string describe_afrc(std::uint64_t modifier)
{
  constexpr std::array sizes = {"0", "16", "24", "32"};
  const std::uint64_t p0 = field(modifier, 0, 0xf);
  const std::uint64_t p12 = field(modifier, 4, 0xf);
  if (p0 == 0 || p0 >= sizes.size() || p12 >= sizes.size() ||
      (modifier & 0x000ffffffffffe00ULL) != 0)
    return {};
  Description text("ARM_AFRC");
  text.add(std::string("CU_SIZE_P0=") + sizes[p0]);
  if (p12 != 0)
    text.add(std::string("CU_SIZE_P12=") + sizes[p12]);
  text.add(bit(modifier, 8) ? "SCAN" : "ROT");
  return text.finish();
}

// Bits 52 to 55 name the kind of layout.
std::string describe_arm(std::uint64_t modifier)
{
  switch (field(modifier, 52, 0xf)) {
  case 0:
    return describe_afbc(modifier);
  case 1:
    if ((modifier & 0x000fffffffffffffULL) == 1)
      return "ARM_16X16_BLOCK_U_INTERLEAVED";
    if ((modifier & 0x000fffffffffffffULL) == 2)
      return "ARM_INTERLEAVED_64K";
    return {};
  case 2:
    return describe_afrc(modifier);
  default:
    return {};
  }
}

std::string describe_broadcom(std::uint64_t modifier)
{
  constexpr std::array sand = {"BROADCOM_SAND32", "BROADCOM_SAND64", "BROADCOM_SAND128",
                               "BROADCOM_SAND256"};
  const std::uint64_t kind = field(modifier, 0, 0xff);
  if (kind < 2 || kind > 5)
    return {};
  Description text(sand[kind - 2]);
  text.add_nonzero("COL_HEIGHT", field(modifier, 8, 0xffffffffffffULL));
  return text.finish();
}

std::string describe_vivante(std::uint64_t modifier)
{
  constexpr std::array tilings = {"VIVANTE_LINEAR", "VIVANTE_TILED", "VIVANTE_SUPER_TILED",
                                  "VIVANTE_SPLIT_TILED", "VIVANTE_SPLIT_SUPER_TILED"};
  constexpr std::array tile_status = {"", "TS_64_4", "TS_64_2", "TS_128_4", "TS_256_4"};
  const std::uint64_t tiling = field(modifier, 0, 0xffffffffffffULL);
  const std::uint64_t ts = field(modifier, 48, 0xf);
  const std::uint64_t compression = field(modifier, 52, 0xf);
  if (tiling >= tilings.size() || ts >= tile_status.size() || compression > 1)
    return {};
  Description text(tilings[tiling]);
  text.add_if(ts != 0, tile_status[ts]);
  text.add_if(compression == 1, "DEC400");
  return text.finish();
}

std::string describe_amlogic(std::uint64_t modifier)
{
  const std::uint64_t layout = field(modifier, 0, 0xff);
  if (layout < 1 || layout > 2 || field(modifier, 16, 0xffffffffffULL) != 0)
    return {};
  Description text("AMLOGIC_FBC");
  text.add(layout == 1 ? "BASIC" : "SCATTER");
  text.add_if(bit(modifier, 8), "MEM_SAVING");
  return text.finish();
}

std::string describe_by_vendor(std::uint64_t modifier)
{
  switch (modifier_vendor(modifier)) {
  case DRM_FORMAT_MOD_VENDOR_AMD:
    return describe_amd(modifier);
  case DRM_FORMAT_MOD_VENDOR_NVIDIA:
    return describe_nvidia(modifier);
  case DRM_FORMAT_MOD_VENDOR_VIVANTE:
    return describe_vivante(modifier);
  case DRM_FORMAT_MOD_VENDOR_BROADCOM:
    return describe_broadcom(modifier);
  case DRM_FORMAT_MOD_VENDOR_ARM:
    return describe_arm(modifier);
  case DRM_FORMAT_MOD_VENDOR_AMLOGIC:
    return describe_amlogic(modifier);
  default:
    return {};
  }
}

} // namespace

std::string describe_modifier(std::uint64_t modifier)
{
  for (const NamedModifier &known : kNames) {
    if (known.modifier == modifier)
      return known.name;
  }
  std::string text = describe_by_vendor(modifier);
  if (!text.empty())
    return text;
  const std::uint8_t vendor = modifier_vendor(modifier);
  std::array<char, 48> unknown{};
  const auto value = static_cast<unsigned long long>(modifier);
  if (vendor < kVendors.size())
    std::snprintf(unknown.data(), unknown.size(), "%s 0x%016llx", kVendors[vendor], value);
  else
    std::snprintf(unknown.data(), unknown.size(), "VENDOR_0x%02x 0x%016llx", vendor, value);
  return unknown.data();
}

} // namespace gstdrm
