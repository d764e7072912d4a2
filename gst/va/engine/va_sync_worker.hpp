// SPDX-License-Identifier: LGPL-2.1-or-later
// Sleeps in vaSyncSurface on a thread of its own, for drivers that leave no fence in the DMA
// buffers.
#pragma once

#include <memory>

#include <gst/drm/core/job_worker.hpp>

#include "va_objects.hpp"

namespace gstdrm::va {

class SyncWorker : public JobWorker<std::shared_ptr<Surface>> {
public:
  SyncWorker();
};

} // namespace gstdrm::va
