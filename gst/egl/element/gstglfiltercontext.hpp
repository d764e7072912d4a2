// SPDX-License-Identifier: LGPL-2.1-or-later
// How elements on GstGLBaseFilter look for the pipeline's GL context, and the error if there is
// none.
#pragma once

#include <optional>

#include <gst/drm/element/errors.hpp>
#include <gst/gl/gl.h>

namespace gstdrm {

struct FoundContext {
  GstPtr<GstGLContext> context; // empty: there is none
  // For the bus, if GStreamer says why there is none. The caller posts it: GStreamer would post it
  // under a lock.
  std::optional<Failure> failure;
};
// Asks the neighbours, and makes a context if nobody has one. Call it without a lock.
FoundContext find_gl_context(GstGLBaseFilter *element);

// The post_message() of such an element; `parent` is GstGLBaseFilter's class. In place of an error
// of GstGLBaseFilter one is posted that explains itself, unless `told` is claimed;
// find_gl_context() returns that failure instead if it is what goes on in this thread. Consumes the
// message.
bool post_gl_message(GstElement *element, GstMessage *message, OncePerFailure &told,
                     gpointer parent);

// An always pad template of these caps.
void add_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                  const GstPtr<GstCaps> &caps);

} // namespace gstdrm
