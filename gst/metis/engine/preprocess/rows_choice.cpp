// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rows.hpp"

namespace gstdrm::metis {

extern const RowLoops baseline_row_loops;
#ifdef GSTDRM_HAVE_AVX2_ROWS
extern const RowLoops avx2_row_loops;
#endif

const RowLoops *row_loops_at(std::size_t index) noexcept
{
  if (index == 0)
    return &baseline_row_loops;
#ifdef GSTDRM_HAVE_AVX2_ROWS
  if (index == 1 && __builtin_cpu_supports("avx2"))
    return &avx2_row_loops;
#endif
  return nullptr;
}

const RowLoops &row_loops() noexcept
{
  static const RowLoops *const fastest = row_loops_at(1) ? row_loops_at(1) : row_loops_at(0);
  return *fastest;
}

} // namespace gstdrm::metis
