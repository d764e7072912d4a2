// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of the back ends that are linked into the plugin: apart from what chooses among them,
// which tests link alone.
#include <array>

#include "axl/axl_backend.hpp"
#ifdef HAVE_AXRUNTIME
#include "axruntime/axruntime_backend.hpp"
#endif
#include "cpu/cpu_plugin.hpp"
#include "open_backend.hpp"

namespace gstdrm::metis {

std::span<const BackendWay> backend_ways() noexcept
{
  static constexpr std::array ways{
      BackendWay{BackendKind::Axl, "axl", open_axl},
#ifdef HAVE_AXRUNTIME
      BackendWay{BackendKind::AxRuntime, "axruntime", open_axruntime},
#endif
      BackendWay{BackendKind::Cpu, "cpu", open_cpu},
  };
  return ways;
}

} // namespace gstdrm::metis
