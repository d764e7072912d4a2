// SPDX-License-Identifier: LGPL-2.1-or-later
#include "engine/egl_calls.hpp"

#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "fake_egl.hpp"
#include "support/egl_context.hpp"

namespace gstdrm::egl {
namespace {

using test::FakeEgl;

struct ExtensionRow {
  const char *list;
  const char *name;
  bool there;
};

TEST(NamesIn, WholeNamesOnly)
{
  const ExtensionRow rows[] = {
      {"EGL_A EGL_B", "EGL_A", true},
      {"EGL_A EGL_B", "EGL_B", true},
      {"EGL_A EGL_B ", "EGL_B", true},
      {" EGL_A  EGL_B", "EGL_B", true},
      {"EGL_A_more", "EGL_A", false},
      {"more_EGL_A", "EGL_A", false},
      {"EGL_A_more EGL_A", "EGL_A", true},
      {"EGL_A", "EGL_A_more", false},
      {"", "EGL_A", false},
      {nullptr, "EGL_A", false},
      {"EGL_A", "", false},
      {"EGL_A  EGL_B", "", false},
  };
  for (const ExtensionRow &row : rows)
    EXPECT_EQ(names_in(row.list).contains(row.name), row.there)
        << (row.list ? row.list : "null") << ", " << row.name;
}

TEST(LoadCalls, EverythingTheEngineNames)
{
  const FakeEgl driver;
  const Calls calls = driver.calls();
  // each pointer is set: the structs have nothing else
  const auto all_set = [](const auto &table) {
    std::array<void *, sizeof(table) / sizeof(void *)> pointers{};
    static_assert(sizeof(table) == sizeof(pointers));
    std::memcpy(pointers.data(), &table, sizeof(table));
    for (std::size_t i = 0; i < pointers.size(); ++i)
      EXPECT_NE(pointers[i], nullptr) << "number " << i;
  };
  all_set(calls.egl);
  all_set(calls.gl);
}

// Each function alone: either the load fails and names it, or the pointer is empty.
TEST(LoadCalls, EachFunctionMissing)
{
  FakeEgl driver;
  std::vector<std::string> names;
  const auto record = [&](const char *name) {
    names.emplace_back(name);
    return driver.loader()(name);
  };
  ASSERT_TRUE(load_calls(record, record));
  EXPECT_GT(names.size(), 60U);
  unsigned optional = 0;
  for (const std::string &name : names) {
    driver.missing = {name};
    const Result<Calls> calls = load_calls(driver.loader(), driver.loader());
    if (calls) {
      optional++;
      continue;
    }
    EXPECT_EQ(calls.error().code, ErrorCode::Unsupported) << name;
    EXPECT_NE(calls.error().message.find(name + "()"), std::string::npos) << calls.error().message;
  }
  // 11 of EGL's extensions, 8 of GL 3.0, glPolygonMode(), glBindSampler(),
  // glEGLImageTargetTexture2DOES(), glGetGraphicsResetStatus() under four names, 3 of GL 4, and
  // those of state with an index and of clipping, as extensions have them
  EXPECT_EQ(optional, 35U);
}

TEST(LoadCalls, NoLoader)
{
  EXPECT_FALSE(load_calls({}, {}));
}

// The machine's own libEGL, where it has one.
TEST(LoadCalls, MachinesOwn)
{
  const Result<Loader> loader = test::library_loader();
  if (!loader)
    GTEST_SKIP() << loader.error().message;
  EXPECT_TRUE(load_calls(*loader, *loader));
}

} // namespace
} // namespace gstdrm::egl
