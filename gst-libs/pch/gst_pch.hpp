// SPDX-License-Identifier: LGPL-2.1-or-later
// What most sources of the library, the kit and the plugins read first, compiled once for each of them in a sanitizer's
// build (meson.build).
#include <gst/allocators/gstdmabuf.h>
#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>
