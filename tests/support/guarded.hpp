// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory with a page before and after it that no access survives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace gstdrm::test {

enum class Against { End, Start };

class Guarded {
public:
  // `size` bytes that end where the last page starts, or start where the first one ends.
  explicit Guarded(std::size_t size, Against against = Against::End)
  {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t body = (size + page - 1) / page * page;
    length_ = body + 2 * page;
    map_ = static_cast<std::uint8_t *>(
        ::mmap(nullptr, length_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED || ::mprotect(map_ + page, body, PROT_READ | PROT_WRITE) != 0)
      std::abort();
    data_ = map_ + page + (against == Against::End ? body - size : 0);
  }
  Guarded(Guarded &&other) noexcept
      : map_(std::exchange(other.map_, nullptr)), length_(other.length_), data_(other.data_)
  {
  }
  Guarded &operator=(Guarded &&) = delete;
  ~Guarded()
  {
    if (map_)
      ::munmap(map_, length_);
  }
  [[nodiscard]] std::uint8_t *data() const { return data_; }

private:
  std::uint8_t *map_ = nullptr;
  std::size_t length_ = 0;
  std::uint8_t *data_ = nullptr;
};

} // namespace gstdrm::test
