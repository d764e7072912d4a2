// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_request.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <limits>
#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// Names of drm_color_mgmt.c
const char *encoding_name(ColorEncoding encoding)
{
  switch (encoding) {
  case ColorEncoding::Bt709:
    return "ITU-R BT.709 YCbCr";
  case ColorEncoding::Bt2020:
    return "ITU-R BT.2020 YCbCr";
  case ColorEncoding::Bt601:
    break;
  }
  return "ITU-R BT.601 YCbCr";
}

const char *range_name(ColorRange range)
{
  return range == ColorRange::Full ? "YCbCr full range" : "YCbCr limited range";
}

} // namespace

bool Request::set_named(std::uint32_t object_id, const PropertySet &properties, const char *name,
                        std::string_view value)
{
  const Property *property = find(properties, name);
  const auto number = property ? property->enum_value(value) : std::nullopt;
  if (number)
    set(object_id, property->id, name, *number);
  return number.has_value();
}

void Request::set_plane(const Plane &plane, std::uint32_t crtc_id, const PlaneSetup &setup)
{
  const PropertySet &p = plane.properties;
  set(plane.id, p, "FB_ID", setup.framebuffer_id);
  set(plane.id, p, "CRTC_ID", crtc_id);
  const Rectangle &from = setup.source, &to = setup.destination;
  set(plane.id, p, "SRC_X", static_cast<std::uint64_t>(from.x) << 16);
  set(plane.id, p, "SRC_Y", static_cast<std::uint64_t>(from.y) << 16);
  set(plane.id, p, "SRC_W", std::uint64_t{from.width} << 16);
  set(plane.id, p, "SRC_H", std::uint64_t{from.height} << 16);
  set(plane.id, p, "CRTC_X", static_cast<std::uint64_t>(std::int64_t{to.x}));
  set(plane.id, p, "CRTC_Y", static_cast<std::uint64_t>(std::int64_t{to.y}));
  set(plane.id, p, "CRTC_W", to.width);
  set(plane.id, p, "CRTC_H", to.height);
  // the console may have left the plane turned
  set_if_there(plane.id, p, "rotation", setup.rotation);
  if (const Property *zpos = find(p, "zpos"); zpos && setup.zpos >= 0 && zpos->can_be_set())
    set(plane.id, zpos->id, "zpos", static_cast<std::uint64_t>(setup.zpos));
  // optional: a driver has only the values that its hardware can do
  set_named(plane.id, p, "COLOR_ENCODING", encoding_name(setup.encoding));
  set_named(plane.id, p, "COLOR_RANGE", range_name(setup.range));
  set_blending(plane, setup.alpha);
}

// Another program may have left another blending. Without the properties a plane blends opaquely,
// and alpha as premultiplied (drm_blend.c). A plane with the property that lacks "Coverage" shows
// straight colours without their alpha ("None"): premultiplied, they would be too bright.
void Request::set_blending(const Plane &plane, std::optional<Alpha> alpha)
{
  const char *kBlending = "pixel blend mode";
  if (alpha && !set_named(plane.id, plane.properties, kBlending,
                          *alpha == Alpha::Straight ? "Coverage" : "Pre-multiplied"))
    set_named(plane.id, plane.properties, kBlending, "None");
  if (const Property *opacity = find(plane.properties, "alpha"))
    set(plane.id, opacity->id, "alpha", opacity->range ? opacity->range->second : 0xffff);
}

void Request::disable_plane(const Plane &plane)
{
  set(plane.id, plane.properties, "FB_ID", 0);
  set(plane.id, plane.properties, "CRTC_ID", 0);
}

