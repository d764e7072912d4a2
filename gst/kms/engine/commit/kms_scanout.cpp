// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_scanout.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <drm_fourcc.h>

#include "engine/card/kms_objects.hpp"
#include "engine/card/kms_refusal.hpp"
#include "kms_stacking.hpp"

namespace gstdrm::kms {

namespace {

// What a plane makes of straight alpha that it cannot blend (Request::set_plane()).
const char *missing_blending(const Plane &plane)
{
  const Property *mode = find(plane.properties, "pixel blend mode");
  if (!mode)
    return ", its alpha taken for premultiplied: the plane has no pixel blend mode";
  return mode->enum_value("Coverage") ? "" : ", without its alpha: the plane has no Coverage";
}

// Whether the request shows another framebuffer and does nothing else.
bool is_bare(const Request &request)
{
  return request.assignments().size() == 1 &&
         std::strcmp(request.assignments().front().name, "FB_ID") == 0;
}

} // namespace

Result<void> Scanout::prepare(const Picture &picture, const drmModeModeInfo &mode)
{
  if (!saved_) {
    Result<SavedState> saved = SavedState::capture(*device_, output_);
    if (!saved)
      return saved.error();
    saved_ = std::move(*saved);
  }
  if (output_.joined)
    return {}; // mode and metadata are the other program's
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

int Scanout::commit(const Plan &plan, std::uint32_t framebuffer_id, std::uint32_t flags,
                    std::uint64_t serial, const OverlayRaster *overlay,
                    std::int32_t *out_fence) const
{
  const PlanObjects objects{mode_blob_.id(), hdr_blob_.id(),
                            framebuffer_id,  background_ ? background_->framebuffer_id() : 0,
                            overlay,         writeback_attached_};
  const bool with_mode_set = (flags & DRM_MODE_ATOMIC_ALLOW_MODESET) != 0;
  Request request = plan_commit(output_, plan, shown(), objects, with_mode_set);
  if (out_fence)
    request.set(output_.crtc.id, output_.crtc.properties, "OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(out_fence));
  return commit_request(device_->fd(), request, flags, serial);
}

// The plan's source rectangle is in the picture, which may begin anywhere in the framebuffer.
int Scanout::commit_frame(Plan plan, const Frame &frame, std::uint32_t flags, std::uint64_t serial,
                          const OverlayRaster *overlay, std::int32_t *out_fence) const
{
  plan.rectangle.source.x += static_cast<std::int32_t>(frame.origin.x);
  plan.rectangle.source.y += static_cast<std::int32_t>(frame.origin.y);
  return commit(plan, frame.framebuffer->id(), flags, serial, overlay, out_fence);
}

// A black buffer of the mode's size, where background_ is none. 0 or a negative errno.
int Scanout::make_background(const drmModeModeInfo &mode, std::unique_ptr<DumbBuffer> &made) const
{
  if (background_ && background_->width() == mode.hdisplay &&
      background_->height() == mode.vdisplay)
    return 0;
  Result<std::unique_ptr<DumbBuffer>> black =
      DumbBuffer::create(device_, DRM_FORMAT_XRGB8888, mode.hdisplay, mode.vdisplay);
  if (!black)
    return -black.error().sys_errno;
  made = std::move(*black);
  return 0;
}

// Before the first frame, for test commits. 0 or a negative errno.
int Scanout::prepare_background(const Plan &plan)
{
  std::unique_ptr<DumbBuffer> black;
  const int ret = plan.background ? make_background(plan.mode, black) : 0;
  if (black)
    background_ = std::move(black);
  return ret;
}

// Makes a test commit, and where that succeeds the same commit for real. 0 or a negative errno. The
// black buffer on screen goes when its successor is there, and not before: the kernel turns off the
// plane of a framebuffer that goes (drm_framebuffer.c, drm_framebuffer_remove()).
int Scanout::show(const Plan &plan, Frame &frame, std::uint64_t serial, bool with_mode_set)
{
  std::unique_ptr<DumbBuffer> other;
  if (const int ret = plan.background ? make_background(plan.mode, other) : 0; ret != 0)
    return ret;
  const bool is_other = other != nullptr;
  if (is_other)
    background_.swap(other);
  const int ret = show_over_background(plan, frame, serial, with_mode_set);
  if (is_other && ret != 0)
    background_.swap(other);
  return ret;
}

int Scanout::show_over_background(Plan plan, Frame &frame, std::uint64_t serial, bool with_mode_set)
{
  const std::uint32_t mode_set = with_mode_set ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
  if (const int ret = commit_frame(plan, frame, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0); ret != 0)
    return ret;
  choose_overlay(plan, frame, mode_set | DRM_MODE_ATOMIC_TEST_ONLY);
  // A mode set blocks: the kernel then waits for commits of whoever had the display before. So does
  // the first commit beside another program, whose commit may be in flight.
  const std::uint32_t blocking =
      with_mode_set || output_.joined ? mode_set : std::uint32_t{DRM_MODE_ATOMIC_NONBLOCK};
  std::int32_t out_fence = -1;
  const int ret = commit_frame(
      plan, frame, blocking | (flips_by_fence_ ? 0U : std::uint32_t{DRM_MODE_PAGE_FLIP_EVENT}),
      serial, frame.raster.get(), flips_by_fence_ ? &out_fence : nullptr);
  flip_fence_ = UniqueFd(out_fence);
  if (ret == 0) {
    has_set_mode_ = with_mode_set;
    overlay_untried_ = plan.overlay && !frame.raster;
    overlay_resizes_ = false;
    tried_overlay_ = frame.raster ? frame.raster->destination : Rectangle{};
    overlay_.committed(frame.raster);
    plan_ = plan;
    shown_origin_ = frame.origin;
    forget_kept_files();
    if (!first_mode_)
      first_mode_ = plan.mode;
    flip_properties_ = flip_properties(output_, plan);
    tears_ = true;
    if (output_.tearing)
      flip_properties_.out_fence = 0; // which is more than a framebuffer
    if (with_mode_set)
      cursor_.forget();
  }
  return ret;
}

SharedFence Scanout::take_flip_fence()
{
  return flip_fence_ ? std::make_shared<const UniqueFd>(std::move(flip_fence_)) : nullptr;
}

int Scanout::flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                  std::uint64_t serial)
{
  if (!flips_by_fence_)
    return try_flip(frame, job, out_fence, serial);
  std::int32_t fence = -1;
  const int ret = try_flip(frame, job, &fence, serial);
  flip_fence_ = UniqueFd(fence);
  if (ret == 0 && out_fence)
    *out_fence = UniqueFd::dup(fence).release();
  return ret;
}

int Scanout::try_flip(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                      std::uint64_t serial)
{
  if (!plan_)
    return -EINVAL; // turned off
  const bool may_overlay = plan_->overlay && !overlay_refused();
  const auto raster = may_overlay ? frame.raster : nullptr;
  bool moved = false;
  const int ret = flip_with(frame, job, out_fence, serial, raster, moved);
  if (ret == 0 || !is_refusal(-ret))
    return ret;
  if (job) { // the queue tries again without it, before anything else is to blame
    if (moved)
      cursor_.postponed();
    return ret;
  }
  if (raster) { // it may be to blame, also where it is not new
    if (moved)
      cursor_.postponed();
    const int without = flip_with(frame, job, out_fence, serial, nullptr, moved);
    if (without == 0)
      refuse_overlay(-ret);
    if (without == 0 || !is_refusal(-without))
      return without;
  }
  if (!moved)
    return ret;
  // the commit is tried again without the cursor, so that the frame is shown
  cursor_.refused();
  return try_flip(frame, job, out_fence, serial);
}

// One commit. `moved` tells whether it contains a change of the cursor. Where the kernel refuses
// the commit, that change is neither made nor put off.
int Scanout::flip_with(const Frame &frame, WritebackJob *job, std::int32_t *out_fence,
                       std::uint64_t serial, const std::shared_ptr<const OverlayRaster> &raster,
                       bool &moved)
{
  Request &request = flip_request_;
  request.clear();
  const FlipProperties &ids = flip_properties_;
  const std::uint32_t plane_id = plan_->plane->id;
  request.set(plane_id, ids.framebuffer, "FB_ID", frame.framebuffer->id());
  if (frame.origin != shown_origin_) {
    const Rectangle &source = plan_->rectangle.source;
    request.set(plane_id, ids.source_x, "SRC_X",
                (static_cast<std::uint64_t>(source.x) + frame.origin.x) << 16);
    request.set(plane_id, ids.source_y, "SRC_Y",
                (static_cast<std::uint64_t>(source.y) + frame.origin.y) << 16);
  }
  const bool may_tear = output_.tearing && tears_;
  // Linux 6.8 to 6.13 refuse an asynchronous flip with a fence (drm_atomic_uapi.c,
  // drm_atomic_set_property()), which has signalled by now (kms_fence_gate.hpp).
  if (frame.acquire_fence && ids.in_fence && !may_tear)
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
  if (plan_->overlay && !overlay_.shows(raster))
    set_overlay(request, output_, *plan_, raster.get());
  const Plane *cursor = cursor_plane();
  moved = cursor && cursor_.apply(request, *cursor, output_.crtc.id, cursor_zpos(*cursor));
  const std::uint32_t flags =
      DRM_MODE_ATOMIC_NONBLOCK | (flips_by_fence_ ? 0U : std::uint32_t{DRM_MODE_PAGE_FLIP_EVENT});
  // an asynchronous flip changes nothing but the framebuffer (drm_atomic_uapi.c,
  // drm_atomic_set_property()), and not every driver makes one of every format
  const bool tears = may_tear && is_bare(request);
  int ret = commit_request(device_->fd(), request, tears ? flags | DRM_MODE_PAGE_FLIP_ASYNC : flags,
                           serial);
  if (tears && is_refusal(-ret)) {
    tears_ = false;
    ret = commit_request(device_->fd(), request, flags, serial);
  }
  if (ret == 0) {
    overlay_.committed(raster);
    shown_origin_ = frame.origin;
  }
  if (moved && ret == 0)
    cursor_.committed();
  else if (moved && !is_refusal(-ret))
    cursor_.postponed();
  return ret;
}

const Plane *Scanout::cursor_plane() const
{
  const auto it = std::find_if(output_.crtc_planes.begin(), output_.crtc_planes.end(),
                               [](const Plane &plane) { return plane.type == PlaneType::Cursor; });
  const bool shows_picture = it != output_.crtc_planes.end() && plan_ && plan_->plane->id == it->id;
  return it == output_.crtc_planes.end() || shows_picture ? nullptr : &*it;
}

// Over the picture, and what lies over that; -1: it is, or cannot be.
int Scanout::cursor_zpos(const Plane &cursor) const
{
  const int over_picture = zpos_over(cursor, *plan_->plane, plan_->rectangle.zpos).value_or(-1);
  return plan_->overlay
             ? std::max(over_picture,
                        zpos_over(cursor, *plan_->overlay, plan_->overlay_zpos).value_or(-1))
             : over_picture;
}

void Scanout::set_output(Output output)
{
  plan_.reset(); // points into the old output
  output_ = std::move(output);
  if (saved_)
    saved_->suit(output_);
  panel_rotation_ = panel_rotation(output_);
  set_view(wanted_view_);
  overlay_errno_ = 0;
}

void Scanout::forget_shown()
{
  plan_.reset();
  cursor_.forget();
  forget_overlay();
}

int Scanout::attach_writeback(bool attached)
{
  writeback_attached_ = false;
  if (!plan_ || !output_.writeback)
    return -ENODATA; // turned off meanwhile, and the connector with it
  Request request;
  request.set(output_.writeback->id, output_.writeback->properties, "CRTC_ID",
              attached ? output_.crtc.id : 0);
  constexpr std::uint32_t kModeSet = DRM_MODE_ATOMIC_ALLOW_MODESET;
  int ret = commit_request(device_->fd(), request, kModeSet | DRM_MODE_ATOMIC_TEST_ONLY, 0);
  if (ret == 0)
    ret = commit_request(device_->fd(), request, kModeSet, 0);
  writeback_attached_ = attached && ret == 0;
  return ret;
}

bool Scanout::turn_off()
{
  plan_.reset();
  const bool is_off = SavedState::turn_off(*device_, output_) == 0;
  cursor_.forget();
  forget_overlay();
  return is_off;
}

Result<void> Scanout::restore()
{
  plan_.reset();
  if (!saved_)
    return {};
  Result<void> restored = saved_->restore(*device_, output_);
  if (restored)
    saved_.reset();
  forget_kept_files();
  forget_picture();
  return restored;
}

// What an earlier sink has left on the planes of this one is off the screen.
void Scanout::forget_kept_files()
{
  for (const Plane &plane : output_.crtc_planes)
    kept_files_->forget(*device_, plane.id);
}

// The sink shows nothing of its own from now on.
void Scanout::forget_picture()
{
  plan_.reset();
  cursor_.forget();
  forget_overlay();
  overlay_errno_ = 0;
  mode_blob_ = PropertyBlob();
  hdr_blob_ = PropertyBlob();
  blob_hdr_.reset();
  scaling_refused_ = 0;
  first_mode_.reset();
  background_.reset();
}

bool Scanout::waits_for_fences() const
{
  return plan_ && flip_properties_.in_fence != 0;
}

std::string Scanout::describe() const
{
  if (!plan_)
    return device_->name() + ", " + output_.connector.name;
  return "plane " + std::to_string(plan_->plane->id) + " of " + device_->name() + ", " +
         output_.connector.name + ", " + describe_mode(plan_->mode);
}

std::string Scanout::describe_placement() const
{
  if (!plan_)
    return "nothing";
  std::string text = describe_rectangle(plan_->rectangle.destination);
  if (plan_->scaled)
    text += ", scaled from " + describe_rectangle(plan_->rectangle.source);
  else if (scaling_refused_)
    text += ", not scaled: " + errno_text(scaling_refused_);
  if (plan_->hdr_left_out)
    text += ", without its HDR metadata: the display does not list them";
  if (plan_->rectangle.alpha == Alpha::Straight)
    text += missing_blending(*plan_->plane);
  return text;
}

} // namespace gstdrm::kms
