// SPDX-License-Identifier: LGPL-2.1-or-later
// A thread that waits for the device: by the fence of a drawing, or in vaSyncSurface, which blocks,
// for drivers that attach no fence to the DMA buffers.
#pragma once

#include <memory>

#include <gst/drm/core/job_worker.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "va_objects.hpp"

namespace gstdrm::va {

// One drawing.
struct SyncJob {
  std::shared_ptr<Surface> surface; // is drawn into
  UniqueFd fence;                   // of the drawing; empty: the driver is asked
  std::shared_ptr<const void> kept; // what the device reads: let go of when it is done
};

class SyncWorker : public JobWorker<SyncJob> {
public:
  SyncWorker();
};

} // namespace gstdrm::va
