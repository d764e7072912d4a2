// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pool_watch.hpp"

#include <string>

#include <gst/drm/gstdrm-guard-private.hpp>

#include "chain.hpp"
#include "errors.hpp"

namespace gstdrm {
namespace {

GstPtr<GstPad> source_pad(GstElement *element)
{
  return GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, "src"));
}

void delete_notices(gpointer notices, GClosure *) noexcept
{
  delete static_cast<PoolNotices *>(notices);
}

void on_exhausted(GstBufferPool *, gpointer notices)
{
  static_cast<PoolNotices *>(notices)->post_exhausted();
}

void on_failed(GstBufferPool *pool, const GError *error, gpointer notices)
{
  static_cast<PoolNotices *>(notices)->post_failed(pool, error);
}

void connect(GstBufferPool *pool, const char *signal, GCallback handler, GstElement *element,
             const char *remedy)
{
  g_signal_connect_data(pool, signal, handler, new PoolNotices(element, remedy), delete_notices,
                        static_cast<GConnectFlags>(0));
}

} // namespace

std::string holders_downstream(GstElement *element)
{
  const GstPtr<GstPad> pad = source_pad(element);
  return (pad ? holder_name(pad.get()) : std::string("nothing")) + " or what follows it";
}

bool is_normal_wait(GstElement *element)
{
  if (GST_STATE(element) != GST_STATE_PLAYING) // what downstream has stays there
    return true;
  const GstPtr<GstPad> pad = source_pad(element);
  const auto caps = GstPtr<GstCaps>::adopt(pad ? gst_pad_get_current_caps(pad.get()) : nullptr);
  gint num = 0;
  gint den = 1;
  constexpr gint kFastest = 4; // frames per second of which a sink may keep one for a second
  return caps &&
         gst_structure_get_fraction(gst_caps_get_structure(caps.get(), 0), "framerate", &num,
                                    &den) &&
         num > 0 && num / kFastest < den;
}

PoolNotices::PoolNotices(GstElement *element, const char *remedy) : remedy_(remedy)
{
  g_weak_ref_init(&element_, element);
}

PoolNotices::~PoolNotices()
{
  g_weak_ref_clear(&element_);
}

GstPtr<GstElement> PoolNotices::owner()
{
  return GstPtr<GstElement>::adopt(static_cast<GstElement *>(g_weak_ref_get(&element_)));
}

void PoolNotices::post_exhausted()
{
  const GstPtr<GstElement> element = owner();
  if (!element || is_normal_wait(element.get()) || told_exhausted_.exchange(true))
    return;
  GST_ELEMENT_WARNING(element.get(), RESOURCE, NO_SPACE_LEFT,
                      ("%s waits for a free buffer: it made as many as it may, and none came back "
                       "for a second. They are held by %s. Let go of frames sooner there (drop old "
                       "samples, shorten queues)%s.",
                       GST_OBJECT_NAME(element.get()), holders_downstream(element.get()).c_str(),
                       remedy_),
                      (nullptr));
}

void PoolNotices::post_failed(GstBufferPool *pool, const GError *error)
{
  const GstPtr<GstElement> element = owner();
  if (!element || told_failed_.exchange(true))
    return;
  const std::string who = holders_downstream(element.get());
  Failure failure({GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT},
                  std::string(GST_OBJECT_NAME(element.get())) + " cannot make another buffer",
                  take_error(g_error_copy(error)));
  failure.advise("Those that there are, are held by " + who +
                 ". Let go of frames sooner there, or raise the limit (ulimit -n for "
                 "descriptors).");
  failure.add("holders", who).add("pool", GST_OBJECT_NAME(pool));
  post_failure(element.get(), failure);
}

void watch_pool(GstBufferPool *pool, GstElement *element, PoolSignals signals, const char *remedy)
{
  connect(pool, "exhausted", G_CALLBACK(logging<on_exhausted>), element, remedy);
  if (signals == PoolSignals::All)
    connect(pool, "allocation-failed", G_CALLBACK(logging<on_failed>), element, remedy);
}

} // namespace gstdrm
