// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_plan.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <drm_fourcc.h>
#include <drm_mode.h>

#include "engine/output/kms_mode.hpp"

namespace gstdrm::kms {

namespace {

// Text of a set of pairs: its fourccs, and whether all modifiers are implicit.
std::string list_formats(const FormatSet &set)
{
  std::string text;
  std::uint32_t last = 0;
  for (const Format &format : set.pairs()) {
    if (format.fourcc != last)
      text.append(text.empty() ? "" : " ").append(fourcc_to_string(format.fourcc));
    last = format.fourcc;
  }
  if (text.empty())
    return "nothing";
  const bool implicit =
      std::all_of(set.pairs().begin(), set.pairs().end(),
                  [](const Format &format) { return format.modifier == kModImplicit; });
  return text + (implicit ? " (implicit modifiers)"
                          : " (" + std::to_string(set.size()) + " pairs with modifiers)");
}

} // namespace

std::string nearest_fix(const FormatSet &set, Format format)
{
  const auto same = set.of_fourcc(format.fourcc);
  if (!same.empty())
    return "Ask upstream for " + describe_format(same.front()) + ".";
  const FourccInfo *info = fourcc_info(format.fourcc);
  const bool is_planar = info && info->is_yuv && info->n_planes > 1;
  const bool is_deep = bits_per_component(format.fourcc) > 8 ||
                       (is_planar && info->planes[0].block_bytes > info->planes[0].block_width);
  // what keeps most of the picture first
  std::vector<std::uint32_t> substitutes;
  if (is_deep) {
    substitutes = {DRM_FORMAT_P010, DRM_FORMAT_P012, DRM_FORMAT_P016, DRM_FORMAT_XRGB2101010,
                   DRM_FORMAT_XBGR2101010};
    if (!fourcc_is_yuv(format.fourcc)) // RGB as RGB
      std::rotate(substitutes.begin(), substitutes.begin() + 3, substitutes.end());
  }
  if (is_planar)
    substitutes.insert(substitutes.end(), {DRM_FORMAT_NV12, DRM_FORMAT_YUV420});
  substitutes.push_back(DRM_FORMAT_XRGB8888);
  // videoconvert makes no tiles
  for (const std::uint32_t fourcc : substitutes)
    for (const std::uint64_t modifier : {kModLinear, kModImplicit})
      if (set.contains({fourcc, modifier}))
        return "Convert to " + describe_format({fourcc, modifier}) +
               " upstream, for instance with videoconvert.";
  return "Choose another plane with plane-id, or convert upstream.";
}

namespace {

// The placement that the view asks for, and the one without scaling.
std::vector<Placement> placements(const Connector &connector, const View &view,
                                  const Picture &picture, const drmModeModeInfo &mode)
{
  const Rectangle screen{0, 0, mode.hdisplay, mode.vdisplay};
  // an area outside the mode is treated like no area
  const Rectangle area = intersect(view.area.value_or(screen), screen).value_or(screen);
  const Shape shape{
      picture.width,    picture.height,
      picture.par_n,    picture.par_d,
      view.is_turned(), pixel_aspect(mode, {connector.width_mm, connector.height_mm})};
  std::vector<Placement> list = {place(shape, area, view.fit)};
  if (list.front().scaled)
    list.push_back(place(shape, area, Fit::None));
  return list;
}

// Whether the driver can tell the display of such a picture, and the display says that it takes it.
// A television that does not would show the picture as if it were SDR, or nothing.
bool takes_hdr(const Connector &connector, const HdrMetadata &hdr)
{
  return property_id(connector.properties, "HDR_OUTPUT_METADATA") != 0 &&
         (connector.colour.transfers >> static_cast<unsigned>(hdr.transfer) & 1) != 0;
}

// What the cable has to carry: the connector's "max bpc" as it was found, or more where the picture
// needs it. Returns nullopt if the connector has no such property, or the application has set it.
std::optional<std::uint64_t> wanted_bpc(const Connector &connector, const Plan &plan)
{
  constexpr std::uint64_t kHdrBits = 10; // CTA-861-G: PQ and HLG show steps with less
  const Property *bpc = find(connector.properties, "max bpc");
  if (!bpc || !bpc->range || !bpc->can_be_set())
    return std::nullopt;
  for (const PropertySetting &setting : connector.settings)
    if (setting.id == bpc->id)
      return std::nullopt;
  const std::uint64_t needed = std::max<std::uint64_t>(plan.bits, plan.hdr ? kHdrBits : 0);
  return std::max(bpc->value, std::min(needed, bpc->range->second));
}

// HDR metadata is set by the commit of the first frame that it belongs to. A driver that needs a
// mode set for HDR metadata refuses a test commit without one.
void set_connector(Request &request, const Output &output, const Plan &plan, const Plan *shown,
                   const PlanObjects &objects, bool with_mode_set)
{
  const Connector &connector = output.connector;
  const std::uint32_t crtc_id = output.crtc.id;
  if (with_mode_set) {
    request.set(connector.id, connector.properties, "CRTC_ID", crtc_id);
    request.set(crtc_id, output.crtc.properties, "MODE_ID", objects.mode_blob);
    request.set(crtc_id, output.crtc.properties, "ACTIVE", 1);
    // a link that was lost is trained again; the kernel ignores it on a good one
    request.set_if_there(connector.id, connector.properties, "link-status",
                         DRM_MODE_LINK_STATUS_GOOD);
    if (output.writeback)
      request.set(output.writeback->id, output.writeback->properties, "CRTC_ID",
                  objects.writeback ? crtc_id : 0);
  }
  if (output.joined)
    return; // the connector is the other program's
  if (const auto bpc = wanted_bpc(connector, plan);
      bpc && (with_mode_set || !shown || bpc != wanted_bpc(connector, *shown)))
    request.set(connector.id, connector.properties, "max bpc", *bpc);
  const Property *hdr = find(connector.properties, "HDR_OUTPUT_METADATA");
  if (!hdr || (!with_mode_set && shown && plan.hdr == shown->hdr))
    return;
  request.set(connector.id, hdr->id, "HDR_OUTPUT_METADATA", plan.hdr ? objects.hdr_blob : 0);
  // names of drm_connector.c; what the CRTC puts out is RGB
  const bool bt2020 = plan.hdr && connector.colour.bt2020_rgb;
  request.set_named(connector.id, connector.properties, "Colorspace",
                    bt2020 ? "BT2020_RGB" : "Default");
}

// What another program may have left on the way from the planes to the display.
void set_neutral_colour(Request &request, const Output &output)
{
  for (const char *name : {"GAMMA_LUT", "DEGAMMA_LUT", "CTM"})
    request.set_if_there(output.crtc.id, output.crtc.properties, name, 0);
  request.set_if_there(output.crtc.id, output.crtc.properties, "VRR_ENABLED", output.vrr ? 1 : 0);
  // name and value of drm_connector.c; the driver then goes by what the mode and the display say
  request.set_named(output.connector.id, output.connector.properties, "Broadcast RGB", "Automatic");
}

// What the application wants. It comes last, so that it stands in the place of a value of the
// sink's.
void set_user_properties(Request &request, std::uint32_t object_id,
                         const std::vector<PropertySetting> &settings)
{
  for (const PropertySetting &setting : settings)
    request.set(object_id, setting.id, setting.name.c_str(), setting.value);
}

// Whether the commit turns a plane off that the plan does not need.
bool turns_off(const Output &output, const Plane &plane, const Plan *shown, bool with_mode_set)
{
  if (!with_mode_set)
    return shown && (plane.id == shown->plane->id || &plane == shown->background ||
                     &plane == shown->overlay);
  const std::uint64_t user = plane.user();
  return user == 0 || user == output.crtc.id;
}

} // namespace

Result<std::vector<ModeTry>> modes_for(const Output &output, const Picture &picture,
                                       bool scales_down, const std::string &device_name,
                                       const std::optional<drmModeModeInfo> &on_screen,
                                       bool is_fixed)
{
  const FormatSet offered = output.formats();
  if (!offered.contains(picture.format))
    return Error{ErrorCode::Unsupported,
                 "No plane of " + device_name + " for connector " + output.connector.name +
                     " shows " + describe_format(picture.format) + ". Planes " +
                     list_planes(output.planes) + " show " + list_formats(offered) + ". " +
                     nearest_fix(offered, picture.format)};
  if (output.joined)
    return std::vector<ModeTry>{{*output.joined, false}};
  const double aspect = static_cast<double>(picture.width) * picture.par_n /
                        (static_cast<double>(picture.height) * picture.par_d);
  Result<std::vector<ModeTry>> modes =
      modes_to_try({output.connector.modes, output.mode_request, on_screen, is_fixed},
                   {picture.width, picture.height, picture.rate, aspect, scales_down});
  if (!modes)
    return Error{ErrorCode::Caps, // of another size, perhaps
                 "Connector " + output.connector.name + " of " + device_name +
                     " has no mode for the stream. " + modes.error().message +
                     (is_fixed ? " Or let the mode change, with mode-changes=auto." : ""),
                 0};
  return modes;
}

std::uint32_t panel_rotation(const Output &output)
{
  const Property *orientation = find(output.connector.properties, "panel orientation");
  if (!orientation)
    return DRM_MODE_ROTATE_0;
  // as the kernel turns its console (drm_client_modeset.c, drm_client_rotation())
  const std::pair<const char *, std::uint32_t> turns[] = {{"Upside Down", DRM_MODE_ROTATE_180},
                                                          {"Left Side Up", DRM_MODE_ROTATE_90},
                                                          {"Right Side Up", DRM_MODE_ROTATE_270}};
  for (const auto &[name, rotation] : turns)
    if (orientation->enum_value(name) == orientation->value &&
        std::any_of(output.planes.begin(), output.planes.end(),
                    [turn = rotation](const Plane &plane) {
                      return plane_rotation(plane, turn).has_value();
                    }))
      return rotation;
  return DRM_MODE_ROTATE_0;
}

// A picture is reflected first, then turned (drm_rect.c, drm_rect_rotate()), so that the turns add
// up.
View on_panel(View view, std::uint32_t panel_rotation)
{
  constexpr std::uint32_t kTurns =
      DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;
  if (!view.upright)
    return view;
  const auto quarters = [](std::uint32_t rotation) { return std::countr_zero(rotation & kTurns); };
  const int sum = (quarters(view.rotation) + quarters(panel_rotation)) % 4;
  view.rotation = (view.rotation & ~kTurns) | std::uint32_t{1} << sum;
  return view;
}

std::string why_unfit(const View &view, const Plane &plane, Format format)
{
  if (!plane.formats.contains(format))
    return "does not list " + describe_format(format);
  if (view.rotation != DRM_MODE_ROTATE_0 && !find(plane.properties, "rotation"))
    return "cannot turn or reflect a picture";
  if (!plane_rotation(plane, view.rotation))
    return "cannot turn or reflect a picture so";
  return why_no_zpos(plane, view.zpos);
}

namespace {

// Planes that blend the picture's alpha come before the others, over a black plane too: on amdgpu
// overlays blend, the primary plane does not, and no CRTC is on without its primary plane. Returns
// the end of those that come first.
std::vector<const Plane *>::iterator blending_first(std::vector<const Plane *> &planes,
                                                    const Picture &picture)
{
  if (!has_alpha(picture.format.fourcc) || picture.alpha != Alpha::Straight)
    return planes.end();
  return std::stable_partition(planes.begin(), planes.end(), [](const Plane *plane) {
    const Property *blending = find(plane->properties, "pixel blend mode");
    return blending && blending->enum_value("Coverage");
  });
}

} // namespace

std::vector<Plan> candidate_plans(const Output &output, const View &view, const Picture &picture,
                                  const drmModeModeInfo &mode, const Plan *shown)
{
  const Plane *primary = output.plane_of(PlaneType::Primary);
  std::vector<const Plane *> fit;
  for (const Plane &plane : output.planes)
    if (why_unfit(view, plane, picture.format).empty())
      fit.push_back(&plane);
  const auto blending = blending_first(fit, picture);
  const bool tells_hdr = !output.joined && picture.hdr && takes_hdr(output.connector, *picture.hdr);
  std::vector<Plan> list;
  const auto add = [&](const Plane &plane, const Placement &placement, bool background) {
    if (background && (plane.type == PlaneType::Primary || !primary || output.joined))
      return;
    Plan plan;
    plan.mode = mode;
    plan.plane = &plane;
    plan.background = background ? primary : nullptr;
    plan.rectangle.source = placement.source;
    plan.rectangle.destination = placement.destination;
    plan.rectangle.rotation = *plane_rotation(plane, view.rotation);
    plan.rectangle.zpos = view.zpos;
    if (background && view.zpos < 0) { // another program may have left the plane under the primary
      const std::optional<int> zpos = zpos_over(plane, *primary, -1);
      if (!zpos)
        return;
      plan.rectangle.zpos = *zpos;
    }
    plan.rectangle.encoding = picture.encoding;
    plan.rectangle.range = picture.range;
    if (has_alpha(picture.format.fourcc))
      plan.rectangle.alpha = picture.alpha;
    plan.balance = view.balance;
    plan.width = picture.width;
    plan.height = picture.height;
    plan.scaled = placement.scaled;
    plan.bits = bits_per_component(picture.format.fourcc);
    if (tells_hdr)
      plan.hdr = picture.hdr;
    plan.hdr_left_out = !output.joined && picture.hdr && !tells_hdr;
    list.push_back(std::move(plan));
  };
  for (const Placement &placement : placements(output.connector, view, picture, mode))
    for (const auto &[first, last] : {std::pair(fit.begin(), blending), {blending, fit.end()}})
      for (const bool background : {false, true})
        for (auto plane = first; plane != last; ++plane)
          add(**plane, placement, background);
  // the plane that is in use comes first, so that a change of format alone keeps plane and mode
  const bool scaled = !list.empty() && list.front().scaled;
  const bool blends = blending == fit.begin() ||
                      (shown && std::find(fit.begin(), blending, shown->plane) != blending);
  if (shown && blends)
    std::stable_partition(list.begin(), list.end(), [shown, scaled](const Plan &s) {
      return s.scaled == scaled && s.plane == shown->plane && s.background == shown->background;
    });
  return list;
}

bool needs_mode_set(const Output &output, const Plan &plan, const Plan *shown)
{
  if (output.joined)
    return false;
  return !shown || !same_mode(plan.mode, shown->mode);
}

Request plan_commit(const Output &output, const Plan &plan, const Plan *shown,
                    const PlanObjects &objects, bool with_mode_set)
{
  Request request;
  set_connector(request, output, plan, shown, objects, with_mode_set);
  if (with_mode_set)
    set_neutral_colour(request, output);
  for (const Plane &plane : output.crtc_planes) {
    const bool needed = plane.id == plan.plane->id || &plane == plan.background ||
                        (&plane == plan.overlay && objects.overlay);
    if (!needed && turns_off(output, plane, shown, with_mode_set))
      request.disable_plane(plane);
  }
  if (plan.background) {
    PlaneSetup black;
    black.framebuffer_id = objects.background_framebuffer;
    black.source = black.destination = {0, 0, plan.mode.hdisplay, plan.mode.vdisplay};
    request.set_plane(*plan.background, output.crtc.id, black);
  }
  PlaneSetup rectangle = plan.rectangle;
  rectangle.framebuffer_id = objects.framebuffer;
  request.set_plane(*plan.plane, output.crtc.id, rectangle);
  if (plan.overlay && objects.overlay)
    set_overlay(request, output, plan, objects.overlay);
  set_balance(request, output, *plan.plane, plan.balance);
  set_user_properties(request, plan.plane->id, plan.plane->settings);
  if (with_mode_set)
    set_user_properties(request, output.connector.id, output.connector.settings);
  return request;
}

namespace {

bool is_free(const Plane &plane, const Output &output, const Plan &plan)
{
  const std::uint64_t user = plane.user();
  return plane.id != plan.plane->id && &plane != plan.background &&
         (user == 0 || user == output.crtc.id);
}

bool lists_argb(const Plane &plane)
{
  return plane.formats.contains({DRM_FORMAT_ARGB8888, kModLinear}) ||
         plane.formats.contains({DRM_FORMAT_ARGB8888, kModImplicit});
}

} // namespace

std::vector<OverlaySlot> overlay_slots(const Output &output, const Plan &plan)
{
  std::vector<OverlaySlot> slots;
  if (output.plane_named || plan.rectangle.rotation != DRM_MODE_ROTATE_0)
    return slots;
  for (const Plane &plane : output.crtc_planes) {
    if (plane.type != PlaneType::Overlay || !lists_argb(plane) || !is_free(plane, output, plan))
      continue;
    if (const std::optional<int> zpos = zpos_over(plane, *plan.plane, plan.rectangle.zpos))
      slots.push_back({&plane, *zpos});
  }
  return slots;
}

void set_overlay(Request &request, const Output &output, const Plan &plan,
                 const OverlayRaster *raster)
{
  if (!raster) {
    request.disable_plane(*plan.overlay);
    return;
  }
  PlaneSetup setup;
  setup.framebuffer_id = raster->buffer->framebuffer_id();
  setup.source = raster->source;
  setup.destination = raster->destination;
  setup.zpos = plan.overlay_zpos;
  setup.alpha = Alpha::Premultiplied;
  request.set_plane(*plan.overlay, output.crtc.id, setup);
}

FlipProperties flip_properties(const Output &output, const Plan &plan)
{
  const PropertySet &plane = plan.plane->properties;
  FlipProperties ids;
  ids.framebuffer = property_id(plane, "FB_ID");
  ids.in_fence = property_id(plane, "IN_FENCE_FD");
  ids.source_x = property_id(plane, "SRC_X");
  ids.source_y = property_id(plane, "SRC_Y");
  if (!output.tearing) // an asynchronous flip may have none
    ids.out_fence = property_id(output.crtc.properties, "OUT_FENCE_PTR");
  if (output.writeback) {
    const PropertySet &writeback = output.writeback->properties;
    ids.writeback_framebuffer = property_id(writeback, "WRITEBACK_FB_ID");
    ids.writeback_fence = property_id(writeback, "WRITEBACK_OUT_FENCE_PTR");
  }
  const Plane *cursor = output.plane_of(PlaneType::Cursor);
  if (!cursor || cursor->id == plan.plane->id)
    return ids;
  ids.cursor = cursor;
  ids.cursor_zpos = zpos_over(*cursor, *plan.plane, plan.rectangle.zpos).value_or(-1);
  if (plan.overlay)
    ids.cursor_zpos = std::max(ids.cursor_zpos,
                               zpos_over(*cursor, *plan.overlay, plan.overlay_zpos).value_or(-1));
  return ids;
}

void set_cursor(Request &request, const Output &output, const FlipProperties &ids,
                const Cursor &cursor)
{
  if (!cursor.image) {
    request.disable_plane(*ids.cursor);
    return;
  }
  PlaneSetup setup;
  setup.framebuffer_id = cursor.image->framebuffer_id();
  const std::uint32_t width = cursor.image->width(), height = cursor.image->height();
  setup.source = {0, 0, width, height};
  setup.destination = {cursor.x, cursor.y, width, height};
  // another program may have left the plane under the picture, and another blending
  setup.zpos = ids.cursor_zpos;
  setup.alpha = Alpha::Premultiplied;
  request.set_plane(*ids.cursor, output.crtc.id, setup);
}

namespace {

constexpr std::uint32_t kTurns =
    DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;
constexpr std::uint32_t kReflections = DRM_MODE_REFLECT_X | DRM_MODE_REFLECT_Y;

// Whether the plane's property has the value of DRM_MODE_ROTATE_* and DRM_MODE_REFLECT_* (a bit
// each, by its name in drm_blend.c). A list without names says nothing.
bool lists_rotation(const Plane &plane, std::uint32_t rotation)
{
  const Property *property = find(plane.properties, "rotation");
  if (!property)
    return rotation == DRM_MODE_ROTATE_0;
  if (property->enums.empty())
    return true;
  std::uint64_t able = 0;
  for (const auto &[name, bit] : property->enums)
    able |= std::uint64_t{1} << bit;
  return (rotation & ~able) == 0;
}

} // namespace

// Half a turn is the same as a reflection along both axes (drm_blend.c, drm_rotation_simplify()):
// the cluster windows of Rockchip's VOP2 list 90 and 270 degrees and both reflections, and not 180.
std::optional<std::uint32_t> plane_rotation(const Plane &plane, std::uint32_t wanted)
{
  if (lists_rotation(plane, wanted))
    return wanted;
  const int quarters = std::countr_zero(wanted & kTurns);
  const std::uint32_t turn = std::uint32_t{1} << ((quarters + 2) % 4);
  const std::uint32_t same = turn | ((wanted & kReflections) ^ kReflections);
  return lists_rotation(plane, same) ? std::optional(same) : std::nullopt;
}

std::optional<int> zpos_over(const Plane &plane, const Plane &under, int under_zpos)
{
  const Property *own = find(plane.properties, "zpos");
  const Property *lower = find(under.properties, "zpos");
  // without zpos the order is that of the types, then of the ids
  const bool later = under.type == PlaneType::Primary || plane.id > under.id;
  if (!own || !lower)
    return later ? std::optional(-1) : std::nullopt;
  const auto height = under_zpos >= 0 && lower->can_be_set()
                          ? static_cast<std::uint64_t>(under_zpos)
                          : lower->value;
  // of two planes with one zpos, that with the larger id is over the other (drm_blend.c)
  const bool is_over = own->value > height || (own->value == height && plane.id > under.id);
  if (!own->can_be_set())
    return is_over ? std::optional(-1) : std::nullopt;
  const std::uint64_t wanted = is_over ? own->value : height + 1;
  if (own->range && (wanted < own->range->first || wanted > own->range->second))
    return std::nullopt;
  return static_cast<int>(wanted);
}

std::string why_no_zpos(const Plane &plane, int zpos)
{
  if (zpos < 0)
    return {};
  const Property *property = find(plane.properties, "zpos");
  if (!property)
    return "has no zpos";
  const auto wanted = static_cast<std::uint64_t>(zpos);
  if (!property->can_be_set() && property->value != wanted)
    return "is fixed at zpos " + std::to_string(property->value);
  if (property->range && (wanted < property->range->first || wanted > property->range->second))
    return "takes zpos " + std::to_string(property->range->first) + " to " +
           std::to_string(property->range->second);
  return {};
}

namespace {

constexpr std::uint32_t kWithAlpha[] = {
    DRM_FORMAT_ARGB4444,      DRM_FORMAT_ABGR4444,      DRM_FORMAT_RGBA4444,
    DRM_FORMAT_BGRA4444,      DRM_FORMAT_ARGB1555,      DRM_FORMAT_ABGR1555,
    DRM_FORMAT_RGBA5551,      DRM_FORMAT_BGRA5551,      DRM_FORMAT_ARGB8888,
    DRM_FORMAT_ABGR8888,      DRM_FORMAT_RGBA8888,      DRM_FORMAT_BGRA8888,
    DRM_FORMAT_ARGB2101010,   DRM_FORMAT_ABGR2101010,   DRM_FORMAT_RGBA1010102,
    DRM_FORMAT_BGRA1010102,   DRM_FORMAT_ARGB16161616,  DRM_FORMAT_ABGR16161616,
    DRM_FORMAT_ARGB16161616F, DRM_FORMAT_ABGR16161616F, DRM_FORMAT_AYUV,
    DRM_FORMAT_Y410,          DRM_FORMAT_Y412,          DRM_FORMAT_Y416,
    DRM_FORMAT_XRGB8888_A8,   DRM_FORMAT_XBGR8888_A8,   DRM_FORMAT_RGBX8888_A8,
    DRM_FORMAT_BGRX8888_A8,   DRM_FORMAT_RGB888_A8,     DRM_FORMAT_BGR888_A8,
    DRM_FORMAT_RGB565_A8,     DRM_FORMAT_BGR565_A8};
constexpr std::uint32_t kOf10Bits[] = {
    DRM_FORMAT_XRGB2101010, DRM_FORMAT_XBGR2101010, DRM_FORMAT_RGBX1010102, DRM_FORMAT_BGRX1010102,
    DRM_FORMAT_ARGB2101010, DRM_FORMAT_ABGR2101010, DRM_FORMAT_RGBA1010102, DRM_FORMAT_BGRA1010102,
    DRM_FORMAT_VUY101010,   DRM_FORMAT_XVYU2101010, DRM_FORMAT_Y210,        DRM_FORMAT_Y410,
    DRM_FORMAT_NV15,        DRM_FORMAT_P010,        DRM_FORMAT_P030,        DRM_FORMAT_P210,
    DRM_FORMAT_Q410};
constexpr std::uint32_t kOf12Bits[] = {DRM_FORMAT_XVYU12_16161616, DRM_FORMAT_Y212, DRM_FORMAT_Y412,
                                       DRM_FORMAT_P012};
constexpr std::uint32_t kOf16Bits[] = {
    DRM_FORMAT_XRGB16161616,  DRM_FORMAT_XBGR16161616,  DRM_FORMAT_ARGB16161616,
    DRM_FORMAT_ABGR16161616,  DRM_FORMAT_XRGB16161616F, DRM_FORMAT_XBGR16161616F,
    DRM_FORMAT_ARGB16161616F, DRM_FORMAT_ABGR16161616F, DRM_FORMAT_XVYU16161616,
    DRM_FORMAT_Y216,          DRM_FORMAT_Y416,          DRM_FORMAT_P016};

bool is_among(std::span<const std::uint32_t> fourccs, std::uint32_t fourcc)
{
  return std::find(fourccs.begin(), fourccs.end(), fourcc) != fourccs.end();
}

} // namespace

bool has_alpha(std::uint32_t fourcc)
{
  return is_among(kWithAlpha, fourcc);
}

unsigned bits_per_component(std::uint32_t fourcc)
{
  return is_among(kOf10Bits, fourcc)   ? 10
         : is_among(kOf12Bits, fourcc) ? 12
         : is_among(kOf16Bits, fourcc) ? 16
                                       : 8;
}

} // namespace gstdrm::kms
