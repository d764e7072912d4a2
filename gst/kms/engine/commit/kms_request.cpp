// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_request.hpp"

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
  if (const Property *rotation = find(p, "rotation"))
    set(plane.id, rotation->id, "rotation", setup.rotation);
  if (const Property *zpos = find(p, "zpos");
      zpos && setup.zpos >= 0 && !(zpos->flags & DRM_MODE_PROP_IMMUTABLE))
    set(plane.id, zpos->id, "zpos", static_cast<std::uint64_t>(setup.zpos));
  // optional: a driver has only the values that its hardware can do
  if (const Property *encoding = find(p, "COLOR_ENCODING"))
    if (const auto value = encoding->enum_value(encoding_name(setup.encoding)))
      set(plane.id, encoding->id, "COLOR_ENCODING", *value);
  if (const Property *range = find(p, "COLOR_RANGE"))
    if (const auto value = range->enum_value(range_name(setup.range)))
      set(plane.id, range->id, "COLOR_RANGE", *value);
  set_blending(plane, setup.alpha);
}

// Another program may have left another blending. Without the properties a plane blends opaquely,
// and alpha as premultiplied (drm_blend.c). A plane with the property that lacks "Coverage" shows
// straight colours without their alpha ("None"): premultiplied, they would be too bright.
void Request::set_blending(const Plane &plane, std::optional<Alpha> alpha)
{
  if (const Property *mode = find(plane.properties, "pixel blend mode"); mode && alpha) {
    auto value = mode->enum_value(*alpha == Alpha::Straight ? "Coverage" : "Pre-multiplied");
    if (!value)
      value = mode->enum_value("None");
    if (value)
      set(plane.id, mode->id, "pixel blend mode", *value);
  }
  if (const Property *opacity = find(plane.properties, "alpha"))
    set(plane.id, opacity->id, "alpha", opacity->range ? opacity->range->second : 0xffff);
}

void Request::disable_plane(const Plane &plane)
{
  set(plane.id, plane.properties, "FB_ID", 0);
  set(plane.id, plane.properties, "CRTC_ID", 0);
}

} // namespace gstdrm::kms
