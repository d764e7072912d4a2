// SPDX-License-Identifier: LGPL-2.1-or-later
// Hands a Request to the kernel.
#include <array>
#include <cerrno>
#include <cinttypes>
#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

#include "engine/card/kms_objects.hpp"
#include "kms_request.hpp"

namespace gstdrm::kms {

namespace {

// "ALLOW_MODESET TEST_ONLY"
std::string describe_flags(std::uint32_t flags)
{
  constexpr std::array<std::pair<std::uint32_t, const char *>, 5> kNames = {
      {{DRM_MODE_ATOMIC_TEST_ONLY, "TEST_ONLY"},
       {DRM_MODE_ATOMIC_NONBLOCK, "NONBLOCK"},
       {DRM_MODE_ATOMIC_ALLOW_MODESET, "ALLOW_MODESET"},
       {DRM_MODE_PAGE_FLIP_EVENT, "PAGE_FLIP_EVENT"},
       {DRM_MODE_PAGE_FLIP_ASYNC, "PAGE_FLIP_ASYNC"}}};
  std::string text;
  for (const auto &[flag, name] : kNames)
    if (flags & flag)
      text += std::string(text.empty() ? "" : " ") + name;
  return text.empty() ? "no flags" : text;
}

const char *describe_commit(std::uint32_t flags)
{
  if (flags & DRM_MODE_ATOMIC_TEST_ONLY)
    return "test commit";
  return flags & DRM_MODE_ATOMIC_ALLOW_MODESET ? "mode set" : "commit";
}

void log_properties(int drm_fd, const Request &request, std::uint32_t flags, std::uint64_t serial)
{
  GSTDRM_LOG("%s %" PRIu64 " (%s) on fd %d sets %zu properties:", describe_commit(flags), serial,
             describe_flags(flags).c_str(), drm_fd, request.assignments().size());
  for (const Request::Assignment &set : request.assignments())
    GSTDRM_LOG("  object %u: %s (property %u) = %" PRIu64, set.object_id, set.name,
               set.property_id, set.value);
}

// A refusal is logged at DEBUG only: whether it is an error is for the caller to decide, who may
// have another plan to try.
void log_result(std::uint32_t flags, std::uint64_t serial, int ret)
{
  if (ret == 0 && (flags & DRM_MODE_ATOMIC_ALLOW_MODESET) && !(flags & DRM_MODE_ATOMIC_TEST_ONLY))
    GSTDRM_DEBUG("%s %" PRIu64 " was made", describe_commit(flags), serial);
  else if (ret == 0 || ret == -EBUSY)
    GSTDRM_LOG("%s %" PRIu64 ": %s", describe_commit(flags), serial,
               ret == 0 ? "accepted" : "put off, EBUSY");
  else
    GSTDRM_DEBUG("%s %" PRIu64 " (%s) was refused: %s", describe_commit(flags), serial,
                 describe_flags(flags).c_str(), errno_text(-ret).c_str());
}

} // namespace

int commit_request(int drm_fd, const Request &request, std::uint32_t flags, std::uint64_t serial)
{
  const AtomicReqPtr raw(drmModeAtomicAlloc());
  if (!raw)
    return -ENOMEM;
  for (const auto &[object_id, property_id, name, value] : request.assignments()) {
    if (property_id == 0)
      return -ENOENT;
    if (const int ret = drmModeAtomicAddProperty(raw.get(), object_id, property_id, value); ret < 0)
      return ret;
  }
  if (log_reads(LogLevel::Log))
    log_properties(drm_fd, request, flags, serial);
  // the kernel carries 64 bits of user data; libdrm passes them as a pointer
  const int ret = drmModeAtomicCommit(drm_fd, raw.get(), flags,
                                      reinterpret_cast<void *>(static_cast<std::uintptr_t>(serial)));
  if (log_reads(LogLevel::Debug))
    log_result(flags, serial, ret);
  return ret;
}

} // namespace gstdrm::kms
