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
  Answer answer;
  std::shared_ptr<const UploadFormats> formats;
  {
    const std::lock_guard guard(lock_);
    answer = answers_[sink ? 1 : 0];
    formats = formats_;
  }
  if (answer.formats == formats && answer.peer && caps_are_same(answer.peer.get(), peer))
    return answer.allowed;
  auto made = std::make_shared<const CapsParts>(
      upload_parts(sink ? GST_PAD_SRC : GST_PAD_SINK, peer, *formats));
  answer = {GstPtr<GstCaps>::share(peer), std::move(formats), made};
  const std::lock_guard guard(lock_);
  std::swap(answers_[sink ? 1 : 0], answer); // the old one is freed without the lock
  return made;
}

UploadSettings UploadOffer::settings() const
{
  const std::lock_guard guard(lock_);
  return settings_;
}

std::shared_ptr<UploadOffer::Device> UploadOffer::device() const
{
  const std::lock_guard guard(lock_);
  return device_;
}

std::shared_ptr<GlThread> UploadOffer::thread() const
{
  const std::shared_ptr<Device> device = this->device();
  return device ? device->thread : nullptr;
}

std::uint64_t UploadOffer::generation() const
{
  const std::lock_guard guard(lock_);
  return generation_;
}

UploadFormats UploadOffer::work_out(const UploadSettings &settings, const Device *device) const
{
  if (!device)
    return {};
  const egl::Device &gl = *device->thread->device();
  UploadDevice what;
  what.can_copy = settings.may_copy();
  what.takes_plain = settings.zero_copy == ZeroCopy::Prefer;
  what.has_external_textures = gl.has_external_textures();
  what.has_rg_textures = device->has_rg_textures;
  what.max_size = gl.max_texture_size();
  what.implicit_modifier = settings.implicit_modifier;
  if (settings.mode != UploadMode::Copy) {
    const bool any_layout = settings.implicit_modifier == ImplicitModifier::Driver;
    const Pairs &pairs = any_layout ? device->implicit : device->listed;
    const FormatSet images = device->images.formats(); // less what was refused
    what.images.texture_2d = FormatSet::intersect(pairs.images.texture_2d, images);
    what.images.external_only = FormatSet::intersect(pairs.images.external_only, images);
    what.planes = FormatSet::intersect(pairs.planes, device->planes.formats());
  }
  return UploadFormats(what);
}

// Works without the lock, and once more where somebody else was faster. Whoever sees a new device
// sees its formats too: a negotiation that begins with one offer must not end with another.
bool UploadOffer::update(const Taken *taken)
{
  for (;;) {
    UploadSettings settings;
    std::shared_ptr<Device> device;
    std::shared_ptr<const UploadFormats> before;
    std::uint64_t changes = 0;
    {
      const std::lock_guard guard(lock_);
      settings = settings_;
      device = taken ? taken->device : device_;
      before = formats_;
      changes = changes_;
    }
    auto formats = std::make_shared<const UploadFormats>(work_out(settings, device.get()));
    const bool changed = !(*formats == *before);
    std::unique_lock guard(lock_);
    if (taken && taken->generation != generation_)
      return false; // stop() came between
    if (changes != changes_)
      continue;
    if (taken && device_ && device && device_->thread->context() == device->thread->context())
      return false; // another thread took it meanwhile, and may have refusals of it already
    changes_++;
    std::swap(device_, device); // the old one is freed without the lock
    if (changed)
      formats_ = std::move(formats);
    const bool is_replaced = device && device != device_;
    guard.unlock();
    if (is_replaced)
      device->thread->retire();
    return changed;
  }
}

bool UploadOffer::change_settings(const std::function<void(UploadSettings &)> &change)
{
  {
    const std::lock_guard guard(lock_);
    change(settings_);
    changes_++;
  }
  return update();
}

bool UploadOffer::take(const std::shared_ptr<GlThread> &thread, std::uint64_t generation)
{
  const Taken taken{std::make_shared<Device>(thread), generation};
  const bool changed = update(&taken);
  if (this->thread() != thread)
    thread->retire();
  return changed;
}

void UploadOffer::forget()
{
  Taken none{nullptr, 0};
  std::array<Answer, 2> old; // freed without the lock
  {
    const std::lock_guard guard(lock_);
    none.generation = ++generation_;
    changes_++;
    std::swap(answers_, old);
  }
  update(&none);
}

bool UploadOffer::resize(std::uint32_t width, std::uint32_t height)
{
  const std::shared_ptr<Device> device = this->device();
  if (!device)
    return false;
  const bool images = device->images.resize(width, height);
  const bool planes = device->planes.resize(width, height);
  return (images || planes) && update();
}

bool UploadOffer::refuse(egl::Shape shape, Refusal refusal)
{
  const std::shared_ptr<Device> device = this->device();
  if (!device)
    return false;
  FormatOffer &offer = shape == egl::Shape::OneImage ? device->images : device->planes;
  return offer.refuse(std::move(refusal)) && update();
}

bool UploadOffer::has_refused(Format pair) const
{
  const std::shared_ptr<Device> device = this->device();
  return device && !device->images.formats().contains(pair);
}

} // namespace gstdrm
