// SPDX-License-Identifier: LGPL-2.1-or-later
#include "display_profiles.hpp"

#include <array>

namespace gstdrm::test::fakedrm {
namespace {

// Modifiers are names of fake_model.cpp, or numbers.

constexpr std::array kI915 = {
    Fact{"driver=i915", "its name", "../i915_driver.c"},
    Fact{"planes=primary:overlay*2:cursor", "planes of pipe A: two sprites beside the primary plane", "intel_display_device.c"},
    Fact{"pairs=planes/XR24:AR24:XB24:AB24/linear:i915-x:i915-y:i915-yf:i915-y-ccs:i915-yf-ccs",
         "RGB of 8 bits has every tiling, and render compression", "skl_universal_plane.c, skl_plane_format_mod_supported"},
    Fact{"pairs=planes/RG16:XR30:XB30:YUYV:UYVY/linear:i915-x:i915-y:i915-yf", "other formats have no compression",
         "skl_universal_plane.c, skl_plane_format_mod_supported"},
    Fact{"pairs=0:1/NV12/linear:i915-x:i915-y:i915-yf", "NV12 on the first two planes", "skl_universal_plane.c, skl_plane_has_planar"},
    Fact{"pairs=cursor/AR24/linear", "the cursor is linear", "intel_cursor.c"},
    Fact{"zpos=all/fixed/index", "immutable zpos", "skl_universal_plane.c; intel_cursor.c"},
    Fact{"rotation=planes/0:90:180:270", "rotations, before display version 11", "skl_universal_plane.c"},
    Fact{"quarter-turns=i915-y:i915-yf", "90 and 270 degrees for Y and Yf tiles alone (EINVAL)", "skl_universal_plane.c, skl_plane_check_fb"},
    Fact{"scale=planes/65536/2.99998", "scaling: down to a third", "skl_universal_plane.c, skl_plane_max_scale"},
    Fact{"scale-yuv-down=1.99998", "NV12 down to a half, before display version 10", "skl_universal_plane.c, skl_plane_max_scale"},
    Fact{"scalers=2", "two scalers on pipe A", "intel_display_device.c; skl_scaler.c"},
    Fact{"even-yuv=1", "source rectangles of subsampled YUV have even edges", "intel_plane.c, intel_plane_check_src_coordinates"},
    Fact{"pitch=64", "linear pitches", "intel_fb.c, intel_fb_stride_alignment"},
    Fact{"blend=planes/none:pre:coverage", "pixel blend modes", "skl_universal_plane.c"},
    Fact{"alpha=planes", "opacity of planes", "skl_universal_plane.c"},
    Fact{"colours=planes/601:709", "encodings, before display version 10", "skl_universal_plane.c"},
    Fact{"cursor=256", "largest cursor", "intel_cursor.c"},
    Fact{"cursor-sizes=64:128:256", "cursors have one of three widths (EINVAL)", "intel_cursor.c, i9xx_cursor_size_ok"},
    Fact{"max-bpc=6:12", "max bpc of DisplayPort", "intel_dp.c"},
    Fact{"async=1", "asynchronous flips", "intel_display_driver.c"},
    Fact{"link=bad", "link-status becomes Bad where the link cannot be trained again", "intel_connector.c"},
};

constexpr std::array kAmdgpu = {
    Fact{"driver=amdgpu", "its name", "../../../amdgpu/amdgpu_drv.c"},
    Fact{"planes=primary:overlay:cursor", "planes of a CRTC", "amdgpu_dm.c"},
    Fact{"pairs=planes/XR24:AR24:XB24:AB24:RG16:NV12:P010/linear:0x0200000000401901:0x0200000000000901",
         "formats, with the S_X and S tilings of 64 KiB that GFX9 scans out (numbers of Renoir)",
         "amdgpu_dm_plane.c, amdgpu_dm_plane_add_gfx9_modifiers"},
    Fact{"pairs=cursor/AR24/linear", "the cursor is linear", "amdgpu_dm_plane.c"},
    Fact{"zpos=primary/fixed/3", "immutable zpos of the primary plane, so that overlays can be under it",
         "amdgpu_dm_plane.c; ../dc/resource/dcn21/dcn21_resource.c"},
    Fact{"zpos=overlay/free/5/0/254", "zpos of overlays", "amdgpu_dm_plane.c"},
    Fact{"zpos=cursor/fixed/255", "the cursor is over all", "amdgpu_dm_plane.c"},
    Fact{"rotation=planes/0:90:180:270", "rotations", "amdgpu_dm_plane.c"},
    Fact{"scale=planes/16/4", "scaling", "../dc/resource/dcn21/dcn21_resource.c; amdgpu_dm_plane.c"},
    Fact{"smallest=planes/24x12", "smallest part of a plane on screen (EINVAL)", "amdgpu_dm_plane.c, amdgpu_dm_plane_helper_check_state"},
    Fact{"needs-primary=1", "no CRTC has a mode without its primary plane, lit or not (EINVAL)", "amdgpu_dm_crtc.c, amdgpu_dm_crtc_helper_atomic_check"},
    Fact{"pitch=256", "linear pitches", "../../../amdgpu/amdgpu_display.c, amdgpu_display_verify_sizes"},
    Fact{"blend=overlay/none:pre:coverage", "pixel blend modes, not of the primary plane", "amdgpu_dm_plane.c"},
    Fact{"alpha=overlay", "opacity, not of the primary plane", "amdgpu_dm_plane.c"},
    Fact{"colours=planes/601:709:2020", "encodings", "amdgpu_dm_plane.c"},
    Fact{"cursor=256", "largest cursor", "../dc/resource/dcn21/dcn21_resource.c"},
    Fact{"cursor-sizes=64:128:256", "cursors have one of three pitches (EINVAL)", "amdgpu_dm.c, dm_check_cursor_fb"},
    Fact{"max-bpc=8:16", "max bpc", "amdgpu_dm.c"},
    Fact{"async=1", "asynchronous flips", "amdgpu_dm.c"},
};

constexpr std::array kRockchip = {
    Fact{"driver=rockchip", "its name", "rockchip_drm_drv.c"},
    Fact{"planes=primary:overlay:overlay*2", "windows of one video port: Smart0, Esmart0, Cluster0, Cluster1", "rockchip_vop2_reg.c"},
    Fact{"pairs=0/XR24:AR24:XB24:AB24:RG16/linear", "Smart windows have no YUV", "rockchip_vop2_reg.c"},
    Fact{"pairs=1/XR24:AR24:XB24:AB24:RG16:NV12:NV21:NV15:NV16:NV24/linear", "Esmart windows have YUV, linear alone", "rockchip_vop2_reg.c"},
    Fact{"pairs=2:3/XR24:AR24:XB24:AB24:XR30/afbc16:afbc16-sparse", "Cluster windows have AFBC alone",
         "rockchip_drm_vop2.c, rockchip_vop2_mod_supported"},
    Fact{"zpos=0/free/0/0/5", "zpos of Smart0: the place of its window in the table", "rockchip_drm_vop2.c, vop2_plane_init; rockchip_vop2_reg.c"},
    Fact{"zpos=1/free/3/0/5", "zpos of Esmart0", "rockchip_drm_vop2.c, vop2_plane_init"},
    Fact{"zpos=2/free/4/0/5", "zpos of Cluster0", "rockchip_drm_vop2.c, vop2_plane_init"},
    Fact{"zpos=3/free/5/0/5", "zpos of Cluster1", "rockchip_drm_vop2.c, vop2_plane_init"},
    Fact{"rotation=0:1/0:y", "Smart and Esmart windows reflect upside down", "rockchip_vop2_reg.c"},
    Fact{"rotation=2:3/0:90:270:x:y", "Cluster windows turn and reflect; 180 degrees are not listed", "rockchip_vop2_reg.c"},
    Fact{"scale=planes/8/8", "scaling", "rockchip_drm_vop2.c, vop2_plane_atomic_check"},
    Fact{"smallest=planes/4x4", "smallest picture (EINVAL)", "rockchip_drm_vop2.c, vop2_plane_atomic_check"},
    Fact{"even-yuv=1", "YUV begins at an even pixel (EINVAL)", "rockchip_drm_vop2.c, vop2_plane_atomic_check"},
    Fact{"blend=planes/none:pre:coverage", "pixel blend modes", "rockchip_drm_vop2.c"},
    Fact{"alpha=planes", "opacity", "rockchip_drm_vop2.c"},
    Fact{"max-bpc=8:16", "max bpc of HDMI", "../bridge/synopsys/dw-hdmi.c"},
};

constexpr std::array kVc4 = {
    Fact{"driver=vc4", "its name", "vc4_drv.c"},
    Fact{"planes=primary:overlay*16:cursor", "planes", "vc4_plane.c, vc4_plane_create_additional_planes"},
    Fact{"pairs=all/XR24:AR24:XB24:AB24:RG16/linear:vc4-t", "RGB, linear or in T tiles", "vc4_plane.c, vc4_format_mod_supported"},
    Fact{"pairs=all/NV12:NV21/linear:sand64:sand128:sand256", "NV12 and NV21, linear or in SAND columns", "vc4_plane.c, vc4_format_mod_supported"},
    Fact{"pairs=all/P030/sand128", "10 bits in SAND128 columns alone", "vc4_plane.c, vc4_format_mod_supported"},
    Fact{"pairs=all/YU12:YV12:YU16:NV16/linear", "other YUV is linear", "vc4_plane.c, vc4_format_mod_supported"},
    Fact{"zpos=primary/fixed/0", "immutable zpos of the primary plane", "vc4_plane.c"},
    Fact{"zpos=overlay/free/index/1/17", "zpos of overlays", "vc4_plane.c"},
    Fact{"zpos=cursor/free/17/1/17", "zpos of the cursor", "vc4_plane.c"},
    Fact{"rotation=all/0:180:x:y", "rotations", "vc4_plane.c"},
    Fact{"scale=all/65536/32768", "scaling", "vc4_plane.c, vc4_plane_setup_clipping_and_scaling"},
    Fact{"blend=all/none:pre:coverage", "pixel blend modes", "vc4_plane.c"},
    Fact{"alpha=all", "opacity", "vc4_plane.c"},
    Fact{"colours=all/601:709:2020", "encodings", "vc4_plane.c"},
    Fact{"max-bpc=8:12", "max bpc of HDMI", "vc4_hdmi.c"},
    Fact{"writeback=RG24:BG24:XR24:XB24:AR24:AB24:RX24:BX24:RA24:BA24", "writeback", "vc4_txp.c"},
    Fact{"async=1", "asynchronous flips", "vc4_kms.c"},
};

constexpr std::array kImx = {
    Fact{"driver=imx-drm", "its name", "imx-drm-core.c"},
    Fact{"planes=primary:overlay", "planes of a display processor's channel", "ipuv3-crtc.c"},
    Fact{"pairs=all/XR24:AR24:XB24:AB24:RG16:YUYV:UYVY:YU12:YV12:YU16:NV12:NV16/linear", "formats, without the prefetch engine of i.MX6QP",
         "ipuv3-plane.c"},
    Fact{"covers=primary", "the primary plane covers the CRTC (EINVAL)", "ipuv3-plane.c, ipu_plane_atomic_check"},
    Fact{"smallest=primary/13x2", "smallest primary plane (EINVAL)", "ipuv3-plane.c, ipu_plane_atomic_check"},
    Fact{"zpos=primary/fixed/1", "immutable zpos of the primary plane", "ipuv3-plane.c"},
    Fact{"zpos=overlay/free/2/0/2", "the overlay can be under the primary plane", "ipuv3-plane.c"},
    Fact{"even-yuv=1", "subsampled YUV begins at an even pixel (EINVAL)", "ipuv3-plane.c, ipu_plane_atomic_check"},
    Fact{"row-pixels=8", "rows have room for a multiple of 8 pixels (EINVAL)", "ipuv3-plane.c, ipu_plane_atomic_check"},
    Fact{"unmodified-only=size:format:pitch", "a plane that is on changes its size, format or pitch in a mode set alone (EINVAL)",
         "ipuv3-plane.c, ipu_plane_atomic_check"},
    Fact{"colours=all/601:709/limited", "encodings, in limited range alone", "ipuv3-plane.c"},
    Fact{"max-bpc=8:16", "max bpc of HDMI", "../../bridge/synopsys/dw-hdmi.c"},
};

constexpr std::array kTidss = {
    Fact{"driver=tidss", "its name", "tidss_drv.c"},
    Fact{"planes=primary:overlay", "planes of AM625: vidl1 and vid", "tidss_dispc.c, dispc_am625_feats; tidss_kms.c"},
    Fact{"pairs=all/XR24:AR24:XB24:AB24:RG16:XR30:YUYV:UYVY:NV12/linear", "formats; the driver lists no modifiers, for which the core lists LINEAR",
         "tidss_dispc.c; tidss_plane.c; ../drm_plane.c"},
    Fact{"scale=overlay/16/4", "scaling: the lite plane has none", "tidss_dispc.c, dispc_plane_check"},
    Fact{"scale-error=EINVAL", "scaling that is refused is EINVAL", "tidss_dispc.c, dispc_plane_check"},
    Fact{"zpos=all/free/index/0/1", "zpos", "tidss_plane.c"},
    Fact{"even-yuv=1", "source rectangles of subsampled YUV have even edges (EINVAL)", "tidss_plane.c, tidss_plane_atomic_check"},
    Fact{"blend=all/pre:coverage", "pixel blend modes, without None", "tidss_plane.c"},
    Fact{"alpha=all", "opacity", "tidss_plane.c"},
    Fact{"colours=all/601:709", "encodings", "tidss_plane.c"},
};

constexpr std::array kMsm = {
    Fact{"driver=msm", "its name", "../../msm_drv.c"},
    Fact{"planes=primary:overlay*6:cursor", "virtual planes: hardware is found for them in each check", "dpu_kms.c, dpu_use_virtual_planes"},
    Fact{"pairs=all/XR24:AR24:XB24:AB24:XR30:AR30:NV12:P010/linear:ubwc", "formats with UBWC", "dpu_plane.c, dpu_plane_format_mod_supported"},
    Fact{"pairs=all/RG16:BG24:YUYV:UYVY:YU12/linear", "formats without", "dpu_hw_catalog.c"},
    Fact{"scale=all/20/4", "scaling", "dpu_plane.c, dpu_plane_atomic_check_nosspp"},
    Fact{"zpos=all/free/0/0/255", "every plane begins with zpos 0", "dpu_plane.c, dpu_plane_init_common"},
    Fact{"rotation=all/0:180:x:y", "rotations, where no pipe turns in line", "dpu_plane.c, dpu_plane_init_common"},
    Fact{"even-yuv=1", "YUV rectangles have even edges (EINVAL)", "dpu_plane.c, dpu_plane_atomic_check_pipe"},
    Fact{"blend=all/none:pre:coverage", "pixel blend modes", "dpu_plane.c"},
    Fact{"alpha=all", "opacity", "dpu_plane.c"},
    Fact{"writeback=RG16:RG24:AR24:RA24:AB24:XR24:RX24", "writeback", "dpu_hw_catalog.c; dpu_writeback.c"},
};

constexpr std::array kMediatek = {
    Fact{"driver=mediatek", "its name", "mtk_drm_drv.c"},
    Fact{"planes=primary:overlay*2:cursor", "layers of MT8173's OVL: first is primary, last is cursor", "mtk_crtc.c, mtk_crtc_plane_type; mtk_disp_ovl.c"},
    Fact{"pairs=all/XR24:AR24:BX24:BA24:AB24:XB24:RG24:BG24:RG16:UYVY:YUYV/linear", "formats, the same on every layer: no NV12; no AFBC",
         "mtk_disp_ovl.c; mtk_plane.c"},
    Fact{"zpos=all/fixed/index", "immutable zpos", "mtk_plane.c, mtk_plane_init"},
    Fact{"rotation=all/0:180:x:y", "rotations", "mtk_disp_ovl.c, mtk_ovl_supported_rotations"},
    Fact{"turns-yuv=0", "YUV is not turned or reflected (EINVAL)", "mtk_disp_ovl.c, mtk_ovl_layer_check"},
    Fact{"alpha=all", "opacity; MT8173 has no pixel blend mode", "mtk_plane.c; mtk_disp_ovl.c"},
};

constexpr std::array kNvidia = {
    Fact{"driver=nvidia-drm", "its name", "nvidia-drm-drv.c"},
    Fact{"planes=primary:cursor:overlay", "planes of a head, with no zpos", "nvidia-drm-crtc.c, nv_drm_enumerate_crtcs_and_planes"},
    Fact{"pairs=planes/XR24:AR24:XB24:AB24:XR30:RG16:YUYV:UYVY:NV12:P010/"
         "linear:0x0300000000606010:0x0300000000606011:0x0300000000606012:0x0300000000606013:0x0300000000606014:0x0300000000606015",
         "block-linear layouts of every height (numbers of Turing)", "nvidia-drm-drv.c; nvidia-drm-format.c"},
    Fact{"pairs=cursor/AR24/linear", "the cursor is linear", "nvidia-drm-crtc.c, nv_drm_plane_create"},
    Fact{"scale-error=EINVAL", "what the resource manager refuses is EINVAL", "nvidia-drm-modeset.c, nv_drm_atomic_check"},
    Fact{"blend=planes/pre:coverage", "pixel blend modes, without None", "nvidia-drm-crtc.c, __nv_drm_plane_create_alpha_blending_properties"},
    Fact{"alpha=planes", "opacity", "nvidia-drm-crtc.c, __nv_drm_plane_create_alpha_blending_properties"},
};

constexpr std::array kVirtio = {
    Fact{"driver=virtio_gpu", "its name", "virtgpu_drv.c"},
    Fact{"planes=primary:cursor", "planes of a scanout", "virtgpu_display.c"},
    Fact{"pairs=primary/XR24/none", "one format, and no modifiers", "virtgpu_plane.c; virtgpu_display.c"},
    Fact{"pairs=cursor/AR24/none", "the cursor's", "virtgpu_plane.c"},
    Fact{"covers=primary", "the primary plane covers the CRTC, and is not scaled", "virtgpu_plane.c, virtio_gpu_plane_atomic_check"},
};

constexpr std::array kCore = {
    Fact{"", "without ALLOW_MODESET: the mode, whether the CRTC is on, and its connectors stay as they are (EINVAL)", "drm_atomic.c, drm_atomic_check_only"},
    Fact{"", "immutable properties, and values outside of ranges and lists, are refused (EINVAL)", "drm_property.c, drm_property_change_valid_get"},
    Fact{"", "a plane has both a CRTC and a framebuffer, or neither (EINVAL)", "drm_atomic.c, drm_atomic_plane_check"},
    Fact{"", "the plane lists the pair of format and modifier (EINVAL)", "drm_atomic.c, drm_atomic_plane_check"},
    Fact{"", "the source rectangle lies within the framebuffer (ENOSPC)", "drm_atomic.c, drm_atomic_plane_check"},
    Fact{"", "scaling that a plane has not is ERANGE, a plane that has to cover its CRTC and does not EINVAL",
         "drm_atomic_helper.c, drm_atomic_helper_check_plane_state"},
    Fact{"", "a non-blocking commit while another is in flight is EBUSY", "drm_atomic_helper.c, drm_atomic_helper_setup_commit"},
    Fact{"", "an event of a CRTC that stays off is refused (EINVAL)", "drm_atomic.c, drm_atomic_crtc_check"},
    Fact{"", "planes have IN_FENCE_FD and CRTCs OUT_FENCE_PTR, whatever the driver", "drm_plane.c; drm_crtc.c"},
    Fact{"", "connectors have link-status; writing Good has an effect with a mode set alone", "drm_connector.c; drm_atomic_uapi.c"},
};

constexpr std::array kProfiles = {
    Profile{"i915", "Linux 7.2, i915, Kaby Lake (display version 9)", "drivers/gpu/drm/i915/display", kI915},
    Profile{"amdgpu", "Linux 7.2, amdgpu, Renoir (DCN 2.1)", "drivers/gpu/drm/amd/display/amdgpu_dm", kAmdgpu},
    Profile{"rockchip", "Linux 7.2, rockchip, RK3568 (VOP2)", "drivers/gpu/drm/rockchip", kRockchip},
    Profile{"vc4", "Linux 7.2, vc4, BCM2711", "drivers/gpu/drm/vc4", kVc4},
    Profile{"imx", "Linux 7.2, imx-drm, i.MX6Q (IPUv3)", "drivers/gpu/drm/imx/ipuv3", kImx},
    Profile{"tidss", "Linux 7.2, tidss, AM625", "drivers/gpu/drm/tidss", kTidss},
    Profile{"msm", "Linux 7.2, msm, DPU", "drivers/gpu/drm/msm/disp/dpu1", kMsm},
    Profile{"mediatek", "Linux 7.2, mediatek, MT8173", "drivers/gpu/drm/mediatek", kMediatek},
    Profile{"nvidia-drm", "NVIDIA open-gpu-kernel-modules 560.28.03, Turing", "kernel-open/nvidia-drm", kNvidia},
    Profile{"virtio", "Linux 7.2, virtio-gpu", "drivers/gpu/drm/virtio", kVirtio},
};

constexpr Profile kCoreProfile{"core", "Linux 7.2, the DRM core", "drivers/gpu/drm", kCore};

} // namespace

std::span<const Profile> all_profiles()
{
  return kProfiles;
}

const Profile &core_profile()
{
  return kCoreProfile;
}

const Profile *find_profile(std::string_view name, std::string &error)
{
  std::string names;
  for (const auto &profile : kProfiles) {
    if (profile.name == name)
      return &profile;
    names += (names.empty() ? "" : ", ") + std::string(profile.name);
  }
  error = "There is no display profile \"" + std::string(name) + "\". Profiles: " + names + ".";
  return nullptr;
}

} // namespace gstdrm::test::fakedrm
