// SPDX-License-Identifier: LGPL-2.1-or-later
// Outputs and planes as plain values, without a device. Property ids are 1000 * the object's id and one more each.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include <drm_fourcc.h>

#include "gst/kms/engine/output/kms_output.hpp"

namespace gstdrm::test::values {

inline kms::PropertySet
properties(std::uint32_t object_id,
           std::initializer_list<std::pair<const char *, std::uint64_t>> list)
{
  kms::PropertySet set;
  std::uint32_t id = object_id * 1000;
  for (const auto &[name, value] : list) {
    kms::Property property;
    property.id = id++;
    property.value = value;
    set.emplace(name, std::move(property));
  }
  return set;
}

inline drmModeModeInfo mode(std::uint16_t width, std::uint16_t height)
{
  drmModeModeInfo made{};
  made.hdisplay = width;
  made.vdisplay = height;
  made.htotal = width;
  made.vtotal = height;
  made.clock = width * height * 60U / 1000;
  return made;
}

// `crtc_id`: whose it is now.
inline kms::Plane plane(std::uint32_t id, kms::PlaneType type, std::uint32_t possible_crtcs = 1,
                        std::uint64_t crtc_id = 0)
{
  kms::Plane made;
  made.id = id;
  made.type = type;
  made.possible_crtcs = possible_crtcs;
  made.formats = FormatSet::from_pairs({{DRM_FORMAT_XRGB8888, kModLinear}, {DRM_FORMAT_NV12, kModLinear}});
  made.properties = properties(id, {{"CRTC_ID", crtc_id},
                                    {"FB_ID", 0},
                                    {"SRC_X", 0},
                                    {"SRC_Y", 0},
                                    {"SRC_W", 0},
                                    {"SRC_H", 0},
                                    {"CRTC_X", 0},
                                    {"CRTC_Y", 0},
                                    {"CRTC_W", 0},
                                    {"CRTC_H", 0},
                                    {"IN_FENCE_FD", 0}});
  return made;
}

inline kms::Crtc crtc(std::uint32_t id, unsigned index)
{
  return {id, index, properties(id, {{"ACTIVE", 0}, {"MODE_ID", 0}, {"OUT_FENCE_PTR", 0}})};
}

inline kms::Connector connector(std::uint32_t id, std::string name, drmModeConnection connection,
                                std::uint32_t possible_crtcs = 1, std::uint64_t crtc_id = 0)
{
  kms::Connector made;
  made.id = id;
  made.name = std::move(name);
  made.connection = connection;
  made.possible_crtcs = possible_crtcs;
  if (connection != DRM_MODE_DISCONNECTED)
    made.modes = {mode(1024, 768), mode(640, 480)};
  made.properties = properties(id, {{"CRTC_ID", crtc_id}});
  return made;
}

inline kms::Connector writeback(std::uint32_t id, std::uint32_t possible_crtcs = 1)
{
  kms::Connector made = connector(id, "Writeback-1", DRM_MODE_UNKNOWNCONNECTION, possible_crtcs);
  made.writeback = true;
  made.modes.clear();
  made.properties = properties(id, {{"CRTC_ID", 0}, {"WRITEBACK_FB_ID", 0}, {"WRITEBACK_OUT_FENCE_PTR", 0}});
  return made;
}

} // namespace gstdrm::test::values
