// SPDX-License-Identifier: LGPL-2.1-or-later
// Which back end runs a model here.
#pragma once

#include <memory>
#include <span>

#include "backend.hpp"

namespace gstdrm::metis {

enum class BackendKind { Auto, Axl, AxRuntime, Cpu };

// One kind of back end.
struct BackendWay {
  BackendKind kind;
  const char *name;
  Result<std::unique_ptr<Backend>> (*open)(const BackendOptions &options);
};

// Those that this build has, in the order in which Auto tries them: axl, axruntime, cpu.
std::span<const BackendWay> backend_ways() noexcept;

// Opens the back end of that kind; Auto: the first that opens. The Error says which were tried and
// why each was not taken.
Result<std::unique_ptr<Backend>> open_backend(BackendKind kind, const BackendOptions &options,
                                              std::span<const BackendWay> ways = backend_ways());

} // namespace gstdrm::metis
