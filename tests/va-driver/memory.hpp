// SPDX-License-Identifier: LGPL-2.1-or-later
// Dma-bufs that the CPU can map: what surfaces are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <gst/drm/core/unique_fd.hpp>

#include "settings.hpp"

namespace gstdrm::test::vadriver {

// Owns a mapping.
class Mapping {
public:
  Mapping() noexcept = default;
  static std::optional<Mapping> map(int fd, std::size_t size_bytes);
  Mapping(Mapping &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0))
  {
  }
  Mapping &operator=(Mapping &&other) noexcept
  {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping();

  [[nodiscard]] std::uint8_t *data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
  std::uint8_t *data_ = nullptr;
  std::size_t size_ = 0;
};

struct Object {
  UniqueFd fd;
  Mapping mapping;
};

// A new object of at least that size, filled with zeros. Memory::Auto: udmabuf, else the system
// heap, else (no exporter in this kernel) a plain memfd, which no device can import.
std::optional<Object> allocate_object(Memory memory, std::size_t size_bytes);
// Another descriptor of a foreign dma-buf, mapped.
std::optional<Object> import_object(int fd);

} // namespace gstdrm::test::vadriver