namespace {

// "ALLOW_MODESET TEST_ONLY"
std::string describe_flags(std::uint32_t flags)
{
  constexpr std::array<std::pair<std::uint32_t, const char *>, 5> kNames = {
      {{DRM_MODE_ATOMIC_TEST_ONLY, "TEST_ONLY"},
       {DRM_MODE_ATOMIC_NONBLOCK, "NONBLOCK"},
       {DRM_MODE_ATOMIC_ALLOW_MODESET, "ALLOW_MODESET"},
       {DRM_MODE_PAGE_FLIP_EVENT, "PAGE_FLIP_EVENT"},
       {DRM_MODE_PAGE_FLIP_ASYNC, "PAGE_FLIP_ASYNC"}}};
  std::string text;
  for (const auto &[flag, name] : kNames)
    if (flags & flag)
      text += std::string(text.empty() ? "" : " ") + name;
  return text.empty() ? "no flags" : text;
}

const char *describe_commit(std::uint32_t flags)
{
  if (flags & DRM_MODE_ATOMIC_TEST_ONLY)
    return "test commit";
  return flags & DRM_MODE_ATOMIC_ALLOW_MODESET ? "mode set" : "commit";
}

void log_properties(int drm_fd, const Request &request, std::uint32_t flags, std::uint64_t serial)
{
  GSTDRM_LOG("%s %" PRIu64 " (%s) on fd %d sets %zu properties:", describe_commit(flags), serial,
             describe_flags(flags).c_str(), drm_fd, request.assignments().size());
  for (const Request::Assignment &set : request.assignments())
    GSTDRM_LOG("  object %u: %s (property %u) = %" PRIu64, set.object_id, set.name, set.property_id,
               set.value);
}

// A refusal is logged at DEBUG only: whether it is an error is for the caller to decide, who may
// have another plan to try.
void log_result(std::uint32_t flags, std::uint64_t serial, int ret)
{
  if (ret == 0 && (flags & DRM_MODE_ATOMIC_ALLOW_MODESET) && !(flags & DRM_MODE_ATOMIC_TEST_ONLY))
    GSTDRM_DEBUG("%s %" PRIu64 " was made", describe_commit(flags), serial);
  else if (ret == 0 || ret == -EBUSY)
    GSTDRM_LOG("%s %" PRIu64 ": %s", describe_commit(flags), serial,
               ret == 0 ? "accepted" : "put off, EBUSY");
  else
    GSTDRM_DEBUG("%s %" PRIu64 " (%s) was refused: %s", describe_commit(flags), serial,
                 describe_flags(flags).c_str(), errno_text(-ret).c_str());
}

} // namespace

int commit_request(int drm_fd, const Request &request, std::uint32_t flags, std::uint64_t serial)
{
  const AtomicReqPtr raw(drmModeAtomicAlloc());
  if (!raw)
    return -ENOMEM;
  for (const auto &[object_id, property_id, name, value] : request.assignments()) {
    if (property_id == 0)
      return -ENOENT;
    if (const int ret = drmModeAtomicAddProperty(raw.get(), object_id, property_id, value); ret < 0)
      return ret;
  }
  if (log_reads(LogLevel::Log))
    log_properties(drm_fd, request, flags, serial);
  // the kernel carries 64 bits of user data; libdrm passes them as a pointer
  const int ret = drmModeAtomicCommit(
      drm_fd, raw.get(), flags, reinterpret_cast<void *>(static_cast<std::uintptr_t>(serial)));
  if (log_reads(LogLevel::Debug))
    log_result(flags, serial, ret);
  return ret;
}

namespace {

constexpr std::uint8_t kStaticMetadataType1 =
    0; // CTA-861-G table 85, and metadata_type of the blob

std::uint16_t saturated(std::uint32_t value)
{
  constexpr std::uint32_t kLargest = std::numeric_limits<std::uint16_t>::max();
  return static_cast<std::uint16_t>(std::min(value, kLargest));
}

} // namespace

hdr_output_metadata to_blob(const HdrMetadata &metadata)
{
  hdr_output_metadata blob{};
  blob.metadata_type = kStaticMetadataType1;
  hdr_metadata_infoframe &frame = blob.hdmi_metadata_type1;
  frame.eotf = static_cast<std::uint8_t>(metadata.transfer);
  frame.metadata_type = kStaticMetadataType1;
  for (std::size_t i = 0; i < metadata.primaries.size(); i++) {
    frame.display_primaries[i].x = metadata.primaries[i].x;
    frame.display_primaries[i].y = metadata.primaries[i].y;
  }
  frame.white_point.x = metadata.white_point.x;
  frame.white_point.y = metadata.white_point.y;
  // the frame has whole cd/m2 for the maximum, and 0.0001 cd/m2 for the minimum
  constexpr std::uint32_t kUnitsPerCandela = 10'000;
  frame.max_display_mastering_luminance =
      saturated(metadata.max_luminance / kUnitsPerCandela +
                (metadata.max_luminance % kUnitsPerCandela >= kUnitsPerCandela / 2 ? 1 : 0));
  frame.min_display_mastering_luminance = saturated(metadata.min_luminance);
  frame.max_cll = saturated(metadata.max_content_light_level);
  frame.max_fall = saturated(metadata.max_frame_average_light_level);
  return blob;
}

} // namespace gstdrm::kms
