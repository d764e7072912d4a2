// SPDX-License-Identifier: LGPL-2.1-or-later
// Which plane and rectangles a picture gets: what is worth a test commit, and what the commits
// said.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <drm_fourcc.h>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "kms_scanout.hpp"
#include "engine/card/kms_scratch.hpp"

namespace gstdrm::kms {

namespace {

// The fourccs; "implicit modifier" stands for a whole set, since planes have either kind.
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

// What comes nearest to a format that is not in the set.
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

const char *type_name(PlaneType type)
{
  switch (type) {
  case PlaneType::Primary:
    return "primary";
  case PlaneType::Cursor:
    return "cursor";
  case PlaneType::Overlay:
    break;
  }
  return "overlay";
}

bool is_turned(std::uint32_t rotation)
{
  return (rotation & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270)) != 0;
}

// One that any memory can have and most planes scale.
std::optional<Format> scratch_format(const FormatSet &formats)
{
  for (const std::uint32_t fourcc : {DRM_FORMAT_NV12, DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888})
    for (const std::uint64_t modifier : {kModLinear, kModImplicit})
      if (formats.contains({fourcc, modifier}))
        return Format{fourcc, modifier};
  return std::nullopt;
}

} // namespace

Result<drmModeModeInfo> Scanout::check(const Picture &picture) const
{
  const FormatSet offered = output_.formats();
  if (!offered.contains(picture.format)) {
    std::string ids;
    for (const Plane &plane : output_.planes)
      ids += (ids.empty() ? "" : ", ") + std::to_string(plane.id);
    return Error{ErrorCode::Unsupported,
                 "No plane of " + device_->name() + " for connector " + output_.connector.name +
                     " shows " + describe_format(picture.format) + ". Planes " + ids + " show " +
                     list_formats(offered) + ". " + nearest_fix(offered, picture.format)};
  }
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  Result<std::size_t> index =
      select_mode(modes, output_.mode_request, picture.width, picture.height, picture.rate);
  if (!index && scales_down_ && output_.mode_request.kind == ModeRequest::Kind::Match)
    if (const std::optional<std::size_t> largest = largest_mode(modes, picture.rate))
      index = *largest;
  if (!index)
    return Error{ErrorCode::Caps, // of another size, perhaps
                 "Connector " + output_.connector.name + " of " + device_->name() +
                     " has no mode for the stream. " + index.error().message,
                 0};
  return modes[*index];
}

// Best first: as the view wants it, and not scaled where the hardware does not scale.
std::vector<Placement> Scanout::placements(const View &view, const Picture &picture,
                                           const drmModeModeInfo &mode) const
{
  const Rectangle screen{0, 0, mode.hdisplay, mode.vdisplay};
  // an area that lies outside counts as none
  const Rectangle area = intersect(view.area.value_or(screen), screen).value_or(screen);
  const Shape shape{picture.width, picture.height, picture.par_n, picture.par_d,
                    is_turned(view.rotation)};
  std::vector<Placement> list = {place(shape, area, view.fit)};
  if (list.front().scaled)
    list.push_back(place(shape, area, Fit::None));
  return list;
}

std::string Scanout::unfit(const View &view, const Plane &plane, Format format) const
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

