// SPDX-License-Identifier: LGPL-2.1-or-later
#include "profiles.hpp"

#include <array>

namespace gstdrm::test::vadriver {
namespace {

// AMD's and NVIDIA's modifiers are labels here: the pixels lie linear.
constexpr std::array kIhd = {
    Fact{"vendor=Intel iHD driver for Intel(R) Gen Graphics - 24.1.0", "its name",
         "media_libva.cpp"},
    Fact{"formats=NV12:P010:YUY2:UYVY:I420:YV12:BGRX:BGRA:RGBX:RGBA:XRGB:ARGB:X2R10:A2R10",
         "pixel formats of video processing", "media_libva_caps.cpp"},
    Fact{"accept-modifiers=0",
         "VASurfaceAttribDRMFormatModifiers is not listed, and refused with ATTR_NOT_SUPPORTED",
         "media_libva.cpp, DdiMedia_CreateSurfaces2"},
    Fact{"modifiers=y-tiled:linear", "YUV surfaces are Y-tiled where nobody asks",
         "media_libva_util.cpp, DdiMediaUtil_AllocateSurface"},
    Fact{"linear-formats=I420:YV12:BGRX:BGRA:RGBX:RGBA:XRGB:ARGB:X2R10:A2R10",
         "RGB and planar YUV are linear, but with the usage hint of an encoder",
         "media_libva_util.cpp, DdiMediaUtil_AllocateSurface"},
    Fact{"linear-by-descriptor=1",
         "an external buffer descriptor without tiling, for VA memory, makes linear surfaces",
         "media_libva_util.cpp, DdiMediaUtil_AllocateSurface"},
    Fact{"stride-align=128", "pitches of Y tiles", "media_libva_util.cpp"},
    Fact{"alias=BGRX:XRGB:XR24", "a surface asked for as BGRX is exported as XRGB, XRGB8888",
         "media_libva.cpp, DdiMedia_MediaFormatToOsFormat"},
    Fact{"alias=XRGB:XRGB:XR24", "so is XRGB, which has the same bytes as BGRX",
         "media_libva.cpp, DdiMedia_OsFormatToMediaFormat"},
    Fact{"alias=BGRA:ARGB:AR24", "BGRA is exported as ARGB, ARGB8888",
         "media_libva.cpp, DdiMedia_MediaFormatToOsFormat"},
    Fact{"alias=ARGB:ARGB:AR24", "so is ARGB, which has the same bytes as BGRA",
         "media_libva.cpp, DdiMedia_OsFormatToMediaFormat"},
    Fact{"alias=RGBX:XBGR:XB24", "RGBX is exported as XBGR, XBGR8888",
         "media_libva.cpp, DdiMedia_MediaFormatToOsFormat"},
    Fact{"alias=RGBA:RGBA:RA24", "RGBA is exported with a layer named RGBA8888",
         "media_libva.cpp, DdiMedia_GetDrmFormatOfCompositeObject"},
    Fact{"min-size=16", "smallest width and height", "media_libva_caps.cpp"},
    Fact{"colours=601:709:2020:explicit", "colour standards",
         "media_libva.cpp, vp_input_color_std"},
    Fact{"import-objects=0",
         "of a foreign frame in several dma-bufs the first is read, for every plane",
         "media_libva.cpp, DdiMedia_CreateSurfaces2"},
    Fact{"deinterlace=bob:adaptive",
         "deinterlacing; the motion-adaptive algorithm needs the frame before",
         "../vp/ddi/media_libva_vp.c, DdiVp_QueryVideoProcFilterCaps; media_libva.cpp, "
         "DdiMedia_QueryVideoProcPipelineCaps"},
};

constexpr std::array kI965 = {
    Fact{"vendor=Intel i965 driver for Intel(R) Haswell - 2.4.1", "its name", "i965_drv_video.c"},
    Fact{"formats=NV12:I420:YV12:YUY2:UYVY:BGRX:BGRA:RGBX:RGBA",
         "pixel formats of video processing", "i965_drv_video.c, i965_QuerySurfaceAttributes"},
    Fact{"ignore-modifiers=1",
         "VASurfaceAttribDRMFormatModifiers is not listed; a list is taken and not looked at",
         "i965_drv_video.c, i965_CreateSurfaces2"},
    Fact{"modifiers=y-tiled:linear", "Y-tiled where nobody asks",
         "i965_drv_video.c, i965_surface_native_memory"},
    Fact{"linear-formats=I420:YV12", "planar YUV is linear",
         "i965_drv_video.c, i965_surface_native_memory"},
    Fact{"linear-by-descriptor=1",
         "an external buffer descriptor without tiling makes linear surfaces",
         "i965_drv_video.c, i965_CreateSurfaces2"},
    Fact{"stride-align=128", "pitches of Y tiles", "i965_drv_video.c, i965_CreateSurfaces2"},
    Fact{"import-prime2=0",
         "foreign dma-bufs are taken as VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME alone; a type that it "
         "does not know is memory of its own",
         "i965_drv_video.c, i965_CreateSurfaces2"},
    Fact{"pipelines=1",
         "a picture keeps one pipeline parameter, the last; vaEndPicture draws that one",
         "i965_drv_video.c, i965_proc_render_picture"},
    Fact{"colours=601", "colour standards", "i965_drv_video.c, i965_QueryVideoProcPipelineCaps"},
    Fact{"fixed-colours=601:601", "the standard and the range that are asked for are not looked at",
         "i965_post_processing.c; i965_yuv_coefs.c"},
    Fact{"background=0", "no background colour is drawn",
         "i965_post_processing.c, i965_proc_picture_fast"},
    Fact{"deinterlace=bob:adaptive:compensated",
         "deinterlacing, from Ivy Bridge on; the last two algorithms need the frame before",
         "i965_drv_video.c, i965_QueryVideoProcFilterCaps, i965_QueryVideoProcPipelineCaps; "
         "i965_device_info.c"},
};

constexpr std::array kRadeonsi = {
    Fact{"vendor=Mesa Gallium driver 22.3.6 for AMD Radeon Graphics (radeonsi)", "its name",
         "context.c"},
    Fact{"formats=NV12:P010:YV12:I420:UYVY:YUY2:RGBA:BGRA:RGBX:BGRX:A2R10:X2R10",
         "pixel formats of video processing", "surface.c, vlVaQuerySurfaceAttributes"},
    Fact{"accept-modifiers=1", "VASurfaceAttribDRMFormatModifiers is settable and lists nothing",
         "surface.c, vlVaQuerySurfaceAttributes"},
    Fact{"implicit-unless-listed=1",
         "a surface made without a list is exported with DRM_FORMAT_MOD_INVALID",
         "surface.c, vlVaExportSurfaceHandle; radeonsi/si_texture.c"},
    Fact{"modifiers=0x0200000018801b03:linear",
         "of a list it takes the layout that it likes best, here a 64K_R_X one of GFX10.3",
         "radeonsi/si_uvd.c, si_video_buffer_create_with_modifiers"},
    Fact{"stride-align=256", "pitches", "radeonsi/si_texture.c"},
    Fact{"objects=1", "all planes in one object", "surface.c, vlVaExportSurfaceHandle"},
    Fact{"alias=YUY2:YUYV:YUYV", "YUY2 is exported as YUYV, until Mesa 23",
         "va_private.h, PipeFormatToVaFourcc"},
    Fact{"composed-refused=I420:YV12", "planar YUV has no DRM name as a whole, only plane by plane",
         "surface.c, pipe_format_to_drm_format"},
    Fact{"export-refused=UYVY", "UYVY has no DRM name at all",
         "surface.c, pipe_format_to_drm_format"},
    Fact{"vpp-refused=YUY2:UYVY", "the compositor draws into no 4:2:2 surface (UNIMPLEMENTED)",
         "postproc.c"},
    Fact{"status-ready=1",
         "vaQuerySurfaceStatus says ready while the compositor still draws, until Mesa 23",
         "surface.c, vlVaQuerySurfaceStatus"},
    Fact{"colours=601", "colour standards", "surface.c, vlVaQueryVideoProcPipelineCaps"},
    Fact{"fixed-colours=601:709",
         "the standard and the range that are asked for are not looked at, until Mesa 23",
         "context.c; ../../auxiliary/vl/vl_compositor.c, vl_compositor_convert_rgb_to_yuv"},
    Fact{"background=0", "the compositor draws no background colour",
         "postproc.c, vlVaPostProcCompositor, vlVaPostProcBlit"},
    Fact{"deinterlace=bob:weave:adaptive", "deinterlacing",
         "surface.c, vlVaQueryVideoProcFilterCaps"},
    Fact{"bob=0", "bob is taken, and shows both fields of imported surfaces, which are progressive",
         "postproc.c, vlVaPostProcBlit; ../../auxiliary/vl/vl_compositor.c"},
    Fact{"deinterlace-needs=2:1",
         "the motion-adaptive algorithm needs two frames before and one behind",
         "surface.c, vlVaQueryVideoProcPipelineCaps"},
};

// What has changed since. Of the formats, those that the test driver has.
constexpr std::array kRadeonsi26 = {
    Fact{"vendor=Mesa Gallium driver 26.1.6 for AMD Radeon Graphics (radeonsi)", "its name",
         "context.c"},
    Fact{"formats=NV12:YV12:I420:P010:UYVY:YUY2:RGBA:BGRA:RGBX:BGRX:ARGB:A2R10:X2R10",
         "pixel formats of video processing", "surface.c, vlVaQuerySurfaceAttributes"},
    Fact{"accept-modifiers=1", "VASurfaceAttribDRMFormatModifiers is settable and lists nothing",
         "surface.c, vlVaQuerySurfaceAttributes"},
    Fact{"implicit-unless-listed=0",
         "a surface made without a list has a modifier of the driver's own list, and is exported "
         "with it",
         "../../drivers/radeonsi/mm/si_video.c, si_video_buffer_create; surface.c, "
         "vlVaExportSurfaceHandle"},
    Fact{"modifiers=0x0200000018801b03:linear",
         "of a list it takes the layout that it likes best, here a 64K_R_X one of GFX10.3",
         "../../drivers/radeonsi/mm/si_video.c, si_video_buffer_create_with_modifiers"},
    Fact{"linear-by-descriptor=1",
         "an external buffer descriptor without tiling makes linear surfaces",
         "surface.c, vlVaCreateSurfaces2"},
    Fact{"stride-align=256", "pitches", "../../drivers/radeonsi/si_texture.c"},
    Fact{"objects=1", "all planes in one object", "surface.c, vlVaExportSurfaceHandle"},
    Fact{"composed-refused=I420:YV12", "planar YUV has no DRM name as a whole, only plane by plane",
         "surface.c, pipe_format_to_drm_format"},
    Fact{"export-refused=UYVY", "UYVY has no DRM name at all",
         "surface.c, pipe_format_to_drm_format"},
    Fact{"vpp-refused=YUY2:UYVY", "the compositor draws into no 4:2:2 surface (UNIMPLEMENTED)",
         "postproc.c, vlVaPostProcCompositor"},
    Fact{"status-ready=0", "vaQuerySurfaceStatus asks for the compositor's fence too",
         "surface.c, vlVaQuerySurfaceStatus"},
    Fact{"colours=601:709:2020:explicit", "colour standards, explicit ones among them",
         "postproc.c, vpp_color_standards, vlVaHandleVAProcPipelineParameterBufferType"},
    Fact{"background=0", "the compositor draws no background colour",
         "postproc.c, vlVaPostProcCompositor"},
    Fact{"deinterlace=bob:weave:adaptive", "deinterlacing",
         "postproc.c, vlVaQueryVideoProcFilterCaps"},
    Fact{"bob=0", "bob is taken, and shows both fields of imported surfaces, which are progressive",
         "postproc.c, vlVaPostProcCompositor; ../../auxiliary/vl/vl_compositor.c, "
         "vl_compositor_set_buffer_layer"},
    Fact{"deinterlace-needs=2:1",
         "the motion-adaptive algorithm needs two frames before and one behind",
         "postproc.c, vlVaQueryVideoProcPipelineCaps"},
};

constexpr std::array kNouveau = {
    Fact{"vendor=Mesa Gallium driver 22.3.6 for NVE7 (nouveau)", "its name", "context.c"},
    Fact{"formats=P010:YUY2:UYVY:RGBA:BGRA:RGBX:BGRX:A2R10:X2R10",
         "pixel formats of video processing; NV12 is exported from no chip after NV50",
         "surface.c, vlVaQuerySurfaceAttributes; nouveau/nvc0/nvc0_video.c"},
    Fact{"accept-modifiers=0", "no list of modifiers is taken",
         "surface.c, vlVaHandleSurfaceAllocate"},
    Fact{"modifiers=0x03000000004fe013:linear", "tiles of 8 blocks height where nobody asks",
         "drivers/nouveau/nvc0/nvc0_miptree.c"},
    Fact{"tall=0x03000000004fe014:64", "tiles of 16 blocks height for more than 64 rows",
         "drivers/nouveau/nvc0/nvc0_miptree.c"},
    Fact{"linear-by-descriptor=1",
         "an external buffer descriptor without tiling makes linear surfaces",
         "surface.c, vlVaCreateSurfaces2"},
    Fact{"lie=unsized", "exported objects have a size of 0", "surface.c, vlVaExportSurfaceHandle"},
    Fact{"objects=2", "one object per plane", "surface.c, vlVaExportSurfaceHandle"},
    Fact{"export-refused=UYVY", "UYVY has no DRM name at all",
         "surface.c, pipe_format_to_drm_format"},
    Fact{"vpp-refused=YUY2:UYVY", "the compositor draws into no 4:2:2 surface (UNIMPLEMENTED)",
         "postproc.c"},
    Fact{"status-ready=1",
         "vaQuerySurfaceStatus says ready while the compositor still draws, until Mesa 23",
         "surface.c, vlVaQuerySurfaceStatus"},
    Fact{"derive=0", "vaDeriveImage fails for what is tiled, so images are put", "image.c"},
    Fact{"colours=601", "colour standards", "surface.c, vlVaQueryVideoProcPipelineCaps"},
    Fact{"fixed-colours=601:709",
         "the standard and the range that are asked for are not looked at, until Mesa 23",
         "context.c; ../../auxiliary/vl/vl_compositor.c, vl_compositor_convert_rgb_to_yuv"},
    Fact{"background=0", "the compositor draws no background colour",
         "postproc.c, vlVaPostProcCompositor, vlVaPostProcBlit"},
    Fact{"deinterlace=bob:weave:adaptive", "deinterlacing",
         "surface.c, vlVaQueryVideoProcFilterCaps"},
    Fact{"bob=0", "bob is taken, and shows both fields of imported surfaces, which are progressive",
         "postproc.c, vlVaPostProcBlit; ../../auxiliary/vl/vl_compositor.c"},
    Fact{"deinterlace-needs=2:1",
         "the motion-adaptive algorithm needs two frames before and one behind",
         "surface.c, vlVaQueryVideoProcPipelineCaps"},
};

constexpr std::array kProfiles = {
    Profile{"ihd", "intel/media-driver 24.1", "media_driver/linux/common/ddi", kIhd},
    Profile{"i965", "intel/intel-vaapi-driver 2.4.1", "src", kI965},
    Profile{"radeonsi", "Mesa 22.3, radeonsi", "src/gallium/frontends/va", kRadeonsi},
    Profile{"radeonsi26", "Mesa 26.1, radeonsi", "src/gallium/frontends/va", kRadeonsi26},
    Profile{"nouveau", "Mesa 22.3, nouveau", "src/gallium/frontends/va", kNouveau},
};

} // namespace

std::span<const Profile> all_profiles()
{
  return kProfiles;
}

const Profile *find_profile(std::string_view name)
{
  for (const auto &profile : kProfiles) {
    if (profile.name == name)
      return &profile;
  }
  return nullptr;
}

} // namespace gstdrm::test::vadriver
