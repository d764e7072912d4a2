// SPDX-License-Identifier: LGPL-2.1-or-later
// What most sources without GStreamer read first, compiled once for a library in a sanitizer's build (meson.build).
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
