// SPDX-License-Identifier: LGPL-2.1-or-later
#include "core/frame_layout.hpp"

#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/drm_facts.hpp"
#include "core/unique_fd.hpp"
#include "support/gpu_table.hpp"

// In place of the C library's: what they say of a dma-buf before Linux 5.3, where that is set.
static bool old_kernel = false;

extern "C" int fstat64(int fd, struct stat64 *facts) noexcept
{
  const int ret = ::fstatat64(fd, "", facts, AT_EMPTY_PATH);
  if (old_kernel) {
    facts->st_mode &= ~static_cast<mode_t>(S_IFMT);
    facts->st_ino = 7;
    facts->st_size = 0;
  }
  return ret;
}

extern "C" int fstatfs64(int fd, struct statfs64 *facts) noexcept
{
  const int ret = ::statfs64(("/proc/self/fd/" + std::to_string(fd)).c_str(), facts);
  if (old_kernel)
    facts->f_type = ANON_INODE_FS_MAGIC;
  return ret;
}

namespace gstdrm {
namespace {

constexpr std::uint64_t kX = 0x0100000000000001;
constexpr std::uint64_t kY = 0x0100000000000002;

struct Plane {
  std::uint64_t offset;
  std::uint32_t stride;
  std::uint64_t size;
};

FrameLayout frame(const char *fourcc, std::uint64_t modifier, std::uint32_t width, std::uint32_t height,
                  const std::vector<Plane> &planes)
{
  FrameLayout layout;
  layout.format = {test::fourcc_of(fourcc), modifier};
  layout.width = width;
  layout.height = height;
  layout.n_planes = planes.size();
  for (std::size_t i = 0; i < planes.size() && i < kMaxPlanes; ++i) {
    layout.planes[i].fd = 3;
    layout.planes[i].offset_bytes = planes[i].offset;
    layout.planes[i].stride_bytes = planes[i].stride;
    layout.planes[i].object.size_bytes = planes[i].size;
  }
  return layout;
}

struct Row {
  const char *name;
  FrameLayout layout;
  std::vector<const char *> why; // empty: sound
};

void PrintTo(const Row &row, std::ostream *out)
{
  *out << row.name;
}

class CheckLayout : public testing::TestWithParam<Row> {};

TEST_P(CheckLayout, Decides)
{
  const Result<void> result = check_layout(GetParam().layout);
  if (GetParam().why.empty()) {
    EXPECT_TRUE(result) << result.error().message;
    return;
  }
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Layout);
  for (const char *why : GetParam().why)
    EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message;
}

constexpr std::uint64_t k4G = 1ULL << 32;

FrameLayout with(FrameLayout layout, const std::function<void(FrameLayout &)> &change)
{
  change(layout);
  return layout;
}

const Row kRows[] = {
    {"Xr24", frame("XR24", 0, 640, 480, {{0, 2560, 1228800}}), {}},
    {"Xr24Padded", frame("XR24", 0, 1000, 700, {{0, 4096, 700 * 4096}}), {}},
    {"LastRowNeedsNoPadding", frame("XR24", 0, 1000, 700, {{0, 4096, 699 * 4096 + 4000}}), {}},
    {"OneByteShort", frame("XR24", 0, 1000, 700, {{0, 4096, 699 * 4096 + 3999}}), {"2867104 bytes", "2867103", "700 rows", "4096"}},
    {"StrideOneByteShort", frame("XR24", 0, 640, 480, {{0, 2559, 1228800}}), {"plane 0", "stride 2559", "2560"}},
    {"StrideZero", frame("XR24", 0, 640, 480, {{0, 0, 1228800}}), {"stride 0", "2560"}},
    {"OffsetPushesItOut", frame("XR24", 0, 640, 480, {{1, 2560, 1228800}}), {"offset 1", "1228801", "1228800"}},
    {"OffsetAtEnd", frame("XR24", 0, 640, 480, {{1228800, 2560, 1228800}}), {"offset 1228800 lies outside"}},
    {"OffsetNear64Bits", frame("XR24", 0, 640, 480, {{~0ULL, 2560, 1228800}}), {"offset 18446744073709551615"}},
    {"OffsetAbove32Bits", frame("XR24", 0, 640, 480, {{k4G, 2560, 2 * k4G}}), {"offset 4294967296", "32 bits"}},
    {"OffsetJustBelow32Bits", frame("XR24", 0, 640, 480, {{k4G - 1, 2560, 2 * k4G}}), {}},
    {"EmptyBuffer", frame("XR24", 0, 640, 480, {{0, 2560, 0}}), {"offset 0 lies outside of the buffer of 0 bytes"}},
    {"ZeroWidth", frame("XR24", 0, 0, 480, {{0, 2560, 1228800}}), {"empty picture"}},
    {"ZeroHeight", frame("XR24", 0, 640, 0, {{0, 2560, 1228800}}), {"empty picture"}},
    {"HugeWidth", frame("XR24", 0, 0xffffffff, 1, {{0, 0xffffffff, ~0ULL}}), {"more than 32 bits"}},
    {"HugeHeight", frame("XR24", 0, 1, 0xffffffff, {{0, 0xffffffff, ~0ULL}}), {"4294967295 rows are too many"}},
    {"LargestStrideTimesRows", frame("XR24", 0, 1, 1U << 30, {{k4G - 1, 0xffffffff, ~0ULL}}), {}},
    {"LargestStrideInASmallBuffer", frame("XR24", 0, 1, 1U << 30, {{0, 0xffffffff, 4096}}), {"4611686013058678789", "4096"}},
    {"NoFourcc", with(frame("XR24", 0, 640, 480, {{0, 2560, 1228800}}), [](FrameLayout &l) { l.format.fourcc = 0; }), {"no fourcc"}},
    {"UnknownLinearFourcc", frame("ZZZZ", 0, 640, 480, {{0, 2560, 1228800}}), {"ZZZZ", "not known"}},
    {"UndefinedLinearLayout", frame("YU08", 0, 640, 480, {{0, 2560, 1228800}}), {"YU08", "not known"}},
    {"NoPlanes", frame("XR24", 0, 640, 480, {}), {"0 planes"}},
    {"FivePlanes", with(frame("XR24", 0, 640, 480, {{0, 2560, 1228800}}), [](FrameLayout &l) { l.n_planes = 5; }), {"5 planes"}},
    {"TooManyPlanes", frame("XR24", 0, 640, 480, {{0, 2560, 1228800}, {0, 2560, 1228800}}), {"2 planes", "have 1"}},
    {"DeadDescriptor", with(frame("XR24", 0, 640, 480, {{0, 2560, 1228800}}), [](FrameLayout &l) { l.planes[0].fd = -1; }), {"no file descriptor"}},
    {"Nv12", frame("NV12", 0, 640, 480, {{0, 640, 460800}, {307200, 640, 460800}}), {}},
    {"Nv12TwoBuffers", frame("NV12", 0, 640, 480, {{0, 640, 307200}, {0, 640, 153600}}), {}},
    {"Nv12ChromaTooSmall", frame("NV12", 0, 640, 480, {{0, 640, 307200}, {0, 640, 153599}}), {"plane 1", "153600", "153599"}},
    {"Nv12ChromaStride", frame("NV12", 0, 641, 480, {{0, 648, 460800}, {0, 641, 460800}}), {"plane 1", "stride 641", "642"}},
    {"Nv12OnePlane", frame("NV12", 0, 640, 480, {{0, 640, 460800}}), {"1 plane,", "have 2"}},
    {"Nv12ThreePlanes", frame("NV12", 0, 640, 480, {{0, 640, 460800}, {0, 640, 460800}, {0, 640, 460800}}), {"3 planes", "have 2"}},
    {"Yu12OddSize", frame("YU12", 0, 641, 481, {{0, 641, 308321}, {0, 321, 77361}, {0, 321, 77361}}), {}},
    {"Yu12OddSizeShort", frame("YU12", 0, 641, 481, {{0, 641, 308321}, {0, 321, 77361}, {0, 321, 77360}}), {"plane 2", "77361"}},
    {"Nv15", frame("NV15", 0, 640, 480, {{0, 800, 384000}, {0, 800, 192000}}), {}},
    {"BigEndian", with(frame("XR24", 0, 640, 480, {{0, 2560, 1228800}}), [](FrameLayout &l) { l.format.fourcc |= kFourccBigEndian; }), {}},
    // tilings of known size: rows in whole tiles, every stride in full
    {"IntelX", frame("XR24", kX, 1000, 700, {{0, 4096, 704 * 4096}}), {}},
    {"IntelXLastTileShort", frame("XR24", kX, 1000, 700, {{0, 4096, 704 * 4096 - 1}}), {"INTEL_X_TILED", "2883584", "2883583"}},
    {"IntelYNv12", frame("NV12", kY, 640, 480, {{0, 640, 307200}, {0, 640, 256 * 640}}), {}},
    {"IntelYNv12ChromaShort", frame("NV12", kY, 640, 480, {{0, 640, 307200}, {0, 640, 240 * 640}}), {"plane 1", "163840"}},
    {"IntelYStride", frame("XR24", kY, 640, 480, {{0, 2432, 1228800}}), {"stride 2432"}},
    {"Intel4", frame("XR24", 0x0100000000000009, 64, 33, {{0, 256, 64 * 256}}), {}},
    {"Intel4Short", frame("XR24", 0x0100000000000009, 64, 33, {{0, 256, 63 * 256}}), {"16384"}},
    {"Samsung64x32", frame("NV12", 0x0400000000000001, 640, 480, {{0, 640, 307200}, {307200, 640, 307200 + 256 * 640}}), {}},
    {"Samsung64x32Short", frame("NV12", 0x0400000000000001, 640, 480, {{0, 640, 307200}, {307200, 640, 460800}}), {"plane 1"}},
    {"Vivante4x4", frame("NV12", 0x0600000000000001, 640, 482, {{0, 640, 484 * 640}, {0, 640, 244 * 640}}), {}},
    {"Vivante4x4Short", frame("NV12", 0x0600000000000001, 640, 482, {{0, 640, 482 * 640}, {0, 640, 244 * 640}}), {"plane 0", "309760"}},
    {"VivanteSuper", frame("XR24", 0x0600000000000002, 64, 65, {{0, 256, 128 * 256}}), {}},
    {"Allwinner", frame("NV12", 0x0900000000000001, 640, 480, {{0, 640, 307200}, {0, 640, 256 * 640}}), {}},
    {"Mtk", frame("NV12", 0x0b00000000000001, 640, 490, {{0, 640, 512 * 640}, {0, 640, 256 * 640}}), {}},
    {"MtkShort", frame("NV12", 0x0b00000000000001, 640, 490, {{0, 640, 511 * 640}, {0, 640, 256 * 640}}), {"plane 0"}},
    {"MtkChromaTilesAreHalf", frame("NV12", 0x0b00000000000001, 640, 400, {{0, 640, 416 * 640}, {0, 640, 208 * 640}}), {}},
    {"MtkChromaShort", frame("NV12", 0x0b00000000000001, 640, 400, {{0, 640, 416 * 640}, {0, 640, 207 * 640}}), {"plane 1"}},
    {"Samsung16x16", frame("NV12", 0x0400000000000002, 640, 40, {{0, 640, 48 * 640}, {0, 640, 24 * 640}}), {}},
    {"Samsung16x16Short", frame("NV12", 0x0400000000000002, 640, 40, {{0, 640, 47 * 640}, {0, 640, 24 * 640}}), {"plane 0"}},
    {"Samsung16x16ChromaShort", frame("NV12", 0x0400000000000002, 640, 40, {{0, 640, 48 * 640}, {0, 640, 23 * 640}}), {"plane 1"}},
    {"VivanteSuperShort", frame("XR24", 0x0600000000000002, 64, 65, {{0, 256, 127 * 256}}), {"plane 0"}},
    {"AllwinnerShort", frame("NV12", 0x0900000000000001, 640, 480, {{0, 640, 307200}, {0, 640, 255 * 640}}), {"plane 1"}},
    {"TegraTiledShort", frame("XR24", 0x0300000000000001, 64, 17, {{0, 256, 31 * 256}}), {"plane 0"}},
    {"NvidiaG80GobsShort", frame("XR24", 0x0300000000170010, 64, 5, {{0, 256, 7 * 256}}), {"plane 0"}},
    {"TegraTiled", frame("XR24", 0x0300000000000001, 64, 17, {{0, 256, 32 * 256}}), {}},
    {"NvidiaTallBlocks", frame("XR24", 0x03000000004fe015, 64, 257, {{0, 256, 512 * 256}}), {}},
    {"NvidiaTallBlocksShort", frame("XR24", 0x03000000004fe015, 64, 257, {{0, 256, 511 * 256}}), {"131072"}},
    {"NvidiaG80Gobs", frame("XR24", 0x0300000000170010, 64, 5, {{0, 256, 8 * 256}}), {}},
    // opaque: passed on, not read
    {"AmdStrideIsOpaque", frame("XR24", 0x0200000028a01f04, 640, 480, {{0, 1, 4096}}), {}},
    // what the HEVC decoder of a Raspberry Pi gives to vc4: the height of a column in place of a pitch, two dma-bufs
    {"BroadcomSandPitchIsTheColumnHeight", frame("NV12", 0x0700000000000004, 1920, 1080, {{0, 1080, 2080768}, {0, 540, 1048576}}), {}},
    {"AmdOffsetOutside", frame("XR24", 0x0200000028a01f04, 640, 480, {{4096, 2560, 4096}}), {"offset 4096 lies outside"}},
    {"AmdDccNeedsTwoPlanes", frame("XR24", 0x0200000028a6bf04, 640, 480, {{0, 2560, 4096}}), {"1 plane,", "have 2"}},
    {"AmdDcc", frame("XR24", 0x0200000028a6bf04, 640, 480, {{0, 2560, 8192}, {4096, 1, 8192}}), {}},
    {"IntelCcs", frame("NV12", 0x0100000000000007, 640, 480, {{0, 1, 9}, {1, 1, 9}, {2, 1, 9}, {8, 1, 9}}), {}},
    {"IntelCcsTwoPlanes", frame("NV12", 0x0100000000000007, 640, 480, {{0, 1, 9}, {1, 1, 9}}), {"2 planes", "have 4"}},
    {"NvidiaCompressedIsOpaque", frame("XR24", 0x0300000000cfe015, 640, 480, {{0, 1, 1}}), {}},
    {"NvidiaReservedBitIsOpaque", frame("XR24", 0x03000000004fe035, 640, 480, {{0, 1, 1}}), {}},
    {"NvidiaTooTallIsOpaque", frame("XR24", 0x03000000004fe016, 640, 480, {{0, 1, 1}}), {}},
    {"FourPlanesAreTheMost", frame("XR24", 0x7f00000000000001, 640, 480, {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}}), {}},
    {"ImplicitIsOpaque", frame("NV12", kModImplicit, 640, 480, {{0, 0, 2}, {1, 0, 2}}), {}},
    {"ImplicitOnePlane", frame("NV12", kModImplicit, 640, 480, {{0, 0, 2}}), {"implicit modifier", "have 2"}},
    {"UnknownVendorAnyPlanes", frame("NV12", 0x7f00000000000001, 640, 480, {{0, 0, 1}, {0, 0, 1}, {0, 0, 1}}), {}},
    {"UnknownVendorOutside", frame("NV12", 0x7f00000000000001, 640, 480, {{0, 0, 1}, {1, 0, 1}}), {"plane 1", "outside"}},
    {"UnknownFourccOpaque", frame("ZZZZ", 0x7f00000000000001, 640, 480, {{0, 0, 1}}), {}},
};

