// SPDX-License-Identifier: LGPL-2.1-or-later
#include "wayland_feedback.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "../core/drm_node.hpp"
#include "../core/errno_text.hpp"
#include "../core/log.hpp"

namespace gstdrm {

namespace {

// linux-dmabuf-v1, event format_table: 4 bytes of fourcc, 4 of padding, 8 of modifier
constexpr std::size_t kEntryBytes = 16;
// Indices have 16 bits, so more entries cannot be named.
constexpr std::size_t kMaxEntries = 65536;
// Far above what compositors send (two or three): no list of a hostile one grows without bound.
constexpr std::size_t kMaxTranches = 64;
// enum tranche_flags
constexpr std::uint32_t kScanout = 1;

std::optional<std::uint64_t> device_of(std::span<const std::byte> bytes)
{
  dev_t number = 0;
  if (bytes.size() != sizeof(number))
    return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

Format entry_at(std::span<const std::byte> bytes)
{
  Format format;
  std::memcpy(&format.fourcc, bytes.data(), sizeof(format.fourcc));
  std::memcpy(&format.modifier, bytes.data() + 8, sizeof(format.modifier));
  return format;
}

// Reads the whole file by pread(2): a mapping of a file that its owner truncates raises SIGBUS.
std::string read_all(int fd, std::span<std::byte> bytes)
{
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return "it is no file of memory";
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    const int error = errno;
    if (n < 0 && error == EINTR)
      continue;
    if (n < 0)
      return errno_text(error);
    if (n == 0)
      return "it ends at byte " + std::to_string(done) + " of " + std::to_string(bytes.size());
    done += static_cast<std::size_t>(n);
  }
  return {};
}

} // namespace

void WaylandFeedback::add_pair(Format format)
{
  if (listed_.pairs().size() < kMaxEntries)
    listed_.add(format);
}

void WaylandFeedback::set_table(UniqueFd fd, std::uint32_t size_bytes)
{
  table_.clear();
  table_problem_.clear();
  if (size_bytes % kEntryBytes != 0 || size_bytes / kEntryBytes > kMaxEntries) {
    table_problem_ = "it says to have " + std::to_string(size_bytes) + " bytes";
    return;
  }
  std::vector<std::byte> bytes(size_bytes);
  table_problem_ = read_all(fd.get(), bytes);
  if (!table_problem_.empty())
    return;
  for (std::span<const std::byte> rest(bytes); !rest.empty(); rest = rest.subspan(kEntryBytes))
    table_.push_back(entry_at(rest));
}

void WaylandFeedback::set_main_device(std::span<const std::byte> device)
{
  main_device_ = device_of(device);
}

void WaylandFeedback::set_target_device(std::span<const std::byte> device)
{
  pending_.device = device_of(device);
}

void WaylandFeedback::add_indices(std::span<const std::byte> indices)
{
  constexpr std::size_t kIndexBytes = sizeof(std::uint16_t);
  for (; indices.size() >= kIndexBytes && pending_.indices.size() < kMaxEntries;
       indices = indices.subspan(kIndexBytes)) {
    std::uint16_t index = 0;
    std::memcpy(&index, indices.data(), kIndexBytes);
    pending_.indices.push_back(index);
  }
}

void WaylandFeedback::set_flags(std::uint32_t flags)
{
  pending_.scanout = (flags & kScanout) != 0;
}

void WaylandFeedback::end_tranche()
{
  Tranche ended = std::exchange(pending_, {});
  if (tranches_.size() < kMaxTranches)
    tranches_.push_back(std::move(ended));
}

Source WaylandFeedback::source_of(const Tranche &tranche, const std::string &name) const
{
  Source source{.kind = SourceKind::Wayland, .name = name};
  source.description =
      tranche.scanout ? "direct scanout of the compositor" : "textures of the compositor";
  const auto device = tranche.device ? tranche.device : main_device_;
  if (const std::string path = device ? drm_node_path(*device) : ""; path.starts_with('/'))
    source.device = path;
  if (!table_problem_.empty()) {
    source.problem = "The compositor's table of formats cannot be used: " + table_problem_ + ".";
    return source;
  }
  std::vector<Format> pairs;
  std::size_t out_of_range = 0;
  for (const std::uint16_t index : tranche.indices) {
    if (index < table_.size())
      pairs.push_back(table_[index]);
    else
      out_of_range++;
  }
  if (out_of_range > 0)
    GSTDRM_DEBUG("%s: %zu indices are outside of the table of %zu formats", name.c_str(),
                 out_of_range, table_.size());
  source.formats = FormatSet::from_pairs(std::move(pairs));
  return source;
}

Sources WaylandFeedback::sources(const std::string &name) const
{
  Sources sources;
  if (tranches_.empty()) {
    Source source = source_of({}, name);
    source.formats = listed_;
    sources.push_back(std::move(source));
  }
  for (std::size_t i = 0; i < tranches_.size(); i++)
    sources.push_back(source_of(tranches_[i], name + ":" + std::to_string(i)));
  return sources;
}

} // namespace gstdrm
