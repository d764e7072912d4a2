// SPDX-License-Identifier: LGPL-2.1-or-later
// What metisdmabufinfer's queue stands on: tensor memory, the choice of a back end, and NVMM
// frames.
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gst/drm/alloc/sealed_memfd.hpp>

#include "engine/nv_surface.hpp"
#include "engine/backend.hpp"
#include "engine/tensor_memory.hpp"
#include "scripted_backend.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::metis;

// --- tensor memory -------------------------------------------------------------------------------

class TensorMemories : public testing::TestWithParam<TensorMemory> {};

TEST_P(TensorMemories, BlocksAreUsedAgain)
{
  auto pool = *TensorPool::open(GetParam());
  const std::byte *first = nullptr;
  {
    auto block = *pool->take(100);
    EXPECT_GE(block->size_bytes(), 100U);
    EXPECT_EQ(block->fd() >= 0, GetParam() == TensorMemory::DmaBuf);
    EXPECT_EQ(block->view(100).size_bytes, 100U);
    const auto access = block->begin_access(DmaBufAccess::Write);
    ASSERT_TRUE(access) << access.error().message;
    std::memset(block->data(), 7, block->size_bytes());
    first = block->data();
    EXPECT_EQ(pool->n_unused(), 0U);
  }
  EXPECT_EQ(pool->n_unused(), 1U);
  const auto same = *pool->take(200); // of as many pages
  EXPECT_EQ(same->data(), first);
  const auto larger = *pool->take(1 << 20);
  EXPECT_NE(larger->data(), first);
  EXPECT_FALSE(pool->take(0));
  pool.reset(); // the blocks outlive it
  EXPECT_EQ(same->data()[0], std::byte{7});
}

// What downstream held once and will not hold again goes back to the system.
TEST(TensorMemory, KeepsSoManyBlocksOnly)
{
  const auto pool = *TensorPool::open(TensorMemory::System);
  std::vector<std::shared_ptr<const TensorBlock>> blocks;
  for (int i = 0; i < 40; i++)
    blocks.push_back(*pool->take(100));
  blocks.clear();
  EXPECT_EQ(pool->n_unused(), 32U);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TensorMemories,
                         testing::Values(TensorMemory::DmaBuf, TensorMemory::System),
                         [](const auto &info) {
                           return info.param == TensorMemory::DmaBuf ? "dmabuf" : "system";
                         });

// --- the choice of a back end --------------------------------------------------------------------

Result<std::unique_ptr<Backend>> absent(const BackendOptions &)
{
  return Error{ErrorCode::Device, "No device.", ENODEV};
}
Result<std::unique_ptr<Backend>> broken(const BackendOptions &)
{
  return Error{ErrorCode::Unsupported, "No library.", ENOENT};
}
Result<std::unique_ptr<Backend>> good(const BackendOptions &)
{
  return std::unique_ptr<Backend>(new metis::test::ScriptedBackend(
      std::make_shared<metis::test::Device>(""), Backend::Takes::Frames));
}

struct ChoiceRow {
  const char *name;
  BackendKind asked;
  std::vector<BackendWay> ways;
  const char *says; // nullptr: opens
};

const BackendWay kAbsent{BackendKind::Axl, "axl", absent};
const BackendWay kBroken{BackendKind::AxRuntime, "axruntime", broken};
const BackendWay kGood{BackendKind::Cpu, "cpu", good};

class Choices : public testing::TestWithParam<ChoiceRow> {};

