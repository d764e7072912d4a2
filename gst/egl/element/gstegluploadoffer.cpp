// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gstegluploadoffer.hpp"

#include <mutex>
#include <utility>

#include "gsteglformats.hpp"

namespace gstdrm {

namespace {

// Whether GStreamer's shaders read the second plane of NV12 as R and G, which is what an import of
// GR88 gives; without GL_EXT_texture_rg they read luminance and alpha.
bool reads_rg(GstGLContext *context)
{
  GstVideoInfo info;
  return gst_video_info_set_format(&info, GST_VIDEO_FORMAT_NV12, 16, 16) &&
         gst_gl_format_from_video_info(context, &info, 1) == GST_GL_RG;
}

} // namespace

UploadOffer::Device::Device(std::shared_ptr<GlThread> gl_thread)
    : thread(std::move(gl_thread)), has_rg_textures(reads_rg(thread->context())),
      listed(list(*thread->device())), implicit(with_implicit(listed)),
      images(implicit.images.all()), planes(implicit.planes)
{
}

UploadOffer::Pairs UploadOffer::list(const egl::Device &device)
{
  if (!device.import_refusal().empty())
    return {};
  egl::DisplayFormats images = with_linear(device.formats());
  FormatSet planes = plane_pairs(images);
  return {std::move(images), std::move(planes)};
}

// Planes of a layout that only the driver knows are images where the driver lists the fourcc.
UploadOffer::Pairs UploadOffer::with_implicit(const Pairs &listed)
{
  egl::DisplayFormats images = gstdrm::with_implicit(listed.images);
  FormatSet planes =
      FormatSet::intersect(plane_pairs(images), FormatSet::unite(listed.planes, images.all()));
  return {std::move(images), std::move(planes)};
}

std::shared_ptr<const UploadFormats> UploadOffer::formats() const
{
  const std::lock_guard guard(lock_);
  return formats_;
}

std::shared_ptr<const CapsParts> UploadOffer::allowed(GstPadDirection direction, GstCaps *peer)
{
  const bool sink = direction == GST_PAD_SINK;
  Answer old; // freed without the lock
  const std::lock_guard guard(lock_);
  Answer &answer = answers_[sink ? 1 : 0];
  if (answer.formats != formats_ || !answer.peer || !caps_are_same(answer.peer.get(), peer))
    old = std::exchange(answer, Answer{GstPtr<GstCaps>::share(peer), formats_,
                                       std::make_shared<const CapsParts>(upload_parts(
                                           sink ? GST_PAD_SRC : GST_PAD_SINK, peer, *formats_))});
  return answer.allowed;
}

UploadSettings UploadOffer::settings() const
{
  const std::lock_guard guard(lock_);
  return settings_;
}

std::shared_ptr<GlThread> UploadOffer::thread() const
{
  const std::lock_guard guard(lock_);
  return device_ ? device_->thread : nullptr;
}

std::uint64_t UploadOffer::generation() const
{
  const std::lock_guard guard(lock_);
  return generation_;
}

UploadFormats UploadOffer::work_out() const
{
  if (!device_)
    return {};
  const egl::Device &gl = *device_->thread->device();
  UploadDevice what;
  what.can_copy = settings_.may_copy();
  what.takes_plain = settings_.zero_copy == ZeroCopy::Prefer;
  what.has_external_textures = gl.has_external_textures();
  what.has_rg_textures = device_->has_rg_textures;
  what.max_size = gl.max_texture_size();
  what.implicit_modifier = settings_.implicit_modifier;
  if (settings_.mode != UploadMode::Copy) {
    const bool any_layout = settings_.implicit_modifier == ImplicitModifier::Driver;
    const Pairs &pairs = any_layout ? device_->implicit : device_->listed;
    const FormatSet images = device_->images.formats(); // less what was refused
    what.images.texture_2d = FormatSet::intersect(pairs.images.texture_2d, images);
    what.images.external_only = FormatSet::intersect(pairs.images.external_only, images);
    what.planes = FormatSet::intersect(pairs.planes, device_->planes.formats());
  }
  return UploadFormats(what);
}

// Whoever sees a new device sees its formats too: a negotiation that begins with one offer must not
// end with another.
bool UploadOffer::update()
{
  auto formats = std::make_shared<const UploadFormats>(work_out());
  if (*formats == *formats_)
    return false;
  formats_ = std::move(formats);
  return true;
}

bool UploadOffer::change_settings(const std::function<void(UploadSettings &)> &change)
{
  const std::lock_guard guard(lock_);
  change(settings_);
  return update();
}

bool UploadOffer::take(const std::shared_ptr<GlThread> &thread, std::uint64_t generation)
{
  auto device = std::make_shared<Device>(thread);
  bool changed = false;
  {
    const std::lock_guard guard(lock_);
    const bool is_stale = generation != generation_; // stop() came between
    // another thread took it meanwhile, and may have refusals of it already
    const bool is_known = device_ && device_->thread->context() == thread->context();
    if (!is_stale && !is_known) {
      std::swap(device_, device);
      changed = update();
    }
  }
  if (device) // the old one, or the one that was not taken
    device->thread->retire();
  return changed;
}

void UploadOffer::forget()
{
  std::shared_ptr<Device> device; // freed without the lock, as the answers are
  std::array<Answer, 2> answers;
  {
    const std::lock_guard guard(lock_);
    generation_++;
    std::swap(answers_, answers);
    std::swap(device_, device);
    update();
  }
  if (device)
    device->thread->retire();
}

bool UploadOffer::resize(std::uint32_t width, std::uint32_t height)
{
  const std::lock_guard guard(lock_);
  if (!device_)
    return false;
  const bool images = device_->images.resize(width, height);
  const bool planes = device_->planes.resize(width, height);
  return (images || planes) && update();
}

bool UploadOffer::refuse(egl::Shape shape, Refusal refusal)
{
  const std::lock_guard guard(lock_);
  if (!device_)
    return false;
  FormatOffer &offer = shape == egl::Shape::OneImage ? device_->images : device_->planes;
  return offer.refuse(std::move(refusal)) && update();
}

bool UploadOffer::has_refused(Format pair) const
{
  const std::lock_guard guard(lock_);
  return device_ && !device_->images.formats().contains(pair);
}

} // namespace gstdrm
