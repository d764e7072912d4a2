// SPDX-License-Identifier: LGPL-2.1-or-later
// What a conflict says, word for word, and that its smallest change makes the accessors fit.
#include <gtest/gtest.h>

#include <gst/drm/core/json_writer.hpp>

#include "constraint_text.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::accessors_of;
using gstdrm::test::apply_change;
using gstdrm::test::reconcile_all;

Conflict conflict_of(const char *text)
{
  auto outcome = reconcile_all(accessors_of(text));
  return std::holds_alternative<Conflict>(outcome) ? std::get<Conflict>(std::move(outcome)) : Conflict();
}

TEST(Conflict, KeepsTheValueOfEveryAccessor)
{
  EXPECT_EQ(conflict_to_text(conflict_of("camera device=/dev/video0 stride-align=48 | display stride-align=64 | cpu cpu-access=read")),
            "No buffer suits all 3 accessors.\n"
            "stride-align: 48 is not a power of two.\n"
            "  camera on /dev/video0: 48 bytes\n"
            "  display: 64 bytes\n"
            "  cpu: any\n"
            "  Smallest change: Let camera on /dev/video0 ask for 64 bytes as stride-align.");
}

struct Row {
  const char *name;
  const char *accessors;
  const char *change; // of the first failure
};

const Row kRows[] = {
    {"MostTakeTheFormat", "a formats=NV12,XR24 | b formats=NV12,AR24 | c formats=XR24:0x0100000000000001", "Let c also take NV12 (LINEAR)."},
    {"LinearIsPreferred", "a formats=XR24:0x0100000000000001 | b formats=XR24", "Let a also take XR24 (LINEAR)."},
    {"OneIsTooNarrow", "a width=1..1920 | b width=1..4096 | c width=2048..4096", "Let c also take 1920 pixels as width."},
    {"TheNearerOfTwo", "a height=100..200 | b height=210..300", "Let b also take 200 pixels as height."},
    {"SmallStride", "a formats=XR24 width=640 height=480 | b stride=1..2048", "Let b also take 2560 bytes as stride."},
    {"SmallBuffer", "a formats=NV12 width=640 height=480 | b size=1..400000", "Let b also take 460800 bytes as size."},
    {"TypesByMajority", "a buffer-type=raw size=1 | b buffer-type=image | c buffer-type=raw", "Let b ask for raw as buffer-type."},
    {"Dims", "a tensor-type=int8 tensor-dims=4x4 | b tensor-dims=4x5 | c tensor-dims=4x5", "Let a ask for 4x5 as tensor-dims."},
    {"Memory", "a placement=contiguous | b placement=contiguous | c placement=system", "Let c also take contiguous memory."},
    {"Heap", "a placement=heap:cma | b placement=heap:cma | c placement=system", "Let c also take memory of the heap cma."},
    {"TwoDevices", "a device=x placement=device | b device=y placement=device", "Let a on x also take system memory; let b on y also take system memory."},
    {"Pool", "a buffers-held=3 | b buffers-held=3 | c buffers=1..4", "Let c also take 6 as buffers."},
    {"TooManyHeld", "a buffers-held=65000 | b buffers-held=600", "Let a ask for 64936 as buffers-held."},
    {"AllHoldTooMuch", "a buffers-held=65536 | b buffers-held=65535 | c buffers-held=2", "Let a ask for 1 as buffers-held; let b ask for 65533 as buffers-held."},
    {"OneHoldsMoreThanAPool", "a buffers-held=5000 | b buffers=1..256 | c buffers-held=2", "Let a ask for 254 as buffers-held."},
    {"OtherHeap", "a placement=heap:a+heap:cma | b placement=heap:b+heap:cma | c placement=heap:c", "Let c also take memory of the heap cma."},
    {"BadHeap", "a placement=heap:../x", "Let a leave placement out."},
    {"StrideBetweenMultiples", "a stride=2600 | b stride-align=256", "Let a also take 2816 bytes as stride."},
    {"SizeBetweenMultiples", "a size=5000 | b size-align=4096", "Let a also take 8192 bytes as size."},
    {"MoreFdsThanPlanes", "a fds=2 | b planes=1", "Let a also take 1 as fds."},
    {"NamelessDevice", "a placement=device | b device=gpu0 placement=device", "Let a also take system memory; let b on gpu0 also take system memory."},
    {"CpuInDeviceMemory", "a device=gpu0 placement=device | b cpu-access=read", "Let a on gpu0 also take system memory."},
    {"BadAccess", "a cpu-access=9", "Let a ask for read and write as cpu-access."},
    {"BadPermissions", "a permissions=9", "Let a ask for read and write as permissions."},
    {"Levels", "a pyramid-levels=3 pyramid-scale=32768 | b pyramid-levels=4", "Let b ask for 3 as pyramid-levels."},
    {"Scale", "a pyramid-levels=3 pyramid-scale=32768 | b pyramid-scale=32767", "Let b ask for 32768 of 65536 as pyramid-scale."},
    {"Elements", "a array-element=4 array-capacity=2 | b array-element=8", "Let b ask for 4 bytes as array-element."},
    {"Capacity", "a array-element=4 array-capacity=2 | b array-capacity=3", "Let b ask for 2 elements as array-capacity."},
    {"TensorTypes", "a tensor-type=int8 tensor-dims=4 | b tensor-type=uint8", "Let b ask for int8 as tensor-type."},
    {"StrideAlign", "a stride-align=48", "Let a ask for 64 bytes as stride-align."},
    {"OffsetAlign", "a offset-align=3", "Let a ask for 4 bytes as offset-align."},
    {"SizeAlign", "a size-align=3", "Let a ask for 4 bytes as size-align."},
    {"BaseAlign", "a base-align=3", "Let a ask for 4 bytes as base-align."},
    {"Planes", "a formats=NV12 | b planes=1", "Let b also take 2 as planes."},
    {"Missing", "a buffer-type=raw", "Let an accessor state size."},
    {"WrongKey", "a buffer-type=raw size=4 | b tensor-dims=4x4", "Let b leave tensor-dims out."},
    {"TooLargeHasNone", "a tensor-type=int8 tensor-dims=4294967295x4294967295x4294967295", ""},
};