TEST_P(Choices, OpensOrSaysWhy)
{
  const ChoiceRow &row = GetParam();
  const auto opened = open_backend(row.asked, {}, row.ways);
  EXPECT_EQ(static_cast<bool>(opened), row.says == nullptr);
  if (row.says && !opened) {
    EXPECT_EQ(opened.error().message, row.says);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Backend, Choices,
    testing::Values(
        ChoiceRow{"auto_takes_the_first_that_opens",
                  BackendKind::Auto,
                  {kAbsent, kBroken, kGood},
                  nullptr},
        ChoiceRow{"auto_names_all_that_it_tried",
                  BackendKind::Auto,
                  {kAbsent, kBroken},
                  "No back end runs the model. axl: No device. axruntime: No library."},
        ChoiceRow{"the_one_that_is_asked_for", BackendKind::Cpu, {kAbsent, kGood}, nullptr},
        ChoiceRow{"no_other_than_that", BackendKind::Axl, {kAbsent, kGood}, "No device."},
        ChoiceRow{"none_of_that_kind",
                  BackendKind::AxRuntime,
                  {kAbsent, kGood},
                  "This build has no such back end; it has axl, cpu."}),
    [](const auto &info) { return std::string(info.param.name); });

// --- memory:NVMM ---------------------------------------------------------------------------------

// NvBufSurface of nvbufsurface.h by offsets (LP64), so that the test does not share the structs.
class Surface {
public:
  Surface() : fd(std::move(create_sealed_memfd(8192)).value())
  {
    set(surface_, 4, 1U);  // batchSize
    set(surface_, 16, 4U); // memType: surface array
    set(surface_, 24, params_.data());
    set(params_, 0, 64U); // width
    set(params_, 4, 48U);
    set(params_, 12, 6U); // colorFormat: NV12
    set(params_, 24, static_cast<std::uint64_t>(fd.get()));
    set(params_, 48, 2U);     // num_planes
    set(params_, 84, 64U);    // pitch[0]
    set(params_, 88, 64U);    // pitch[1]
    set(params_, 104, 4096U); // offset[1]
  }
  template <typename T> void set_surface(std::size_t at, T value) { set(surface_, at, value); }
  template <typename T> void set_params(std::size_t at, T value) { set(params_, at, value); }
  [[nodiscard]] Result<FrameLayout> layout(std::size_t size = 64) const
  {
    return layout_of_nv_surface(surface_.data(), size, 64, 48);
  }

  UniqueFd fd;

private:
  template <typename Bytes, typename T> static void set(Bytes &bytes, std::size_t at, T value)
  {
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  alignas(8) std::array<std::byte, 64> surface_{};
  alignas(8) std::array<std::byte, 384> params_{};
};

TEST(NvSurface, Layout)
{
  const Surface surface;
  const auto layout = surface.layout();
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->n_planes, 2U);
  EXPECT_EQ(layout->planes[0].fd, surface.fd.get());
  EXPECT_EQ(layout->planes[1].offset_bytes, 4096U);
  EXPECT_EQ(layout->planes[1].stride_bytes, 64U);
  EXPECT_TRUE(check_layout(*layout));
}

struct SurfaceRow {
  const char *name;
  bool in_params;
  std::size_t at;
  std::uint32_t value;
  const char *says;
};

class BadSurfaces : public testing::TestWithParam<SurfaceRow> {};

TEST_P(BadSurfaces, AreRefused)
{
  const SurfaceRow &row = GetParam();
  Surface surface;
  if (row.in_params)
    surface.set_params(row.at, row.value);
  else
    surface.set_surface(row.at, row.value);
  const auto layout = surface.layout();
  ASSERT_FALSE(layout);
  EXPECT_NE(layout.error().message.find(row.says), std::string::npos) << layout.error().message;
}

INSTANTIATE_TEST_SUITE_P(NvSurface, BadSurfaces,
                         testing::Values(SurfaceRow{"a_batch", false, 4, 4, "batch of 4"},
                                         SurfaceRow{"cuda_memory", false, 16, 2, "of type 2"},
                                         SurfaceRow{"rgba", true, 12, 19, "colour format is 19"},
                                         SurfaceRow{"block_linear", true, 16, 1, "block linear"},
                                         SurfaceRow{"another_size", true, 0, 128, "128x48"},
                                         SurfaceRow{"no_descriptor", true, 24, 0x7ffffff0,
                                                    "cannot be used"}),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(NvSurface, ShortMemory)
{
  EXPECT_FALSE(Surface().layout(16));
}

} // namespace
