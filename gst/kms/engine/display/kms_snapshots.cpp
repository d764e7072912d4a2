// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kms_snapshots.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <drm_fourcc.h>

#include <gst/drm/core/poll_wait.hpp>
#include <gst/drm/core/sync_file.hpp>

#include "engine/card/kms_dumb.hpp"
#include "engine/card/kms_objects.hpp"

namespace gstdrm::kms {

namespace {

// Virtual displays compose in software: some tenths of a second per picture are normal there, and
// seconds for a large one on a busy machine.
constexpr std::chrono::seconds kWritebackTimeout{30};
// How often the wait looks whether the display has stopped, which nothing wakes it for.
constexpr std::chrono::milliseconds kLookEvery{20};
constexpr std::int64_t kCommitTimeout_ns = 30'000'000'000;

} // namespace

std::optional<std::uint32_t> writeback_formats(const Output &output)
{
  if (!output.writeback)
    return std::nullopt;
  return static_cast<std::uint32_t>(
      property_value(output.writeback->properties, "WRITEBACK_PIXEL_FORMATS"));
}

// The format that the writeback connector writes: the first of those that it lists and a Snapshot
// can have.
Result<std::uint32_t> Snapshots::fourcc() const
{
  const std::optional<std::uint32_t> blob_id = screen_.get().writeback_formats;
  if (!blob_id)
    return device_error("No writeback connector of " + device_->name() +
                            " serves this output (vkms: load it with enable_writeback=1).",
                        ENOTSUP);
  Result<std::vector<std::uint8_t>> blob = read_blob(device_->fd(), *blob_id);
  if (!blob)
    return blob.error();
  for (const std::uint32_t wanted : {DRM_FORMAT_XRGB8888, DRM_FORMAT_ARGB8888})
    for (std::size_t at = 0; at + sizeof(wanted) <= blob->size(); at += sizeof(wanted))
      if (std::memcmp(blob->data() + at, &wanted, sizeof(wanted)) == 0)
        return wanted;
  return device_error(
      "The writeback connector of " + device_->name() + " writes neither XR24 nor AR24.", ENOTSUP);
}

Result<Snapshot> Snapshots::take()
{
  const std::lock_guard one_at_a_time(lock_);
  Result<std::uint32_t> format = fourcc();
  if (!format)
    return format.error();
  const Screen screen = screen_.get();
  const std::optional<drmModeModeInfo> &mode = screen.mode;
  if (!mode)
    return device_error(screen.description + ": no picture is shown. There is one in PAUSED and "
                                             "PLAYING, from the first frame on.",
                        ENODATA);
  Result<Snapshot> snapshot = write_back(*format, *mode);
  if (snapshot)
    return snapshot;
  // after a mode set in the meantime, the kernel refuses a buffer of the old size
  const std::optional<drmModeModeInfo> now = screen_.get().mode;
  if (!now || same_mode(*now, *mode))
    return snapshot;
  return write_back(*format, *now);
}

// Returns when the picture is in the framebuffer.
Result<void> Snapshots::write_attached(std::uint32_t framebuffer_id)
{
  Result<UniqueFd> fence = queue_.capture(framebuffer_id, kCommitTimeout_ns);
  if (!fence)
    return fence.error();
  // A driver that never signals does not keep whoever stops the display: the kernel has what it
  // writes into for as long as it writes.
  const auto give_up_at = std::chrono::steady_clock::now() + kWritebackTimeout;
  while (poll_readable(fence->get(), deadline_after(kLookEvery)).end == PollEnd::TimeIsOver &&
         std::chrono::steady_clock::now() < give_up_at)
    if (!screen_.get().mode)
      return device_error("The sink was stopped, or shows nothing any more.", ECANCELED);
  const Result<FenceState> written = fence_state(fence->get());
  if (!written)
    return written.error();
  if (*written != FenceState::Signalled)
    return device_error(*written == FenceState::Failed ? "The driver reports a failed writeback."
                                                       : "The writeback did not end in time.",
                        EIO);
  return {};
}

// Into a buffer of the mode's size. The connector is attached for this picture alone: it takes
// bandwidth, keeps some devices from modes and planes that they have without it, and wakes them for
// nothing.
Result<Snapshot> Snapshots::write_back(std::uint32_t fourcc, const drmModeModeInfo &mode)
{
  Result<std::unique_ptr<DumbBuffer>> buffer =
      DumbBuffer::create(device_, fourcc, mode.hdisplay, mode.vdisplay);
  if (!buffer)
    return buffer.error();
  const auto attach = [this](bool attached) {
    return queue_.exclusively([&] { return scanout_.attach_writeback(attached); });
  };
  if (const int ret = attach(true); ret != 0)
    return device_error("The driver refused to attach the writeback connector of " +
                            device_->name() + ": " + errno_text(-ret) + ".",
                        -ret);
  const Result<void> written = write_attached((*buffer)->framebuffer_id());
  (void)attach(false); // where that fails, the next mode set does it
  if (!written)
    return written.error();
  Result<std::vector<std::uint8_t>> pixels = (*buffer)->read();
  if (!pixels)
    return pixels.error();
  return Snapshot{mode.hdisplay, mode.vdisplay, std::move(*pixels)};
}

} // namespace gstdrm::kms
