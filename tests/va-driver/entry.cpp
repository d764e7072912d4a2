// SPDX-License-Identifier: LGPL-2.1-or-later
// What libva looks up in gstdrmtest_drv_video.so, and configurations.
#include <memory>

#include <va/va_drmcommon.h>
#include <va/va_version.h>

#include "driver.hpp"

namespace gstdrm::test::vadriver {
namespace {

constexpr char kVendor[] = "gst-drm test driver";
constexpr std::uint32_t kRtFormats = VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10 |
                                     VA_RT_FORMAT_YUV422 | VA_RT_FORMAT_RGB32 |
                                     VA_RT_FORMAT_RGB32_10;

VAStatus terminate(VADriverContextP context)
{
  const std::unique_ptr<Driver> driver(static_cast<Driver *>(context->pDriverData));
  context->pDriverData = nullptr;
  return VA_STATUS_SUCCESS;
}

// Without VPP there is one decoder, so that configurations and surfaces can be made all the same.
VAProfile the_profile(const Driver &driver)
{
  return driver.settings.vpp ? VAProfileNone : VAProfileJPEGBaseline;
}

VAEntrypoint the_entrypoint(const Driver &driver)
{
  return driver.settings.vpp ? VAEntrypointVideoProc : VAEntrypointVLD;
}

VAStatus query_profiles(VADriverContextP context, VAProfile *profiles, int *count)
{
  profiles[0] = the_profile(Driver::of(context));
  *count = 1;
  return VA_STATUS_SUCCESS;
}

VAStatus query_entrypoints(VADriverContextP context, VAProfile profile, VAEntrypoint *entrypoints,
                           int *count)
{
  const auto &driver = Driver::of(context);
  if (profile != the_profile(driver))
    return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
  entrypoints[0] = the_entrypoint(driver);
  *count = 1;
  return VA_STATUS_SUCCESS;
}

VAStatus get_config_attributes(VADriverContextP /*context*/, VAProfile /*profile*/,
                               VAEntrypoint /*entrypoint*/, VAConfigAttrib *attributes, int count)
{
  for (int i = 0; i < count; ++i)
    attributes[i].value =
        attributes[i].type == VAConfigAttribRTFormat ? kRtFormats : VA_ATTRIB_NOT_SUPPORTED;
  return VA_STATUS_SUCCESS;
}

VAStatus create_config(VADriverContextP context, VAProfile profile, VAEntrypoint entrypoint,
                       VAConfigAttrib * /*attributes*/, int /*count*/, VAConfigID *id)
{
  auto &driver = Driver::of(context);
  if (profile != the_profile(driver))
    return VA_STATUS_ERROR_UNSUPPORTED_PROFILE;
  if (entrypoint != the_entrypoint(driver))
    return VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT;
  const std::lock_guard guard(driver.lock);
  driver.configs.push_back(profile);
  *id = static_cast<VAConfigID>(driver.configs.size());
  return VA_STATUS_SUCCESS;
}

VAStatus destroy_config(VADriverContextP context, VAConfigID id)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  return id >= 1 && id <= driver.configs.size() ? VA_STATUS_SUCCESS
                                                : VA_STATUS_ERROR_INVALID_CONFIG;
}

VAStatus query_config_attributes(VADriverContextP context, VAConfigID id, VAProfile *profile,
                                 VAEntrypoint *entrypoint, VAConfigAttrib *attributes, int *count)
{
  auto &driver = Driver::of(context);
  const std::lock_guard guard(driver.lock);
  if (id < 1 || id > driver.configs.size())
    return VA_STATUS_ERROR_INVALID_CONFIG;
  *profile = driver.configs[id - 1];
  *entrypoint = the_entrypoint(driver);
  attributes[0] = {VAConfigAttribRTFormat, kRtFormats};
  *count = 1;
  return VA_STATUS_SUCCESS;
}

// Entry points that libva insists on and nobody uses here.
template <typename... Arguments>
VAStatus unimplemented(VADriverContextP /*context*/, Arguments... /*unused*/)
{
  return VA_STATUS_ERROR_UNIMPLEMENTED;
}

template <typename... Arguments> void leave_out(VAStatus (*&entry)(VADriverContextP, Arguments...))
{
  entry = in_c<unimplemented<Arguments...>>;
}

VAStatus no_subpictures(VADriverContextP /*context*/, VAImageFormat * /*formats*/,
                        unsigned * /*flags*/, unsigned *count)
{
  *count = 0;
  return VA_STATUS_SUCCESS;
}

VAStatus no_attributes(VADriverContextP /*context*/, VADisplayAttribute * /*attributes*/,
                       int *count)
{
  *count = 0;
  return VA_STATUS_SUCCESS;
}

VAStatus get_attributes(VADriverContextP /*context*/, VADisplayAttribute *attributes, int count)
{
  for (int i = 0; i < count; ++i)
    attributes[i].flags = VA_DISPLAY_ATTRIB_NOT_SUPPORTED;
  return VA_STATUS_SUCCESS;
}

void install_rest(VADriverVTable &vtable)
{
  vtable.vaTerminate = in_c<terminate>;
  vtable.vaQueryConfigProfiles = in_c<query_profiles>;
  vtable.vaQueryConfigEntrypoints = in_c<query_entrypoints>;
  vtable.vaGetConfigAttributes = in_c<get_config_attributes>;
  vtable.vaCreateConfig = in_c<create_config>;
  vtable.vaDestroyConfig = in_c<destroy_config>;
  vtable.vaQueryConfigAttributes = in_c<query_config_attributes>;
  vtable.vaQuerySubpictureFormats = in_c<no_subpictures>;
  vtable.vaQueryDisplayAttributes = in_c<no_attributes>;
  vtable.vaGetDisplayAttributes = in_c<get_attributes>;
  leave_out(vtable.vaSetDisplayAttributes);
  leave_out(vtable.vaPutSurface);
  leave_out(vtable.vaSetImagePalette);
  leave_out(vtable.vaCreateSubpicture);
  leave_out(vtable.vaDestroySubpicture);
  leave_out(vtable.vaSetSubpictureImage);
  leave_out(vtable.vaSetSubpictureChromakey);
  leave_out(vtable.vaSetSubpictureGlobalAlpha);
  leave_out(vtable.vaAssociateSubpicture);
  leave_out(vtable.vaDeassociateSubpicture);
}

VAStatus init(VADriverContextP context)
{
  const auto *drm = static_cast<const drm_state *>(context->drm_state);
  auto driver = Driver::create(drm ? drm->fd : -1);
  if (!driver)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  if (const auto status = driver->count(Counter::Init); status != VA_STATUS_SUCCESS)
    return status;
  context->version_major = VA_MAJOR_VERSION;
  context->version_minor = VA_MINOR_VERSION;
  context->max_profiles = 1;
  context->max_entrypoints = 1;
  context->max_attributes = 1;
  context->max_image_formats = static_cast<int>(all_formats().size());
  context->max_subpic_formats = 1;
  context->max_display_attributes = 1;
  // The string lives as long as the driver, which is as long as the context.
  context->str_vendor = driver->settings.vendor.empty() ? kVendor : driver->settings.vendor.c_str();
  install_rest(*context->vtable);
  install_surfaces(*context->vtable);
  install_images(*context->vtable);
  install_pictures(*context->vtable, context->vtable_vpp);
  context->pDriverData = driver.release();
  return VA_STATUS_SUCCESS;
}

} // namespace
} // namespace gstdrm::test::vadriver

// libva looks for __vaDriverInit_1_N, from its own minor version N downwards.
#define GST_DRM_VA_INIT_NAME(major, minor) __vaDriverInit_##major##_##minor
#define GST_DRM_VA_INIT(major, minor) GST_DRM_VA_INIT_NAME(major, minor)

extern "C" __attribute__((visibility("default")))
VAStatus GST_DRM_VA_INIT(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context);

extern "C" VAStatus GST_DRM_VA_INIT(VA_MAJOR_VERSION, VA_MINOR_VERSION)(VADriverContextP context)
{
  return gstdrm::test::vadriver::in_c<gstdrm::test::vadriver::init>(context);
}
