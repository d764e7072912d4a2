// SPDX-License-Identifier: LGPL-2.1-or-later
// The messages of dmabufupload and dmabufdownload about a negotiation that failed.
#pragma once

#include <functional>
#include <string>

#include <gst/base/gstbasetransform.h>
#include <gst/drm/element/failed_negotiation.hpp>

#include "gstdmabufcaps.hpp"

namespace gstdrm {

// The rules that the properties of the element have chosen.
using CurrentRules = std::function<CapsRules()>;

// One message for each negotiation that fails, whoever notices the failure and however often
// upstream tries the same caps: it may do that with every buffer. Owned by one element; begin(),
// succeed() and reset() are the streaming thread's, all else may come from any thread.
class Failures {
public:
  // `suggest` and `rules` are those of the element.
  Failures(GstBaseTransform *element, CurrentRules rules, Suggest suggest);

  // A start: everything may be said anew.
  void reset();
  // Upstream sends caps. Other caps than those that failed last are worth a message of their own.
  void begin(const GstCaps *caps) { negotiation_.begin(caps); }
  // The caps were taken, or a frame of theirs was.
  void succeed() { negotiation_.succeed(); }

  // True for the first failure of the negotiation under way, whose caller posts the message.
  [[nodiscard]] bool claim() { return negotiation_.claim(); }
  // Posts what is wrong with `caps` of upstream's, unless the negotiation has a message.
  void post(const GError *error, const GstCaps *caps);
  // Posts an error that names both sides and what helps, unless the negotiation has a message.
  void explain(const GstCaps *upstream);

private:
  [[nodiscard]] Mismatch mismatch(const GstCaps *upstream) const;

  GstBaseTransform *const element_;
  const CurrentRules rules_;
  const Suggest suggest_;
  FailedNegotiation negotiation_;
};

// The nearest fix, in whole sentences, for caps that upstream sent (or offers) and downstream
// refuses.
std::string suggest_for_upload(const CapsRules &rules, const GstCaps *upstream,
                               const GstCaps *downstream);
std::string suggest_for_download(const CapsRules &rules, const GstCaps *upstream,
                                 const GstCaps *downstream);

} // namespace gstdrm
