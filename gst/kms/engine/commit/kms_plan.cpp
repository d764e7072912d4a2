// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_plan.hpp"

#include <algorithm>
#include <utility>

#include <drm_fourcc.h>

namespace gstdrm::kms {

namespace {

// Text of a set of pairs: its fourccs, and whether the modifiers are implicit. The first pair tells
// that, because the pairs of a plane are either all implicit or all explicit.
std::string list_formats(const FormatSet &set)
{
  std::string text;
  std::uint32_t last = 0;
  for (const Format &format : set.pairs()) {
    if (format.fourcc != last)
      text += (text.empty() ? "" : " ") + fourcc_to_string(format.fourcc);
    last = format.fourcc;
  }
  if (text.empty())
    return "nothing";
  const bool implicit = set.pairs().front().modifier == kModImplicit;
  return text + (implicit ? " (implicit modifiers)"
                          : " (" + std::to_string(set.size()) + " pairs with modifiers)");
}

// A sentence that says what to use in place of a format that is not in the set.
std::string nearest_fix(const FormatSet &set, Format format)
{
  const auto same = set.of_fourcc(format.fourcc);
  if (!same.empty())
    return "Ask upstream for " + describe_format(same.front()) + ".";
  if (set.contains_fourcc(DRM_FORMAT_XRGB8888))
    return "Convert to " + describe_format(set.of_fourcc(DRM_FORMAT_XRGB8888).front()) +
           " upstream, for instance with videoconvert.";
  return "Choose another plane with plane-id, or convert upstream.";
}

// The placement that the view asks for, and the one without scaling.
std::vector<Placement> placements(const View &view, const Picture &picture,
                                  const drmModeModeInfo &mode)
{
  const Rectangle screen{0, 0, mode.hdisplay, mode.vdisplay};
  // an area outside the mode is treated like no area
  const Rectangle area = intersect(view.area.value_or(screen), screen).value_or(screen);
  const Shape shape{picture.width, picture.height, picture.par_n, picture.par_d,
                    view.is_turned()};
  std::vector<Placement> list = {place(shape, area, view.fit)};
  if (list.front().scaled)
    list.push_back(place(shape, area, Fit::None));
  return list;
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
    if (output.writeback)
      request.set(output.writeback->id, output.writeback->properties, "CRTC_ID",
                  plan.writeback ? crtc_id : 0);
  }
  const Property *hdr = find(connector.properties, "HDR_OUTPUT_METADATA");
  if (!hdr || (!with_mode_set && shown && plan.hdr == shown->hdr))
    return;
  request.set(connector.id, hdr->id, "HDR_OUTPUT_METADATA", plan.hdr ? objects.hdr_blob : 0);
  // names of drm_connector.c; what the CRTC puts out is RGB
  if (const Property *colorspace = find(connector.properties, "Colorspace"))
    if (const auto value = colorspace->enum_value(plan.hdr ? "BT2020_RGB" : "Default"))
      request.set(connector.id, colorspace->id, "Colorspace", *value);
}

// What another program may have left on the way from the planes to the display.
void set_neutral_colour(Request &request, const Output &output)
{
  for (const char *name : {"GAMMA_LUT", "DEGAMMA_LUT", "CTM", "VRR_ENABLED"})
    if (const Property *property = find(output.crtc.properties, name))
      request.set(output.crtc.id, property->id, name, 0);
  // name and value of drm_connector.c; the driver then goes by what the mode and the display say
  if (const Property *range = find(output.connector.properties, "Broadcast RGB"))
    if (const auto value = range->enum_value("Automatic"))
      request.set(output.connector.id, range->id, "Broadcast RGB", *value);
}

// Whether the commit turns a plane off that the plan does not need.
bool turns_off(const Output &output, const Plane &plane, const Plan *shown, bool with_mode_set)
{
  if (!with_mode_set)
    return shown && (plane.id == shown->plane->id || &plane == shown->background ||
                     &plane == shown->overlay);
  const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
  return user == 0 || user == output.crtc.id;
}

} // namespace

Result<drmModeModeInfo> mode_for(const Output &output, const Picture &picture, bool scales_down,
                                 const std::string &device_name)
{
  const FormatSet offered = output.formats();
  if (!offered.contains(picture.format)) {
    std::string ids;
    for (const Plane &plane : output.planes)
      ids += (ids.empty() ? "" : ", ") + std::to_string(plane.id);
    return Error{ErrorCode::Unsupported,
                 "No plane of " + device_name + " for connector " + output.connector.name +
                     " shows " + describe_format(picture.format) + ". Planes " + ids + " show " +
                     list_formats(offered) + ". " + nearest_fix(offered, picture.format)};
  }
  const std::vector<drmModeModeInfo> &modes = output.connector.modes;
  Result<std::size_t> index =
      select_mode(modes, output.mode_request, picture.width, picture.height, picture.rate);
  if (!index && scales_down && output.mode_request.kind == ModeRequest::Kind::Match)
    if (const std::optional<std::size_t> largest = largest_mode(modes, picture.rate))
      index = *largest;
  if (!index)
    return Error{ErrorCode::Caps, // of another size, perhaps
                 "Connector " + output.connector.name + " of " + device_name +
                     " has no mode for the stream. " + index.error().message,
                 0};
  return modes[*index];
}

