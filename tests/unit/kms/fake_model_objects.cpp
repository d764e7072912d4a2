// SPDX-License-Identifier: LGPL-2.1-or-later
// What a model's device lists: objects, properties and blobs.
#include "fake_model_objects.hpp"

#include <algorithm>
#include <cstring>

#include <drm_fourcc.h>
#include <xf86drmMode.h>

#include "fake_drm.hpp"

namespace gstdrm::test::fakedrm {

namespace {

constexpr std::uint32_t kFirstFormatBlob = 600; // of the planes, in the order of the list
constexpr std::uint32_t kWritebackFormats = 599;
constexpr std::uint64_t kAnyInteger = ~std::uint64_t{0};

PropertySpec range(std::string name, std::uint64_t value, std::uint64_t least, std::uint64_t largest)
{
  return {std::move(name), DRM_MODE_PROP_RANGE, value, {}, std::pair(least, largest)};
}

PropertySpec plain(std::string name, std::uint64_t value = 0)
{
  return range(std::move(name), value, 0, kAnyInteger);
}

PropertySpec choice(std::string name, std::vector<EnumValue> values, std::uint64_t value)
{
  return {std::move(name), DRM_MODE_PROP_ENUM, value, std::move(values), std::nullopt};
}

PropertySpec fixed(PropertySpec spec)
{
  spec.flags |= DRM_MODE_PROP_IMMUTABLE;
  return spec;
}

PropertySpec blob(std::string name, std::uint64_t id = 0)
{
  return {std::move(name), DRM_MODE_PROP_BLOB, id, {}, std::nullopt};
}

template <typename Value> void append(std::vector<std::uint8_t> &bytes, const Value &value)
{
  const std::size_t at = bytes.size();
  bytes.resize(at + sizeof(value));
  std::memcpy(&bytes[at], &value, sizeof(value));
}

// struct drm_format_modifier_blob of drm_mode.h, with one entry of 64 formats for each modifier.
std::vector<std::uint8_t> in_formats(const PlaneModel &plane)
{
  std::vector<std::uint32_t> fourccs = plane.fourccs();
  std::map<std::uint64_t, std::uint64_t> masks;
  for (const auto &[fourcc, modifier] : plane.pairs)
    masks[modifier] |= std::uint64_t{1} << (std::find(fourccs.begin(), fourccs.end(), fourcc) - fourccs.begin());
  if (fourccs.size() % 2) // which keeps the modifiers aligned; no mask has it
    fourccs.push_back(fourccs.back());
  std::vector<std::uint8_t> bytes;
  const auto header = static_cast<std::uint32_t>(sizeof(drm_format_modifier_blob));
  const auto count = static_cast<std::uint32_t>(fourccs.size());
  append(bytes, drm_format_modifier_blob{FORMAT_BLOB_CURRENT, 0, count, header,
                                         static_cast<std::uint32_t>(masks.size()), header + 4 * count});
  for (const std::uint32_t fourcc : fourccs)
    append(bytes, fourcc);
  for (const auto &[modifier, mask] : masks)
    append(bytes, drm_format_modifier{mask, 0, 0, modifier});
  return bytes;
}

std::vector<EnumValue> rotation_names(std::uint64_t rotations)
{
  std::vector<EnumValue> names; // drm_blend.c; the values are the numbers of the bits
  for (const auto &[name, bit] : {std::pair("rotate-0", 0U), std::pair("rotate-90", 1U), std::pair("rotate-180", 2U),
                                  std::pair("rotate-270", 3U), std::pair("reflect-x", 4U), std::pair("reflect-y", 5U)})
    if (rotations >> bit & 1)
      names.push_back({name, bit});
  return names;
}

std::vector<PropertySpec> plane_properties(const PlaneModel &plane, bool modifiers, std::uint32_t formats)
{
  std::vector<PropertySpec> list = {
      fixed(choice("type", {{"Overlay", DRM_PLANE_TYPE_OVERLAY}, {"Primary", DRM_PLANE_TYPE_PRIMARY}, {"Cursor", DRM_PLANE_TYPE_CURSOR}},
                   plane.type)),
      plain("FB_ID"), plain("CRTC_ID"), plain("SRC_X"), plain("SRC_Y"), plain("SRC_W"), plain("SRC_H"), plain("CRTC_X"),
      plain("CRTC_Y"), plain("CRTC_W"), plain("CRTC_H"), plain("IN_FENCE_FD", kAnyInteger)};
  if (modifiers)
    list.push_back(fixed(blob("IN_FORMATS", formats)));
  if (plane.has_zpos)
    list.push_back(plane.zpos_is_fixed ? fixed(range("zpos", plane.zpos, plane.zpos, plane.zpos))
                                       : range("zpos", plane.zpos, plane.least_zpos, plane.largest_zpos));
  if (plane.rotations)
    list.push_back({"rotation", DRM_MODE_PROP_BITMASK, DRM_MODE_ROTATE_0, rotation_names(plane.rotations), std::nullopt});
  if (!plane.blending.empty())
    list.push_back(choice("pixel blend mode", plane.blending, 0));
  if (plane.alpha)
    list.push_back(range("alpha", 0xffff, 0, 0xffff));
  if (!plane.encodings.empty()) {
    list.push_back(choice("COLOR_ENCODING", plane.encodings, plane.encodings.back().value));
    list.push_back(choice("COLOR_RANGE", plane.ranges, 0));
  }
  return list;
}

std::vector<PropertySpec> connector_properties(const Model &model)
{
  std::vector<PropertySpec> list = {
      plain("CRTC_ID"), fixed(blob("EDID")),
      choice("link-status", {{"Good", DRM_MODE_LINK_STATUS_GOOD}, {"Bad", DRM_MODE_LINK_STATUS_BAD}},
             model.bad_link ? DRM_MODE_LINK_STATUS_BAD : DRM_MODE_LINK_STATUS_GOOD)};
  if (model.max_bpc)
    list.push_back(range("max bpc", model.max_bpc->second, model.max_bpc->first, model.max_bpc->second));
  return list;
}

} // namespace

void list_objects(Model &model)
{
  model.objects = {{kCrtc, {plain("ACTIVE"), blob("MODE_ID"), plain("OUT_FENCE_PTR")}}, {kConnector, connector_properties(model)}};
  if (!model.writeback.empty()) {
    model.objects.push_back({kWriteback, {plain("CRTC_ID"), plain("WRITEBACK_FB_ID"), plain("WRITEBACK_OUT_FENCE_PTR"),
                                          fixed(blob("WRITEBACK_PIXEL_FORMATS", kWritebackFormats))}});
    for (const std::uint32_t fourcc : model.writeback)
      append(model.blobs[kWritebackFormats], fourcc);
  }
  std::uint32_t formats = kFirstFormatBlob;
  for (const PlaneModel &plane : model.planes) {
    model.objects.push_back({plane.id, plane_properties(plane, model.modifiers, formats)});
    if (model.modifiers)
      model.blobs[formats] = in_formats(plane);
    formats++;
  }
}

} // namespace gstdrm::test::fakedrm