INSTANTIATE_TEST_SUITE_P(FrameLayout, CheckLayout, testing::ValuesIn(kRows),
                         [](const auto &info) { return std::string(info.param.name); });

struct LinearRow {
  const char *name;
  const char *fourcc;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t stride_align;
  std::uint32_t offset_align;
  std::vector<Plane> planes; // size unused
  std::uint64_t size;
};

void PrintTo(const LinearRow &row, std::ostream *out)
{
  *out << row.name;
}

class MakeLinear : public testing::TestWithParam<LinearRow> {};

TEST_P(MakeLinear, PlacesPlanes)
{
  const LinearRow &row = GetParam();
  std::uint64_t size = 0;
  Result<FrameLayout> layout = make_linear_layout(test::fourcc_of(row.fourcc), row.width, row.height,
                                                  row.stride_align, row.offset_align, size);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(size, row.size);
  ASSERT_EQ(layout->n_planes, row.planes.size());
  for (std::size_t i = 0; i < row.planes.size(); ++i) {
    EXPECT_EQ(layout->planes[i].offset_bytes, row.planes[i].offset) << i;
    EXPECT_EQ(layout->planes[i].stride_bytes, row.planes[i].stride) << i;
    layout->planes[i].fd = 0;
    layout->planes[i].object.size_bytes = size;
  }
  const Result<void> sound = check_layout(*layout);
  EXPECT_TRUE(sound) << sound.error().message;
}

