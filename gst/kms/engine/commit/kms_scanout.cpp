// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_scanout.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_dumb.hpp"
#include "kms_plan.hpp"

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

// Makes the blobs that commits of the picture in this mode name.
Result<void> Scanout::prepare(const Picture &picture, const drmModeModeInfo &mode)
{
  if (output_.joined)
    return {}; // mode and metadata are the other program's
  if (picture.hdr && picture.hdr != blob_hdr_ &&
      property_id(output_.connector.properties, "HDR_OUTPUT_METADATA")) {
    const hdr_output_metadata metadata = to_blob(*picture.hdr);
    Result<PropertyBlob> blob = make_blob(device_->fd(), &metadata, sizeof(metadata));
    if (!blob)
      return blob.error();
    hdr_blob_ = std::move(*blob);
    blob_hdr_ = picture.hdr;
  }
  if (mode_blob_.get() && same_mode(mode, blob_mode_))
    return {};
  Result<PropertyBlob> blob = make_blob(device_->fd(), &mode, sizeof(mode));
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
  const PlanObjects objects{mode_blob_.get(), hdr_blob_.get(),
                            framebuffer_id,   background_ ? background_->framebuffer_id() : 0,
                            overlay,          writeback_attached_};
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

// Makes background_ a black buffer of the mode's size. 0, or a negative errno, which leaves
// background_ as it is.
int Scanout::fit_background(const drmModeModeInfo &mode)
{
  if (background_ && background_->width() == mode.hdisplay &&
      background_->height() == mode.vdisplay)
    return 0;
  Result<std::unique_ptr<DumbBuffer>> black =
      DumbBuffer::create(device_, DRM_FORMAT_XRGB8888, mode.hdisplay, mode.vdisplay);
  if (!black)
    return -black.error().sys_errno;
  background_ = std::move(*black);
  return 0;
}

// Makes a test commit, and where that succeeds the same commit for real. 0 or a negative errno. The
// black buffer on screen goes when its successor is there, and not before: the kernel turns off the
// plane of a framebuffer that goes (drm_framebuffer.c, drm_framebuffer_remove()).
int Scanout::show(const Plan &plan, Commit &next, bool with_mode_set)
{
  const std::shared_ptr<DumbBuffer> before = background_;
  if (const int ret = plan.background ? fit_background(plan.mode) : 0; ret != 0)
    return ret;
  const int ret = show_over_background(plan, next, with_mode_set);
  if (ret != 0)
    background_ = before;
  return ret;
}

int Scanout::show_over_background(Plan plan, Commit &next, bool with_mode_set)
{
  Frame &frame = next.frame;
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
      next.serial, frame.raster.get(), flips_by_fence_ ? &out_fence : nullptr);
  take_out_fence(next, out_fence);
  if (ret == 0) {
    has_set_mode_ = with_mode_set;
    overlay_resizes_ = false;
    tried_overlay_ = frame.raster ? std::optional(frame.raster->destination) : std::nullopt;
    plan_ = plan;
    forget_kept_files();
    if (!first_mode_)
      first_mode_ = plan.mode;
    flip_properties_ = flip_properties(output_, plan);
    tears_ = true;
    if (with_mode_set) { // the cursor's plane is off
      shown_cursor_ = {};
      refused_cursor_.reset();
    }
    next.cursor = shown_cursor_;
    shown_overlay_ = frame.raster;
    shown_origin_ = frame.origin;
  }
  return ret;
}

// The fence of a commit that was made, which is ours (drm_atomic_uapi.c); -1: there is none.
void Scanout::take_out_fence(Commit &next, std::int32_t out_fence) const
{
  UniqueFd fence(out_fence);
  if (!flips_by_fence_) {
    next.out_fence = std::move(fence);
  } else if (fence) {
    if (next.wants_out_fence)
      next.out_fence = fence.dup();
    next.flip_fence = std::make_shared<const UniqueFd>(std::move(fence));
  }
}

