// SPDX-License-Identifier: LGPL-2.1-or-later
// The GL thread of an element on GstGLBaseFilter, whichever context the pipeline has at the moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/errors.hpp>
#include <gst/gl/gl.h>

#include "gstglsearches.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

// Any thread. What cannot be used is said on the bus once.
class FilterGlThread {
public:
  struct Found {
    std::shared_ptr<GlThread>
        thread;                   // nullptr: no display yet (state NULL), or a stop came between
    std::uint64_t generation = 0; // calls of forget() before the search began
  };

  explicit FilterGlThread(GstGLBaseFilter *element) noexcept : element_(element) {}

  // The thread of the pipeline's present context, which is looked for and, where nobody has one,
  // made the first time. An Error has its message on the bus already. Asks the neighbours: call
  // it without a lock. A query of another thread may end after stop(): whoever keeps what was found
  // checks that `generation` is still the present one.
  Result<Found> find();
  // Held while GstGLBaseFilter changes its context and its display: find() finds nothing meanwhile.
  [[nodiscard]] GlSearches::Change change() { return GlSearches::Change(searches_); }
  // Lets go of the thread and of the reasons not to have one, and returns how often that was.
  // Waits until the GL thread has done what it was given, so that nothing of this element is left
  // there.
  std::uint64_t forget();
  // The message about a missing context, which GStreamer may look for by itself. Until forget().
  [[nodiscard]] OncePerFailure &no_context() noexcept { return no_context_; }

private:
  // What was known when a thread began to look for a context.
  struct Search {
    std::uint64_t generation;
    bool gave_up;
  };

  [[nodiscard]] Search begin_search() const;
  Result<GstPtr<GstGLContext>> present_context(const Search &search);
  [[nodiscard]] bool give_up(const Search &search);
  Result<Found> open(GstGLContext *context, std::uint64_t generation);

  GstGLBaseFilter *const element_; // borrowed: the element owns this
  GlSearches searches_;
  OncePerFailure posted_;
  OncePerFailure no_context_;
  // Guards all below; nothing is called under it.
  mutable OrderedMutex lock_{kLeafLockRank, "FilterGlThread::lock_"};
  std::shared_ptr<GlThread> thread_;
  bool gave_up_ = false;         // no context was found, and GStreamer has said so
  std::uint64_t generation_ = 0; // calls of forget()
};

// What gst_gl_base_filter_find_gl_context() found, and the message for the bus where it found
// nothing and GStreamer says why. The caller posts it: GStreamer would post it under a lock.
struct GlSearch {
  bool found = false;
  std::optional<Failure> failure;
};
GlSearch find_gl_context(GstGLBaseFilter *element);

// For the post_message() of such an element: where the message is one that GstGLBaseFilter posts,
// an error that explains itself is kept for find_gl_context() where that goes on, or else posted in
// its place, unless `told` is claimed, and true is returned. Takes no reference.
bool replace_gl_error(GstElement *element, GstMessage *message, OncePerFailure &told);

} // namespace gstdrm
