// SPDX-License-Identifier: LGPL-2.1-or-later
// How an element that makes frames agrees with downstream on their format: caps from the formats of
// its device, what both sides have in common, the choice, and caps of that.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <gst/drm/core/format_choice.hpp>
#include <gst/drm/core/limits.hpp>
#include <gst/drm/core/result.hpp>
#include <gst/drm/gstdrm-private.hpp>
#include <gst/drm/gstdrmallocator.h>
#include <gst/gst.h>

#include "implicit_modifier.hpp"

namespace gstdrm {

// Sizes of frames in pixels, both ends included.
struct FrameSizes {
  std::uint32_t min_width = 1;
  std::uint32_t min_height = 1;
  std::uint32_t max_width = kMaxFrameSize;
  std::uint32_t max_height = kMaxFrameSize;
};

// DMA_DRM with every pair, memory:DMABuf with the implicit members, and plain video/x-raw with the
// linear ones. Without `formats` (no device is known) drm-format is left out, which means every
// format.
GstPtr<GstCaps> producer_caps(const FormatSet *formats, const FrameSizes &sizes);

// One way to go on: a structure that downstream takes, with one fourcc of it.
struct Offer {
  GstPtr<GstCaps> caps; // one structure, size and rate fixed; drm-format or format still open
  // video/x-raw without memory:DMABuf: linear, for peers that know no DMA_DRM
  bool is_plain = false;
  // implicit caps whose frames are LINEAR (implicit-modifier=linear)
  bool is_implicit_linear = false;
  Candidate candidate;
};

// `common` is what both sides can do, in downstream's order; offers come in that order too.
// `formats` is what the device makes, with_implicit() of the same setting.
std::vector<Offer> make_offers(const GstCaps *common, const FormatSet &formats,
                               ImplicitModifier implicit_modifier = ImplicitModifier::Auto);
// The offer's caps with the modifier that the allocator chose.
GstPtr<GstCaps> settle(const Offer &offer, std::uint64_t modifier);

// Agrees with the peer of a pad. Belongs to the thread that negotiates.
class Producer {
public:
  // `element` is borrowed; it is named in what is logged in `category`.
  Producer(GstElement *element, GstDebugCategory *category) noexcept
      : element_(element), category_(category)
  {
  }

  enum class Outcome { Agreed, NothingInCommon, NotAllocated };
  struct Agreement {
    Outcome outcome = Outcome::NothingInCommon;
    GstPtr<GstCaps> caps;   // of Agreed: fixed, with the modifier that the allocator chose
    GstPtr<GstCaps> common; // what both sides can do
    // Of NotAllocated: what the allocator said of each format; EMFILE or ENFILE where descriptors
    // were short.
    Error refusals{ErrorCode::Allocation, {}};
  };
  // Asks downstream, and has `allocator` make one frame of each common format in turn, until one
  // can be made. The frame is let go: it is how the allocator chooses a modifier. Where the offer
  // is the same as the last time, the choice is too, and nothing is allocated. `own` is
  // producer_caps() of `formats`, which are with_implicit() of the same setting. For Linear,
  // implicit caps may be agreed on, whose frames are allocated as LINEAR. `nearest` is the fourcc
  // of a converter's frames: where downstream takes it, it comes before downstream's order.
  Agreement agree(GstPad *pad, const GstCaps *own, const FormatSet &formats,
                  GstDrmAllocator *allocator,
                  ImplicitModifier implicit_modifier = ImplicitModifier::Auto,
                  std::uint32_t nearest = 0);
  // The next call of agree() allocates: for another allocator.
  void forget() { choice_ = {}; }

private:
  struct Choice {
    GstPtr<GstCaps> caps;
    std::vector<std::uint64_t> modifiers; // from which the allocator chose
    std::uint32_t fourcc = 0;
    GstPtr<GstCaps> offered; // the caps before it chose
    bool is_padded = false;  // the frame's rows are not GStreamer's own
  };
  bool is_last_choice(const Offer &offer) const;
  GstPtr<GstCaps> try_offer(const Offer &offer, GstDrmAllocator *allocator, Agreement &agreement);

  GstElement *element_;
  GstDebugCategory *category_;
  Choice choice_;
};

// Announces release fences (gst_drm_query_announce_release_fences()) in every allocation query that
// leaves the source pad while `waits` is true; always, where no `waits` is given. For elements
// whose pools wait for the release fences of a buffer before they hand it out again. `waits` is
// called by the thread that sends the query, and is kept as long as the pad.
//
// Adds the constraints of all consumers to the answers (gst_drm_pad_gather_constraints()).
void set_up_producer_pad(GstPad *src, std::function<bool()> waits = {});

} // namespace gstdrm