const LinearRow kLinear[] = {
    {"Tight", "XR24", 640, 480, 1, 1, {{0, 2560, 0}}, 1228800},
    {"Stride256", "XR24", 1000, 700, 256, 1, {{0, 4096, 0}}, 2867200},
    {"Nv12", "NV12", 640, 480, 1, 1, {{0, 640, 0}, {307200, 640, 0}}, 460800},
    {"Nv12Aligned", "NV12", 1000, 700, 64, 4096, {{0, 1024, 0}, {716800, 1024, 0}}, 1075200},
    {"Nv12PageOffset", "NV12", 322, 243, 64, 4096, {{0, 384, 0}, {94208, 384, 0}}, 141056},
    {"Yu12Odd", "YU12", 641, 481, 1, 1, {{0, 641, 0}, {308321, 321, 0}, {385682, 321, 0}}, 463043},
    {"OnePixel", "NV12", 1, 1, 1, 1, {{0, 1, 0}, {1, 2, 0}}, 3},
};

INSTANTIATE_TEST_SUITE_P(FrameLayout, MakeLinear, testing::ValuesIn(kLinear),
                         [](const auto &info) { return std::string(info.param.name); });

struct NoLinearRow {
  const char *name;
  const char *fourcc;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t stride_align;
  std::uint32_t offset_align;
  const char *why;
};