class SmallestChange : public testing::TestWithParam<Row> {};

TEST_P(SmallestChange, IsNamed)
{
  const Conflict conflict = conflict_of(GetParam().accessors);
  ASSERT_FALSE(conflict.failures.empty());
  EXPECT_EQ(describe_changes(conflict, conflict.failures.front()), GetParam().change);
}

// What is advised helps: after doing so once, nothing is left to advise.
TEST_P(SmallestChange, Helps)
{
  auto accessors = accessors_of(GetParam().accessors);
  const Conflict conflict = conflict_of(GetParam().accessors);
  for (const KeyConflict &failure : conflict.failures)
    for (const Change &change : failure.changes)
      apply_change(accessors[change.accessor], change);
  const bool has_advice = *GetParam().change != '\0';
  const auto outcome = reconcile_all(accessors);
  EXPECT_EQ(std::holds_alternative<Reconciled>(outcome), has_advice)
      << (has_advice ? conflict_to_text(std::get<Conflict>(outcome)) : "");
}

TEST(SmallestChanges, CoverEveryKey)
{
  for (const ConstraintKeyFacts &facts : constraint_keys()) {
    const auto fails_first = [&](const Row &row) { return conflict_of(row.accessors).failures.front().key == facts.key; };
    EXPECT_NE(std::find_if(std::begin(kRows), std::end(kRows), fails_first), std::end(kRows)) << facts.name;
  }
}

// Nobody can be told to hold less, so that there would be fewer accessors.
TEST(SmallestChanges, NoneForTooManyAccessors)
{
  std::vector<Constraints> all(kMaxAccessors + 1);
  for (Constraints &one : all)
    one.set(ConstraintKey::BuffersHeld, 2);
  const auto outcome = reconcile_all(all);
  const auto &conflict = std::get<Conflict>(outcome);
  ASSERT_EQ(conflict.failures.size(), 1U);
  EXPECT_TRUE(conflict.failures.front().changes.empty());
}