std::vector<Scanout::Setup> Scanout::candidates(const View &view, const Picture &picture,
                                                const drmModeModeInfo &mode) const
{
  const auto primary = std::find_if(output_.crtc_planes.begin(), output_.crtc_planes.end(),
                                    [](const Plane &p) { return p.type == PlaneType::Primary; });
  const bool tells_hdr = property_id(output_.connector.properties, "HDR_OUTPUT_METADATA") != 0;
  std::vector<Setup> list;
  const auto add = [&](const Plane &plane, const Placement &placement, bool background,
                       bool writeback) {
    if (background && (plane.type == PlaneType::Primary || primary == output_.crtc_planes.end()))
      return;
    Setup setup;
    setup.mode = mode;
    setup.plane = &plane;
    setup.background = background ? &*primary : nullptr;
    setup.writeback = writeback;
    setup.rectangle.source = placement.source;
    setup.rectangle.destination = placement.destination;
    setup.rectangle.rotation = view.rotation;
    setup.rectangle.zpos = view.zpos;
    setup.rectangle.encoding = picture.encoding;
    setup.rectangle.range = picture.range;
    setup.width = picture.width;
    setup.height = picture.height;
    setup.scaled = placement.scaled;
    if (tells_hdr)
      setup.hdr = picture.hdr;
    list.push_back(std::move(setup));
  };
  for (const Placement &placement : placements(view, picture, mode))
    for (const bool writeback : {true, false}) {
      if (writeback && !output_.writeback)
        continue;
      for (const bool background : {false, true})
        for (const Plane &plane : output_.planes)
          if (unfit(view, plane, picture.format).empty())
            add(plane, placement, background, writeback);
    }
  // what is set up now goes first: a change of format alone then keeps plane and mode
  const bool scaled = !list.empty() && list.front().scaled;
  if (setup_)
    std::stable_partition(list.begin(), list.end(), [this, scaled](const Setup &s) {
      return s.scaled == scaled && s.plane == setup_->plane && s.background == setup_->background &&
             s.writeback == setup_->writeback;
    });
  return list;
}

// One line per plane.
std::string Scanout::explain(Format format, const std::map<std::uint32_t, Attempts> &attempts) const
{
  std::string text;
  for (const Plane &plane : output_.crtc_planes) {
    text += "\nPlane " + std::to_string(plane.id) + " (" + type_name(plane.type) + "): ";
    const bool chosen = std::any_of(output_.planes.begin(), output_.planes.end(),
                                    [&plane](const Plane &p) { return p.id == plane.id; });
    const auto tried = attempts.find(plane.id);
    const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
    if (const std::string reason = unfit(view_, plane, format); chosen && !reason.empty())
      text += reason + ".";
    else if (tried != attempts.end() && tried->second.scaled && tried->second.unscaled)
      text += "scaled: " + errno_text(tried->second.scaled) +
              ", not scaled: " + errno_text(tried->second.unscaled) + ".";
    else if (tried != attempts.end())
      text += "test commit: " +
              errno_text(tried->second.scaled ? tried->second.scaled : tried->second.unscaled) +
              ".";
    else if (chosen)
      text += "not tried.";
    else if (plane.type == PlaneType::Cursor)
      text += "for cursors.";
    else if (user != 0 && user != output_.crtc.id)
      text += "used by CRTC " + std::to_string(user) + ".";
    else
      text += "not the one of plane-id.";
  }
  return text;
}

Result<void> Scanout::show_first(const Picture &picture, const drmModeModeInfo &mode,
                                 const Frame &frame, std::uint64_t serial)
{
  if (Result<void> ready = prepare(picture, mode); !ready)
    return ready;
  std::map<std::uint32_t, Attempts> attempts;
  int ret = -EINVAL;
  int scaling_refused = 0;
  for (const Setup &setup : candidates(view_, picture, mode)) {
    for (const bool with_mode_set : {false, true}) {
      if (!with_mode_set && needs_mode_set(setup))
        continue;
      ret = show(setup, frame, serial, with_mode_set);
      if (ret == 0) {
        scaling_refused_ = setup.scaled ? 0 : scaling_refused;
        return {};
      }
    }
    Attempts &plane = attempts[setup.plane->id];
    (setup.scaled ? plane.scaled : plane.unscaled) = -ret;
    if (setup.scaled)
      scaling_refused = -ret;
    if (ret == -EACCES || ret == -EPERM || ret == -ENODEV || ret == -ENOMEM)
      break; // no other plane would do better
  }
  const std::string hint = ret == -EACCES || ret == -EPERM
                               ? " Another program took the display over; stop it."
                               : " Try another size or format, or another plane with plane-id.";
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Device,
               device_->name() + " does not show " + describe_format(picture.format) + " of " +
                   std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                   " in mode " + describe_mode(mode) + " on connector " + output_.connector.name +
                   "." + hint + explain(picture.format, attempts),
               -ret};
}

