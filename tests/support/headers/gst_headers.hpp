// SPDX-License-Identifier: LGPL-2.1-or-later
// What most GstCheck programs read first, compiled once for all of them (tests/meson.build).
// Not gst/check/gstcheck.h: its macro fail() may only come after the standard library's streams.
#include <gst/allocators/gstdmabuf.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>
