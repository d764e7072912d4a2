// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings of a profile, made into a model.
#include "fake_model.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <functional>

#include <drm_fourcc.h>
#include <xf86drmMode.h>

#include "display_profiles.hpp"
#include "fake_drm.hpp"
#include "fake_model_objects.hpp"

namespace gstdrm::test::fakedrm {

namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view text, char at)
{
  Words words;
  while (true) {
    const std::size_t end = text.find(at);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return words;
    text.remove_prefix(end + 1);
  }
}

// drm_fourcc.h, by shorter names.
const std::map<std::string_view, std::uint64_t> kModifiers = {
    {"linear", DRM_FORMAT_MOD_LINEAR},
    {"none", DRM_FORMAT_MOD_INVALID},
    {"i915-x", I915_FORMAT_MOD_X_TILED},
    {"i915-y", I915_FORMAT_MOD_Y_TILED},
    {"i915-yf", I915_FORMAT_MOD_Yf_TILED},
    {"i915-y-ccs", I915_FORMAT_MOD_Y_TILED_CCS},
    {"i915-yf-ccs", I915_FORMAT_MOD_Yf_TILED_CCS},
    {"afbc16", DRM_FORMAT_MOD_ARM_AFBC(AFBC_FORMAT_MOD_BLOCK_SIZE_16x16)},
    {"afbc16-sparse", DRM_FORMAT_MOD_ARM_AFBC(AFBC_FORMAT_MOD_BLOCK_SIZE_16x16 | AFBC_FORMAT_MOD_SPARSE)},
    {"vc4-t", DRM_FORMAT_MOD_BROADCOM_VC4_T_TILED},
    {"sand64", DRM_FORMAT_MOD_BROADCOM_SAND64},
    {"sand128", DRM_FORMAT_MOD_BROADCOM_SAND128},
    {"sand256", DRM_FORMAT_MOD_BROADCOM_SAND256},
    {"ubwc", DRM_FORMAT_MOD_QCOM_COMPRESSED},
};
const std::map<std::string_view, std::uint64_t> kTypes = {
    {"primary", DRM_PLANE_TYPE_PRIMARY}, {"overlay", DRM_PLANE_TYPE_OVERLAY}, {"cursor", DRM_PLANE_TYPE_CURSOR}};
const std::map<std::string_view, std::uint64_t> kRotations = {
    {"0", DRM_MODE_ROTATE_0},     {"90", DRM_MODE_ROTATE_90}, {"180", DRM_MODE_ROTATE_180},
    {"270", DRM_MODE_ROTATE_270}, {"x", DRM_MODE_REFLECT_X},  {"y", DRM_MODE_REFLECT_Y}};
// drm_blend.c and drm_color_mgmt.c
const std::map<std::string_view, EnumValue> kBlending = {
    {"none", {"None", 2}}, {"pre", {"Pre-multiplied", 0}}, {"coverage", {"Coverage", 1}}};
const std::map<std::string_view, EnumValue> kEncodings = {{"601", {"ITU-R BT.601 YCbCr", 0}},
                                                          {"709", {"ITU-R BT.709 YCbCr", 1}},
                                                          {"2020", {"ITU-R BT.2020 YCbCr", 2}}};

// Throws what is not understood; make_model() catches it.
struct NotUnderstood {
  std::string text;
};

template <typename Value> const Value &look_up(const std::map<std::string_view, Value> &map, std::string_view key)
{
  const auto it = map.find(key);
  if (it == map.end())
    throw NotUnderstood{std::string(key)};
  return it->second;
}

std::uint64_t number(std::string_view text)
{
  const bool is_hex = text.substr(0, 2) == "0x";
  const std::string_view digits = is_hex ? text.substr(2) : text;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw NotUnderstood{std::string(text)};
  return value;
}

double factor(std::string_view text)
{
  const std::string copy(text);
  char *end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || value < 1)
    throw NotUnderstood{copy};
  return value;
}

std::uint32_t fourcc(std::string_view text)
{
  if (text.size() != 4)
    throw NotUnderstood{std::string(text)};
  return fourcc_code(text[0], text[1], text[2], text[3]);
}

std::uint64_t modifier(std::string_view text)
{
  return text.substr(0, 2) == "0x" ? number(text) : look_up(kModifiers, text);
}

using Planes = std::vector<PlaneModel *>;

Planes select(Model &model, std::string_view selector)
{
  Planes planes;
  if (const auto type = kTypes.find(selector); type != kTypes.end() || selector == "all" || selector == "planes") {
    for (PlaneModel &plane : model.planes)
      if (selector == "all" || (selector == "planes" && plane.type != DRM_PLANE_TYPE_CURSOR) ||
          (type != kTypes.end() && plane.type == type->second))
        planes.push_back(&plane);
  } else {
    for (const std::string_view place : split(selector, ':'))
      if (const std::uint64_t index = number(place); index < model.planes.size())
        planes.push_back(&model.planes[index]);
  }
  if (planes.empty())
    throw NotUnderstood{std::string(selector) + ": no such plane"};
  return planes;
}

