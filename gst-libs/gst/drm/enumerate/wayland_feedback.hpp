// SPDX-License-Identifier: LGPL-2.1-or-later
// What a compositor says of DMA buffers (linux-dmabuf-v1), gathered event by event. Nothing that it
// sends is trusted: sizes, indices and the file of the format table. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../core/unique_fd.hpp"
#include "source.hpp"

namespace gstdrm {

class WaylandFeedback {
public:
  // Versions 1 to 3: a pair, with the implicit modifier where the compositor names none.
  void add_pair(Format format);

  // Version 4. A compositor may send all of it again, and then the last one holds.
  void set_table(UniqueFd fd, std::uint32_t size_bytes);
  void set_main_device(std::span<const std::byte> device);
  void set_target_device(std::span<const std::byte> device);
  void add_indices(std::span<const std::byte> indices); // 16 bits each
  void set_flags(std::uint32_t flags);
  void end_tranche();

  // The sources, `name` is "wayland:wayland-0". With tranches one for each, in the compositor's
  // order of preference, "wayland:wayland-0:0" and so on.
  [[nodiscard]] Sources sources(const std::string &name) const;

private:
  struct Tranche {
    std::optional<std::uint64_t> device; // st_rdev
    bool scanout = false;
    std::vector<std::uint16_t> indices;
  };

  [[nodiscard]] Source source_of(const Tranche &tranche, const std::string &name) const;

  FormatSet listed_; // without tranches
  std::vector<Format> table_;
  std::string table_problem_; // what is wrong with the table; empty if there is nothing
  std::optional<std::uint64_t> main_device_;
  Tranche pending_;
  std::vector<Tranche> tranches_;
};

} // namespace gstdrm