void PrintTo(const NoLinearRow &row, std::ostream *out)
{
  *out << row.name;
}

class NoLinear : public testing::TestWithParam<NoLinearRow> {};

TEST_P(NoLinear, Refuses)
{
  const NoLinearRow &row = GetParam();
  std::uint64_t size = 0;
  const Result<FrameLayout> layout = make_linear_layout(test::fourcc_of(row.fourcc), row.width, row.height,
                                                        row.stride_align, row.offset_align, size);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code, ErrorCode::Layout);
  EXPECT_NE(layout.error().message.find(row.why), std::string::npos) << layout.error().message;
}

constexpr NoLinearRow kNoLinear[] = {
    {"UnknownFourcc", "ZZZZ", 640, 480, 1, 1, "not known"},
    {"ZeroWidth", "XR24", 0, 480, 1, 1, "empty"},
    {"ZeroHeight", "XR24", 640, 0, 1, 1, "empty"},
    {"StrideAlignZero", "XR24", 640, 480, 0, 1, "powers of two"},
    {"StrideAlignThree", "XR24", 640, 480, 3, 1, "powers of two"},
    {"OffsetAlignThree", "XR24", 640, 480, 1, 3, "powers of two"},
    {"RowTooLong", "XR24", 0x40000000, 1, 1, 1, "too large"},
    {"StrideTooLong", "XR24", 0x3fffffff, 1, 4096, 1, "too large"},
    {"SecondPlaneTooFar", "NV12", 0x20000, 0x10000, 1, 1, "plane 1"},
    {"TooManyRows", "XR24", 1, 0xffffffff, 1, 1, "too large"},
};