// One setting's parts: those between "/".
using Parts = std::vector<std::string_view>;
using Setter = std::function<void(Model &, const Parts &)>;

Setter for_planes(std::size_t parts, const std::function<void(PlaneModel &, const Parts &)> &set)
{
  return [parts, set](Model &model, const Parts &values) {
    if (values.size() < parts)
      throw NotUnderstood{"too few parts"};
    for (PlaneModel *plane : select(model, values[0]))
      set(*plane, values);
  };
}

void make_planes(Model &model, const Parts &parts)
{
  for (const std::string_view word : split(parts[0], ':')) {
    const Words times = split(word, '*');
    for (std::uint64_t i = 0; i < (times.size() > 1 ? number(times[1]) : 1); i++) {
      PlaneModel plane;
      plane.id = kPrimary + static_cast<std::uint32_t>(model.planes.size());
      plane.type = look_up(kTypes, times[0]);
      model.planes.push_back(plane);
    }
  }
}

void add_pairs(Model &model, const Parts &parts)
{
  for (PlaneModel *plane : select(model, parts.at(0)))
    for (const std::string_view format : split(parts.at(1), ':'))
      for (const std::string_view layout : split(parts.at(2), ':')) {
        plane->pairs.emplace_back(fourcc(format), modifier(layout));
        model.modifiers = model.modifiers && modifier(layout) != DRM_FORMAT_MOD_INVALID;
      }
}

void set_zpos(PlaneModel &plane, const Parts &parts)
{
  plane.has_zpos = true;
  plane.zpos_is_fixed = parts[1] == "fixed";
  plane.zpos = parts[2] == "index" ? plane.id - kPrimary : number(parts[2]);
  plane.least_zpos = plane.zpos_is_fixed ? plane.zpos : number(parts.at(3));
  plane.largest_zpos = plane.zpos_is_fixed ? plane.zpos : number(parts.at(4));
}

std::pair<std::uint64_t, std::uint64_t> two_numbers(std::string_view text, char at)
{
  const Words words = split(text, at);
  return {number(words.at(0)), number(words.at(1))};
}

void set_colours(PlaneModel &plane, const Parts &parts)
{
  for (const std::string_view name : split(parts[1], ':'))
    plane.encodings.push_back(look_up(kEncodings, name));
  plane.ranges = {{"YCbCr limited range", 0}};
  if (parts.size() < 3)
    plane.ranges.push_back({"YCbCr full range", 1});
}

const std::map<std::string_view, Setter> &setters()
{
  static const std::map<std::string_view, Setter> map = {
      {"driver", [](Model &model, const Parts &p) { model.driver = p[0]; }},
      {"planes", make_planes},
      {"pairs", add_pairs},
      {"covers", for_planes(1, [](PlaneModel &plane, const Parts &) { plane.covers = true; })},
      {"scale", for_planes(3, [](PlaneModel &plane, const Parts &p) { plane.up = factor(p[1]), plane.down = factor(p[2]); })},
      {"scale-yuv-down", [](Model &model, const Parts &p) { model.yuv_down = factor(p[0]); }},
      {"scale-error", [](Model &model, const Parts &p) { model.scale_error = look_up<int>({{"EINVAL", EINVAL}, {"ERANGE", ERANGE}}, p[0]); }},
      {"scalers", [](Model &model, const Parts &p) { model.scalers = static_cast<unsigned>(number(p[0])); }},
      {"zpos", for_planes(3, set_zpos)},
      {"rotation", for_planes(2, [](PlaneModel &plane, const Parts &p) {
         for (const std::string_view name : split(p[1], ':'))
           plane.rotations |= look_up(kRotations, name);
       })},
      {"quarter-turns", [](Model &model, const Parts &p) {
         for (const std::string_view name : split(p[0], ':'))
           model.quarter_turns.insert(modifier(name));
       }},
      {"turns-yuv", [](Model &model, const Parts &p) { model.turns_yuv = number(p[0]) != 0; }},
      {"blend", for_planes(2, [](PlaneModel &plane, const Parts &p) {
         for (const std::string_view name : split(p[1], ':'))
           plane.blending.push_back(look_up(kBlending, name));
       })},
      {"alpha", for_planes(1, [](PlaneModel &plane, const Parts &) { plane.alpha = true; })},
      {"colours", for_planes(2, set_colours)},
      {"even-yuv", [](Model &model, const Parts &p) { model.even_yuv = number(p[0]) != 0; }},
      {"smallest", for_planes(2, [](PlaneModel &plane, const Parts &p) {
         const auto [width, height] = two_numbers(p[1], 'x');
         plane.least_width = static_cast<std::uint32_t>(width), plane.least_height = static_cast<std::uint32_t>(height);
       })},
      {"pitch", [](Model &model, const Parts &p) { model.pitch = static_cast<std::uint32_t>(number(p[0])); }},
      {"row-pixels", [](Model &model, const Parts &p) { model.row_pixels = static_cast<std::uint32_t>(number(p[0])); }},
      {"unmodified-only", [](Model &model, const Parts &p) {
         for (const std::string_view name : split(p[0], ':'))
           *look_up<bool *>({{"size", &model.keeps_size}, {"format", &model.keeps_format}, {"pitch", &model.keeps_pitch}}, name) = true;
       }},
      {"needs-primary", [](Model &model, const Parts &p) { model.needs_primary = number(p[0]) != 0; }},
      {"cursor", [](Model &model, const Parts &p) { model.cursor = static_cast<std::uint32_t>(number(p[0])); }},
      {"cursor-sizes", [](Model &model, const Parts &p) {
         for (const std::string_view size : split(p[0], ':'))
           model.cursor_sizes.insert(static_cast<std::uint32_t>(number(size)));
       }},
      {"max-bpc", [](Model &model, const Parts &p) { model.max_bpc = two_numbers(p[0], ':'); }},
      {"writeback", [](Model &model, const Parts &p) {
         for (const std::string_view name : split(p[0], ':'))
           model.writeback.push_back(fourcc(name));
       }},
      {"async", [](Model &model, const Parts &p) { model.async = number(p[0]) != 0; }},
      {"link", [](Model &model, const Parts &p) { model.bad_link = p[0] == "bad"; }},
  };
  return map;
}

} // namespace

