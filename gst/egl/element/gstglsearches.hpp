// SPDX-License-Identifier: LGPL-2.1-or-later
// Searches of threads for an element's GL context, and its changes of state between them.
#pragma once

#include <chrono>

#include <gst/drm/core/ordered_mutex.hpp>

namespace gstdrm {

// gst_gl_base_filter_reset() unrefs the context and the display before it clears them, without a
// lock, so that a query of another thread may take what is gone. So a reset waits until no query
// reads the context, and queries during a reset are answered with no context. Any thread.
class GlSearches {
public:
  class Search {
  public:
    explicit Search(GlSearches &searches);
    Search(const Search &) = delete;
    Search &operator=(const Search &) = delete;
    ~Search();
    // Returns false while the element changes: it must not be searched.
    explicit operator bool() const noexcept { return goes_on_; }

  private:
    friend class GlSearches;
    GlSearches &searches_;
    Search *const outer_; // of the same thread: a handler on the bus may ask in the midst of one
    bool goes_on_ = false;
    static thread_local Search *innermost;
  };

  // Scoped writer lock; recursive per thread.
  class Change {
  public:
    explicit Change(GlSearches &searches);
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;
    ~Change();
    // Returns false if a search did not end within kLongest.
    [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }

  private:
    GlSearches &searches_;
    bool is_alone_ = false;
  };

private:
  // How long a change waits for a search that does not end, because its thread waits in turn for
  // the change: a handler in the application that sets states in the midst of a search.
  static constexpr std::chrono::seconds kLongest{1};

  [[nodiscard]] unsigned own_searches() const noexcept;

  OrderedMutex lock_{kLeafLockRank, "GlSearches::lock_"}; // guards all below
  OrderedCondition idle_;
  unsigned searching_ = 0;
  unsigned changing_ = 0;
};

} // namespace gstdrm
