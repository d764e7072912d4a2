// SPDX-License-Identifier: LGPL-2.1-or-later
// What the test runtime computes, for the runtime and for the tests that compare with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gstdrm::test {

// An int8 tensor in row-major order, with its padding.
struct NetworkTensor {
  std::string name;
  std::vector<std::size_t> dims;
  std::vector<std::array<std::size_t, 2>> padding; // before and after, per dimension
  double scale = 1;
  int zero_point = 0;

  [[nodiscard]] std::size_t size() const
  {
    std::size_t size = 1;
    for (const std::size_t dim : dims)
      size *= dim;
    return size;
  }
  // Whether the element at that place in memory is padding.
  [[nodiscard]] bool is_padding(std::size_t place) const
  {
    for (std::size_t d = dims.size(); d-- > 0; place /= dims[d]) {
      const std::size_t at = place % dims[d];
      if (at < padding[d][0] || at >= dims[d] - padding[d][1])
        return true;
    }
    return false;
  }
};

// Output tensor t of the network, whose input is `in`, padding and all: of its n elements that are
// no padding, number j is
//   zero_point_out + (2 t + 1) * sum over the places i of the input with i % n == j of
//   (in[i] - zero_point_in) * (2 * (37 * i % 97) + 1),
// of which the lowest 8 bits are kept. Padding of the output is zero_point_out. Every weight is
// odd, so that one wrong byte anywhere in the input, its padding included, changes each output
// tensor.
inline std::vector<std::int8_t> network_output(const NetworkTensor &input,
                                               std::span<const std::int8_t> in,
                                               const NetworkTensor &output, std::size_t t)
{
  std::size_t n = 0;
  for (std::size_t place = 0; place < output.size(); place++)
    n += output.is_padding(place) ? 0 : 1;
  std::vector<std::uint32_t> sums(n, 0); // wraps around, as the result does
  for (std::size_t i = 0; i < in.size(); i++)
    sums[i % n] += static_cast<std::uint32_t>(in[i] - input.zero_point) *
                   static_cast<std::uint32_t>(2 * (37 * i % 97) + 1);
  std::vector<std::int8_t> out(output.size(), static_cast<std::int8_t>(output.zero_point));
  std::size_t j = 0;
  for (std::size_t place = 0; place < out.size(); place++)
    if (!output.is_padding(place))
      out[place] = static_cast<std::int8_t>(static_cast<std::uint32_t>(output.zero_point) +
                                            static_cast<std::uint32_t>(2 * t + 1) * sums[j++]);
  return out;
}

} // namespace gstdrm::test
