// SPDX-License-Identifier: LGPL-2.1-or-later
// The fake libdrm: atomic commits.
#include "fake_drm_internal.hpp"
#include "fake_writeback.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

using namespace gstdrm::test;
using namespace gstdrm::test::fakedrm;

std::atomic<bool> fakedrm::writebacks_hang{false};

struct _drmModeAtomicReq {
  std::vector<std::array<std::uint64_t, 3>> entries;
};

drmModeAtomicReqPtr drmModeAtomicAlloc()
{
  const Guard guard(device().lock);
  if (fails("drmModeAtomicAlloc"))
    return nullptr;
  device().requests++;
  return new _drmModeAtomicReq;
}

void drmModeAtomicFree(drmModeAtomicReqPtr request)
{
  if (!request)
    return;
  const Guard guard(device().lock);
  device().requests--;
  delete request;
}

int drmModeAtomicAddProperty(drmModeAtomicReqPtr request, std::uint32_t object, std::uint32_t id,
                             std::uint64_t value)
{
  const Guard guard(device().lock);
  if (fails("drmModeAtomicAddProperty"))
    return -device().error;
  request->entries.push_back({object, id, value});
  return static_cast<int>(request->entries.size());
}

namespace {

Commit read_request(const _drmModeAtomicReq &request, std::uint32_t flags)
{
  Commit commit{flags, {}};
  for (const auto &[object, id, value] : request.entries)
    commit.values[{static_cast<std::uint32_t>(object), property(static_cast<std::uint32_t>(id))->name}] = value;
  return commit;
}

std::uint64_t value_of(const Commit &commit, std::uint32_t object, const char *name)
{
  const auto it = commit.values.find({object, name});
  return it == commit.values.end() ? 0 : it->second;
}

bool is_scaled(const Commit &commit, std::uint32_t plane)
{
  std::uint64_t width = value_of(commit, plane, "CRTC_W"), height = value_of(commit, plane, "CRTC_H");
  if (value_of(commit, plane, "rotation") & (DRM_MODE_ROTATE_90 | DRM_MODE_ROTATE_270))
    std::swap(width, height);
  return value_of(commit, plane, "SRC_W") >> 16 != width || value_of(commit, plane, "SRC_H") >> 16 != height;
}

// What this device's driver refuses.
int check(const Commit &commit)
{
  const Device &d = device();
  if (commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET ? d.refuses_mode_sets : d.refuses_without_mode_set)
    return -EINVAL;
  if (const auto blob = d.blobs.find(static_cast<std::uint32_t>(value_of(commit, kCrtc, "MODE_ID")));
      blob != d.blobs.end() && d.refused_mode_width) {
    drmModeModeInfo mode{};
    std::memcpy(&mode, blob->second.data(), std::min(sizeof(mode), blob->second.size()));
    const bool hardware_fails = d.refused_mode_error == EIO || d.refused_mode_error == ETIMEDOUT;
    if (mode.hdisplay == d.refused_mode_width && !(hardware_fails && (commit.flags & DRM_MODE_ATOMIC_TEST_ONLY)))
      return -d.refused_mode_error;
  }
  if (d.refuses_fences && commit.values.count({kPrimary, "IN_FENCE_FD"}))
    return -EINVAL;
  if (!d.takes_writeback && value_of(commit, kWriteback, "CRTC_ID"))
    return -EINVAL;
  if (!d.primary_centres && value_of(commit, kPrimary, "CRTC_W") &&
      (value_of(commit, kPrimary, "CRTC_X") || value_of(commit, kPrimary, "CRTC_Y")))
    return -EINVAL;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (d.all_cover && value_of(commit, plane, "CRTC_W") &&
        (value_of(commit, plane, "CRTC_X") || value_of(commit, plane, "CRTC_Y")))
      return -EINVAL;
  const bool on = !commit.values.count({kCrtc, "ACTIVE"}) || value_of(commit, kCrtc, "ACTIVE") != 0;
  if (d.needs_primary && on && commit.values.count({kPrimary, "FB_ID"}) && value_of(commit, kPrimary, "FB_ID") == 0)
    return -EINVAL;
  if (d.hdr_needs_mode_set && !(commit.flags & DRM_MODE_ATOMIC_ALLOW_MODESET) &&
      commit.values.count({kConnector, "HDR_OUTPUT_METADATA"}))
    return -EINVAL;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (d.fixed_zpos && commit.values.count({plane, "zpos"}))
      return -EINVAL;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (!d.scales && is_scaled(commit, plane))
      return -ERANGE;
  for (const std::uint32_t plane : {kPrimary, kOverlay})
    if (const auto fb = static_cast<std::uint32_t>(value_of(commit, plane, "FB_ID"))) {
      if (d.foreign_framebuffers.count(fb))
        continue;
      if (!d.framebuffers.count(fb))
        return -ENOENT;
      if (d.refused_fourcc && d.fourccs.at(fb) == d.refused_fourcc)
        return -EINVAL;
    }
  return 0;
}

int check_with_model(const Commit &commit)
{
  Device &d = device();
  std::string why;
  const int ret = check_model(d, commit, why);
  if (ret != 0)
    d.refused.push_back({commit, -ret, why});
  return ret;
}

} // namespace

int drmModeAtomicCommit(int, drmModeAtomicReqPtr request, std::uint32_t flags, void *user_data)
{
  const Guard guard(device().lock);
  Device &d = device();
  if (fails("drmModeAtomicCommit"))
    return -d.error;
  if (d.revoke_at > 0 && --d.revoke_at == 0)
    d.lease_revoked = true;
  if (d.lease_revoked)
    return -ENOENT; // for each object (drm_atomic_uapi.c, drm_mode_atomic_ioctl())
  if ((flags & DRM_MODE_ATOMIC_NONBLOCK) && d.busy_commits > 0) {
    d.busy_commits--;
    return -d.busy_error;
  }
  const Commit commit = read_request(*request, flags);
  if (d.model && (flags & DRM_MODE_ATOMIC_NONBLOCK) && d.in_flight && !(flags & DRM_MODE_ATOMIC_TEST_ONLY))
    return -EBUSY; // drm_atomic_helper_setup_commit()
  if ((flags & DRM_MODE_PAGE_FLIP_ASYNC) &&
      (d.refuses_tearing || commit.values.size() != 1)) {
    d.refused_tearing++;
    return -EINVAL;
  }
  d.tests += (flags & DRM_MODE_ATOMIC_TEST_ONLY) != 0;
  if (const int ret = d.model ? check_with_model(commit) : check(commit); ret != 0 || (flags & DRM_MODE_ATOMIC_TEST_ONLY))
    return ret;
  d.commits.push_back(commit);
  d.in_flight = (flags & DRM_MODE_PAGE_FLIP_EVENT) != 0;
  if (d.remembers || d.model)
    for (const auto &[key, value] : commit.values)
      d.found[key] = value;
  if (const std::uint64_t fence = value_of(commit, kWriteback, "WRITEBACK_OUT_FENCE_PTR"))
    *reinterpret_cast<std::int32_t *>(static_cast<std::uintptr_t>(fence)) =
        writebacks_hang ? eventfd(0, EFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (const std::uint64_t fence = value_of(commit, kCrtc, "OUT_FENCE_PTR")) // readable: signalled
    *reinterpret_cast<std::int32_t *>(static_cast<std::uintptr_t>(fence)) =
        open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (flags & DRM_MODE_PAGE_FLIP_EVENT)
    (d.send_events ? send_event : hold_event)({reinterpret_cast<std::uintptr_t>(user_data)});
  return 0;
}
