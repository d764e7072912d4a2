// SPDX-License-Identifier: LGPL-2.1-or-later
// What several accessors of a buffer agree on. A row: the accessors, what is computed or which keys fail, and values of
// the merged constraints ("stride-align=64 bytes; formats=NV12 (LINEAR)").
#include <gtest/gtest.h>

#include "constraint_text.hpp"

namespace {

using namespace gstdrm;
using gstdrm::test::accessors_of;
using gstdrm::test::outcome_of;
using gstdrm::test::reconcile_all;

struct Row {
  const char *name;
  const char *accessors;
  const char *outcome;
  const char *merged;
};

constexpr const char *kXTiled = "XR24:0x0100000000000001";

const Row kRows[] = {
    // The worked examples of the buffer allocation document: raw memory of 128 KiB at 4 KiB, without the CPU; raw memory
    // for CUDA, whose alignment of 0 asks for nothing, which the CPU reads and writes.
    {"DocumentRaw", "nvmedia buffer-type=raw size=131072 base-align=4096 cpu-access=none", "system 131072 0/131072", "base-align=4096 bytes; cpu-access=none"},
    {"DocumentCuda", "cuda device=gpu0 buffer-type=raw size=65536 base-align=0 cpu-access=read-write permissions=read-write", "system 65536 0/65536", "base-align=0 bytes; permissions=read and write"},
    {"DocumentRawShared", "nvmedia buffer-type=raw size=131072 base-align=4096 cpu-access=none | cuda buffer-type=raw size=131072 base-align=0 cpu-access=read-write permissions=read-write", "system 131072 0/131072", "base-align=4096 bytes; cpu-access=read and write"},
    {"DocumentUnequalSizes", "a buffer-type=raw size=131072 | b buffer-type=raw size=65536", "!size:disjoint", ""},
    {"DocumentMaximumOfTwoPowers", "a buffer-type=raw size=4096 base-align=256 | b base-align=65536", "system 4096 0/4096", "base-align=65536 bytes"},
    {"DocumentNoPowerOfTwo", "a buffer-type=raw size=4096 base-align=256 | b base-align=384", "!base-align:invalid", ""},
    {"DocumentEqualNoPowers", "a buffer-type=raw size=4096 base-align=384 | b base-align=384", "!base-align:invalid", ""},
    {"DocumentOneListIsEnough", "a buffer-type=raw size=4096", "system 4096 0/4096", ""},
    {"DocumentTypesDiffer", "a buffer-type=raw size=4096 | b buffer-type=tensor", "!buffer-type:unequal", ""},
    {"DocumentKeyOfAnotherType", "a buffer-type=raw size=4096 tensor-dims=4x4", "!tensor-dims:wrong-type", ""},
    {"DocumentUnsetIsIgnored", "a buffer-type=raw size=4096 | b", "system 4096 0/4096", "permissions=any"},
    {"DocumentDomainCvsram", "a buffer-type=raw size=4096 placement=heap:cvsram | b placement=system+heap:cvsram", "heap:cvsram 4096 0/4096", "placement=heap cvsram"},
    {"DocumentDomainsDiffer", "a buffer-type=raw size=4096 placement=heap:cvsram | b placement=system", "!placement:disjoint", ""},
    {"DocumentPlanesAgainstFormats", "a formats=NV12 planes=1", "!planes:exceeds", ""},
    {"DocumentRequiredIsMissing", "a buffer-type=raw cpu-access=read", "!size:missing", ""},
    // sets
    {"FormatsIntersect", "a formats=NV12,XR24 | b formats=XR24,AR24", "system", "formats=XR24 (LINEAR)"},
    {"FormatsOfThree", "a formats=NV12,XR24,AR24 | b formats=XR24,AR24 | c formats=AR24,NV12", "system", "formats=AR24 (LINEAR)"},
    {"FormatsDisjoint", "a formats=NV12 | b formats=XR24", "!formats:disjoint", ""},
    {"FormatsPairwiseButNotAll", "a formats=NV12,XR24 | b formats=XR24,AR24 | c formats=AR24,NV12", "!formats:disjoint", ""},
    {"ModifiersDisjoint", "a formats=XR24:0x0100000000000001 | b formats=XR24", "!formats:disjoint", ""},
    {"ImplicitMeetsImplicit", "a formats=XR24:implicit,NV12 | b formats=XR24:implicit", "system", "formats=XR24 (implicit modifier)"},
    {"ImplicitAgainstLinear", "a formats=XR24:implicit | b formats=XR24", "!formats:disjoint", ""},
    {"FormatsEmpty", "a formats=", "!formats:invalid", ""},
    {"FormatsEmptyOfOne", "a formats= | b formats=XR24", "!formats:invalid", ""},
    {"PlacementEmpty", "a placement= | b placement=system", "!placement:invalid", ""},
    {"TensorDimsEmpty", "a buffer-type=tensor tensor-type=int8 tensor-dims=", "!tensor-dims:invalid", ""},
    {"AnyFormat", "a | b formats=XR24", "system", "formats=XR24 (LINEAR)"},
    {"NobodyNamesFormats", "a | b", "system", "formats=any; width=any"},
    // ranges
    {"RangesIntersect", "a width=64..4096 | b width=1..1920", "system", "width=64 to 1920 pixels"},
    {"RangesTouch", "a width=1920..4096 | b width=1..1920", "system", "width=1920 pixels"},
    {"RangesDisjoint", "a width=2048..4096 | b width=1..1920", "!width:disjoint", ""},
    {"RangesOpen", "a height=16..max | b height=0..max", "system", "height=16 pixels or more"},
    {"RangeEndsBeforeItBegins", "a width=100..50", "!width:invalid", ""},
    {"RangeOfZero", "a width=0..0 | b", "!width:invalid", ""},
    {"RangeBeyondEverything", "a width=16385..max", "!width:invalid", ""},
    {"LargestPicture", "a width=16384 height=16384 formats=XR24", "system 1073741824 0/65536", ""},
    // alignments
    {"AlignmentsLarger", "a stride-align=64 | b stride-align=256 | c stride-align=128", "system", "stride-align=256 bytes"},
    {"AlignmentOne", "a stride-align=1 | b stride-align=1", "system", "stride-align=1 bytes"},
    {"AlignmentZeroAsksForNothing", "a stride-align=0 | b stride-align=16", "system", "stride-align=16 bytes"},
    {"AlignmentNoPower", "a stride-align=48 | b stride-align=64", "!stride-align:invalid", ""},
    {"AlignmentHuge", "a offset-align=4294967296", "!offset-align:invalid", ""},
    {"AlignmentMax", "a size-align=max", "!size-align:invalid", ""},
    // images: strides, offsets, size
    {"Packed", "a formats=XR24 width=640 height=480", "system 1228800 0/2560", ""},
    {"PackedAligned", "a formats=XR24 width=641 height=480 | b stride-align=256", "system 1351680 0/2816", ""},
    {"TwoPlanes", "a formats=NV12 width=640 height=480", "system 460800 0/640 307200/640", ""},
    {"TwoPlanesAligned", "a formats=NV12 width=640 height=480 stride-align=256", "system 552960 0/768 368640/768", ""},
    {"TwoPlanesOffset", "a formats=NV12 width=640 height=481 stride-align=256 | b offset-align=4096", "system 557824 0/768 372736/768", ""},
    {"ThreePlanesShareOneRow", "a formats=YU12 width=640 height=480 stride-align=256", "system 737280 0/1024 491520/512 614400/512", ""},
    {"OddSize", "a formats=NV12 width=641 height=481", "system 463524 0/642 308802/642", ""},
    {"SizeAligned", "a formats=NV12 width=640 height=480 | b size-align=4096", "system 462848 0/640 307200/640", ""},
    {"SizeAtLeast", "a formats=NV12 width=640 height=480 | b size=1000000..max", "system 1000000 0/640 307200/640", ""},
    {"SizeTooSmall", "a formats=NV12 width=640 height=480 | b size=1..400000", "!size:exceeds", ""},
    {"StrideAtLeast", "a formats=NV12 width=640 height=480 | b stride=1024..max", "system 737280 0/1024 491520/1024", ""},
    {"StrideExact", "a formats=XR24 width=640 height=480 | b stride=2560", "system 1228800 0/2560", ""},
    {"StrideTooSmall", "a formats=XR24 width=640 height=480 | b stride=1..2048", "!stride:exceeds", ""},
    {"StrideExactAgainstAlignment", "a formats=XR24 width=650 height=480 stride-align=256 | b stride=2600", "!stride:exceeds", ""},
    {"ThreeBytesEndWithinAPixel", "a formats=RG24 width=640 height=480 stride-align=256 | b stride=1..2048", "system 983040 0/2048", ""},
    {"ThreeBytesAsTheAllocatorLaysThemOut", "a formats=RG24 width=640 height=480 stride-align=256", "system 983040 0/2048", ""},
    {"ThreeBytesThatDoNotFit", "a formats=RG24 width=640 height=480 stride-align=256 | b stride=1..2047", "!stride:exceeds", ""},
    {"ThreeBytesWithinASizeLimit", "a formats=RG24 width=640 height=480 stride-align=256 | b size=1..1000000", "system 983040 0/2048", ""},
    {"StrideOfOpenSize", "a stride=2600 | b stride-align=256", "!stride:exceeds", ""},
    {"StrideOfOpenSizeLinear", "a stride=2600 formats=XR24 | b stride-align=256", "!stride:exceeds", ""},
    {"StrideOfOpenSizeTiled", "a stride=2600 formats=XR24,XR24:0x0100000000000001 | b stride-align=256", "system", ""},
    {"StrideHasAMultiple", "a stride=2600..2816 | b stride-align=256", "system", ""},
    {"SizeBetweenMultiples", "a size=5000 | b size-align=4096", "!size:exceeds", ""},
    {"SizeHasAMultiple", "a size=5000..8192 | b size-align=4096", "system", ""},
    {"StrideDropsAFormat", "a formats=XR24,NV12 width=640 height=480 | b stride=1..2048", "system 460800 0/640 307200/640", "formats=NV12 (LINEAR)"},
    {"TiledHasNoLayout", "a formats=XR24:0x0100000000000001 width=640 height=480 stride-align=64", "system", "stride-align=64 bytes"},
    {"TiledStaysWhereLinearDoesNotFit", "a formats=XR24,XR24:0x0100000000000001 width=640 height=480 | b stride=1..2048", "system", "formats=XR24:0x0100000000000001 (INTEL_X_TILED)"},
    {"OpenSizeHasNoLayout", "a formats=XR24 width=1..640 height=480", "system", ""},
    {"RowOverflows", "a formats=AB4H width=16384 height=16384 stride=1..max stride-align=2147483648", "system 35184372088832 0/2147483648", ""},
    {"OffsetOverflows", "a formats=NV12 width=16384 height=16384 stride-align=2147483648", "!size:exceeds", ""},
    {"UnknownFourcc", "a formats=ZZ99 width=640 height=480", "system", "formats=ZZ99 (LINEAR)"},
    // planes and descriptors
    {"PlanesFilterFormats", "a formats=NV12,XR24 | b planes=1..1", "system", "formats=XR24 (LINEAR)"},
    {"PlanesDisjoint", "a planes=3..4 | b planes=1..2", "!planes:disjoint", ""},
    {"PlanesZero", "a planes=0..0", "!planes:invalid", ""},
    {"FdsOne", "a fds=1..4 | b fds=1..1", "system", "fds=1"},
    {"FdsMoreThanPlanes", "a fds=2 | b planes=1", "!fds:exceeds", ""},
    {"FdsMoreThanPlanesOfFormats", "a fds=3..4 | b formats=NV12,XR24", "!fds:exceeds", ""},
    {"FdsOfAFormatThatIsNotKnown", "a fds=4 | b formats=ZZ99", "system", ""},
    {"FdsTakeOutFormatsOfFewerPlanes", "a fds=2 | b formats=NV12,XR24", "system", "formats=NV12 (LINEAR)"},
    {"FdsOfFormatsThatFallOutLater", "a formats=NV24,RG16 fds=2 width=640 height=480 | b size=1..800000", "!size:exceeds", ""},
    {"FdsAsPlanes", "a fds=2 | b formats=NV12", "system", ""},
    {"CompressionNeedsAPlane", "a formats=XR24:0x0100000000000004 planes=1", "!planes:exceeds", ""},
    // memory
    {"SystemFirst", "a placement=system+contiguous+device", "system", ""},
    {"Contiguous", "a placement=system+contiguous | b placement=contiguous+device", "contiguous", "placement=contiguous"},
    {"DeviceOfOne", "a device=gpu0 placement=device | b device=gpu0 placement=device+system", "device:gpu0", "placement=device"},
    {"DevicesDiffer", "a device=gpu0 placement=device | b device=gpu1 placement=device", "!placement:disjoint", ""},
    {"NamelessDevices", "a placement=device | b placement=device", "!placement:disjoint", ""},
    {"NamelessDeviceAgainstNamed", "a placement=device | b device=gpu0 placement=device", "!placement:disjoint", ""},
    {"NamelessDeviceAlone", "a placement=device | b", "device:", "placement=device"},
    {"NamelessDevicesHaveSystem", "a placement=device+system | b placement=device+system", "system", "placement=system"},
    {"ThreeDevices", "a device=gpu0 placement=device | b device=gpu0 placement=device | c device=gpu1 placement=device+heap:x", "!placement:disjoint", ""},
    {"HeapWithoutName", "a placement=heap:", "!placement:invalid", ""},
    {"HeapElsewhere", "a placement=heap:../x", "!placement:invalid", ""},
    {"HeapOfDots", "a placement=heap:..", "!placement:invalid", ""},
    {"DevicesDifferButSystemIsCommon", "a device=gpu0 placement=device+system | b device=gpu1 placement=device+system", "system", "placement=system"},
    {"CpuInDeviceMemory", "a device=gpu0 placement=device | b cpu-access=read", "!placement:exceeds", ""},
    {"CpuMovesItToSystem", "a device=gpu0 placement=device+system | b cpu-access=read", "system", "placement=system; cpu-access=read"},
    {"CpuNoneStaysInDevice", "a device=gpu0 placement=device | b cpu-access=none", "device:gpu0", ""},
    {"Heaps", "a placement=heap:cma+heap:secure | b placement=heap:secure+heap:system", "heap:secure", "placement=heap secure"},
    {"UnknownKind", "a placement=moon", "!placement:invalid", ""},
    // needs add up
    {"FlagsAddUp", "a permissions=read | b permissions=write | c", "system", "permissions=read and write"},
    {"FlagsUnknown", "a permissions=4", "!permissions:invalid", ""},
    {"HeldAddsUp", "a buffers-held=2 | b buffers-held=3 | c", "system", "buffers-held=5"},
    {"HeldAgainstPool", "a buffers-held=2 | b buffers-held=3 | c buffers=1..4", "!buffers:exceeds", ""},
    {"HeldFitsPool", "a buffers-held=2 | b buffers-held=2 | c buffers=1..4", "system", "buffers=4 or less"},
    {"HeldHuge", "a buffers-held=65536 | b buffers-held=1", "!buffers-held:exceeds", ""},
    {"HeldOverflows", "a buffers-held=max | b buffers-held=max", "!buffers-held:invalid", ""},
    {"SameAccessorTwice", "a buffers-held=2 | a buffers-held=2", "system", "buffers-held=2"},
    {"NamelessAreSeveral", "- buffers-held=2 | - buffers-held=2", "system", "buffers-held=4"},
    // tensors, arrays, pyramids, raw memory
    {"Tensor", "a buffer-type=tensor tensor-type=float32 tensor-dims=1x3x4x5", "system 240 0/240 0/80 0/20 0/4", ""},
    {"TensorRowsAligned", "a buffer-type=tensor tensor-type=uint8 tensor-dims=2x3x5 | b stride-align=16", "system 96 0/48 0/16 0/1", ""},
    {"TensorTypesDiffer", "a buffer-type=tensor tensor-type=int8 tensor-dims=4 | b tensor-type=uint8", "!tensor-type:unequal", ""},
    {"TensorDimsDiffer", "a buffer-type=tensor tensor-type=int8 tensor-dims=4x4 | b tensor-dims=4x5", "!tensor-dims:unequal", ""},
    {"TensorOfZero", "a buffer-type=tensor tensor-type=int8 tensor-dims=4x0", "!tensor-dims:invalid", ""},
    {"TensorOverflows", "a buffer-type=tensor tensor-type=int8 tensor-dims=4294967295x4294967295x4294967295", "!tensor-dims:exceeds", ""},
    {"TensorOfNineDims", "a tensor-type=int8 tensor-dims=1x1x1x1x1x1x1x1x1", "!tensor-dims:invalid", ""},
    {"TensorTypeFollowsOfItsKeys", "a tensor-type=int8 tensor-dims=4x4", "system 16 0/4 0/1", ""},
    {"TensorIncomplete", "a buffer-type=tensor", "!tensor-type:missing tensor-dims:missing", ""},
    {"TensorHasNoFormats", "a buffer-type=tensor tensor-type=int8 tensor-dims=4 | b formats=NV12", "!formats:wrong-type", ""},
    {"Array", "a buffer-type=array array-element=12 array-capacity=100", "system 1200 0/12", ""},
    {"ArrayAligned", "a buffer-type=array array-element=12 array-capacity=100 | b stride-align=16", "system 1600 0/16", ""},
    {"ArrayOverflows", "a buffer-type=array array-element=4294967295 array-capacity=4294967295", "!array-capacity:exceeds", ""},
    {"Pyramid", "a buffer-type=pyramid pyramid-levels=3 pyramid-scale=32768 formats=XR24 width=64 height=32", "system 10752 0/256 8192/128 10240/64", ""},
    {"PyramidOfLevelsThatDiffer", "a buffer-type=pyramid pyramid-levels=3 pyramid-scale=32768 | b pyramid-levels=4", "!pyramid-levels:unequal", ""},
    {"PyramidThatGrows", "a buffer-type=pyramid pyramid-levels=3 pyramid-scale=65536", "!pyramid-scale:invalid", ""},
    {"RawHuge", "a buffer-type=raw size=max", "!size:invalid", ""},
    {"RawAtTheLimit", "a buffer-type=raw size=140737488355328", "system 140737488355328 0/140737488355328", ""},
    {"TypeUnknown", "a buffer-type=7", "!buffer-type:invalid", ""},
    {"KeysOfNoOneType", "a tensor-type=int8 array-element=4", "!tensor-dims:missing array-element:wrong-type", ""},
    {"OthersAreCheckedToo", "a stride-align=3 buffers-held=5 fds=4 size=5000 | b planes=1..2 size-align=4096 buffers=1..4 placement=system | c placement=contiguous", "!size:exceeds stride-align:invalid fds:exceeds placement:disjoint buffers:exceeds", ""},
    {"LayoutIsMadeBesideOthers", "a formats=XR24 width=640 height=480 placement=system | b stride=1..2048 placement=contiguous", "!stride:exceeds placement:disjoint", ""},
    {"PlanesAreCheckedBesideOthers", "a formats=NV12 planes=1 buffers-held=9 | b buffers=1..4", "!planes:exceeds buffers:exceeds", ""},
    {"SeveralKeysFail", "a stride-align=3 width=5..4 formats=NV12 | b formats=XR24 placement=system | c placement=contiguous", "!formats:disjoint width:invalid stride-align:invalid placement:disjoint", ""},
};

class Reconcile : public testing::TestWithParam<Row> {};

TEST_P(Reconcile, Row)
{
  const Row &row = GetParam();
  const auto accessors = accessors_of(row.accessors);
  const Reconciliation outcome = reconcile_all(accessors);
  EXPECT_EQ(outcome_of(outcome), row.outcome) << row.accessors;
  if (const auto *conflict = std::get_if<Conflict>(&outcome)) {
    EXPECT_FALSE(conflict->failures.empty());
    EXPECT_EQ(conflict_to_text(*conflict).find("any accessor"), std::string::npos);
    return;
  }
  for (const std::string &each : test::split(row.merged, ';')) {
    const auto begin = each.find_first_not_of(' ');
    const auto equals = each.find('=');
    const std::string key = each.substr(begin, equals - begin);
    for (const ConstraintKeyFacts &facts : constraint_keys()) {
      if (facts.name == key) {
        EXPECT_EQ(describe_value(std::get<Reconciled>(outcome).merged, facts.key), each.substr(equals + 1));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, Reconcile, testing::ValuesIn(kRows), [](const auto &info) { return std::string(info.param.name); });

// The device is that of the memory; memory of no device has none.
TEST(ReconcileMany, NamesADeviceOfItsMemoryAlone)
{
  for (const auto &[text, device] : {std::pair{"a device=gpu0 placement=device+system | b", "gpu0"},
                                     std::pair{"a device=gpu0 placement=device+system | b cpu-access=read", ""},
                                     std::pair{"a device=gpu0 placement=device+system | b placement=system", ""}}) {
    const Reconciliation outcome = reconcile_all(accessors_of(text));
    ASSERT_TRUE(std::holds_alternative<Reconciled>(outcome)) << text;
    EXPECT_EQ(std::get<Reconciled>(outcome).merged.device, device) << text;
  }
}

TEST(ReconcileMany, NoAccessorsAskForNothing)
{
  const auto outcome = reconcile({});
  ASSERT_TRUE(std::holds_alternative<Reconciled>(outcome));
  EXPECT_EQ(std::get<Reconciled>(outcome).merged, Constraints());
}

TEST(ReconcileMany, OneMoreThanPossible)
{
  std::vector<Constraints> all(kMaxAccessors + 1);
  EXPECT_TRUE(std::holds_alternative<Conflict>(reconcile_all(all)));
  all.pop_back();
  EXPECT_TRUE(std::holds_alternative<Reconciled>(reconcile_all(all)));
}

TEST(ConstraintKeys, AreInOrderAndNamedOnce)
{
  std::vector<std::string_view> names;
  for (const ConstraintKeyFacts &facts : constraint_keys()) {
    EXPECT_EQ(static_cast<std::size_t>(facts.key), names.size());
    EXPECT_EQ(std::count(names.begin(), names.end(), facts.name), 0) << facts.name;
    names.push_back(facts.name);
  }
  EXPECT_EQ(names.size(), kConstraintKeys);
  EXPECT_EQ(accessors_of(std::string("a formats=") + kXTiled).size(), 1U);
}

} // namespace
