// SPDX-License-Identifier: LGPL-2.1-or-later
// A model's answer to commits: the rules of the DRM core, then those of the driver.
#include "fake_model.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>

#include <drm_fourcc.h>
#include <xf86drmMode.h>

#include "fake_drm.hpp"

namespace gstdrm::test::fakedrm {

namespace {

constexpr std::uint64_t kTurns = DRM_MODE_ROTATE_0 | DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_180 | DRM_MODE_ROTATE_270;
constexpr std::uint64_t kQuarters = DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270;

struct Rule {
  int error = 0; // errno
  std::string why;
};

const PropertySpec *spec_of(const Model &model, std::uint32_t object, const std::string &name)
{
  for (const auto &[id, specs] : model.objects)
    if (id == object)
      for (const PropertySpec &spec : specs)
        if (spec.name == name)
          return &spec;
  return nullptr;
}

// What the device has, with a commit on top or without.
class State {
public:
  State(const Device &device, const Commit *commit) : device_(device), commit_(commit) {}

  [[nodiscard]] std::uint64_t get(std::uint32_t object, const std::string &name) const
  {
    const std::pair key(object, name);
    if (commit_)
      if (const auto it = commit_->values.find(key); it != commit_->values.end())
        return it->second;
    if (const auto it = device_.found.find(key); it != device_.found.end())
      return it->second;
    const PropertySpec *spec = spec_of(*device_.model, object, name);
    return spec ? spec->value : 0;
  }
  [[nodiscard]] std::vector<std::uint8_t> blob(std::uint32_t object, const char *name) const
  {
    const auto id = static_cast<std::uint32_t>(get(object, name));
    for (const auto *blobs : {&device_.old_blobs, &device_.foreign_blobs})
      if (const auto it = blobs->find(id); it != blobs->end())
        return it->second;
    return {};
  }
  [[nodiscard]] std::uint32_t framebuffer(const PlaneModel &plane) const
  {
    return static_cast<std::uint32_t>(get(plane.id, "FB_ID"));
  }
  [[nodiscard]] bool is_active() const { return get(kCrtc, "ACTIVE") != 0; }

private:
  const Device &device_;
  const Commit *commit_;
};

bool is_yuv(std::uint32_t fourcc)
{
  switch (fourcc) {
  case DRM_FORMAT_NV12:
  case DRM_FORMAT_NV21:
  case DRM_FORMAT_NV15:
  case DRM_FORMAT_NV16:
  case DRM_FORMAT_NV24:
  case DRM_FORMAT_P010:
  case DRM_FORMAT_P030:
  case DRM_FORMAT_YUV420:
  case DRM_FORMAT_YVU420:
  case DRM_FORMAT_YUV422:
  case DRM_FORMAT_YUYV:
  case DRM_FORMAT_UYVY:
    return true;
  default:
    return false;
  }
}

// --- drm_property.c, drm_atomic_uapi.c

Rule check_value(const Device &d, std::uint32_t object, const std::string &name, std::uint64_t value)
{
  const PropertySpec *spec = spec_of(*d.model, object, name);
  if (!spec)
    return {ENOENT, "there is no such property"};
  if (spec->flags & DRM_MODE_PROP_IMMUTABLE)
    return {EINVAL, "immutable"};
  const auto id = static_cast<std::uint32_t>(value);
  if ((spec->flags & DRM_MODE_PROP_BLOB) && value != 0 && !d.blobs.count(id) && !d.foreign_blobs.count(id))
    return {ENOENT, "no such blob"};
  if (name == "FB_ID" && value != 0 && !d.framebuffers.count(id) && !d.foreign_framebuffers.count(id))
    return {ENOENT, "no such framebuffer"};
  if (name == "CRTC_ID" && value != 0 && value != kCrtc)
    return {ENOENT, "no such CRTC"};
  const bool is_bits = (spec->flags & DRM_MODE_PROP_BITMASK) != 0;
  std::uint64_t bits = 0;
  bool listed = false;
  for (const EnumValue &known : spec->enums) {
    bits |= std::uint64_t{1} << known.value;
    listed |= known.value == value;
  }
  if (is_bits && ((value & ~bits) || !std::has_single_bit(value & kTurns)))
    return {EINVAL, "a turn that the plane does not list"};
  if ((spec->flags & DRM_MODE_PROP_ENUM) && !listed)
    return {EINVAL, "no value of the list"};
  if (spec->range && (value < spec->range->first || value > spec->range->second))
    return {EINVAL, "out of range"};
  return {};
}

// --- drm_atomic.c, drm_atomic_helper_check_modeset()

Rule check_crtc(const Device &d, const State &old, const State &now, std::uint32_t flags)
{
  const bool writeback = !d.model->writeback.empty();
  const bool enabled = now.get(kCrtc, "MODE_ID") != 0;
  const bool connected = now.get(kConnector, "CRTC_ID") != 0 || (writeback && now.get(kWriteback, "CRTC_ID") != 0);
  if (now.is_active() && !enabled)
    return {EINVAL, "active without a mode"};
  if (enabled != connected)
    return {EINVAL, "a mode without a connector, or a connector without a mode"};
  const bool changes = now.is_active() != old.is_active() || now.blob(kCrtc, "MODE_ID") != old.blob(kCrtc, "MODE_ID") ||
                       now.get(kConnector, "CRTC_ID") != old.get(kConnector, "CRTC_ID") ||
                       (writeback && now.get(kWriteback, "CRTC_ID") != old.get(kWriteback, "CRTC_ID"));
  if (changes && !(flags & DRM_MODE_ATOMIC_ALLOW_MODESET))
    return {EINVAL, "a mode set that is not allowed"};
  if ((flags & DRM_MODE_PAGE_FLIP_EVENT) && !now.is_active() && !old.is_active())
    return {EINVAL, "an event of a CRTC that is off"};
  return {};
}

struct Rectangles {
  double src_x, src_y, src_w, src_h;      // in pixels
  std::int64_t x, y, width, height; // on the CRTC
};

Rectangles rectangles_of(const State &state, const PlaneModel &plane)
{
  const auto source = [&](const char *name) { return static_cast<double>(state.get(plane.id, name)) / 65536; };
  const auto destination = [&](const char *name) { return static_cast<std::int64_t>(state.get(plane.id, name)); };
  return {source("SRC_X"),       source("SRC_Y"),       source("SRC_W"),       source("SRC_H"),
          destination("CRTC_X"), destination("CRTC_Y"), destination("CRTC_W"), destination("CRTC_H")};
}

// --- drm_atomic_plane_check(), drm_atomic_helper_check_plane_state(), and the drivers' limits of them

Rule check_scaling(const Model &model, const PlaneModel &plane, const Rectangles &r, std::uint64_t turn, bool yuv, unsigned &scaled)
{
  const bool turned = (turn & kQuarters) != 0;
  const double across = (turned ? r.src_h : r.src_w) / static_cast<double>(r.width);
  const double down = (turned ? r.src_w : r.src_h) / static_cast<double>(r.height);
  const double most = yuv && model.yuv_down > 0 ? std::min(model.yuv_down, plane.down) : plane.down;
  for (const double factor : {across, down})
    if (factor > most || factor * plane.up < 1)
      return {model.scale_error, "scaled by " + std::to_string(1 / factor)};
  scaled += across != 1 || down != 1;
  return scaled > model.scalers ? Rule{EINVAL, "more planes are scaled than there are scalers"} : Rule{};
}

Rule check_turn(const Model &model, std::uint64_t turn, bool yuv, std::uint64_t modifier)
{
  if ((turn & kQuarters) && !model.quarter_turns.empty() && !model.quarter_turns.count(modifier))
    return {EINVAL, "a quarter turn of this layout"};
  if (yuv && !model.turns_yuv && turn != 0 && turn != DRM_MODE_ROTATE_0)
    return {EINVAL, "YUV is not turned"};
  return {};
}

Rule check_rows(const Device &d, const PlaneModel &plane, std::uint32_t framebuffer, const Rectangles &r, bool yuv)
{
  const Model &model = *d.model;
  const auto is_odd = [](double value) { return static_cast<std::int64_t>(value) % 2 != 0; };
  if (yuv && model.even_yuv && (is_odd(r.src_x) || is_odd(r.src_y) || is_odd(r.src_w)))
    return {EINVAL, "an odd edge of YUV"};
  const std::uint32_t fourcc = d.fourccs.at(framebuffer);
  const std::uint32_t width = d.sizes.at(framebuffer).first;
  const std::uint32_t bytes = yuv ? 1 : fourcc == DRM_FORMAT_RGB565 ? 2 : 4; // of the first plane, at least
  if ((width + model.row_pixels - 1) / model.row_pixels * model.row_pixels * bytes > d.pitches.at(framebuffer))
    return {EINVAL, "rows have no room for a multiple of " + std::to_string(model.row_pixels) + " pixels"};
  if (plane.type == DRM_PLANE_TYPE_CURSOR && !model.cursor_sizes.empty() && !model.cursor_sizes.count(width))
    return {EINVAL, "a cursor of this width"};
  return {};
}

Rule check_plane(const Device &d, const State &now, const PlaneModel &plane, unsigned &scaled)
{
  const std::uint32_t framebuffer = now.framebuffer(plane);
  const bool has_crtc = now.get(plane.id, "CRTC_ID") != 0;
  if (has_crtc != (framebuffer != 0))
    return {EINVAL, "a CRTC without a framebuffer, or a framebuffer without a CRTC"};
  if (!has_crtc || d.foreign_framebuffers.count(framebuffer))
    return {};
  const std::uint32_t fourcc = d.fourccs.at(framebuffer);
  const std::uint64_t modifier = d.modifiers_of.at(framebuffer);
  if (!plane.lists(fourcc, modifier))
    return {EINVAL, "a format that the plane does not list"};
  const Rectangles r = rectangles_of(now, plane);
  const auto [width, height] = d.sizes.at(framebuffer);
  if (r.src_x + r.src_w > width || r.src_y + r.src_h > height)
    return {ENOSPC, "a source outside of the framebuffer"};
  const bool yuv = is_yuv(fourcc);
  const std::uint64_t turn = now.get(plane.id, "rotation");
  if (Rule rule = check_scaling(*d.model, plane, r, turn, yuv, scaled); rule.error)
    return rule;
  const std::vector<std::uint8_t> blob = now.blob(kCrtc, "MODE_ID");
  if (blob.size() == sizeof(drmModeModeInfo)) {
    const auto *mode = reinterpret_cast<const drmModeModeInfo *>(blob.data());
    if (plane.covers && (r.x > 0 || r.y > 0 || r.x + r.width < mode->hdisplay || r.y + r.height < mode->vdisplay))
      return {EINVAL, "the plane does not cover the CRTC"};
  }
  if (r.width < plane.least_width || r.height < plane.least_height)
    return {EINVAL, "too small"};
  if (Rule rule = check_turn(*d.model, turn, yuv, modifier); rule.error)
    return rule;
  return check_rows(d, plane, framebuffer, r, yuv);
}

// What a plane that stays on changes.
Rule check_change(const Device &d, const State &old, const State &now, const PlaneModel &plane)
{
  const std::uint32_t before = old.framebuffer(plane), after = now.framebuffer(plane);
  if (!before || !after || d.foreign_framebuffers.count(before) || d.foreign_framebuffers.count(after))
    return {};
  const Rectangles a = rectangles_of(old, plane), b = rectangles_of(now, plane);
  if ((d.model->keeps_size && (a.width != b.width || a.height != b.height)) ||
      (d.model->keeps_format && d.fourccs.at(before) != d.fourccs.at(after)) ||
      (d.model->keeps_pitch && d.pitches.at(before) != d.pitches.at(after)))
    return {EINVAL, "a change of size, format or pitch without a mode set"};
  return {};
}

Rule check_all(const Device &d, const Commit &commit)
{
  for (const auto &[key, value] : commit.values)
    if (Rule rule = check_value(d, key.first, key.second, value); rule.error)
      return {rule.error, "object " + std::to_string(key.first) + ", " + key.second + ": " + rule.why};
  const State old(d, nullptr), now(d, &commit);
  if (Rule rule = check_crtc(d, old, now, commit.flags); rule.error)
    return rule;
  unsigned scaled = 0;
  bool has_primary = false;
  for (const PlaneModel &plane : d.model->planes) {
    Rule rule = check_plane(d, now, plane, scaled);
    if (!rule.error && !(commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET))
      rule = check_change(d, old, now, plane);
    if (rule.error)
      return {rule.error, "plane " + std::to_string(plane.id) + ": " + rule.why};
    has_primary |= plane.type == DRM_PLANE_TYPE_PRIMARY && now.framebuffer(plane) != 0;
  }
  if (d.model->needs_primary && now.get(kCrtc, "MODE_ID") != 0 && !has_primary)
    return {EINVAL, "a CRTC that has a mode without its primary plane"};
  return {};
}

} // namespace

int check_model(const Device &device, const Commit &commit, std::string &why)
{
  const Rule rule = check_all(device, commit);
  why = rule.why;
  return -rule.error;
}

} // namespace gstdrm::test::fakedrm
