// SPDX-License-Identifier: LGPL-2.1-or-later
// What a tensor is: its type, its dimensions, and where its values lie.
#pragma once

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

// Elements along one dimension that carry no value.
struct Padding {
  std::size_t before = 0;
  std::size_t after = 0;
  friend bool operator==(const Padding &, const Padding &) = default;
};

// "1x640x640x3", with ? for a dimension that is not known; "no" where there are none.
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

struct TensorInfo {
  std::string name; // in the model
  std::string
      id; // by which a decoder knows the tensor (`id` of a modelinfo file); empty if there is none
  TensorType type = TensorType::Float32;
  std::vector<std::size_t>
      dims; // outermost first (row-major), with the padding: what lies in memory. In a
            // description, 0: not said, and empty: none said; the back end completes both
  std::vector<Padding> padding; // one per dimension; empty if there is none
  std::optional<Quantisation> quantisation;
  // `dims-order` of the description: how GStreamer's decoders call the order of dimensions, which
  // changes nothing in memory.
  bool column_major = false;

  [[nodiscard]] std::size_t n_elements() const
  {
    return std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
  }
  // Elements along a dimension that carry values.
  [[nodiscard]] std::size_t values_along(std::size_t dimension) const
  {
    const Padding around = dimension < padding.size() ? padding[dimension] : Padding{};
    return dims[dimension] - around.before - around.after;
  }
  [[nodiscard]] std::size_t size_bytes() const { return n_elements() * bytes_of(type); }
};

// The memory of one tensor. All is borrowed.
struct TensorView {
  int fd = -1;               // the dma-buf that the tensor starts; -1: host memory alone
  std::byte *data = nullptr; // CPU mapping; nullptr: no CPU looks at the values
  std::size_t size_bytes = 0;
};

} // namespace gstdrm::metis
