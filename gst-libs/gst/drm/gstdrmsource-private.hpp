// SPDX-License-Identifier: LGPL-2.1-or-later
// A source behind its C name, for this library's own sources. Never installed.
#pragma once

#include <atomic>

#include "enumerate/source.hpp"
#include "gstdrmenumerate.h"

struct _GstDrmSource {
  std::atomic<int> ref_count{1};
  gstdrm::Source source;
};
