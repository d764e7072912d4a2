// SPDX-License-Identifier: LGPL-2.1-or-later
// Fuzz target: the algebra of format sets against std::set, and its laws.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include <gst/drm/drm.h>

#include "fuzz/bytes.hpp"
#include "fuzz/gstreamer.hpp"

namespace {

using gstdrm::test::Bytes;
using gstdrm::test::expect;

using Pair = std::pair<guint32, guint64>;
using Model = std::set<Pair>;

struct SetDeleter {
  void operator()(GstDrmFormatSet *set) const { gst_drm_format_set_unref(set); }
};
using SetPtr = std::unique_ptr<GstDrmFormatSet, SetDeleter>;

constexpr guint32 kFourccs[] = {0x3231564e, 0x34325258, 0x20203852, 0x36314752 | 1U << 31, 0x32315559, 0};
constexpr guint64 kModifiers[] = {0, GST_DRM_MODIFIER_IMPLICIT, 1, 0x0100000000000002, G_MAXUINT64};

struct Both {
  SetPtr set{gst_drm_format_set_new()};
  Model model;
};

Both build(Bytes &bytes)
{
  Both both;
  for (std::size_t n = bytes.choose(12); n > 0; --n) {
    const std::size_t f = bytes.choose(G_N_ELEMENTS(kFourccs) + 1);
    const std::size_t m = bytes.choose(G_N_ELEMENTS(kModifiers) + 1);
    const guint32 fourcc = f < G_N_ELEMENTS(kFourccs) ? kFourccs[f] : bytes.number<guint32>();
    const guint64 modifier = m < G_N_ELEMENTS(kModifiers) ? kModifiers[m] : bytes.number<guint64>();
    const bool valid = [fourcc] {
      g_autofree gchar *text = gst_drm_format_to_string(fourcc, GST_DRM_MODIFIER_LINEAR);
      return text != nullptr;
    }();
    const bool fresh = valid && both.model.emplace(fourcc, modifier).second;
    expect(gst_drm_format_set_add(both.set.get(), fourcc, modifier) == fresh, "a pair is added once, and if it is one");
  }
  return both;
}

Model model_of(const GstDrmFormatSet *set)
{
  Model model;
  Pair last{};
  for (guint i = 0; i < gst_drm_format_set_get_size(set); ++i) {
    Pair pair;
    expect(gst_drm_format_set_get(set, i, &pair.first, &pair.second), "every index below the size");
    expect(gst_drm_format_set_contains(set, pair.first, pair.second), "what is listed is contained");
    expect(model.insert(pair).second, "no pair twice");
    expect(i == 0 || last.first != pair.first || last.second < pair.second, "sorted within a fourcc");
    last = pair;
  }
  expect(!gst_drm_format_set_get(set, gst_drm_format_set_get_size(set), nullptr, nullptr), "nothing at the end");
  return model;
}

void check_modifiers(const Both &both)
{
  for (const guint32 fourcc : kFourccs) {
    guint n = 0;
    g_autofree guint64 *modifiers = gst_drm_format_set_get_modifiers(both.set.get(), fourcc, &n);
    const auto count = std::count_if(both.model.begin(), both.model.end(), [fourcc](const Pair &p) { return p.first == fourcc; });
    expect(n == static_cast<guint>(count) && (modifiers == nullptr) == (n == 0), "all modifiers of a fourcc");
    for (guint i = 0; i < n; ++i)
      expect(both.model.count({fourcc, modifiers[i]}) == 1, "and no other");
  }
}

void check_caps(const Both &both)
{
  g_autoptr(GstCaps) caps = gst_drm_format_set_to_caps(both.set.get());
  const SetPtr again(gst_drm_format_set_new_from_caps(caps));
  expect(again != nullptr, "caps of a set are a set");
  Model expected; // what has a text or a name
  for (const Pair &pair : both.model)
    if (pair.second != GST_DRM_MODIFIER_IMPLICIT ||
        gst_drm_format_to_video_format(pair.first, GST_DRM_MODIFIER_LINEAR) != GST_VIDEO_FORMAT_UNKNOWN)
      expected.insert(pair);
  expect(model_of(again.get()) == expected, "a set survives its caps");
}

template <typename Operation> Model combine(const Model &a, const Model &b, Operation &&operation)
{
  Model out;
  operation(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

void check_pair(const Both &a, const Both &b)
{
  const SetPtr both(gst_drm_format_set_intersect(a.set.get(), b.set.get()));
  const SetPtr either(gst_drm_format_set_union(a.set.get(), b.set.get()));
  const SetPtr rest(gst_drm_format_set_subtract(a.set.get(), b.set.get()));
  const SetPtr legacy(gst_drm_format_set_intersect_full(a.set.get(), b.set.get(), GST_DRM_FORMAT_SET_FLAG_LINEAR_FOR_IMPLICIT));
  const auto intersection = [](auto... args) { std::set_intersection(args...); };
  const auto unite = [](auto... args) { std::set_union(args...); };
  const auto difference = [](auto... args) { std::set_difference(args...); };
  expect(model_of(both.get()) == combine(a.model, b.model, intersection), "intersection");
  expect(model_of(either.get()) == combine(a.model, b.model, unite), "union");
  expect(model_of(rest.get()) == combine(a.model, b.model, difference), "difference");
  expect(gst_drm_format_set_is_subset(both.get(), legacy.get()), "the implicit rule only adds");
  const SetPtr together(gst_drm_format_set_union(both.get(), rest.get()));
  expect(gst_drm_format_set_is_equal(together.get(), a.set.get()), "parts make the whole");
  const bool subset = std::includes(b.model.begin(), b.model.end(), a.model.begin(), a.model.end());
  expect(gst_drm_format_set_is_subset(a.set.get(), b.set.get()) == subset, "subset");
  expect(gst_drm_format_set_is_equal(a.set.get(), b.set.get()) == (a.model == b.model), "equality");
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  return gstdrm::test::init_gstreamer(argc, argv);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  Bytes bytes(data, size);
  const Both a = build(bytes);
  const Both b = build(bytes);
  expect(model_of(a.set.get()) == a.model && model_of(b.set.get()) == b.model, "a set has what was added");
  check_pair(a, b);
  check_pair(b, a);
  check_pair(a, a);
  check_modifiers(a);
  check_caps(a);
  const SetPtr copy(gst_drm_format_set_copy(a.set.get()));
  expect(gst_drm_format_set_is_equal(copy.get(), a.set.get()), "a copy is equal");
  g_autofree gchar *text = gst_drm_format_set_to_string(a.set.get());
  expect(g_utf8_validate(text, -1, nullptr), "a set has a text");
  return 0;
}
