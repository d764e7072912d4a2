// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend.hpp"

#include <string>
#include <utility>

#include <gst/drm/core/log.hpp>

namespace gstdrm::metis {

namespace {

Error no_way(std::span<const BackendWay> ways)
{
  std::string names;
  for (const BackendWay &way : ways)
    names += std::string(names.empty() ? "" : ", ") + way.name;
  return Error{ErrorCode::Unsupported,
               "This build has no such back end; it has " + (names.empty() ? "none" : names) + ".",
               0};
}

} // namespace

Result<std::unique_ptr<Backend>> open_backend(BackendKind kind, const BackendOptions &options,
                                              std::span<const BackendWay> ways)
{
  std::string refusals;
  Error last;
  unsigned tried = 0;
  for (const BackendWay &way : ways) {
    if (kind != BackendKind::Auto && kind != way.kind)
      continue;
    auto opened = way.open(options);
    if (opened) {
      GSTDRM_INFO("the back end is %s.%s%s", way.name,
                  refusals.empty() ? "" : " Not taken: ", refusals.c_str());
      return opened;
    }
    tried++;
    last = opened.error();
    refusals += std::string(refusals.empty() ? "" : " ") + way.name + ": " + last.message;
  }
  if (tried == 0)
    return no_way(ways);
  if (tried == 1)
    return last;
  return Error{last.code, "No back end runs the model. " + refusals, last.sys_errno};
}

} // namespace gstdrm::metis
