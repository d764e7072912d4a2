// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_scanout.hpp"

#include <algorithm>
#include <cerrno>

#include <drm_fourcc.h>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"

namespace gstdrm::kms {

bool Scanout::needs_mode_set(const Setup &setup) const
{
  return !setup_ || !same_mode(setup.mode, setup_->mode) || setup.writeback != setup_->writeback;
}

Result<void> Scanout::prepare(const Picture &picture, const drmModeModeInfo &mode)
{
  if (!saved_) {
    Result<SavedState> saved = SavedState::capture(*device_, output_);
    if (!saved)
      return saved.error();
    saved_ = std::move(*saved);
  }
  if (picture.hdr && picture.hdr != blob_hdr_ &&
      property_id(output_.connector.properties, "HDR_OUTPUT_METADATA")) {
    const hdr_output_metadata metadata = to_blob(*picture.hdr);
    Result<PropertyBlob> blob = PropertyBlob::create(device_->fd(), &metadata, sizeof(metadata));
    if (!blob)
      return blob.error();
    hdr_blob_ = std::move(*blob);
    blob_hdr_ = picture.hdr;
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

// HDR goes with the frames it belongs to: a driver that needs a mode set for it says so in the test
// commit.
void Scanout::set_connector(Request &request, const Setup &setup, bool with_mode_set) const
{
  const Connector &connector = output_.connector;
  const std::uint32_t crtc_id = output_.crtc.id;
  if (with_mode_set) {
    request.set(connector.id, connector.properties, "CRTC_ID", crtc_id);
    request.set(crtc_id, output_.crtc.properties, "MODE_ID", mode_blob_.id());
    request.set(crtc_id, output_.crtc.properties, "ACTIVE", 1);
    if (output_.writeback)
      request.set(output_.writeback->id, output_.writeback->properties, "CRTC_ID",
                  setup.writeback ? crtc_id : 0);
  }
  const Property *hdr = find(connector.properties, "HDR_OUTPUT_METADATA");
  if (!hdr || (!with_mode_set && setup_ && setup.hdr == setup_->hdr))
    return;
  request.set(connector.id, hdr->id, "HDR_OUTPUT_METADATA", setup.hdr ? hdr_blob_.id() : 0);
  // names of drm_connector.c; what the CRTC puts out is RGB
  if (const Property *colorspace = find(connector.properties, "Colorspace"))
    if (const auto value = colorspace->enum_value(setup.hdr ? "BT2020_RGB" : "Default"))
      request.set(connector.id, colorspace->id, "Colorspace", *value);
}

int Scanout::commit(const Setup &setup, std::uint32_t framebuffer_id, std::uint32_t flags,
                    std::uint64_t serial) const
{
  Request request(device_->fd());
  const std::uint32_t crtc_id = output_.crtc.id;
  // A mode set begins with a clean slate. Later the sink turns off what it used itself and needs no
  // more: another plane may be the application's by then.
  const bool clean_slate = (flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
  set_connector(request, setup, clean_slate);
  for (const Plane &plane : output_.crtc_planes) {
    const std::uint64_t user = property_value(plane.properties, "CRTC_ID");
    const bool needed = plane.id == setup.plane->id || &plane == setup.background;
    const bool unneeded =
        clean_slate ? user == 0 || user == crtc_id
                    : setup_ && (plane.id == setup_->plane->id || &plane == setup_->background);
    if (!needed && unneeded)
      request.disable_plane(plane);
  }
  if (setup.background) {
    const Rectangle all{0, 0, setup.mode.hdisplay, setup.mode.vdisplay};
    PlaneSetup black;
    black.framebuffer_id = background_->framebuffer_id();
    black.source = black.destination = all;
    request.set_plane(*setup.background, crtc_id, black);
  }
  PlaneSetup rectangle = setup.rectangle;
  rectangle.framebuffer_id = framebuffer_id;
  request.set_plane(*setup.plane, crtc_id, rectangle);
  return request.commit(flags, serial);
}

Scanout::FlipProperties Scanout::flip_properties(const Setup &setup) const
{
  const PropertySet &plane = setup.plane->properties;
  FlipProperties ids;
  ids.framebuffer = property_id(plane, "FB_ID");
  ids.in_fence = property_id(plane, "IN_FENCE_FD");
  ids.out_fence = property_id(output_.crtc.properties, "OUT_FENCE_PTR");
  if (output_.writeback) {
    const PropertySet &writeback = output_.writeback->properties;
    ids.writeback_framebuffer = property_id(writeback, "WRITEBACK_FB_ID");
    ids.writeback_fence = property_id(writeback, "WRITEBACK_OUT_FENCE_PTR");
  }
  return ids;
}

// Test, then the real thing. 0 or a negative errno.
int Scanout::show(const Setup &setup, const Frame &frame, std::uint64_t serial, bool with_mode_set)
{
  if (setup.background && (!background_ || background_->width() != setup.mode.hdisplay ||
                           background_->height() != setup.mode.vdisplay)) {
    Result<std::unique_ptr<DumbBuffer>> black =
        DumbBuffer::create(device_, DRM_FORMAT_XRGB8888, setup.mode.hdisplay, setup.mode.vdisplay);
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
  if (ret == 0) {
    setup_ = setup;
    flip_properties_ = flip_properties(setup);
    if (with_mode_set)
      cursor_.forget();
  }
  return ret;
}

int Scanout::flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                  std::uint64_t serial)
{
  if (!setup_)
    return -EINVAL; // turned off
  Request request(device_->fd());
  const FlipProperties &ids = flip_properties_;
  const std::uint32_t plane_id = setup_->plane->id;
  request.set(plane_id, ids.framebuffer, "FB_ID", frame.framebuffer->id());
  if (frame.acquire_fence && ids.in_fence)
    request.set(plane_id, ids.in_fence, "IN_FENCE_FD",
                static_cast<std::uint64_t>(frame.acquire_fence->get()));
  // an s32 to fill, with a fence that signals with this commit's flip event (drm_atomic_uapi.c)
  if (out_fence && ids.out_fence)
    request.set(output_.crtc.id, ids.out_fence, "OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(out_fence));
  if (job) {
    const std::uint32_t writeback_id = output_.writeback->id;
    request.set(writeback_id, ids.writeback_framebuffer, "WRITEBACK_FB_ID", job->framebuffer_id);
    request.set(writeback_id, ids.writeback_fence, "WRITEBACK_OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(&job->out_fence));
  }
  const Plane *cursor = cursor_plane();
  const bool moved = cursor && cursor_.apply(request, *cursor, output_.crtc.id);
  const int ret = request.commit(DRM_MODE_ATOMIC_NONBLOCK | DRM_MODE_PAGE_FLIP_EVENT, serial);
  if (!moved)
    return ret;
  if (ret == 0)
    cursor_.committed();
  else if (!is_refusal(-ret))
    cursor_.postponed();
  else {
    // the frame is worth more than its cursor
    cursor_.refused();
    return flip(frame, job, out_fence, serial);
  }
  return ret;
}

const Plane *Scanout::cursor_plane() const
{
  const auto it = std::find_if(output_.crtc_planes.begin(), output_.crtc_planes.end(),
                               [](const Plane &plane) { return plane.type == PlaneType::Cursor; });
  const bool shows_picture =
      it != output_.crtc_planes.end() && setup_ && setup_->plane->id == it->id;
  return it == output_.crtc_planes.end() || shows_picture ? nullptr : &*it;
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
  cursor_.forget();
}

Result<void> Scanout::restore()
{
  setup_.reset();
  if (!saved_)
    return {};
  Result<void> restored = saved_->restore(*device_, output_);
  cursor_.forget();
  saved_.reset();
  mode_blob_ = PropertyBlob();
  hdr_blob_ = PropertyBlob();
  blob_hdr_.reset();
  scaling_refused_ = 0;
  background_.reset();
  return restored;
}

bool Scanout::waits_for_fences() const
{
  return setup_ && flip_properties_.in_fence != 0;
}

std::string Scanout::describe() const
{
  if (!setup_)
    return device_->name() + ", " + output_.connector.name;
  return "plane " + std::to_string(setup_->plane->id) + " of " + device_->name() + ", " +
         output_.connector.name + ", " + describe_mode(setup_->mode);
}

std::string Scanout::describe_placement() const
{
  if (!setup_)
    return "nothing";
  std::string text = describe_rectangle(setup_->rectangle.destination);
  if (setup_->scaled)
    text += ", scaled from " + describe_rectangle(setup_->rectangle.source);
  else if (scaling_refused_)
    text += ", not scaled: " + errno_text(scaling_refused_);
  return text;
}

} // namespace gstdrm::kms