TEST(Conflict, NamesWhoHoldsMost)
{
  EXPECT_EQ(conflict_of("a buffers-held=3 | greedy buffers-held=300 | c buffers=1..256").failures.front().why,
            "the accessors hold 303 at a time (greedy 300), and a pool may have 256");
}

INSTANTIATE_TEST_SUITE_P(Tables, SmallestChange, testing::ValuesIn(kRows), [](const auto &info) { return std::string(info.param.name); });

TEST(Conflict, LongListsAreCutInTextAndWholeInJson)
{
  std::string text = "a formats=NV12";
  for (int i = 1; i < 100; ++i)
    text += ",XR24:0x" + std::to_string(100000000000000 + i);
  const Conflict conflict = conflict_of((text + " | b formats=AR24").c_str());
  EXPECT_NE(conflict_to_text(conflict).find("…"), std::string::npos);
  const std::string json = conflict_to_json(conflict);
  EXPECT_EQ(json.find("…"), std::string::npos);
  EXPECT_NE(json.find("XR24:0x0100000000000099"), std::string::npos);
}

TEST(Conflict, AsJson)
{
  EXPECT_EQ(conflict_to_json(conflict_of("a width=1..max placement=system+heap:cma formats=NV12 | b width=5..4 placement=device formats=NV12:implicit")),
            R"j({"schema":"gst-drm-conflict","version":1,"accessors":[{"name":"a","device":""},{"name":"b","device":""}],"failures":[)j"
            R"j({"key":"formats","unit":"","reason":"disjoint","why":"no format is in every list","values":[["NV12"],["NV12 (implicit modifier)"]],)j"
            R"j("changes":[{"accessor":1,"what":"include","key":"formats","value":["NV12"],"text":"let b also take NV12 (LINEAR)"}]},)j"
            R"j({"key":"width","unit":"pixels","reason":"invalid","why":"a range that ends before it begins","values":[{"min":1,"max":null},{"min":5,"max":4}],)j"
            R"j("changes":[{"accessor":1,"what":"remove","key":"width","value":null,"text":"let b leave width out"}]},)j"
            R"j({"key":"placement","unit":"","reason":"disjoint","why":"no memory is one that every accessor takes",)j"
            R"j("values":[{"kinds":["system"],"heaps":["cma"]},{"kinds":["device"],"heaps":[]}],)j"
            R"j("changes":[{"accessor":1,"what":"include","key":"placement","value":{"kinds":["system"],"heaps":[]},"text":"let b also take system memory"}]}]})j");
}

std::string quoted(std::string_view text)
{
  JsonWriter json;
  json.string(text);
  return json.text();
}

TEST(Json, EscapesWhatItHasTo)
{
  using namespace std::string_view_literals;
  EXPECT_EQ(quoted("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(quoted("\0\n\x1f\x7f"sv), "\"\\u0000\\u000a\\u001f\x7f\"");
  EXPECT_EQ(quoted("é…𝄞"), "\"é…𝄞\"");
}

TEST(Json, WritesNoBadUtf8)
{
  for (const char *bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80", "\xf0\x80\x80\x80"}) {
    const std::string text = quoted(bad);
    for (const char *piece : {"\xff", "\xc0", "\xed\xa0", "\xf4", "\xe2", "\xf0"})
      EXPECT_EQ(text.find(piece), std::string::npos) << text;
    EXPECT_NE(text.find("\xef\xbf\xbd"), std::string::npos);
  }
}

TEST(Json, Nests)
{
  JsonWriter json;
  json.begin_object().key("a").begin_array().number(1).null().end_array().key("b").begin_object().end_object();
  json.key("c").begin_array().begin_array().end_array().begin_object().end_object().end_array().end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,null],"b":{},"c":[[],{}]})");
}

} // namespace