INSTANTIATE_TEST_SUITE_P(FrameLayout, NoLinear, testing::ValuesIn(kNoLinear),
                         [](const auto &info) { return std::string(info.param.name); });

UniqueFd make_memfd(off_t size)
{
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(fd);
  EXPECT_EQ(::ftruncate(fd.get(), size), 0);
  return fd;
}

TEST(QueryObject, SameBufferOtherNumber)
{
  const UniqueFd fd = make_memfd(12345);
  const UniqueFd copy = fd.dup();
  const UniqueFd other = make_memfd(12345);
  const Result<ObjectInfo> a = query_object(fd.get());
  const Result<ObjectInfo> b = query_object(copy.get());
  const Result<ObjectInfo> c = query_object(other.get());
  ASSERT_TRUE(a);
  ASSERT_TRUE(b);
  ASSERT_TRUE(c);
  EXPECT_EQ(a->size_bytes, 12345U);
  EXPECT_EQ(a->identity, b->identity);
  EXPECT_NE(a->identity, c->identity);
}

// Inodes repeat between file systems: dma-bufs, memfds and each tmpfs have their own numbers.
TEST(QueryObject, IdentityIsDeviceAndInode)
{
  const UniqueFd fd = make_memfd(1);
  struct stat facts {};
  ASSERT_EQ(::fstat(fd.get(), &facts), 0);
  const Result<ObjectInfo> info = query_object(fd.get());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->identity, (BufferIdentity{facts.st_dev, facts.st_ino}));
  EXPECT_NE(info->identity, (BufferIdentity{facts.st_dev + 1, facts.st_ino}));
}

