// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdrmlabels.hpp"

#include <memory>
#include <string_view>

#include <gst/gst.h>

namespace gstdrm {

namespace {

struct Freed {
  void operator()(gchar *text) const noexcept { g_free(text); }
};
using Text = std::unique_ptr<gchar, Freed>;

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
  gchar *contents = nullptr;
  gsize length = 0;
  GError *error = nullptr;
  if (!g_file_get_contents(path.c_str(), &contents, &length, &error)) {
    const std::string why = error->message;
    g_clear_error(&error);
    return Error{ErrorCode::Layout, valid_utf8("The labels cannot be read: " + why + "."), 0};
  }
  const Text owned(contents);
  std::string_view rest(contents, length);
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
