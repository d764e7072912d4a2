// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmlabels.hpp"

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string_view>

#include <gst/drm/core/errno_text.hpp>
#include <gst/gst.h>

namespace gstdrm {

namespace {

// Of all labels. Those of 21 841 classes (ImageNet) have 0.5 MB.
constexpr std::size_t kMostBytes = 8 << 20;

struct FreeText {
  void operator()(gchar *text) const noexcept { g_free(text); }
};
using Text = std::unique_ptr<gchar, FreeText>;

std::string valid_utf8(std::string_view line)
{
  const Text valid(g_utf8_make_valid(line.data(), static_cast<gssize>(line.size())));
  return valid.get();
}

} // namespace

Result<Labels> Labels::read(const std::string &path)
{
  Labels labels;
  if (path.empty())
    return labels;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string contents(kMostBytes + 1, '\0');
  if (!file || !file.read(contents.data(), static_cast<std::streamsize>(contents.size())).eof())
    return Error{ErrorCode::Layout,
                 valid_utf8("The labels cannot be read: " + path +
                            (file ? " has more than " + std::to_string(kMostBytes) +
                                        " bytes. Name a file of one label a line."
                                  : ": " + errno_text(errno) + ".")),
                 0};
  std::string_view rest(contents.data(), static_cast<std::size_t>(file.gcount()));
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    labels.names_.push_back(valid_utf8(line));
  }
  return labels;
}

std::string Labels::name_of(std::uint32_t label) const
{
  return label < names_.size() ? names_[label] : std::string();
}

} // namespace gstdrm
