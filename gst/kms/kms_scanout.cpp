// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_scanout.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <drm_fourcc.h>

#include "kms_objects.hpp"
#include "kms_scratch.hpp"

namespace gstdrm::kms {

namespace {

bool same_mode(const drmModeModeInfo &a, const drmModeModeInfo &b)
{
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

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

} // namespace

Result<drmModeModeInfo> Scanout::check(const Picture &picture) const
{
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  const FormatSet offered = output_.formats();
  if (!offered.contains(picture.format)) {
    std::string ids;
    for (const Plane &plane : output_.planes)
      ids += (ids.empty() ? "" : ", ") + std::to_string(plane.id);
    return Error{ErrorCode::Unsupported, "No plane of " + device_->name() + " for connector " +
                                             output_.connector.name + " shows " +
                                             describe_format(picture.format) + ". Planes " + ids +
                                             " show " + list_formats(offered) + ". " +
                                             nearest_fix(offered, picture.format)};
  }
  const auto index = choose_mode(modes, picture.width, picture.height, picture.rate);
  if (!index) {
    const auto largest = std::max_element(
        modes.begin(), modes.end(), [](const drmModeModeInfo &a, const drmModeModeInfo &b) {
          return std::uint64_t{a.hdisplay} * a.vdisplay < std::uint64_t{b.hdisplay} * b.vdisplay;
        });
    return Error{ErrorCode::Unsupported,
                 "The picture of " + std::to_string(picture.width) + "x" +
                     std::to_string(picture.height) + " is larger than every mode of connector " +
                     output_.connector.name + " on " + device_->name() + " (largest: " +
                     describe_mode(*largest) +
                     "). This sink does not scale: put videoscale before it."};
  }
  return modes[*index];
}

std::vector<Scanout::Setup> Scanout::candidates(const Picture &picture,
                                                const drmModeModeInfo &mode) const
{
  PlaneSetup rectangle{0,
                       picture.width,
                       picture.height,
                       (mode.hdisplay - static_cast<std::int32_t>(picture.width)) / 2,
                       (mode.vdisplay - static_cast<std::int32_t>(picture.height)) / 2,
                       picture.encoding,
                       picture.range};
  const auto primary = std::find_if(output_.crtc_planes.begin(), output_.crtc_planes.end(),
                                    [](const Plane &p) { return p.type == PlaneType::Primary; });
  std::vector<Setup> list;
  for (const bool writeback : {true, false}) {
    if (writeback && !output_.writeback)
      continue;
    for (const bool background : {false, true})
      for (const Plane &plane : output_.planes) {
        if (!plane.formats.contains(picture.format))
          continue;
        if (background && (plane.type == PlaneType::Primary || primary == output_.crtc_planes.end()))
          continue;
        list.push_back({mode, &plane, background ? &*primary : nullptr, writeback, rectangle});
      }
  }
  // what is set up now goes first: a change of format alone then keeps plane and mode
  if (setup_)
    std::stable_partition(list.begin(), list.end(), [this](const Setup &s) {
      return s.plane == setup_->plane && s.background == setup_->background &&
             s.writeback == setup_->writeback;
    });
  return list;
}

bool Scanout::needs_mode_set(const Setup &setup) const
{
  return !setup_ || !same_mode(setup.mode, setup_->mode) || setup.writeback != setup_->writeback;
}

Result<void> Scanout::prepare(const drmModeModeInfo &mode)
{
  if (!saved_) {
    Result<SavedState> saved = SavedState::capture(*device_, output_);
    if (!saved)
      return saved.error();
    saved_ = std::move(*saved);
  }
  if (mode_blob_.id() && same_mode(mode, blob_mode_))
    return {};
  Result<PropertyBlob> blob = PropertyBlob::create(device_->fd(), &mode, sizeof(mode));
  if (!blob)
    return blob.error();
  mode_blob_ = std::move(*blob);
  blob_mode_ = mode;
  return {};
}

int Scanout::commit(const Setup &setup, std::uint32_t framebuffer_id, std::uint32_t flags,
                    std::uint64_t serial) const
{
  Request request(device_->fd());
  const std::uint32_t crtc_id = output_.crtc.id;
  if (flags & DRM_MODE_ATOMIC_ALLOW_MODESET) {
    request.set(output_.connector.id, output_.connector.properties, "CRTC_ID", crtc_id);
    request.set(crtc_id, output_.crtc.properties, "MODE_ID", mode_blob_.id());
    request.set(crtc_id, output_.crtc.properties, "ACTIVE", 1);
    if (output_.writeback)
      request.set(output_.writeback->id, output_.writeback->properties, "CRTC_ID",
                  setup.writeback ? crtc_id : 0);
  }
  for (const Plane &plane : output_.crtc_planes) {
    const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
    const bool used = plane.id == setup.plane->id || &plane == setup.background;
    if (!used && (user == 0 || user == crtc_id))
      request.disable_plane(plane);
  }
  if (setup.background)
    request.set_plane(*setup.background, crtc_id,
                      PlaneSetup{background_->framebuffer_id(), setup.mode.hdisplay,
                                 setup.mode.vdisplay, 0, 0, {}, {}});
  PlaneSetup rectangle = setup.rectangle;
  rectangle.framebuffer_id = framebuffer_id;
  request.set_plane(*setup.plane, crtc_id, rectangle);
  return request.commit(flags, serial);
}

// Test, then the real thing. 0 or a negative errno.
int Scanout::show(const Setup &setup, const Frame &frame, std::uint64_t serial, bool with_mode_set)
{
  if (setup.background && (!background_ || background_->width() != setup.mode.hdisplay ||
                           background_->height() != setup.mode.vdisplay)) {
    Result<std::unique_ptr<DumbBuffer>> black = DumbBuffer::create(
        device_, DRM_FORMAT_XRGB8888, setup.mode.hdisplay, setup.mode.vdisplay);
    if (!black)
      return -black.error().sys_errno;
    background_ = std::move(*black);
  }
  const std::uint32_t mode_set = with_mode_set ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
  const std::uint32_t framebuffer_id = frame.framebuffer->id();
  if (const int ret = commit(setup, framebuffer_id, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
      ret != 0)
    return ret;
  // a mode set blocks: the kernel then waits for commits of whoever had the display before
  const int ret = commit(setup, framebuffer_id,
                         DRM_MODE_PAGE_FLIP_EVENT |
                             (with_mode_set ? mode_set : std::uint32_t{DRM_MODE_ATOMIC_NONBLOCK}),
                         serial);
  if (ret == 0)
    setup_ = setup;
  return ret;
}

std::string Scanout::describe_attempt(const Setup &setup, int ret) const
{
  std::string text = "Plane " + std::to_string(setup.plane->id);
  if (setup.background)
    text += " over a black plane " + std::to_string(setup.background->id);
  if (setup.writeback)
    text += ", with writeback";
  return text + ": " + errno_text(-ret) + ".";
}

Result<void> Scanout::show_first(const Picture &picture, const drmModeModeInfo &mode,
                                 const Frame &frame, std::uint64_t serial)
{
  if (Result<void> ready = prepare(mode); !ready)
    return ready;
  std::string attempts;
  int ret = -EINVAL;
  for (const Setup &setup : candidates(picture, mode)) {
    for (const bool with_mode_set : {false, true}) {
      if (!with_mode_set && needs_mode_set(setup))
        continue;
      ret = show(setup, frame, serial, with_mode_set);
      if (ret == 0)
        return {};
    }
    attempts += " " + describe_attempt(setup, ret);
    if (ret == -EACCES || ret == -EPERM || ret == -ENODEV || ret == -ENOMEM)
      break; // no other plane would do better
  }
  std::string hint = ret == -EACCES || ret == -EPERM
                         ? " Another program took the display over; stop it."
                         : " Try another size or format, or another plane with plane-id.";
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Device,
               device_->name() + " does not show " + describe_format(picture.format) + " of " +
                   std::to_string(picture.width) + "x" + std::to_string(picture.height) + " in mode " +
                   describe_mode(mode) + " on connector " + output_.connector.name +
                   ". Test commits were refused." + attempts + hint,
               -ret};
}

// 0 when some plane would show the framebuffer; else the errno of the last that would not.
int Scanout::test(const Picture &picture, const drmModeModeInfo &mode,
                  std::uint32_t framebuffer_id) const
{
  int ret = -EINVAL;
  for (const Setup &setup : candidates(picture, mode)) {
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
  if (!prepare(mode))
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
                              " was refused (" + errno_text(-ret) + ")."});
  }
  return refusals;
}

