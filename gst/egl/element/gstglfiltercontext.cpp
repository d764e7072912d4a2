// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstglfiltercontext.hpp"

#include <string>
#include <utility>

#include <gst/drm/element/errors.hpp>

namespace gstdrm {

namespace {

// A call of find_gl_context() in this thread. GstGLBaseFilter posts its error under a lock of its
// own, within the call: a handler that asks the element for caps would look for the context again,
// without end.
struct Lookup {
  explicit Lookup(GstGLBaseFilter *searching) : element(searching), outer(present)
  {
    present = this;
  }
  Lookup(const Lookup &) = delete;
  Lookup &operator=(const Lookup &) = delete;
  ~Lookup() { present = outer; }

  GstGLBaseFilter *element;
  std::optional<BaseError> error;
  Lookup *outer; // of another element, whose neighbour this one is
  static thread_local Lookup *present;
};
thread_local Lookup *Lookup::present = nullptr;

Failure gl_failure(GstGLBaseFilter *element, const BaseError &base)
{
  Failure failure(base.on_bus, std::string(GST_OBJECT_NAME(element)) + " cannot use OpenGL",
                  Error{ErrorCode::Device, base.text, 0});
  failure.advise(
      "Install an EGL driver (Mesa), let the process open the GPU's node in /dev/dri, or choose "
      "another platform with GST_GL_PLATFORM=egl and GST_GL_WINDOW.");
  failure.add("base-class", base.debug);
  return failure;
}

} // namespace

FoundContext find_gl_context(GstGLBaseFilter *element)
{
  Lookup lookup(element);
  if (gst_gl_base_filter_find_gl_context(element))
    return {GstPtr<GstGLContext>::adopt(gst_gl_base_filter_get_gl_context(element)), {}};
  FoundContext none;
  if (lookup.error)
    none.failure = gl_failure(element, *lookup.error);
  return none;
}

bool post_gl_message(GstElement *element, GstMessage *message, OncePerFailure &told,
                     gpointer parent)
{
  auto owned = GstPtr<GstMessage>::adopt(message);
  const auto base = base_error_in(element, message);
  if (!base)
    return GST_ELEMENT_CLASS(parent)->post_message(element, owned.release()) != FALSE;
  if (Lookup *lookup = Lookup::present; lookup && GST_ELEMENT_CAST(lookup->element) == element)
    lookup->error = *base;
  else if (told.claim())
    post_failure(element, gl_failure(GST_GL_BASE_FILTER(element), *base));
  return true;
}

void add_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                  const GstPtr<GstCaps> &caps)
{
  gst_element_class_add_pad_template(
      klass, gst_pad_template_new(name, direction, GST_PAD_ALWAYS, caps.get()));
}

} // namespace gstdrm
