// SPDX-License-Identifier: LGPL-2.1-or-later
// A tensor: its type, its dimensions and its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace gstdrm::metis {

enum class TensorType { UInt8, Int8, Float32 };

constexpr std::size_t bytes_of(TensorType type) noexcept
{
  return type == TensorType::Float32 ? sizeof(float) : 1;
}

// value = (q - zero_point) * scale
struct Quantisation {
  double scale = 1.0;
  int zero_point = 0;
  friend bool operator==(const Quantisation &, const Quantisation &) = default;
};

// Elements without a value at both ends of a dimension.
struct Padding {
  std::size_t before = 0;
  std::size_t after = 0;
  friend bool operator==(const Padding &, const Padding &) = default;
};

// "1x640x640x3", with ? for an unknown dimension; "no" if there are none.
inline std::string dims_text(const std::vector<std::size_t> &dims)
{
  std::string text;
  for (const std::size_t dim : dims) {
    if (!text.empty())
      text += 'x';
    text += dim == 0 ? std::string("?") : std::to_string(dim);
  }
  return text.empty() ? "no" : text;
}

// Whether a description's dimensions may be those, where 0 stands for any size.
inline bool dims_agree(const std::vector<std::size_t> &described,
                       const std::vector<std::size_t> &real)
{
  return std::equal(described.begin(), described.end(), real.begin(), real.end(),
                    [](std::size_t a, std::size_t b) { return a == 0 || a == b; });
}

struct TensorInfo {
  std::string name; // in the model
  std::string id;   // for decoders (`id` of a modelinfo file); may be empty
  TensorType type = TensorType::Float32;
  // Row-major, outermost first, with padding. In a description 0 is an unknown dimension, and an
  // empty list stands for unknown dimensions; the back end completes both.
  std::vector<std::size_t> dims;
  std::vector<Padding> padding; // one per dimension; empty if there is none
  std::optional<Quantisation> quantisation;
  // `dims-order` of the description, for GStreamer's decoders. The order in memory is always
  // row-major.
  bool column_major = false;

  [[nodiscard]] std::size_t n_elements() const
  {
    return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  }
  // The elements of a dimension without its padding.
  [[nodiscard]] std::size_t values_along(std::size_t dimension) const
  {
    const Padding around = dimension < padding.size() ? padding[dimension] : Padding{};
    return dims[dimension] - around.before - around.after;
  }
  [[nodiscard]] std::size_t size_bytes() const { return n_elements() * bytes_of(type); }
};

// Borrowed memory of one tensor.
struct TensorView {
  int fd = -1;               // dma-buf with the tensor at its start; -1 for host memory
  std::byte *data = nullptr; // CPU mapping; nullptr if no CPU reads the values
  std::size_t size_bytes = 0;
};

} // namespace gstdrm::metis