int Scanout::flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                  std::uint64_t serial)
{
  if (!setup_)
    return -EINVAL; // turned off
  Request request(device_->fd());
  const Plane &plane = *setup_->plane;
  request.set(plane.id, plane.properties, "FB_ID", frame.framebuffer->id());
  if (frame.acquire_fence && waits_for_fences())
    request.set(plane.id, plane.properties, "IN_FENCE_FD",
                static_cast<std::uint64_t>(frame.acquire_fence->get()));
  // an s32 to fill, with a fence that signals with this commit's flip event (drm_atomic_uapi.c)
  if (out_fence && property_id(output_.crtc.properties, "OUT_FENCE_PTR"))
    request.set(output_.crtc.id, output_.crtc.properties, "OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(out_fence));
  if (job) {
    const Connector &writeback = *output_.writeback;
    request.set(writeback.id, writeback.properties, "WRITEBACK_FB_ID", job->framebuffer_id);
    request.set(writeback.id, writeback.properties, "WRITEBACK_OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(&job->out_fence));
  }
  return request.commit(DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT, serial);
}

void Scanout::set_output(Output output)
{
  setup_.reset(); // points into the old one
  output_ = std::move(output);
}

void Scanout::turn_off()
{
  setup_.reset();
  // a driver that does not even do this has nothing on screen to turn off
  (void)SavedState::turn_off(*device_, output_);
}

Result<void> Scanout::restore()
{
  setup_.reset();
  if (!saved_)
    return {};
  Result<void> restored = saved_->restore(*device_, output_);
  saved_.reset();
  mode_blob_ = PropertyBlob();
  background_.reset();
  return restored;
}

bool Scanout::waits_for_fences() const
{
  return setup_ && property_id(setup_->plane->properties, "IN_FENCE_FD") != 0;
}

std::string Scanout::describe() const
{
  if (!setup_)
    return device_->name() + ", " + output_.connector.name;
  return "plane " + std::to_string(setup_->plane->id) + " of " + device_->name() + ", " +
         output_.connector.name + ", " + describe_mode(setup_->mode);
}

} // namespace gstdrm::kms