Model::Model() : scale_error(ERANGE) {}

bool PlaneModel::lists(std::uint32_t format, std::uint64_t layout) const
{
  if (layout >> 56 == DRM_FORMAT_MOD_VENDOR_BROADCOM) // vc4_plane.c, vc4_format_mod_supported()
    layout = fourcc_mod_broadcom_mod(layout);
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto &pair) {
    return pair.first == format && (pair.second == layout || pair.second == DRM_FORMAT_MOD_INVALID);
  });
}

std::vector<std::uint32_t> PlaneModel::fourccs() const
{
  std::vector<std::uint32_t> list;
  for (const auto &[format, layout] : pairs)
    if (std::find(list.begin(), list.end(), format) == list.end())
      list.push_back(format);
  return list;
}

std::vector<std::uint32_t> Model::plane_ids() const
{
  std::vector<std::uint32_t> ids;
  for (const PlaneModel &plane : planes)
    ids.push_back(plane.id);
  return ids;
}

const PlaneModel *Model::plane(std::uint32_t id) const
{
  for (const PlaneModel &plane : planes)
    if (plane.id == id)
      return &plane;
  return nullptr;
}

std::string Model::why_no_framebuffer(std::uint32_t format, std::uint64_t layout, std::uint32_t pitch_bytes) const
{
  const bool listed = std::any_of(planes.begin(), planes.end(),
                                  [&](const PlaneModel &plane) { return plane.lists(format, layout); });
  if (!listed)
    return "no plane lists the format";
  if (layout == DRM_FORMAT_MOD_LINEAR && pitch_bytes % pitch != 0)
    return "the pitch is no multiple of " + std::to_string(pitch);
  return {};
}

std::shared_ptr<const Model> make_model(const std::vector<std::string_view> &settings, std::string &error)
{
  auto model = std::make_shared<Model>();
  for (const std::string_view setting : settings) {
    const std::size_t equals = setting.find('=');
    try {
      const Setter &set = look_up(setters(), setting.substr(0, equals));
      set(*model, split(equals == std::string_view::npos ? "" : setting.substr(equals + 1), '/'));
    } catch (const NotUnderstood &what) {
      error = "Setting \"" + std::string(setting) + "\" of a display is not understood: " + what.text + ".";
      return nullptr;
    } catch (const std::out_of_range &) {
      error = "Setting \"" + std::string(setting) + "\" of a display has too few parts.";
      return nullptr;
    }
  }
  list_objects(*model);
  return model;
}

std::shared_ptr<const Model> make_model(std::string_view name, std::string &error)
{
  const Profile *profile = find_profile(name, error);
  if (!profile)
    return nullptr;
  std::vector<std::string_view> settings;
  for (const Fact &fact : profile->facts)
    settings.push_back(fact.setting);
  return make_model(settings, error);
}

} // namespace gstdrm::test::fakedrm
