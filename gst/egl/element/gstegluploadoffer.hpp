// SPDX-License-Identifier: LGPL-2.1-or-later
// What egldmabufupload offers upstream: the pairs of its device, less what was refused, as the
// settings allow. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include <gst/drm/core/format_offer.hpp>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gst/drm/element/properties.hpp>

#include "gsteglcaps.hpp"
#include "gstglthread.hpp"

namespace gstdrm {

enum class UploadMode { Auto, Import, Copy }; // the property `mode`

struct UploadSettings {
  UploadMode mode = UploadMode::Auto;
  ZeroCopy zero_copy = ZeroCopy::Prefer;
  bool prove = true;
  ImplicitModifier implicit_modifier = ImplicitModifier::Auto;
  [[nodiscard]] bool may_copy() const noexcept
  {
    return mode != UploadMode::Import && zero_copy == ZeroCopy::Prefer;
  }
};

class UploadOffer {
public:
  // What caps queries are answered with. It does not change; another one takes its place.
  [[nodiscard]] std::shared_ptr<const UploadFormats> formats() const;
  // What the pad in `direction` can have, without a filter, if the other pad's peer answers `peer`.
  // The last answer of each pad is remembered: upstream asks the same many times while it
  // negotiates, and a GPU's list has hundreds of pairs.
  std::shared_ptr<const CapsParts> allowed(GstPadDirection direction, GstCaps *peer);
  [[nodiscard]] UploadSettings settings() const;
  // The thread whose device is offered; nullptr: none yet.
  [[nodiscard]] std::shared_ptr<GlThread> thread() const;

  // Calls of forget(). Whoever looks for a device reads it first.
  [[nodiscard]] std::uint64_t generation() const;

  // Each of these returns whether formats() allows something else than before.
  bool change_settings(const std::function<void(UploadSettings &)> &change);
  // The device of another context, in place of the last one, whose refusals are forgotten. Does
  // nothing if it was found in an older generation, or if the device of its context is offered
  // already. A thread that is not offered, or no longer, is retired.
  bool take(const std::shared_ptr<GlThread> &thread, std::uint64_t generation);
  // Lets go of the device.
  void forget();
  // Forgets the refusals of other sizes.
  bool resize(std::uint32_t width, std::uint32_t height);
  bool refuse(egl::Shape shape, Refusal refusal);
  // Whether the driver, which lists the pair, has refused it as one image at the present size.
  [[nodiscard]] bool has_refused(Format pair) const;

private:
  struct Pairs {
    egl::DisplayFormats images;
    FormatSet planes; // whose planes are images of their own
  };
  struct Device { // of one GlThread
    explicit Device(std::shared_ptr<GlThread> gl_thread);
    std::shared_ptr<GlThread> thread;
    bool has_rg_textures;
    Pairs listed;
    Pairs implicit; // the same with implicit pairs, for implicit-modifier=driver
    FormatOffer images, planes;
  };
  static Pairs list(const egl::Device &device);
  static Pairs with_implicit(const Pairs &listed);
  // With the lock held, both.
  [[nodiscard]] UploadFormats work_out() const;
  bool update();
  // It depends on the peer's answer and the formats alone, which are the key: it is never out of
  // date.
  struct Answer {
    GstPtr<GstCaps> peer;
    std::shared_ptr<const UploadFormats> formats;
    std::shared_ptr<const CapsParts> allowed;
  };

  // Guards all below. Rank 90, because FormatOffer takes its own under it. Nobody is called under
  // it: a GlThread ends outside of it.
  mutable OrderedMutex lock_{90, "UploadOffer::lock_"};
  std::uint64_t generation_ = 0;
  UploadSettings settings_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const UploadFormats> formats_ = std::make_shared<const UploadFormats>();
  std::array<Answer, 2> answers_; // of the source pad, of the sink pad
};

} // namespace gstdrm
