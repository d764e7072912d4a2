// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps what a device's API made of imported dma-bufs, so that a buffer that comes round again is
// not imported again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "frame_layout.hpp"
#include "log.hpp"
#include "result.hpp"

namespace gstdrm {

// What an ImportCache keeps.
struct ImportBounds {
  // how long an entry whose memory is no longer in use
  std::uint64_t keep_frames = 32;
  std::uint64_t keep_bytes = 128U << 20; // of the memory that all such entries hold
  // Entries whose memory is in use or not: a picture that moves within its buffer is another import
  // in each frame, and no memory dies. Pools have fewer buffers, also those with all frames in one
  // dma-buf.
  std::size_t most_of_one = 64; // whose first plane is in the same dma-buf
  std::size_t most = 1024;
  // Of dma-bufs that cannot be told apart (Linux before 5.3): those of a GstDrmAllocator are
  // recognised by their memory, all others are new in each frame, and their memory lives on.
  std::size_t most_unknown = 32;
  // Counts the entries that are dropped; outlives the cache. nullptr: nobody counts.
  std::atomic<std::uint64_t> *releases = nullptr;
};

// The key is what an import is made of: the identity of each plane's dma-buf, the layout and the
// format; neither the GstMemory nor the number of the descriptor counts. Whoever holds memory of a
// cached buffer holds its liveness token. An entry whose tokens are all gone is dropped keep_frames
// frames later, or sooner when such entries hold more than keep_bytes; where there are too many,
// the one that was used longest ago makes room. `Imported` is copyable and releases the import with
// its last copy, such as a std::shared_ptr. One thread.
template <typename Imported> class ImportCache {
public:
  // `layout` has passed check_layout(). An Error is handed on, and nothing is kept.
  using Importer = std::function<Result<Imported>(const FrameLayout &layout)>;
  using Liveness = std::shared_ptr<const void>;
  struct Import {
    Imported imported;
    Liveness liveness;
    bool hit = false;
  };

  explicit ImportCache(Importer importer, ImportBounds bounds = {})
      : importer_(std::move(importer)), bounds_(bounds)
  {
  }
  ImportCache(const ImportCache &) = delete;
  ImportCache &operator=(const ImportCache &) = delete;
  ~ImportCache() { clear(); }

  Result<Import> import(const FrameLayout &layout)
  {
    const Key key = key_of(layout);
    if (auto it = entries_.find(key); it != entries_.end()) {
      it->second.last_alive = frame_;
      it->second.last_use = ++uses_;
      return Import{it->second.imported, it->second.liveness, true};
    }
    Result<Imported> imported = importer_(layout);
    if (!imported)
      return imported.error();
    make_room(key);
    Entry entry{std::move(*imported), std::make_shared<char>(), frame_, bytes_of(layout), ++uses_};
    Import result{entry.imported, entry.liveness, false};
    entries_.emplace(key, std::move(entry));
    GSTDRM_LOG("imported a frame of %ux%u, %zu are kept", layout.width, layout.height,
               entries_.size());
    return result;
  }

  // Once per frame: ages the entries.
  void advance()
  {
    frame_++;
    std::uint64_t dead_bytes = 0;
    for (auto it = entries_.begin(); it != entries_.end();) {
      Entry &entry = it->second;
      if (entry.liveness.use_count() > 1)
        entry.last_alive = frame_;
      if (frame_ - entry.last_alive > bounds_.keep_frames) {
        it = drop(it);
        continue;
      }
      if (entry.last_alive != frame_)
        dead_bytes += entry.size_bytes;
      ++it;
    }
    while (dead_bytes > bounds_.keep_bytes) {
      auto oldest =
          std::min_element(entries_.begin(), entries_.end(), [](const auto &a, const auto &b) {
            return a.second.last_alive < b.second.last_alive;
          });
      dead_bytes -= std::min(dead_bytes, oldest->second.size_bytes);
      drop(oldest);
    }
  }

  // Drops the entries whose memory is no longer in use.
  void drop_unused()
  {
    count(std::erase_if(entries_,
                        [](const auto &of) { return of.second.liveness.use_count() == 1; }));
  }
  void clear()
  {
    count(entries_.size());
    entries_.clear();
  }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

private:
  struct PlaneKey {
    BufferIdentity identity;
    std::uint64_t offset_bytes = 0;
    std::uint32_t stride_bytes = 0;
    friend auto operator<=>(const PlaneKey &, const PlaneKey &) = default;
  };
  struct Key {
    Format format;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::array<PlaneKey, kMaxPlanes> planes{};
    friend auto operator<=>(const Key &, const Key &) = default;
  };
  struct Entry {
    Imported imported;
    Liveness liveness;
    std::uint64_t last_alive = 0; // frame in which it was last seen, or its memory was alive
    std::uint64_t size_bytes = 0;
    std::uint64_t last_use = 0;
  };

  void count(std::size_t dropped) noexcept
  {
    if (bounds_.releases)
      bounds_.releases->fetch_add(dropped, std::memory_order_relaxed);
  }
  auto drop(typename std::map<Key, Entry>::iterator entry)
  {
    count(1);
    return entries_.erase(entry);
  }

  // For one more entry.
  void make_room(const Key &key)
  {
    auto oldest = entries_.end();
    auto oldest_of_one = entries_.end();
    std::size_t of_one = 0;
    const BufferIdentity &identity = key.planes[0].identity;
    const auto is_of_one = [&identity](const BufferIdentity &other) {
      return identity.is_known() ? other == identity : !other.is_known();
    };
    const auto is_older = [this](auto it, auto than) {
      return than == entries_.end() || it->second.last_use < than->second.last_use;
    };
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (is_older(it, oldest))
        oldest = it;
      if (!is_of_one(it->first.planes[0].identity))
        continue;
      of_one++;
      if (is_older(it, oldest_of_one))
        oldest_of_one = it;
    }
    if (of_one > 0 && of_one >= (identity.is_known() ? bounds_.most_of_one : bounds_.most_unknown))
      drop(oldest_of_one);
    else if (!entries_.empty() && entries_.size() >= bounds_.most)
      drop(oldest);
  }

  static Key key_of(const FrameLayout &layout)
  {
    Key key{layout.format, layout.width, layout.height, {}};
    // A checked layout never has more planes; gcc 12 does not see that, and would warn at -O3.
    const std::size_t n_planes = std::min(layout.n_planes, key.planes.size());
    for (std::size_t i = 0; i < n_planes; i++)
      key.planes[i] = {layout.planes[i].object.identity, layout.planes[i].offset_bytes,
                       layout.planes[i].stride_bytes};
    return key;
  }

  // Each dma-buf counts once, however many planes lie in it.
  static std::uint64_t bytes_of(const FrameLayout &layout)
  {
    std::uint64_t bytes = 0;
    std::array<BufferIdentity, kMaxPlanes> seen{};
    for (std::size_t i = 0; i < layout.n_planes; i++) {
      const ObjectInfo &object = layout.planes[i].object;
      if (std::find(seen.begin(), seen.begin() + i, object.identity) == seen.begin() + i)
        bytes += object.size_bytes;
      seen[i] = object.identity;
    }
    return bytes;
  }

  Importer importer_;
  ImportBounds bounds_;
  std::map<Key, Entry> entries_;
  std::uint64_t frame_ = 0;
  std::uint64_t uses_ = 0;
};

} // namespace gstdrm
