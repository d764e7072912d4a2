// SPDX-License-Identifier: LGPL-2.1-or-later
// Bytes of a fuzzer as the choices of a target. When they are used up, every choice is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gstdrm::test {

class Bytes {
public:
  Bytes(const std::uint8_t *data, std::size_t size) : left_(data, size) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }

  // Little-endian.
  template <typename T> T number()
  {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= std::uint64_t{byte()} << (8 * i);
    return static_cast<T>(value);
  }

  // 0 to n - 1
  std::size_t choose(std::size_t n) { return byte() % n; }

  template <typename T, std::size_t N> T pick(const T (&values)[N]) { return values[choose(N)]; }

  // No NUL in it.
  std::string text(std::size_t longest)
  {
    std::string text;
    for (std::size_t n = choose(longest + 1); text.size() < n && !empty();)
      if (const auto c = static_cast<char>(byte()))
        text += c;
    return text;
  }

private:
  std::uint8_t byte()
  {
    if (left_.empty())
      return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }

  std::span<const std::uint8_t> left_;
};

} // namespace gstdrm::test
