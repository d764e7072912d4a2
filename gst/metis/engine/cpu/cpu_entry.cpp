// SPDX-License-Identifier: LGPL-2.1-or-later
// The one function that the part gives away.
#include <cerrno>

#include "cpu_backend.hpp"
#include "cpu_part.hpp"

extern "C" [[gnu::visibility("default")]] bool
gst_drm_metis_cpu_open(const gstdrm::metis::CpuPartCall *call) noexcept
{
  using namespace gstdrm;
  using namespace gstdrm::metis;
  if (call->version != kCpuPartVersion || call->sizes != kCpuPartSizes)
    return false;
  try {
    set_log_sink(call->log);
    *call->result = CpuBackend::open(*call->options);
  } catch (...) {
    *call->result = Error{ErrorCode::Allocation, "out of memory", ENOMEM}; // short: needs none
  }
  return true;
}