void Scanout::probe_downscaling()
{
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  const Result<std::size_t> index =
      select_mode(modes, {ModeRequest::Kind::Preferred, 0, 0, false, 0, 0}, 0, 0, {});
  const std::optional<Format> format = scratch_format(output_.formats());
  if (!index || !format)
    return;
  const drmModeModeInfo &mode = modes[*index];
  Picture picture;
  picture.format = *format;
  // a quarter more each way: enough to tell, and not much memory
  picture.width = (mode.hdisplay + mode.hdisplay / 4U) & ~1U;
  picture.height = (mode.vdisplay + mode.vdisplay / 4U) & ~1U;
  const std::unique_ptr<ScratchBuffer> scratch = ScratchBuffer::create(
      device_, FormatSet::from_pairs({*format}), picture.width, picture.height);
  const std::optional<ScratchFramebuffer> framebuffer =
      scratch ? scratch->framebuffer(*format) : std::nullopt;
  if (!framebuffer || !prepare(picture, mode))
    return;
  const std::vector<Setup> setups = candidates(View{}, picture, mode);
  scales_down_ = std::any_of(setups.begin(), setups.end(), [&](const Setup &setup) {
    return setup.scaled && !setup.background && !setup.writeback &&
           commit(setup, framebuffer->id(),
                  DRM_MODE_ATOMIC_ALLOW_MODESET | DRM_MODE_ATOMIC_TEST_ONLY, 0) == 0;
  });
  saved_.reset(); // what is there when the first frame comes is what will be put back
}

// 0 when some plane would show the framebuffer; else the errno of the last that would not.
int Scanout::test(const Picture &picture, const drmModeModeInfo &mode,
                  std::uint32_t framebuffer_id) const
{
  // in the place of what is on screen
  if (setup_ && !needs_mode_set({mode, setup_->plane, nullptr, setup_->writeback}) &&
      setup_->width == picture.width && setup_->height == picture.height)
    return commit(*setup_, framebuffer_id, DRM_MODE_ATOMIC_TEST_ONLY, 0);
  int ret = -EINVAL;
  for (const Setup &setup : candidates(view_, picture, mode)) {
    if (setup_ && setup.plane != setup_->plane)
      continue;
    // the writeback connector is for looking on; the black plane stands for one in any layout
    if (setup.writeback != (setup_ && setup_->writeback) || (setup.background && !background_))
      continue;
    const std::uint32_t mode_set = needs_mode_set(setup) ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
    ret = commit(setup, framebuffer_id, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (!is_refusal(-ret))
      return ret;
  }
  return ret;
}

std::vector<Refusal> Scanout::disprove(const Picture &picture, const drmModeModeInfo &mode,
                                       const FormatSet &pairs)
{
  std::vector<Refusal> refusals;
  if (!prepare(picture, mode))
    return refusals;
  const std::unique_ptr<ScratchBuffer> scratch =
      ScratchBuffer::create(device_, pairs, picture.width, picture.height);
  if (!scratch)
    return refusals;
  for (const Format &format : pairs.pairs()) {
    const std::optional<ScratchFramebuffer> framebuffer = scratch->framebuffer(format);
    if (!framebuffer)
      continue;
    Picture other = picture;
    other.format = format;
    if (const int ret = test(other, mode, framebuffer->id()); is_refusal(-ret))
      refusals.push_back({format, picture.width, picture.height,
                          "A test commit of " + describe_format(format) + " at " +
                              std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                              " was refused: " + errno_text(-ret) + "."});
  }
  return refusals;
}

} // namespace gstdrm::kms
