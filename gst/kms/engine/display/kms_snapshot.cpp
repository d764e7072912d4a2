// SPDX-License-Identifier: LGPL-2.1-or-later
// Display: what it scans out, through the writeback connector.
#include <cerrno>
#include <chrono>
#include <cstring>

#include <drm_fourcc.h>

#include <gst/drm/core/sync_file.hpp>

#include "kms_display.hpp"
#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// Virtual displays compose in software: some tenths of a second per picture are normal there, and
// seconds for a large one on a busy machine.
constexpr std::chrono::seconds kWritebackTimeout{30};
constexpr std::int64_t kCommitTimeout_ns = 30'000'000'000;

} // namespace

Result<std::uint32_t> Display::writeback_fourcc() const
{
  const std::optional<Connector> &writeback = scanout_.output().writeback;
  if (!writeback)
    return device_error("No writeback connector of " + device_->name() +
                            " serves this output (vkms: load it with enable_writeback=1).",
                        ENOTSUP);
  const auto blob_id =
      static_cast<std::uint32_t>(property_value(writeback->properties, "WRITEBACK_PIXEL_FORMATS"));
  Result<std::vector<std::uint8_t>> blob = read_blob(device_->fd(), blob_id);
  if (!blob)
    return blob.error();
  for (const std::uint32_t wanted : {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888})
    for (std::size_t at = 0; at + sizeof(wanted) <= blob->size(); at += sizeof(wanted))
      if (std::memcmp(blob->data() + at, &wanted, sizeof(wanted)) == 0)
        return wanted;
  return device_error(
      "The writeback connector of " + device_->name() + " writes neither XR24 nor AR24.", ENOTSUP);
}

Result<Snapshot> Display::snapshot()
{
  const std::lock_guard one_at_a_time(snapshot_lock_);
  if (!loop_)
    return device_error("Nothing is shown: the sink is not in PAUSED or PLAYING.", ENODATA);
  Result<std::uint32_t> fourcc = writeback_fourcc();
  if (!fourcc)
    return fourcc.error();
  const std::optional<drmModeModeInfo> mode = mode_to_write_back();
  if (!mode)
    return device_error(describe() + ": no picture is shown yet, or the driver refused to attach "
                                     "its writeback connector.",
                        ENODATA);
  Result<Snapshot> snapshot = write_back(*fourcc, *mode);
  if (snapshot)
    return snapshot;
  // a mode set between refuses a buffer of the old size
  const std::optional<drmModeModeInfo> now = mode_to_write_back();
  if (!now || std::memcmp(&*now, &*mode, sizeof(*now)) == 0)
    return snapshot;
  return write_back(*fourcc, *now);
}

std::optional<drmModeModeInfo> Display::mode_to_write_back() const
{
  const std::lock_guard guard(shown_lock_);
  if (!can_write_back_)
    return std::nullopt;
  return shown_mode_;
}

// Into a buffer of the mode's size.
Result<Snapshot> Display::write_back(std::uint32_t fourcc, const drmModeModeInfo &mode)
{
  Result<std::unique_ptr<DumbBuffer>> buffer =
      DumbBuffer::create(device_, fourcc, mode.hdisplay, mode.vdisplay);
  if (!buffer)
    return buffer.error();
  Result<UniqueFd> fence = queue_.capture((*buffer)->framebuffer_id(), kCommitTimeout_ns);
  if (!fence)
    return fence.error();
  Result<FenceState> written = fence_wait(fence->get(), kWritebackTimeout);
  if (!written)
    return written.error();
  if (*written != FenceState::Signalled)
    return device_error(*written == FenceState::Failed ? "The driver reports a failed writeback."
                                                       : "The writeback did not end in time.",
                        EIO);
  Result<std::vector<std::uint8_t>> pixels = (*buffer)->read();
  if (!pixels)
    return pixels.error();
  return Snapshot{fourcc, mode.hdisplay, mode.vdisplay, std::move(*pixels)};
}

} // namespace gstdrm::kms
