// SPDX-License-Identifier: LGPL-2.1-or-later
#include "settings.hpp"

#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include <drm_fourcc.h>

#include "counters.hpp"

namespace gstdrm::test::vadriver {
namespace {

struct NamedModifier {
  std::string_view name;
  std::uint64_t modifier;
};
constexpr std::array kModifiers = {
    NamedModifier{"linear", DRM_FORMAT_MOD_LINEAR},
    NamedModifier{"x-tiled", I915_FORMAT_MOD_X_TILED},
    NamedModifier{"vivante", DRM_FORMAT_MOD_VIVANTE_TILED},
    NamedModifier{"samsung", DRM_FORMAT_MOD_SAMSUNG_64_32_TILE},
};

constexpr std::array<std::pair<std::string_view, Lie>, 18> kLies = {{
    {"zero-objects", Lie::ZeroObjects},
    {"many-objects", Lie::ManyObjects},
    {"object-index", Lie::ObjectIndex},
    {"offset", Lie::Offset},
    {"offset-overflow", Lie::OffsetOverflow},
    {"modifier", Lie::Modifier},
    {"invalid-modifier", Lie::InvalidModifier},
    {"zero-pitch", Lie::ZeroPitch},
    {"short-pitch", Lie::ShortPitch},
    {"small-object", Lie::SmallObject},
    {"large-object", Lie::LargeObject},
    {"many-layers", Lie::ManyLayers},
    {"zero-layers", Lie::ZeroLayers},
    {"many-planes", Lie::ManyPlanes},
    {"fourcc", Lie::Fourcc},
    {"size", Lie::Size},
    {"dead-fd", Lie::DeadFd},
    {"unsized", Lie::Unsized},
}};

constexpr std::array<std::pair<std::string_view, Memory>, 4> kMemories = {{
    {"auto", Memory::Auto},
    {"udmabuf", Memory::Udmabuf},
    {"dma-heap", Memory::DmaHeap},
    {"memfd", Memory::Memfd},
}};

std::pair<std::string_view, std::string_view> split(std::string_view text, char separator)
{
  const auto at = text.find(separator);
  if (at == std::string_view::npos)
    return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

template <typename T> bool parse_number(std::string_view text, T &number)
{
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parse_bool(std::string_view text, bool &value)
{
  value = text == "1";
  return text == "0" || text == "1";
}

// Calls `one` for each part of "a:b:c".
bool each(std::string_view list, const std::function<bool(std::string_view)> &one)
{
  while (!list.empty()) {
    auto [head, tail] = split(list, ':');
    if (!one(head))
      return false;
    list = tail;
  }
  return true;
}

bool parse_modifiers(std::string_view list, std::vector<std::uint64_t> &modifiers)
{
  return each(list, [&](std::string_view name) {
    for (const auto &known : kModifiers) {
      if (known.name == name) {
        modifiers.push_back(known.modifier);
        return true;
      }
    }
    std::uint64_t modifier = 0;
    if (!name.starts_with("0x") || !parse_number(name, modifier))
      return false;
    modifiers.push_back(modifier);
    return true;
  });
}

bool parse_formats(std::string_view list, std::vector<std::uint32_t> &formats)
{
  return each(list, [&](std::string_view name) {
    if (name.size() != 4)
      return false;
    formats.push_back(
        fourcc_code(static_cast<unsigned char>(name[0]), static_cast<unsigned char>(name[1]),
                    static_cast<unsigned char>(name[2]), static_cast<unsigned char>(name[3])));
    return true;
  });
}

bool parse_layers(std::string_view list, Settings &settings)
{
  settings.composed = settings.separate = false;
  return each(list, [&](std::string_view name) {
    settings.composed |= name == "composed";
    settings.separate |= name == "separate";
    return name == "composed" || name == "separate" || name == "none";
  });
}

bool parse_failure(std::string_view value, Settings &settings)
{
  const auto [call, nth] = split(value, ':');
  Failure failure{std::string(call), 0};
  if (!nth.empty() && !parse_number(nth, failure.nth))
    return false;
  bool known = false;
  for (const auto &name : kCounterNames)
    known = known || name == call;
  settings.failures.push_back(std::move(failure));
  return known;
}

bool parse_lie(std::string_view value, Settings &settings)
{
  const auto [name, from] = split(value, ':');
  if (!from.empty() && !parse_number(from, settings.lie_from))
    return false;
  for (const auto &[known, lie] : kLies) {
    if (known == name) {
      settings.lie = lie;
      return true;
    }
  }
  return false;
}

bool parse_memory(std::string_view value, Settings &settings)
{
  for (const auto &[name, memory] : kMemories) {
    if (name == value) {
      settings.memory = memory;
      return true;
    }
  }
  return false;
}

bool parse_one(std::string_view key, std::string_view value, Settings &s)
{
  const std::array<std::pair<std::string_view, std::function<bool()>>, 21> keys = {{
      {"objects", [&] { return parse_number(value, s.objects) && s.objects >= 1; }},
      {"stride-align", [&] { return parse_number(value, s.stride_align) && s.stride_align >= 1; }},
      {"stride-extra", [&] { return parse_number(value, s.stride_extra); }},
      {"height-pad", [&] { return parse_number(value, s.height_pad); }},
      {"formats", [&] { return parse_formats(value, s.formats); }},
      {"modifiers", [&] { return parse_modifiers(value, s.modifiers); }},
      {"accept-modifiers", [&] { return parse_bool(value, s.accept_modifiers); }},
      {"list-modifiers", [&] { return parse_bool(value, s.list_modifiers); }},
      {"report-modifier", [&] { return parse_bool(value, s.report_modifier); }},
      {"layers", [&] { return parse_layers(value, s); }},
      {"vpp", [&] { return parse_bool(value, s.vpp); }},
      {"derive", [&] { return parse_bool(value, s.derive); }},
      {"put", [&] { return parse_bool(value, s.put); }},
      {"memory", [&] { return parse_memory(value, s); }},
      {"async", [&] { return parse_number(value, s.async_ms); }},
      {"fences", [&] { return parse_bool(value, s.fences); }},
      {"surfaces", [&] { return parse_number(value, s.max_surfaces); }},
      {"max-size", [&] { return parse_number(value, s.max_size); }},
      {"lie", [&] { return parse_lie(value, s); }},
      {"fail", [&] { return parse_failure(value, s); }},
      {"counters",
       [&] {
         s.counters_path = value;
         return !value.empty();
       }},
  }};
  for (const auto &[name, apply] : keys) {
    if (name == key)
      return apply();
  }
  return false;
}

} // namespace

bool parse_settings(std::string_view text, Settings &settings, std::string &error)
{
  while (!text.empty()) {
    auto [pair, rest] = split(text, ',');
    text = rest;
    const auto [key, value] = split(pair, '=');
    if (!parse_one(key, value, settings)) {
      error = "GST_DRM_VA_TEST: '" + std::string(pair) +
              "' is not understood; see tests/va-driver/README.md";
      return false;
    }
  }
  if (settings.modifiers.empty())
    settings.modifiers.push_back(DRM_FORMAT_MOD_LINEAR);
  return true;
}

} // namespace gstdrm::test::vadriver
