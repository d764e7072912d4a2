// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstdmabuffailures.hpp"

GST_DEBUG_CATEGORY_EXTERN(dmabuf_transform_debug);
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT dmabuf_transform_debug

namespace gstdrm {

Failures::Failures(GstBaseTransform *element, CurrentRules rules, Suggest suggest)
    : element_(element), rules_(std::move(rules)), suggest_(std::move(suggest))
{
  negotiation_.watch(GST_BASE_TRANSFORM_SINK_PAD(element),
                     [this](const GstCaps *filter) { return mismatch(filter); });
}

void Failures::reset()
{
  negotiation_.reset();
}

void Failures::post(const GError *error, const GstCaps *caps)
{
  if (!claim())
    return;
  Failure failure({GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT},
                  std::string(GST_OBJECT_NAME(element_)) + " cannot use the caps of " +
                      peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_)),
                  Error{ErrorCode::Caps, error->message, 0});
  failure.add("sender", peer_name(GST_BASE_TRANSFORM_SINK_PAD(element_))).add("caps", caps);
  post_failure(GST_ELEMENT(element_), failure);
}

void Failures::explain(const GstCaps *upstream)
{
  if (claim())
    post_mismatch(GST_ELEMENT(element_), mismatch(upstream));
}

Mismatch Failures::mismatch(const GstCaps *upstream) const
{
  const std::string origin = origin_name(GST_BASE_TRANSFORM_SINK_PAD(element_));
  const GstPtr<GstCaps> any = GstPtr<GstCaps>::adopt(gst_caps_new_any());
  const GstPtr<GstCaps> sendable =
      transform_caps(rules_(), GST_PAD_SINK, upstream ? upstream : any.get());
  return describe_mismatch({nothing_in_common(GST_ELEMENT(element_)),
                            {origin, "has", upstream, sendable.get()},
                            restrictions_after(GST_BASE_TRANSFORM_SRC_PAD(element_))},
                           suggest_);
}

} // namespace gstdrm
