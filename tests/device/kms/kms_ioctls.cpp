// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_ioctls.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <numeric>

#include <linux/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/replace_ioctl.hpp"

namespace {

constexpr unsigned kDrmType = 'd'; // DRM_IOCTL_BASE of <drm.h>

std::array<std::atomic<unsigned>, 256> drm_ioctls; // by number
std::atomic<int> countdown{0}, failing_error{0}, failed_number{-1};

// GEM_CLOSE, MODE_RMFB, MODE_DESTROY_DUMB, MODE_DESTROYPROPBLOB, MODE_CLOSEFB
bool gives_back(unsigned number)
{
  return number == 0x09 || number == 0xaf || number == 0xb4 || number == 0xbe || number == 0xd0;
}

// MODE_GETENCODER, MODE_GETPROPERTY, MODE_GETPROPBLOB, MODE_GETPLANE, MODE_OBJ_GETPROPERTIES
bool reads_objects(unsigned number)
{
  return number == 0xa6 || number == 0xaa || number == 0xac || number == 0xb6 || number == 0xb9;
}

std::array<std::atomic<unsigned>, 256> reads; // by number, since the last fail_drm_ioctl()

// A sink reads hundreds of objects and properties, in a few loops.
bool is_sample(unsigned number)
{
  constexpr unsigned kFirst = 8, kLaterOnes = 8;
  if (!reads_objects(number))
    return true;
  const unsigned before = reads[number]++;
  return before < kFirst || before % kLaterOnes == 0;
}

bool is_to_fail(unsigned number)
{
  if (gives_back(number) || countdown.load() <= 0 || !is_sample(number) || --countdown != 0)
    return false;
  failed_number = static_cast<int>(number);
  return true;
}

std::array<std::atomic<unsigned>, 2> must_be_zero; // ids of properties

// struct drm_mode_atomic of drm_mode.h; not every program with this file has libdrm's headers
struct AtomicCommit {
  std::uint32_t flags, count_objs;
  std::uint64_t objs_ptr, count_props_ptr, props_ptr, prop_values_ptr, reserved, user_data;
};

// of drm_mode.h
constexpr std::uint32_t kTestOnly = 0x100, kNonblock = 0x200, kAllowModeset = 0x400;

std::atomic<unsigned> blocking_commits{0}, mode_sets{0};

void count_commit(const AtomicCommit &atomic)
{
  if (atomic.flags & kTestOnly)
    return;
  blocking_commits += (atomic.flags & kNonblock) == 0;
  mode_sets += (atomic.flags & kAllowModeset) != 0;
}

// Whether an atomic commit sets one of these properties to something.
bool sets_forbidden(unsigned number, const void *argument)
{
  if (number != gstdrm::test::kAtomic || must_be_zero[0] == 0)
    return false;
  const auto *atomic = static_cast<const AtomicCommit *>(argument);
  const auto *counts = reinterpret_cast<const std::uint32_t *>(atomic->count_props_ptr);
  const auto *ids = reinterpret_cast<const std::uint32_t *>(atomic->props_ptr);
  const auto *values = reinterpret_cast<const std::uint64_t *>(atomic->prop_values_ptr);
  const std::uint32_t total = std::accumulate(counts, counts + atomic->count_objs, 0U);
  for (std::uint32_t i = 0; i < total; i++)
    if (values[i] != 0 && (ids[i] == must_be_zero[0] || ids[i] == must_be_zero[1]))
      return true;
  return false;
}

} // namespace

int gstdrm::test::replaced_ioctl(int fd, unsigned long request, void *argument) noexcept
{
  if (_IOC_TYPE(request) == kDrmType) {
    drm_ioctls[_IOC_NR(request)]++;
    if (_IOC_NR(request) == gstdrm::test::kAtomic)
      count_commit(*static_cast<const AtomicCommit *>(argument));
    if (is_to_fail(_IOC_NR(request))) {
      errno = failing_error;
      return -1;
    }
    if (sets_forbidden(_IOC_NR(request), argument)) {
      errno = EINVAL;
      return -1;
    }
  }
  return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
}

namespace gstdrm::test {

unsigned count_drm_ioctls()
{
  return std::accumulate(drm_ioctls.begin(), drm_ioctls.end(), 0U,
                         [](unsigned sum, const std::atomic<unsigned> &count) { return sum + count; });
}

unsigned count_drm_ioctls(unsigned number)
{
  return drm_ioctls[number];
}

unsigned count_blocking_commits()
{
  return blocking_commits;
}

unsigned count_mode_sets()
{
  return mode_sets;
}

void fail_drm_ioctl(int nth, int error)
{
  failed_number = -1;
  failing_error = error;
  for (std::atomic<unsigned> &count : reads)
    count = 0;
  countdown = nth;
}

void refuse_commits_that_set(unsigned first, unsigned second)
{
  must_be_zero[1] = second;
  must_be_zero[0] = first;
}

int failed_drm_ioctl()
{
  return failed_number;
}

} // namespace gstdrm::test
