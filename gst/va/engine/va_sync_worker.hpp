// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread that calls vaSyncSurface, which blocks, for drivers that attach no fence to the DMA
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
