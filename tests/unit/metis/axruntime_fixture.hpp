// SPDX-License-Identifier: LGPL-2.1-or-later
// The axruntime back end on the test runtime (tests/axruntime).
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <gtest/gtest.h>

#include <gst/drm/core/log.hpp>
#include <gst/drm/core/poll_wait.hpp>

#include "axruntime/network.hpp"
#include "engine/axruntime/axr_library.hpp"
#include "engine/backend.hpp"

namespace gstdrm::test {

using namespace gstdrm::metis;

inline std::string environment(const char *name)
{
  const char *value = std::getenv(name);
  return value ? value : "";
}

// One of the builds of tests/axruntime/meson.build.
inline std::string library_of(const std::string &build = "DOCUMENTED")
{
  return environment(("GST_DRM_TEST_AXRUNTIME_" + build).c_str());
}

inline std::string model_path(const std::string &name)
{
  return environment("GST_DRM_TEST_DATA") + "/models/axruntime-" + name + ".json";
}

// A function of the test runtime that is open.
template <typename Function> Function *test_function(const char *name)
{
  void *handle = ::dlopen(library_of().c_str(), RTLD_NOW | RTLD_NOLOAD);
  void *function = handle ? ::dlsym(handle, name) : nullptr;
  if (handle)
    ::dlclose(handle);
  return reinterpret_cast<Function *>(function);
}

// Lines of the log, from warnings up, while it lives. One thread.
class Warnings {
public:
  Warnings()
  {
    lines().clear();
    set_log_sink(&kSink);
  }
  ~Warnings() { set_log_sink(nullptr); }
  static std::vector<std::string> &lines()
  {
    static std::vector<std::string> all;
    return all;
  }

private:
  static inline int most_detailed = static_cast<int>(LogLevel::Warning);
  static constexpr LogSink kSink{
      &most_detailed, [](LogLevel) noexcept { return true; },
      [](LogLevel, const char *, const char *, int, const char *text) noexcept {
        lines().emplace_back(text);
      }};
};

class Axruntime : public testing::Test {
protected:
  void SetUp() override
  {
    use(library_of());
    faults("");
  }
  // Whatever failed, nothing of the runtime is left.
  void TearDown() override
  {
    if (auto *alive = test_function<int()>("axr_test_alive")) {
      EXPECT_EQ(alive(), 0);
    }
    ::unsetenv(axr::kLibraryVariable);
    ::unsetenv("GST_DRM_AXRUNTIME_TEST");
  }

  static void use(const std::string &library)
  {
    ::setenv(axr::kLibraryVariable, library.c_str(), 1);
  }
  static void faults(const std::string &text)
  {
    ::setenv("GST_DRM_AXRUNTIME_TEST", text.c_str(), 1);
  }

  // Host memory, and a time limit that is never reached.
  static BackendOptions options_of(const std::string &model)
  {
    BackendOptions options;
    options.model.path = model_path(model);
    options.max_in_flight = 4;
    options.dmabuf_input = false;
    options.dmabuf_output = false;
    options.timeout = std::chrono::hours(1);
    return options;
  }

  static void expect_error(const Error &error, ErrorCode code, int sys_errno,
                           const std::vector<std::string> &parts)
  {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_EQ(error.sys_errno, sys_errno) << error.message;
    for (const std::string &part : parts)
      EXPECT_NE(error.message.find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << error.message;
  }
};

} // namespace gstdrm::test
