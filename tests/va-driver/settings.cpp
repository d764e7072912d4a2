// SPDX-License-Identifier: LGPL-2.1-or-later
#include "settings.hpp"

#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include <drm_fourcc.h>
#include <va/va.h>

#include "counters.hpp"
#include "machine.hpp"
#include "profiles.hpp"

namespace gstdrm::test::vadriver {
namespace {

struct NamedModifier {
  std::string_view name;
  std::uint64_t modifier;
};
constexpr std::array kModifiers = {
    NamedModifier{"linear", DRM_FORMAT_MOD_LINEAR},
    NamedModifier{"x-tiled", I915_FORMAT_MOD_X_TILED},
    NamedModifier{"y-tiled", I915_FORMAT_MOD_Y_TILED},
    NamedModifier{"vivante", DRM_FORMAT_MOD_VIVANTE_TILED},
    NamedModifier{"samsung", DRM_FORMAT_MOD_SAMSUNG_64_32_TILE},
};

constexpr std::array<std::pair<std::string_view, Lie>, 19> kLies = {{
    {"none", Lie::None},
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
  modifiers.clear();
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

// A list replaces what a profile or an earlier setting said.
bool parse_formats(std::string_view list, std::vector<std::uint32_t> &formats)
{
  formats.clear();
  return each(list, [&](std::string_view name) {
    // VA_FOURCC_X2R10G10B10 and VA_FOURCC_A2R10G10B10 have unprintable letters
    if (name == "X2R10")
      formats.push_back(VA_FOURCC_X2R10G10B10);
    else if (name == "A2R10")
      formats.push_back(VA_FOURCC_A2R10G10B10);
    else if (name.size() == 4)
      formats.push_back(
          fourcc_code(static_cast<unsigned char>(name[0]), static_cast<unsigned char>(name[1]),
                      static_cast<unsigned char>(name[2]), static_cast<unsigned char>(name[3])));
    else
      return false;
    return true;
  });
}

bool parse_alias(std::string_view value, std::vector<Alias> &aliases)
{
  std::vector<std::uint32_t> names;
  if (!parse_formats(value, names) || names.size() != 3)
    return false;
  aliases.push_back({names[0], names[1], names[2]});
  return true;
}

bool parse_deinterlacing(std::string_view list, std::vector<VAProcDeinterlacingType> &types)
{
  constexpr std::array<std::pair<std::string_view, VAProcDeinterlacingType>, 4> kNames{
      {{"bob", VAProcDeinterlacingBob},
       {"weave", VAProcDeinterlacingWeave},
       {"adaptive", VAProcDeinterlacingMotionAdaptive},
       {"compensated", VAProcDeinterlacingMotionCompensated}}};
  types.clear();
  return each(list, [&](std::string_view name) {
    for (const auto &[known, type] : kNames) {
      if (known == name) {
        types.push_back(type);
        return true;
      }
    }
    return name == "none";
  });
}

bool parse_needs(std::string_view value, Settings &settings)
{
  const auto [before, behind] = split(value, ':');
  return parse_number(before, settings.frames_before) && settings.frames_before >= 1 &&
         parse_number(behind, settings.frames_behind);
}

bool parse_matrix(std::string_view name, Matrix &matrix)
{
  constexpr std::array<std::pair<std::string_view, Matrix>, 3> kNames{
      {{"601", Matrix::Bt601}, {"709", Matrix::Bt709}, {"2020", Matrix::Bt2020}}};
  for (const auto &[known, value] : kNames) {
    if (known == name) {
      matrix = value;
      return true;
    }
  }
  return false;
}

bool parse_colours(std::string_view list, Settings &settings)
{
  settings.matrices.clear();
  settings.explicit_colours = false;
  return each(list, [&](std::string_view name) {
    Matrix matrix{};
    if (parse_matrix(name, matrix))
      settings.matrices.push_back(matrix);
    else if (name == "explicit")
      settings.explicit_colours = true;
    else
      return name == "none";
    return true;
  });
}

bool parse_fixed_colours(std::string_view value, Settings &settings)
{
  const auto [from, to] = split(value, ':');
  settings.fixed_colours = true;
  return parse_matrix(from, settings.fixed_from) && parse_matrix(to, settings.fixed_to);
}

bool parse_tall(std::string_view value, Settings &settings)
{
  const auto [modifier, rows] = split(value, ':');
  return parse_number(modifier, settings.tall_modifier) && parse_number(rows, settings.tall_rows);
}

// "500:100"
bool parse_said_sizes(std::string_view value, Settings &settings)
{
  const auto [least, most] = split(value, ':');
  settings.lies_of_sizes = true;
  return parse_number(least, settings.said_min) && parse_number(most, settings.said_max);
}

// "x-tiled:100"
bool parse_above(std::string_view value, std::uint64_t &modifier, std::uint32_t &rows)
{
  const auto [name, number] = split(value, ':');
  std::vector<std::uint64_t> one;
  if (!parse_modifiers(name, one) || one.size() != 1 || !parse_number(number, rows))
    return false;
  modifier = one.front();
  return true;
}

bool parse_one(std::string_view key, std::string_view value, Settings &s);

// The profile is nothing but settings; what stands after it replaces them.
bool parse_profile(std::string_view name, Settings &settings)
{
  const auto *profile = find_profile(name);
  if (!profile)
    return false;
  settings.profile = name;
  for (const auto &fact : profile->facts) {
    const auto [key, value] = split(fact.setting, '=');
    if (!parse_one(key, value, settings))
      return false;
  }
  return true;
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

bool parse_failure(std::string_view value, Mishap mishap, Settings &settings)
{
  const auto [call, nth] = split(value, ':');
  Failure failure{mishap, std::string(call), 0};
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
  const std::array<std::pair<std::string_view, std::function<bool()>>, 57> keys = {{
      {"objects", [&] { return parse_number(value, s.objects) && s.objects >= 1; }},
      {"stride-align", [&] { return parse_number(value, s.stride_align) && s.stride_align >= 1; }},
      {"stride-extra", [&] { return parse_number(value, s.stride_extra); }},
      {"height-pad", [&] { return parse_number(value, s.height_pad); }},
      {"formats", [&] { return parse_formats(value, s.formats); }},
      {"modifiers", [&] { return parse_modifiers(value, s.modifiers); }},
      {"accept-modifiers", [&] { return parse_bool(value, s.accept_modifiers); }},
      {"list-modifiers", [&] { return parse_bool(value, s.list_modifiers); }},
      {"report-modifier", [&] { return parse_bool(value, s.report_modifier); }},
      {"ignore-modifiers", [&] { return parse_bool(value, s.ignore_modifiers); }},
      {"implicit-unless-listed", [&] { return parse_bool(value, s.implicit_unless_listed); }},
      {"linear-by-descriptor", [&] { return parse_bool(value, s.linear_by_descriptor); }},
      {"linear-formats", [&] { return parse_formats(value, s.linear_formats); }},
      {"tall", [&] { return parse_tall(value, s); }},
      {"make-refused-above",
       [&] { return parse_above(value, s.make_refused, s.make_refused_above); }},
      {"draw-refused-above",
       [&] { return parse_above(value, s.draw_refused, s.draw_refused_above); }},
      {"said-sizes", [&] { return parse_said_sizes(value, s); }},
      {"alias", [&] { return parse_alias(value, s.aliases); }},
      {"export-refused", [&] { return parse_formats(value, s.export_refused); }},
      {"composed-refused", [&] { return parse_formats(value, s.composed_refused); }},
      {"vpp-refused", [&] { return parse_formats(value, s.vpp_refused); }},
      {"read-refused", [&] { return parse_formats(value, s.read_refused); }},
      {"vpp-refused-above", [&] { return parse_number(value, s.vpp_refused_above); }},
      {"pipelines", [&] { return parse_number(value, s.pipelines); }},
      {"deinterlace", [&] { return parse_deinterlacing(value, s.deinterlacing); }},
      {"deinterlace-needs", [&] { return parse_needs(value, s); }},
      {"colours", [&] { return parse_colours(value, s); }},
      {"fixed-colours", [&] { return parse_fixed_colours(value, s); }},
      {"bob", [&] { return parse_bool(value, s.bob_works); }},
      {"background", [&] { return parse_bool(value, s.background); }},
      {"import-objects", [&] { return parse_bool(value, s.import_objects); }},
      {"rotate", [&] { return parse_bool(value, s.rotates); }},
      {"import-prime2", [&] { return parse_bool(value, s.import_prime2); }},
      {"import-refused-above",
       [&] { return parse_above(value, s.import_refused_tall, s.import_refused_above); }},
      {"import-refused", [&] { return parse_modifiers(value, s.import_refused); }},
      {"status-ready", [&] { return parse_bool(value, s.status_ready); }},
      {"vendor",
       [&] {
         s.vendor = value;
         return !value.empty();
       }},
      {"profile", [&] { return parse_profile(value, s); }},
      {"machine", [&] { return play_machine(std::string(value), s); }},
      {"min-size", [&] { return parse_number(value, s.min_size) && s.min_size >= 1; }},
      {"layers", [&] { return parse_layers(value, s); }},
      {"vpp", [&] { return parse_bool(value, s.vpp); }},
      {"derive", [&] { return parse_bool(value, s.derive); }},
      {"queue-put", [&] { return parse_bool(value, s.queue_put); }},
      {"put", [&] { return parse_bool(value, s.put); }},
      {"memory", [&] { return parse_memory(value, s); }},
      {"async", [&] { return parse_number(value, s.async_ms); }},
      {"fences", [&] { return parse_bool(value, s.fences); }},
      {"surfaces", [&] { return parse_number(value, s.max_surfaces); }},
      {"max-size", [&] { return parse_number(value, s.max_size); }},
      {"lie", [&] { return parse_lie(value, s); }},
      {"fail", [&] { return parse_failure(value, Mishap::Error, s); }},
      {"crash", [&] { return parse_failure(value, Mishap::Crash, s); }},
      {"hang", [&] { return parse_failure(value, Mishap::Hang, s); }},
      {"exit", [&] { return parse_failure(value, Mishap::Exit, s); }},
      {"prints", [&] { return parse_bool(value, s.prints); }},
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

std::string settings_of_node(std::string_view text, std::string_view node)
{
  auto [chosen, sections] = split(text, '@');
  std::string result(chosen);
  while (!sections.empty()) {
    const auto [section, others] = split(sections, '@');
    const auto [name, own] = split(section, ',');
    if (name == node && !own.empty())
      result += (result.empty() ? "" : ",") + std::string(own);
    sections = others;
  }
  return result;
}

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
