// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_tensor.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace gstdrm::metis::axr {

namespace {

// More than any tensor has, and few enough that no product of sizes overflows.
constexpr std::size_t kMaxTensorBytes = std::size_t{1} << 31;

std::optional<TensorType> type_of(const TensorFields &fields)
{
  if (fields.bits == 8 && fields.type == static_cast<std::size_t>(ElementType::Unsigned))
    return TensorType::UInt8;
  if (fields.bits == 8 && fields.type == static_cast<std::size_t>(ElementType::Signed))
    return TensorType::Int8;
  if (fields.bits == 32 && fields.type == static_cast<std::size_t>(ElementType::Float))
    return TensorType::Float32;
  return std::nullopt;
}

// What is wrong with the dimensions and their padding; empty if there is nothing.
std::string wrong_dims(const TensorFields &fields)
{
  if (fields.n_dims == 0 || fields.n_dims > kMaxDims)
    return std::to_string(fields.n_dims) + " dimensions";
  std::size_t bytes = sizeof(float);
  for (std::size_t d = 0; d < fields.n_dims; d++) {
    const std::size_t size = fields.dims[d];
    const auto &[before, after] = fields.padding[d];
    if (size == 0 || size > kMaxTensorBytes / bytes)
      return std::to_string(size) + " elements in dimension " + std::to_string(d);
    if (before >= size || after >= size - before)
      return "padding of " + std::to_string(before) + " and " + std::to_string(after) +
             " elements in dimension " + std::to_string(d) + " of " + std::to_string(size);
    bytes *= size;
  }
  return {};
}

std::string wrong_values(const TensorFields &fields, TensorType type)
{
  if (std::memchr(fields.name, 0, sizeof(fields.name)) == nullptr)
    return "a name without an end";
  if (type == TensorType::Float32)
    return {};
  if (!std::isfinite(fields.scale) || fields.scale <= 0)
    return "a scale of " + std::to_string(fields.scale);
  const int lowest = type == TensorType::Int8 ? -128 : 0;
  if (fields.zero_point < lowest || fields.zero_point > lowest + 255)
    return "a zero point of " + std::to_string(fields.zero_point);
  return {};
}

Error implausible(const std::string &what, const std::string &which)
{
  return Error{ErrorCode::Unsupported,
               "The runtime gives the model's " + what + " " + which +
                   ", which cannot be. Its axrTensorInfo may be another one than this plugin "
                   "knows: install another version of the runtime.",
               EPROTO};
}

} // namespace

Result<TensorInfo> read_tensor(const Api &api, const TensorArea &area, const std::string &what)
{
  const TensorFields &fields = area.fields;
  if (const std::string wrong = wrong_dims(fields); !wrong.empty())
    return implausible(what, wrong);
  const std::optional<TensorType> type = type_of(fields);
  if (!type)
    return Error{ErrorCode::Unsupported,
                 "The model's " + what + " has " + std::to_string(fields.bits) +
                     " bits per element of type " + std::to_string(fields.type) +
                     "; 8 bits of type 0 or 1, or 32 of type 2, can be used.",
                 ENOTSUP};
  if (const std::string wrong = wrong_values(fields, *type); !wrong.empty())
    return implausible(what, wrong);
  TensorInfo info;
  info.name = fields.name;
  info.type = *type;
  info.dims.assign(fields.dims, fields.dims + fields.n_dims);
  for (std::size_t d = 0; d < fields.n_dims; d++)
    info.padding.push_back({fields.padding[d][0], fields.padding[d][1]});
  if (*type != TensorType::Float32)
    info.quantisation = Quantisation{fields.scale, fields.zero_point};
  if (const std::size_t size = api.tensor_size ? api.tensor_size(&area) : info.size_bytes();
      size != info.size_bytes())
    return implausible(what, std::to_string(size) + " bytes, and dimensions of " +
                                 std::to_string(info.size_bytes()) + " bytes");
  return info;
}

} // namespace gstdrm::metis::axr
