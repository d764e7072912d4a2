// SPDX-License-Identifier: LGPL-2.1-or-later
#include "va_sync_worker.hpp"

#include "va_surface.hpp"

namespace gstdrm::va {

SyncWorker::SyncWorker()
    : JobWorker([](const std::shared_ptr<Surface> &surface) { return sync_surface(*surface); })
{
}

} // namespace gstdrm::va
