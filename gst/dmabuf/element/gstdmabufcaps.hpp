// SPDX-License-Identifier: LGPL-2.1-or-later
// Which caps on one pad correspond to which caps on the other: the same rules for all elements.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmcaps-parts.hpp>
#include <gst/video/video.h>

namespace gstdrm {

// How one element's pads relate. Plain video on either pad stands for the same plain video on the
// other one; what differs between the elements is where DMA_DRM may be.
struct CapsRules {
  GstPadDirection dmabuf_pad; // linear DMA_DRM here stands for plain video on the other pad
  bool dmabuf_passes;         // DMA_DRM stands for the same DMA_DRM on the other pad
  // Whether memory:DMABuf with a GstVideoFormat is the same as linear DMA_DRM. A CPU can do nothing
  // with such frames otherwise.
  bool implicit_is_linear = false;
  friend bool operator==(const CapsRules &, const CapsRules &) = default;
};

inline constexpr CapsRules kUploadRules{GST_PAD_SRC, true};
inline constexpr CapsRules kDownloadRules{GST_PAD_SINK, false};
constexpr CapsRules with_implicit_linear(CapsRules rules) noexcept
{
  rules.implicit_is_linear = true;
  return rules;
}

// Formats whose bytes are those of a LINEAR DRM fourcc, both ways, in the order of FormatList.
const std::vector<GstVideoFormat> &linear_formats();
bool is_linear_format(GstVideoFormat format);

// How caps name the memory of video: plain video/x-raw, DMA_DRM, memory:DMABuf without DMA_DRM
// (the dialect of GStreamer before 1.24), or in a way that these elements do not know.
enum class CapsKind { Plain, DmaDrm, Implicit, Other };
CapsKind kind_of(const CapsPart &part);

// The part in words of another kind. A list of DMA_DRM has pairs of `modifier` only, and only these
// have a place in the other kinds. Nullopt if no format is left. The part's own list is replaced,
// never compared with another.
std::optional<CapsPart> translate(const CapsPart &part, CapsKind from, CapsKind to,
                                  std::uint64_t modifier);

inline GstPadDirection opposite(GstPadDirection direction) noexcept
{
  return direction == GST_PAD_SINK ? GST_PAD_SRC : GST_PAD_SINK;
}

// DMA buffers, going by the first structure of caps that have one.
bool is_dmabuf_caps(const GstCaps *caps);

// Template caps: plain video in every linear format; DMA_DRM without drm-format, which means every
// pair; DMA_DRM with the linear pairs alone; memory:DMABuf with the linear formats' names.
GstPtr<GstCaps> plain_template();
GstPtr<GstCaps> any_dmabuf_template();
GstPtr<GstCaps> linear_dmabuf_template();
GstPtr<GstCaps> implicit_dmabuf_template();

// An always pad template of these caps, in this order.
void add_pad_template(GstElementClass *klass, const char *name, GstPadDirection direction,
                      std::initializer_list<GstPtr<GstCaps>> parts);
// What such a template says beside the formats of plain video, worked out when it was made.
const CapsParts &template_limits(GstPadTemplate *pad_template);

// What `caps` of the pad in `direction` allow on the other pad, DMA_DRM first, then other DMA
// buffers. Structures that are neither plain video nor DMA buffers are left out; other fields are
// kept as they are. Formats are mapped one by one, never compared list against list.
GstPtr<GstCaps> transform_caps(const CapsRules &rules, GstPadDirection direction,
                               const GstCaps *caps);
// The same of parts that lie within the pad's template, where no ANY is left.
CapsParts transform_parts(const CapsRules &rules, GstPadDirection direction,
                          const CapsParts &known);

} // namespace gstdrm
