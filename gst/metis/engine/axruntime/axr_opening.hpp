// SPDX-License-Identifier: LGPL-2.1-or-later
// Opening a runtime within a time limit.
#pragma once

#include <memory>

#include "axr_session.hpp"

namespace gstdrm::metis::axr {

// Session::open(), for as long as BackendOptions::open_timeout. ErrorCode::Sync with ETIMEDOUT: the
// runtime has not come back. Its call keeps a thread of its own then, and what it opens goes when
// it comes back; until then every other opening ends in the same way, for runtimes are opened one
// after the other. Throws what std::thread throws.
Result<std::shared_ptr<Session>> open_session(const BackendOptions &options);

} // namespace gstdrm::metis::axr
