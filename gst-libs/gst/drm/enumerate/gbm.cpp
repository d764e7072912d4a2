// SPDX-License-Identifier: LGPL-2.1-or-later
// What libgbm allocates on every render node. libgbm lists nothing, so each fourcc that is known
// here is asked for; modifiers come with the allocation, and are not known before.
#include <memory>
#include <utility>

#include <gbm.h>

#include "../alloc/drm_fd.hpp"
#include "../core/drm_node.hpp"
#include "source.hpp"

namespace gstdrm {

namespace {

struct DestroyDevice {
  void operator()(gbm_device *device) const noexcept { ::gbm_device_destroy(device); }
};

void list_formats(gbm_device *device, Source &source)
{
  for (const FourccInfo &info : known_fourccs()) {
    if (::gbm_device_is_format_supported(device, info.fourcc, GBM_BO_USE_RENDERING))
      source.formats.add({info.fourcc, kModImplicit});
    if (::gbm_device_is_format_supported(device, info.fourcc, GBM_BO_USE_LINEAR))
      source.formats.add({info.fourcc, kModLinear});
  }
  for (const Format &format : source.formats.pairs()) {
    const int planes =
        ::gbm_device_get_format_modifier_plane_count(device, format.fourcc, format.modifier);
    source.planes.push_back(static_cast<std::uint8_t>(
        planes > 0 && planes <= static_cast<int>(kMaxPlanes) ? planes : 0));
  }
}

void add_node(Sources &sources, const std::string &path, const OnlyDevice *only)
{
  Source source{.kind = SourceKind::Gbm, .name = "gbm:" + node_name(path), .device = path};
  const Result<UniqueFd> fd = open_drm_node(path);
  if (!fd) {
    source.problem = fd.error().message + ".";
    sources.push_back(std::move(source));
    return;
  }
  if (only)
    only->before(source);
  const std::unique_ptr<gbm_device, DestroyDevice> device(::gbm_create_device(fd->get()));
  if (!device) {
    source.problem = "libgbm has no driver for " + path + ".";
    sources.push_back(std::move(source));
    return;
  }
  source.driver = ::gbm_device_get_backend_name(device.get());
  source.description = "allocator";
  list_formats(device.get(), source);
  if (drm_device_is_gone(fd->get())) { // Mesa has a list for a device without a driver, too
    source.formats = {};
    source.planes.clear();
    source.problem = path + " was removed while it was asked.";
  }
  sources.push_back(std::move(source));
}

} // namespace

Sources enumerate_gbm(const OnlyDevice *only)
{
  Sources sources;
  std::size_t number = 0;
  for (const std::string &path : list_drm_nodes(DrmNodeType::Render))
    if (!only || number++ == only->number)
      add_node(sources, path, only);
  return sources;
}

} // namespace gstdrm
