// SPDX-License-Identifier: LGPL-2.1-or-later
// A back end of libgbm that crashes as soon as it is loaded: crash_gbm.so, by GBM_BACKEND=crash and
// GBM_BACKENDS_PATH.
#include <csignal>

namespace {

__attribute__((constructor)) void crash()
{
  (void)std::raise(SIGSEGV);
}

} // namespace
