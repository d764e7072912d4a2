// SPDX-License-Identifier: LGPL-2.1-or-later
#include "detection.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gstdrm::metis {

namespace {

// Limit for boxes that are compared with each other, which takes quadratic time.
constexpr std::size_t kMostCandidates = 2000;

std::string dims_text(const TensorValues &tensor)
{
  std::string text;
  for (const std::size_t dim : tensor.dims)
    text.append(text.empty() ? "" : "x").append(std::to_string(dim));
  return text.empty() ? "without dimensions" : text;
}

} // namespace

float overlap(const Detection &a, const Detection &b)
{
  const float width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const float height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (!(width > 0) || !(height > 0))
    return 0;
  // double: the area of a finite box is finite
  const double common = static_cast<double>(width) * height;
  const double both =
      static_cast<double>(a.width) * a.height + static_cast<double>(b.width) * b.height - common;
  return both > 0 ? static_cast<float>(common / both) : 0;
}

std::vector<std::size_t> trimmed(const std::vector<std::size_t> &dims, std::size_t rank)
{
  std::size_t skip = 0;
  while (dims.size() - skip > rank && dims[skip] == 1)
    ++skip;
  return {dims.begin() + static_cast<std::ptrdiff_t>(skip), dims.end()};
}

bool is_whole(const TensorValues &tensor)
{
  std::size_t values = 1;
  for (const std::size_t dim : tensor.dims)
    if (__builtin_mul_overflow(values, dim, &values))
      return false;
  return values > 0 && values == tensor.values.size();
}

std::string describe(Tensors tensors)
{
  constexpr std::size_t kMost = 12; // in one message
  std::string text = tensors.empty() ? "no tensor" : tensors.size() > 1 ? "tensors " : "tensor ";
  for (std::size_t i = 0; i < std::min(tensors.size(), kMost); i++)
    text += (i > 0 ? ", " : "") + (tensors[i].name.empty() ? "(unnamed)" : tensors[i].name) + " " +
            dims_text(tensors[i]);
  return tensors.size() > kMost ? text + " and others" : text;
}

Error unusable(const char *decoder, Tensors tensors, const std::string &why)
{
  return {ErrorCode::Layout,
          std::string("The model gave ") + describe(tensors) + ", which the decoder " + decoder +
              " cannot read: " + why +
              ". Set the property decoder, or decoder= in the model's description, to the kind of "
              "the model.",
          0};
}

bool name_has(const TensorValues &tensor, std::initializer_list<std::string_view> words)
{
  std::string name = tensor.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(words.begin(), words.end(), [&name](std::string_view word) {
    return name.find(word) != std::string::npos;
  });
}

bool is_real(const Detection &detection)
{
  const bool finite = std::isfinite(detection.x) && std::isfinite(detection.y) &&
                      std::isfinite(detection.width) && std::isfinite(detection.height) &&
                      std::isfinite(detection.score);
  return finite && detection.width > 0 && detection.height > 0;
}

std::vector<Detection> best_of(std::vector<Detection> found, float iou, std::size_t most,
                               float (*overlap_of)(const Detection &, const Detection &))
{
  std::stable_sort(found.begin(), found.end(),
                   [](const Detection &a, const Detection &b) { return a.score > b.score; });
  if (found.size() > kMostCandidates)
    found.resize(kMostCandidates);
  std::vector<Detection> kept;
  for (Detection &candidate : found) {
    if (kept.size() >= most)
      break;
    const bool again = std::any_of(kept.begin(), kept.end(), [&](const Detection &better) {
      return better.label == candidate.label && overlap_of(better, candidate) > iou;
    });
    if (!again)
      kept.push_back(std::move(candidate));
  }
  return kept;
}

} // namespace gstdrm::metis