// Linux before 5.3: every dma-buf has the inode of anon_inodefs.
TEST(QueryObject, OneInodeForAllTellsNothingApart)
{
  const UniqueFd fd = make_memfd(100);
  const UniqueFd other = make_memfd(200);
  old_kernel = true;
  const Result<ObjectInfo> a = query_object(fd.get());
  const Result<ObjectInfo> b = query_object(other.get());
  const Result<ObjectInfo> again = query_object(fd.get());
  old_kernel = false;
  ASSERT_TRUE(a && b && again);
  EXPECT_EQ(b->size_bytes, 200U);
  EXPECT_NE(a->identity, b->identity);
  EXPECT_NE(a->identity, again->identity);
}

TEST(QueryObject, FilePositionStays)
{
  const UniqueFd fd = make_memfd(100);
  ASSERT_EQ(::lseek(fd.get(), 10, SEEK_SET), 10);
  ASSERT_TRUE(query_object(fd.get()));
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 10);
}

TEST(QueryObject, EmptyMemfdHasNoBytes)
{
  const UniqueFd fd = make_memfd(0);
  const Result<ObjectInfo> info = query_object(fd.get());
  ASSERT_TRUE(info);
  EXPECT_EQ(info->size_bytes, 0U);
}

TEST(QueryObject, DeadDescriptor)
{
  for (const int fd : {-1, 1000000}) {
    const Result<ObjectInfo> info = query_object(fd);
    ASSERT_FALSE(info);
    EXPECT_EQ(info.error().code, ErrorCode::Layout);
    EXPECT_EQ(info.error().sys_errno, EBADF);
    EXPECT_NE(info.error().message.find(std::to_string(fd)), std::string::npos) << info.error().message;
  }
}

TEST(QueryObject, NeitherDmaBufNorMemfd)
{
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd device(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  for (const UniqueFd *fd : {&read_end, &directory, &device, &event}) {
    const Result<ObjectInfo> info = query_object(fd->get());
    ASSERT_FALSE(info) << fd->get();
    EXPECT_NE(info.error().message.find("neither a dma-buf nor a memfd"), std::string::npos) << info.error().message;
  }
}

} // namespace
} // namespace gstdrm