std::string why_unfit(const View &view, const Plane &plane, Format format)
{
  if (!plane.formats.contains(format))
    return "does not list " + describe_format(format);
  if (view.rotation != DRM_MODE_ROTATE_0 && !find(plane.properties, "rotation"))
    return "cannot turn or reflect a picture";
  if (view.zpos >= 0) {
    const Property *zpos = find(plane.properties, "zpos");
    if (!zpos)
      return "has no zpos";
    const auto wanted = static_cast<std::uint64_t>(view.zpos);
    if ((zpos->flags & DRM_MODE_PROP_IMMUTABLE) && zpos->value != wanted)
      return "is fixed at zpos " + std::to_string(zpos->value);
    if (zpos->range && (wanted < zpos->range->first || wanted > zpos->range->second))
      return "takes zpos " + std::to_string(zpos->range->first) + " to " +
             std::to_string(zpos->range->second);
  }
  return {};
}

std::vector<Plan> candidate_plans(const Output &output, const View &view, const Picture &picture,
                                  const drmModeModeInfo &mode, const Plan *shown)
{
  const auto primary = std::find_if(output.crtc_planes.begin(), output.crtc_planes.end(),
                                    [](const Plane &p) { return p.type == PlaneType::Primary; });
  const bool tells_hdr = property_id(output.connector.properties, "HDR_OUTPUT_METADATA") != 0;
  std::vector<Plan> list;
  const auto add = [&](const Plane &plane, const Placement &placement, bool background,
                       bool writeback) {
    if (background && (plane.type == PlaneType::Primary || primary == output.crtc_planes.end()))
      return;
    Plan plan;
    plan.mode = mode;
    plan.plane = &plane;
    plan.background = background ? &*primary : nullptr;
    plan.writeback = writeback;
    plan.rectangle.source = placement.source;
    plan.rectangle.destination = placement.destination;
    plan.rectangle.rotation = view.rotation;
    plan.rectangle.zpos = view.zpos;
    plan.rectangle.encoding = picture.encoding;
    plan.rectangle.range = picture.range;
    plan.width = picture.width;
    plan.height = picture.height;
    plan.scaled = placement.scaled;
    if (tells_hdr)
      plan.hdr = picture.hdr;
    list.push_back(std::move(plan));
  };
  for (const Placement &placement : placements(view, picture, mode))
    for (const bool writeback : {true, false}) {
      if (writeback && !output.writeback)
        continue;
      for (const bool background : {false, true})
        for (const Plane &plane : output.planes)
          if (why_unfit(view, plane, picture.format).empty())
            add(plane, placement, background, writeback);
    }
  // the plane that is in use comes first, so that a change of format alone keeps plane and mode
  const bool scaled = !list.empty() && list.front().scaled;
  if (shown)
    std::stable_partition(list.begin(), list.end(), [shown, scaled](const Plan &s) {
      return s.scaled == scaled && s.plane == shown->plane && s.background == shown->background &&
             s.writeback == shown->writeback;
    });
  return list;
}

bool needs_mode_set(const Plan &plan, const Plan *shown)
{
  return !shown || !same_mode(plan.mode, shown->mode) || plan.writeback != shown->writeback;
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
  return request;
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
  setup.premultiplied = true;
  request.set_plane(*plan.overlay, output.crtc.id, setup);
}

FlipProperties flip_properties(const Output &output, const Plan &plan)
{
  const PropertySet &plane = plan.plane->properties;
  FlipProperties ids;
  ids.framebuffer = property_id(plane, "FB_ID");
  ids.in_fence = property_id(plane, "IN_FENCE_FD");
  ids.out_fence = property_id(output.crtc.properties, "OUT_FENCE_PTR");
  if (output.writeback) {
    const PropertySet &writeback = output.writeback->properties;
    ids.writeback_framebuffer = property_id(writeback, "WRITEBACK_FB_ID");
    ids.writeback_fence = property_id(writeback, "WRITEBACK_OUT_FENCE_PTR");
  }
  return ids;
}

} // namespace gstdrm::kms