int Scanout::flip(Commit &next)
{
  if (!plan_)
    return -EINVAL; // turned off
  std::shared_ptr<const OverlayRaster> &raster = next.frame.raster;
  if (!plan_->overlay || overlay_refused())
    raster.reset();
  if (!flip_properties_.cursor || next.cursor == refused_cursor_)
    next.cursor = shown_cursor_;
  const int ret = commit_flip(next);
  if (ret == 0 || !is_refusal(-ret))
    return ret;
  if (next.writeback_framebuffer != 0) // the queue tries again without it first
    return ret;
  if (raster) { // it may be to blame, also where it is not new
    auto refused = std::exchange(raster, nullptr);
    const int without = commit_flip(next);
    if (without == 0) {
      refuse_overlay(-ret);
      return 0;
    }
    raster = std::move(refused);
    if (!is_refusal(-without))
      return without;
  }
  if (next.cursor == shown_cursor_)
    return ret;
  const Cursor cursor = std::exchange(next.cursor, shown_cursor_);
  const int without = flip(next); // so that the frame is shown
  if (without == 0)               // else something else is to blame
    refused_cursor_ = cursor;
  return without;
}

// One commit, of what differs from the last one.
int Scanout::commit_flip(Commit &next)
{
  const Frame &frame = next.frame;
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
  // drm_atomic_set_property()), which has signalled by now (kms_fence_wait.hpp).
  if (frame.acquire_fence && ids.in_fence && !may_tear)
    request.set(plane_id, ids.in_fence, "IN_FENCE_FD",
                static_cast<std::uint64_t>(frame.acquire_fence->get()));
  // s32s to fill: with a fence that signals with this commit's flip event, and one that signals
  // when the writeback is done (drm_atomic_uapi.c)
  std::int32_t out_fence = -1, writeback_fence = -1;
  if ((next.wants_out_fence || flips_by_fence_) && ids.out_fence)
    request.set(output_.crtc.id, ids.out_fence, "OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(&out_fence));
  if (next.writeback_framebuffer != 0) {
    const std::uint32_t writeback_id = output_.writeback->id;
    request.set(writeback_id, ids.writeback_framebuffer, "WRITEBACK_FB_ID",
                next.writeback_framebuffer);
    request.set(writeback_id, ids.writeback_fence, "WRITEBACK_OUT_FENCE_PTR",
                reinterpret_cast<std::uintptr_t>(&writeback_fence));
  }
  if (frame.raster != shown_overlay_)
    set_overlay(request, output_, *plan_, frame.raster.get());
  if (next.cursor != shown_cursor_)
    set_cursor(request, output_, ids, next.cursor);
  const std::uint32_t flags =
      DRM_MODE_ATOMIC_NONBLOCK | (flips_by_fence_ ? 0U : std::uint32_t{DRM_MODE_PAGE_FLIP_EVENT});
  // an asynchronous flip changes nothing but the framebuffer (drm_atomic_uapi.c,
  // drm_atomic_set_property()), and not every driver makes one of every format
  const bool tears = may_tear && is_bare(request);
  int ret = commit_request(device_->fd(), request, tears ? flags | DRM_MODE_PAGE_FLIP_ASYNC : flags,
                           next.serial);
  if (tears && is_refusal(-ret)) {
    tears_ = false;
    ret = commit_request(device_->fd(), request, flags, next.serial);
  }
  if (ret != 0)
    return ret;
  take_out_fence(next, out_fence);
  next.writeback_fence = UniqueFd(writeback_fence);
  shown_origin_ = frame.origin;
  shown_overlay_ = frame.raster;
  shown_cursor_ = next.cursor;
  return 0;
}

void Scanout::set_output(Output output)
{
  plan_.reset(); // points into the old output
  output_ = std::move(output);
  if (saved_)
    saved_->suit(output_);
  panel_rotation_ = panel_rotation(output_);
  overlay_errno_ = 0;
}

void Scanout::forget_shown()
{
  plan_.reset();
  shown_cursor_ = {};
  refused_cursor_.reset();
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
  const bool is_off = SavedState::turn_off(*device_, output_) == 0;
  forget_shown();
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
  forget_shown();
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

// Chooses the plan for a picture: tries the candidates in test commits, and reports the result of
// each.

namespace {

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

// The device can do nothing about the commit now, and may a few refreshes later.
bool is_put_off(int ret)
{
  return ret == -EBUSY || ret == -ENOMEM;
}

// Whether the commit may have failed for what the mode asks for: memory for a black picture of its
// size, or the rate of its link.
bool may_be_of_the_mode(int ret)
{
  return ret == -ENOMEM || ret == -EIO || ret == -ETIMEDOUT;
}

bool asks_for_less(const drmModeModeInfo &mode, const drmModeModeInfo &failed, int ret)
{
  if (ret != -ENOMEM)
    return mode.clock < failed.clock;
  return std::uint32_t{mode.hdisplay} * mode.vdisplay <
         std::uint32_t{failed.hdisplay} * failed.vdisplay;
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

Result<std::vector<ModeTry>> Scanout::check(const Picture &picture) const
{
  Picture on_screen = picture;
  if (panel_view().is_turned())
    std::swap(on_screen.width, on_screen.height), std::swap(on_screen.par_n, on_screen.par_d);
  const std::optional<drmModeModeInfo> fixed = fixed_mode();
  const bool may_be_larger =
      scales_down_ || (names_mode(output_.mode_request) && may_crop(panel_view().fit));
  return modes_for(output_, on_screen, may_be_larger, device_->name(),
                   fixed ? fixed : mode_on_screen(), fixed.has_value());
}

// The mode that mode-changes allows no other one than; nullopt if any may be set.
std::optional<drmModeModeInfo> Scanout::fixed_mode() const
{
  const ModeChanges changes = output_.mode_changes;
  if (names_mode(output_.mode_request) || changes == ModeChanges::Auto ||
      changes == ModeChanges::Always)
    return {};
  if (changes == ModeChanges::Never && output_.found_mode)
    return output_.found_mode;
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  const bool listed =
      first_mode_ && std::any_of(modes.begin(), modes.end(), [this](const auto &mode) {
        return same_mode(mode, *first_mode_);
      }); // another display may be connected by now
  return listed ? first_mode_ : std::nullopt;
}

// The mode that stays if it can show the picture; nullopt if the display is dark, or the user wants
// a mode that fits the picture.
std::optional<drmModeModeInfo> Scanout::mode_on_screen() const
{
  const bool matches = output_.mode_request.kind == ModeRequest::Kind::Match;
  if (names_mode(output_.mode_request) || output_.mode_changes == ModeChanges::Always ||
      (matches && panel_view().fit == Fit::None))
    return {};
  if (plan_)
    return plan_->mode;
  return matches ? std::nullopt : output_.found_mode;
}

// One line for each reason, with the planes that it holds for: as many as fit into an error of
// kMostText characters that begins with `text`.
void Scanout::explain(std::string &text, Format format,
                      const std::map<std::uint32_t, Attempts> &attempts) const
{
  constexpr std::size_t kMostText = 400, kRest = 70;
  struct Line {
    std::string ids, reason;
    std::size_t planes = 0;
  };
  std::vector<Line> lines;
  for (const Plane &plane : output_.crtc_planes) {
    const std::string reason =
        std::string(" (") + type_name(plane.type) + "): " + why_not_shown(plane, format, attempts);
    GSTDRM_DEBUG("plane %u%s", plane.id, reason.c_str());
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&reason](const Line &other) { return other.reason == reason; });
    if (line == lines.end())
      line = lines.insert(line, Line{{}, reason});
    line->ids += (line->planes++ == 0 ? "" : ", ") + std::to_string(plane.id);
  }
  std::size_t left_out = 0;
  for (const Line &line : lines) {
    const std::string whole =
        (line.planes == 1 ? "\nPlane " : "\nPlanes ") + line.ids + line.reason;
    if (left_out == 0 && text.size() + whole.size() + kRest <= kMostText)
      text += whole;
    else
      left_out += line.planes;
  }
  if (left_out != 0)
    text += "\nAnd " + std::to_string(left_out) +
            " more planes. GST_DEBUG=kmsdmabufsink:5 tells of each.";
}

std::string Scanout::why_not_shown(const Plane &plane, Format format,
                                   const std::map<std::uint32_t, Attempts> &attempts) const
{
  const bool chosen = std::any_of(output_.planes.begin(), output_.planes.end(),
                                  [&plane](const Plane &p) { return p.id == plane.id; });
  const auto tried = attempts.find(plane.id);
  const std::uint64_t user = plane.user();
  if (const std::string reason = why_unfit(panel_view(), plane, format); chosen && !reason.empty())
    return reason + ".";
  if (tried != attempts.end() && tried->second.scaled && tried->second.unscaled)
    return "scaled: " + errno_text(tried->second.scaled) +
           ", not scaled: " + errno_text(tried->second.unscaled) + ".";
  if (tried != attempts.end())
    return "test commit: " +
           errno_text(tried->second.scaled ? tried->second.scaled : tried->second.unscaled) + ".";
  if (chosen)
    return "not tried.";
  if (plane.type == PlaneType::Cursor)
    return "for cursors.";
  if (user != 0 && user != output_.crtc.id)
    return "used by CRTC " + std::to_string(user) + ".";
  return "not the one of plane-id.";
}

// What to try in place of a picture that no plane shows. `tried`: some plane fits the view.
std::string Scanout::advice(const drmModeModeInfo &mode, Format format, bool tried) const
{
  View unturned = panel_view();
  unturned.rotation = DRM_MODE_ROTATE_0;
  if (!tried && std::any_of(output_.planes.begin(), output_.planes.end(), [&](const Plane &plane) {
        return why_unfit(unturned, plane, format).empty();
      }))
    return " Turn the picture before the sink, for instance with videoflip, and leave rotation "
           "out.";
  if (!covers_only_)
    return panel_view().rotation == DRM_MODE_ROTATE_0
               ? " Try another size or format, or another plane with plane-id."
               : " Turn the picture before the sink, for instance with videoflip, and leave "
                 "rotation out.";
  return " Its planes have to cover the screen: send pictures of the mode's size, " +
         describe_size(mode.hdisplay, mode.vdisplay) +
         ", for instance with videoscale before the sink.";
}

// Tries the plans for one mode. 0, or the errno of the last one, negative: -EAGAIN stands for a
// device that is busy, which the kernel's own never does (drmIoctl()).
int Scanout::show_in_mode(const Picture &picture, const ModeTry &mode, Commit &next,
                          Patience patience, std::map<std::uint32_t, Attempts> &attempts)
{
  const auto [width, height] = panel_view().is_turned() ? std::pair(picture.height, picture.width)
                                                        : std::pair(picture.width, picture.height);
  const bool fits = width <= mode.mode.hdisplay && height <= mode.mode.vdisplay;
  const std::vector<Plan> plans =
      candidate_plans(output_, panel_view(), picture, mode.mode, shown());
  int ret = -EINVAL;
  int scaling_refused = 0;
  for (const Plan &plan : plans) {
    const bool as_wanted = plan.scaled == plans.front().scaled;
    if (!as_wanted && (mode.only_as_wanted || (!fits && !output_.joined)))
      continue; // it would be centred against the user's mode, or cropped
    for (const bool with_mode_set : {false, true}) {
      if (with_mode_set ? output_.joined.has_value() || mode.only_as_wanted
                        : needs_mode_set(output_, plan, shown()))
        continue;
      ret = show(plan, next, with_mode_set);
      if (ret == 0) {
        scaling_refused_ = plan.scaled ? 0 : scaling_refused;
        return 0;
      }
      if (!with_mode_set && patience == Patience::Wait && is_put_off(ret))
        return -EAGAIN;
    }
    Attempts &plane = attempts[plan.plane->id];
    (plan.scaled ? plane.scaled : plane.unscaled) = -ret;
    if (plan.scaled)
      scaling_refused = -ret;
    if (is_master_loss(-ret) || (ret == -EBUSY && output_.joined) || ret == -ENODEV ||
        ret == -ENOMEM)
      break; // no other plane would do better
  }
  return ret;
}

// A driver, a cable or an adapter that refuses one mode may take the next one.
Result<void> Scanout::show_first(const Picture &picture, const std::vector<ModeTry> &modes,
                                 Commit &next, Patience patience)
{
  if (!saved_) {
    Result<SavedState> saved = SavedState::capture(*device_, output_);
    if (!saved)
      return saved.error();
    saved_ = std::move(*saved);
  }
  std::map<std::uint32_t, Attempts> attempts; // in the mode that fits best
  int ret = -EINVAL;
  // A commit that fails for real may take the kernel 10 s (drm_atomic_helper_wait_for_flip_done()).
  constexpr int kMostFailures = 3;
  int failures = 0, first_failure = 0, failure = 0; // 0 or a negative errno
  const ModeTry *failed = nullptr;
  for (const ModeTry &mode : modes) {
    if (failed && !asks_for_less(mode.mode, failed->mode, failure))
      continue;
    if (Result<void> ready = prepare(picture, mode.mode); !ready)
      return ready;
    std::map<std::uint32_t, Attempts> other;
    ret = show_in_mode(picture, mode, next, patience, &mode == &modes.front() ? attempts : other);
    if (ret == 0)
      return {};
    if (ret == -EAGAIN)
      return device_error(device_->name() + " is busy.", EAGAIN);
    if (may_be_of_the_mode(ret) && !mode.only_as_wanted) {
      failed = &mode;
      failure = ret;
      first_failure = first_failure != 0 ? first_failure : ret;
      if (++failures == kMostFailures)
        break;
    } else if (!is_refusal(-ret) && !mode.only_as_wanted) {
      break; // no other mode would do better
    }
    GSTDRM_DEBUG("mode %s does not show the picture: %s", describe_mode(mode.mode).c_str(),
                 errno_text(-ret).c_str());
  }
  if (failed && is_refusal(-ret))
    ret = first_failure; // the device failed, whatever is wrong with the other modes
  const drmModeModeInfo &mode = modes.front().mode;
  const std::string hint = is_master_loss(-ret) ? " Another program took the display over; stop it."
                                                : advice(mode, picture.format, !attempts.empty());
  std::string text = device_->name() + " does not show " + describe_format(picture.format) +
                     " of " + describe_size(picture.width, picture.height) + " in mode " +
                     describe_mode(mode) +
                     (modes.size() > 1 && is_refusal(-ret) ? " or another one" : "") +
                     " on connector " + output_.connector.name + "." + hint;
  explain(text, picture.format, attempts);
  return Error{is_refusal(-ret) ? ErrorCode::Unsupported : ErrorCode::Device, std::move(text),
               -ret};
}

// The mode for test commits before the first frame. nullopt if there is none.
std::optional<drmModeModeInfo> Scanout::probed_mode() const
{
  if (output_.joined)
    return output_.joined;
  const std::vector<drmModeModeInfo> &modes = output_.connector.modes;
  if (output_.mode_request.kind == ModeRequest::Kind::Exact)
    if (const auto order = order_modes(modes, output_.mode_request, {}))
      return modes[order->front()];
  return output_.found_mode ? output_.found_mode : own_mode(modes);
}

// The best outcome of test commits of the picture in scratch memory: 0, else the negative errno of
// one that says nothing of the picture, else a refusal.
int Scanout::test_scratch(const Picture &picture, const drmModeModeInfo &mode, bool only_scaled)
{
  const std::unique_ptr<ScratchBuffer> scratch = ScratchBuffer::create(
      device_, FormatSet::from_pairs({picture.format}), picture.width, picture.height);
  const std::optional<FramebufferId> framebuffer =
      scratch ? scratch->framebuffer(picture.format) : std::nullopt;
  if (!framebuffer || !prepare(picture, mode))
    return -ENOMEM;
  const std::uint32_t mode_set = output_.joined ? 0U : std::uint32_t{DRM_MODE_ATOMIC_ALLOW_MODESET};
  int best = -EINVAL;
  for (const Plan &plan :
       candidate_plans(output_, on_panel({}, panel_rotation_), picture, mode, shown())) {
    if (only_scaled ? !plan.scaled || plan.background
                    : plan.background && fit_background(plan.mode) != 0)
      continue;
    const int ret = commit(plan, framebuffer->get(), mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (ret == 0)
      return 0;
    if (!is_refusal(-ret))
      best = ret;
  }
  return best;
}

void Scanout::probe()
{
  const std::optional<drmModeModeInfo> mode = probed_mode();
  const std::optional<Format> format = scratch_format(output_.formats());
  if (!mode || !format)
    return;
  Picture larger, full;
  larger.format = full.format = *format;
  // a quarter larger in width and height: enough to find out, and little memory
  larger.width = (mode->hdisplay + mode->hdisplay / 4U) & ~1U;
  larger.height = (mode->vdisplay + mode->vdisplay / 4U) & ~1U;
  scales_down_ = test_scratch(larger, *mode, true) == 0;
  full.width = mode->hdisplay;
  full.height = mode->vdisplay;
  if (on_panel({}, panel_rotation_).is_turned())
    std::swap(full.width, full.height);
  Picture part = full; // of another shape, so that no scaling makes it cover the mode
  part.width = (full.width / 2U) & ~1U;
  part.height = (full.height / 4U) & ~1U;
  covers_only_ = is_refusal(-test_scratch(part, *mode, false)) &&
                 !is_refusal(-test_scratch(full, *mode, false));
  background_.reset();
}

// 0 when show_first() would show the framebuffer so: in a flip, or else in a mode set (imx-drm
// changes the size and the format of a plane in a mode set alone).
int Scanout::test(const Plan &plan, std::uint32_t framebuffer_id) const
{
  int ret = -EINVAL;
  for (const bool with_mode_set : {false, true}) {
    if (with_mode_set ? output_.joined.has_value() : needs_mode_set(output_, plan, shown()))
      continue;
    const std::uint32_t mode_set = with_mode_set ? DRM_MODE_ATOMIC_ALLOW_MODESET : 0;
    ret = commit(plan, framebuffer_id, mode_set | DRM_MODE_ATOMIC_TEST_ONLY, 0);
    if (!is_refusal(-ret))
      return ret;
  }
  return ret;
}

// 0 when some plane would show the framebuffer; else the errno of the last that would not.
int Scanout::test(const Picture &picture, const drmModeModeInfo &mode,
                  std::uint32_t framebuffer_id) const
{
  // the framebuffer would replace the one on screen
  if (plan_ && !needs_mode_set(output_, {mode, plan_->plane}, shown()) &&
      plan_->width == picture.width && plan_->height == picture.height)
    return test(*plan_, framebuffer_id);
  int ret = -EINVAL;
  for (const Plan &plan : candidate_plans(output_, panel_view(), picture, mode, shown())) {
    if (plan_ && plan.plane != plan_->plane)
      continue;
    // the black plane stands for one in any layout
    if (plan.background && !background_)
      continue;
    ret = test(plan, framebuffer_id);
    if (!is_refusal(-ret))
      return ret;
  }
  return ret;
}

// A driver that refuses a mode refuses every pair in it, which says nothing of the pairs: they are
// tested in the first mode that shows any of them. As many modes as a driver may refuse whole: a
// display has up to 60, and each costs a test commit for each pair.
std::vector<Refusal> Scanout::disprove(const Picture &picture, std::span<const ModeTry> modes,
                                       const FormatSet &pairs)
{
  constexpr std::size_t kMostModes = 8;
  std::vector<Refusal> refusals;
  const std::unique_ptr<ScratchBuffer> scratch =
      ScratchBuffer::create(device_, pairs, picture.width, picture.height);
  if (!scratch)
    return refusals;
  for (const ModeTry &mode : modes.first(std::min(modes.size(), kMostModes))) {
    if (!prepare(picture, mode.mode))
      return {};
    bool any_shown = false;
    refusals.clear();
    for (const Format &format : pairs.pairs()) {
      const std::optional<FramebufferId> framebuffer = scratch->framebuffer(format);
      if (!framebuffer)
        continue;
      Picture other = picture;
      other.format = format;
      const int ret = test(other, mode.mode, framebuffer->get());
      if (is_refusal(-ret))
        refusals.push_back({format, picture.width, picture.height,
                            "A test commit of " + describe_format(format) + " at " +
                                describe_size(picture.width, picture.height) +
                                " was refused: " + errno_text(-ret) + "."});
      else
        any_shown = true;
    }
    if (any_shown)
      break;
  }
  return refusals;
}

// ---- overlays ----
//
// Overlays over the picture. The plane for them is chosen with the picture's plan, and
// changes with the commits of frames: an overlay never costs a commit of its own.

bool Scanout::can_overlay() const
{
  if (plan_)
    return plan_->overlay != nullptr;
  return std::any_of(output_.planes.begin(), output_.planes.end(), [this](const Plane &plane) {
    Plan plan; // of a picture that need not be turned, on that plane
    plan.plane = &plane;
    plan.rectangle.zpos = panel_view().zpos;
    plan.rectangle.rotation = panel_view().rotation;
    return plane.type == PlaneType::Primary && !overlay_slots(output_, plan).empty();
  });
}

OverlayPlacement Scanout::overlay_placement(const Plan &plan) const
{
  return {plan.rectangle.source,
          plan.rectangle.destination,
          {0, 0, plan.mode.hdisplay, plan.mode.vdisplay}};
}

Result<void> Scanout::draw_overlay(Frame &frame)
{
  frame.raster.reset();
  if (!plan_ || !plan_->overlay || overlay_refused())
    return {};
  Result<std::shared_ptr<const OverlayRaster>> raster =
      rasters_.draw(frame.overlay, overlay_placement(*plan_));
  if (!raster)
    return raster.error();
  frame.raster = std::move(*raster);
  if (!frame.raster)
    frame.overlay.reset(); // nothing of it is in the picture
  return {};
}

// The plane that a plan has for overlays; the one that takes the frame's, where it has one.
void Scanout::choose_overlay(Plan &plan, Frame &frame, std::uint32_t flags)
{
  frame.raster.reset();
  const std::vector<OverlaySlot> slots = overlay_slots(output_, plan);
  if (slots.empty() || overlay_refused())
    return;
  plan.overlay = slots.front().plane;
  plan.overlay_zpos = slots.front().zpos;
  if (!frame.overlay)
    return;
  Result<std::shared_ptr<const OverlayRaster>> raster =
      rasters_.draw(frame.overlay, overlay_placement(plan));
  if (!raster) {
    GSTDRM_DEBUG("no overlay: %s", raster.error().message.c_str());
    return;
  }
  if (!*raster) {
    frame.overlay.reset(); // nothing of it is in the picture
    return;
  }
  int ret = 0;
  for (const OverlaySlot &slot : slots) {
    plan.overlay = slot.plane;
    plan.overlay_zpos = slot.zpos;
    ret = commit_frame(plan, frame, flags, 0, raster->get());
    if (ret == 0) {
      frame.raster = std::move(*raster);
      return;
    }
  }
  if (is_refusal(-ret)) {
    plan.overlay = nullptr;
    refuse_overlay(-ret);
  }
}

void Scanout::try_overlay(const std::shared_ptr<const OverlayRaster> &raster)
{
  if (!plan_ || !plan_->overlay)
    return;
  const auto test_raster = [&] {
    Request request;
    set_overlay(request, output_, *plan_, raster.get());
    return commit_request(device_->fd(), request, DRM_MODE_ATOMIC_TEST_ONLY, 0);
  };
  int ret = 0;
  if (tried_overlay_) {
    // imx-drm changes the size of a plane that is on in a mode set alone
    ret = test_raster();
    overlay_resizes_ |= ret == 0;
    if (is_refusal(-ret))
      refuse_overlay(-ret);
    return;
  }
  for (const OverlaySlot &slot : overlay_slots(output_, *plan_)) {
    plan_->overlay = slot.plane;
    plan_->overlay_zpos = slot.zpos;
    ret = test_raster();
    if (ret == 0) {
      tried_overlay_ = raster->destination;
      flip_properties_ = flip_properties(output_, *plan_); // the cursor is over it
      return;
    }
    if (!is_refusal(-ret)) // says nothing of this plane: the commit of the frame tells
      return;
  }
  refuse_overlay(-ret);
}

void Scanout::refuse_overlay(int error)
{
  overlay_refusals_++;
  overlay_errno_ = error;
}

Error Scanout::overlay_refusal() const
{
  const int error = overlay_errno_;
  return Error{ErrorCode::Unsupported,
               "No overlay plane of " + device_->name() +
                   " shows the overlay beside the picture: " + errno_text(error) +
                   ". It is blended into the frames from now on.",
               error};
}

void Scanout::forget_overlay()
{
  shown_overlay_.reset();
  tried_overlay_.reset();
  rasters_.clear();
}

// ---- leaving ----
//
// The last frame goes and its mode stays, or it stays on screen when the sink stops.

// The plane off, or a black picture where the CRTC is not on without its primary plane (amdgpu, vc4
// and others). Each commit blocks until it is on screen.
bool Scanout::hide_picture()
{
  if (!plan_)
    return true;
  Request off;
  off.disable_plane(*plan_->plane);
  if (plan_->overlay)
    off.disable_plane(*plan_->overlay);
  bool is_hidden = commit_request(device_->fd(), off, 0, 0) == 0;
  const Plane *primary = output_.plane_of(PlaneType::Primary);
  const std::shared_ptr<DumbBuffer> before = background_;
  if (!is_hidden && !output_.joined && primary && fit_background(plan_->mode) == 0) {
    PlaneSetup black;
    black.framebuffer_id = background_->framebuffer_id();
    black.source = black.destination = {0, 0, plan_->mode.hdisplay, plan_->mode.vdisplay};
    Request cover;
    if (plan_->plane->id != primary->id)
      cover.disable_plane(*plan_->plane);
    if (plan_->overlay)
      cover.disable_plane(*plan_->overlay);
    cover.set_plane(*primary, output_.crtc.id, black);
    is_hidden = commit_request(device_->fd(), cover, 0, 0) == 0;
    if (!is_hidden)
      background_ = before;
    else if (plan_->plane->id != primary->id)
      plan_->background = primary; // turned off, where the next plan does not need it
  }
  if (is_hidden)
    forget_overlay();
  return is_hidden;
}

Result<void> Scanout::leave(const Commit &last)
{
  if (!plan_)
    return {}; // it was turned off
  const bool file_stays = kept_files_->keep(*device_, plan_->plane->id);
  // first: it tells whether the kernel can
  if (!last.frame.framebuffer->leave_on_screen(file_stays))
    return device_error("The last frame cannot stay on connector " + output_.connector.name +
                            " of " + device_->name() +
                            ": Linux has framebuffers that outlive their file since 6.8, and the "
                            "device cannot be opened a second time. The display is put back.",
                        ENOTSUP);
  if (plan_->background)
    (void)background_->leave_on_screen(file_stays);
  if (shown_overlay_)
    (void)shown_overlay_->buffer->leave_on_screen(file_stays);
  // The cursor's buffer is freed when its file is closed, at a time that is not known here: remove
  // it from the plane now.
  if (shown_cursor_.image && flip_properties_.cursor) {
    Request request;
    request.disable_plane(*flip_properties_.cursor);
    (void)commit_request(device_->fd(), request, 0, 0);
  }
  forget_picture();
  return {};
}

} // namespace gstdrm::kms
