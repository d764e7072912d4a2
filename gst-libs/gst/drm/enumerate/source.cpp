// SPDX-License-Identifier: LGPL-2.1-or-later
#include "source.hpp"

#include <algorithm>
#include <utility>

namespace gstdrm {

std::string node_name(const std::string &path)
{
  return path.substr(path.rfind('/') + 1);
}

void add_named(Sources &sources, Source source)
{
  const std::string name = source.name;
  const auto taken = [&] {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Source &other) { return other.name == source.name; });
  };
  for (unsigned number = 2; taken(); number++)
    source.name = name + "-" + std::to_string(number);
  sources.push_back(std::move(source));
}

unsigned count_planes(const Source &source, Format format) noexcept
{
  const auto pairs = source.formats.pairs();
  const auto it = std::lower_bound(pairs.begin(), pairs.end(), format);
  if (it == pairs.end() || *it != format)
    return 0;
  const auto index = static_cast<std::size_t>(it - pairs.begin());
  if (index < source.planes.size() && source.planes[index] != 0)
    return source.planes[index];
  return memory_plane_count(format);
}

} // namespace gstdrm
