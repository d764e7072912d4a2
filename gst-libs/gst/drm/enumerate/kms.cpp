// SPDX-License-Identifier: LGPL-2.1-or-later
// The planes of every card, by libdrm, without being master: all that is asked here needs no rights
// beyond those of opening the node.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <xf86drm.h>
#include <xf86drmMode.h>

#include "../alloc/drm_fd.hpp"
#include "../core/drm_node.hpp"
#include "../core/errno_text.hpp"
#include "../core/in_formats.hpp"
#include "../core/log.hpp"
#include "source.hpp"

namespace gstdrm {

namespace {

template <auto Free> struct Deleter {
  template <typename T> void operator()(T *p) const noexcept { Free(p); }
};
using Version = std::unique_ptr<drmVersion, Deleter<drmFreeVersion>>;
using PlaneList = std::unique_ptr<drmModePlaneRes, Deleter<drmModeFreePlaneResources>>;
using Plane = std::unique_ptr<drmModePlane, Deleter<drmModeFreePlane>>;
using Properties = std::unique_ptr<drmModeObjectProperties, Deleter<drmModeFreeObjectProperties>>;
using Property = std::unique_ptr<drmModePropertyRes, Deleter<drmModeFreeProperty>>;
using Blob = std::unique_ptr<drmModePropertyBlobRes, Deleter<drmModeFreePropertyBlob>>;

std::string driver_of(int fd)
{
  const Version version(drmGetVersion(fd));
  return version ? std::string(version->name, static_cast<std::size_t>(version->name_len))
                 : std::string();
}

struct PlaneFacts {
  std::optional<std::uint64_t> type;
  std::uint32_t in_formats = 0; // number of the blob; 0 if there is none
};

PlaneFacts read_facts(int fd, std::uint32_t plane)
{
  PlaneFacts facts;
  const Properties list(drmModeObjectGetProperties(fd, plane, DRM_MODE_OBJECT_PLANE));
  for (std::uint32_t i = 0; list && i < list->count_props; i++) {
    const Property property(drmModeGetProperty(fd, list->props[i]));
    if (!property)
      continue;
    if (std::strcmp(property->name, "type") == 0)
      facts.type = list->prop_values[i];
    else if (std::strcmp(property->name, "IN_FORMATS") == 0)
      facts.in_formats = static_cast<std::uint32_t>(list->prop_values[i]);
  }
  return facts;
}

const char *type_name(std::optional<std::uint64_t> type)
{
  switch (type.value_or(DRM_PLANE_TYPE_OVERLAY)) {
  case DRM_PLANE_TYPE_PRIMARY:
    return "primary plane";
  case DRM_PLANE_TYPE_CURSOR:
    return "cursor plane";
  default:
    return "overlay plane";
  }
}

// A blob that is malformed counts as none, as kmsdmabufsink counts it: the formats are implicit
// then.
FormatSet read_formats(int fd, const drmModePlane &plane, const PlaneFacts &facts)
{
  if (facts.in_formats != 0) {
    const Blob blob(drmModeGetPropertyBlob(fd, facts.in_formats));
    if (blob) {
      auto formats =
          parse_in_formats({static_cast<const std::uint8_t *>(blob->data), blob->length});
      if (formats && !formats->empty())
        return std::move(*formats);
      GSTDRM_DEBUG("plane %u: %s", plane.plane_id,
                   formats ? "IN_FORMATS is empty" : formats.error().message.c_str());
    }
  }
  return implicit_formats({plane.formats, plane.count_formats});
}

Source read_plane(int fd, const Source &card, std::uint32_t id)
{
  Source source = card;
  source.name.append(":").append(std::to_string(id));
  const Plane plane(drmModeGetPlane(fd, id));
  const int error = errno;
  if (!plane) {
    source.problem = "Plane " + std::to_string(id) + " of " + card.device +
                     " cannot be read: " + errno_text(error) + ". Was the device removed?";
    return source;
  }
  const PlaneFacts facts = read_facts(fd, id);
  source.description = type_name(facts.type);
  source.formats = read_formats(fd, *plane, facts);
  return source;
}

void add_card(Sources &sources, const std::string &path)
{
  Source card{.kind = SourceKind::Kms, .name = "kms:" + node_name(path), .device = path};
  const Result<UniqueFd> fd = open_drm_node(path);
  if (!fd) {
    card.problem = fd.error().message + ".";
    sources.push_back(std::move(card));
    return;
  }
  card.driver = driver_of(fd->get());
  // without the capability the kernel lists overlay planes alone
  drmSetClientCap(fd->get(), DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1);
  const PlaneList planes(drmModeGetPlaneResources(fd->get()));
  const int error = errno;
  if (!planes) {
    // EOPNOTSUPP: a driver that renders only, such as vgem, is no display, and nothing is wrong
    if (error == EOPNOTSUPP || error == EINVAL || error == ENOTTY)
      return;
    card.problem = "The planes of " + path + " cannot be listed: " + errno_text(error) + ".";
    sources.push_back(std::move(card));
    return;
  }
  Sources found;
  for (const std::uint32_t id : std::span(planes->planes, planes->count_planes))
    found.push_back(read_plane(fd->get(), card, id));
  if (drm_device_is_gone(fd->get())) { // what could not be read looks like what is not there
    card.problem = path + " was removed while it was asked.";
    found = {card};
  }
  std::move(found.begin(), found.end(), std::back_inserter(sources));
}

} // namespace

std::string driver_of_node(const std::string &path)
{
  const Result<UniqueFd> fd = open_drm_node(path);
  return fd ? driver_of(fd->get()) : std::string();
}

Sources enumerate_kms()
{
  Sources sources;
  for (const std::string &path : list_drm_nodes(DrmNodeType::Card))
    add_card(sources, path);
  return sources;
}

} // namespace gstdrm
