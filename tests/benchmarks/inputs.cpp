// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <stdexcept>

#include "bench.hpp"
#include "support/gpu_table.hpp"

namespace gstdrm::bench {

namespace {

SetPtr make_set(const std::vector<Format> &pairs)
{
  SetPtr set(gst_drm_format_set_new());
  for (const Format &pair : pairs)
    gst_drm_format_set_add(set.get(), pair.fourcc, pair.modifier);
  return set;
}

// As an element would answer a caps query.
CapsPtr make_caps(const std::vector<Format> &pairs)
{
  GValue list = G_VALUE_INIT;
  g_value_init(&list, GST_TYPE_LIST);
  for (const Format &pair : pairs) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, G_TYPE_STRING);
    g_value_take_string(&item, gst_drm_format_to_string(pair.fourcc, pair.modifier));
    gst_value_list_append_and_take_value(&list, &item);
  }
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, "DMA_DRM", "width",
                                      GST_TYPE_INT_RANGE, 1, G_MAXINT, "height", GST_TYPE_INT_RANGE,
                                      1, G_MAXINT, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1,
                                      G_MAXINT, 1, nullptr);
  gst_structure_take_value(gst_caps_get_structure(caps, 0), "drm-format", &list);
  gst_caps_set_features_simple(caps, gst_caps_features_new_single(GST_CAPS_FEATURE_MEMORY_DMABUF));
  return CapsPtr(caps);
}

std::vector<Format> sorted(std::vector<Format> pairs)
{
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// `n` pairs, 10 modifiers to a fourcc, as many as a large driver has.
std::vector<Format> synthetic(std::size_t n, std::uint64_t first_modifier)
{
  std::vector<Format> pairs(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t f = i / 10;
    const auto digit = [f](std::size_t place) { return static_cast<char>('A' + f / place % 26); };
    pairs[i] = {make_fourcc('Q', digit(676), digit(26), digit(1)), first_modifier + i % 10};
  }
  return pairs;
}

std::vector<Format> reversed(std::vector<Format> pairs)
{
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<Inputs> make_all()
{
  using test::load_gpu_table;
  constexpr std::uint64_t kA = 0x0100000000000001;
  constexpr std::uint64_t kB = 0x0200000000000001;
  std::vector<Inputs> all;
  all.push_back(
      make_inputs("navi31*vangogh", load_gpu_table("amd-navi31"), load_gpu_table("amd-vangogh")));
  all.push_back(
      make_inputs("navi31*navi31", load_gpu_table("amd-navi31"), load_gpu_table("amd-navi31")));
  all.push_back(
      make_inputs("nouveau*navi31", load_gpu_table("nouveau-nv106"), load_gpu_table("amd-navi31")));
  all.push_back(
      make_inputs("gfx1201*navi31", load_gpu_table("amd-gfx1201"), load_gpu_table("amd-navi31")));
  all.push_back(
      make_inputs("a660*asahi", load_gpu_table("freedreno-a660"), load_gpu_table("asahi-g13g")));
  all.push_back(
      make_inputs("llvmpipe*navi31", load_gpu_table("llvmpipe"), load_gpu_table("amd-navi31")));
  for (const std::size_t n : {1000U, 10000U}) {
    const std::string count = std::to_string(n);
    all.push_back(make_inputs(count + "-same", synthetic(n, kA), reversed(synthetic(n, kA))));
    all.push_back(make_inputs(count + "-disjoint", synthetic(n, kA), synthetic(n, kB)));
  }
  return all;
}

} // namespace

Inputs make_inputs(std::string name, std::vector<Format> a, std::vector<Format> b)
{
  return Inputs{std::move(name), sorted(a),    sorted(b),   make_set(a),
                make_set(b),     make_caps(a), make_caps(b)};
}

const std::vector<Inputs> &all_inputs()
{
  static const std::vector<Inputs> all = make_all();
  return all;
}

const Inputs &inputs(const std::string &name)
{
  for (const Inputs &in : all_inputs()) {
    if (in.name == name)
      return in;
  }
  throw std::invalid_argument(name);
}

namespace {

bool before(const Format &a, const Format &b) noexcept
{
  return a.fourcc != b.fourcc ? a.fourcc < b.fourcc : a.modifier < b.modifier;
}

} // namespace

std::size_t floor_intersect(const std::vector<Format> &a, const std::vector<Format> &b,
                            std::vector<Format> &out)
{
  return static_cast<std::size_t>(
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out.begin(), before) -
      out.begin());
}

std::size_t floor_unite(const std::vector<Format> &a, const std::vector<Format> &b,
                        std::vector<Format> &out)
{
  return static_cast<std::size_t>(
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), out.begin(), before) - out.begin());
}

WlrootsSet wlroots_set(const std::vector<Format> &pairs)
{
  WlrootsSet set;
  for (const Format &pair : pairs) {
    const auto it = std::find_if(set.begin(), set.end(), [&](const WlrootsFormat &known) {
      return known.fourcc == pair.fourcc;
    });
    if (it == set.end())
      set.push_back({pair.fourcc, {pair.modifier}});
    else
      it->modifiers.push_back(pair.modifier);
  }
  return set;
}

WlrootsSet wlroots_intersect(const WlrootsSet &a, const WlrootsSet &b)
{
  WlrootsSet common;
  common.reserve(std::min(a.size(), b.size()));
  for (const WlrootsFormat &format : a) {
    for (const WlrootsFormat &other : b) {
      if (format.fourcc != other.fourcc)
        continue;
      WlrootsFormat both{format.fourcc, {}};
      both.modifiers.reserve(std::min(format.modifiers.size(), other.modifiers.size()));
      for (const std::uint64_t modifier : format.modifiers) {
        if (std::find(other.modifiers.begin(), other.modifiers.end(), modifier) !=
            other.modifiers.end())
          both.modifiers.push_back(modifier);
      }
      if (!both.modifiers.empty())
        common.push_back(std::move(both));
      break;
    }
  }
  return common;
}

} // namespace gstdrm::bench
