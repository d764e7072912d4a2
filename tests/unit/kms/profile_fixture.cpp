// SPDX-License-Identifier: LGPL-2.1-or-later
#include "profile_fixture.hpp"

#include <algorithm>
#include <cstring>

#include <xf86drmMode.h>

namespace gstdrm::test {

using namespace gstdrm::kms;
using fakedrm::kConnector;
using fakedrm::kCrtc;
using fakedrm::kPrimary;

void ProfileTest::plug(const std::string &profile)
{
  display.reset();
  drm_fd.reset(); // plug() waits until nobody has it open
  drm_fd.reset(fakedrm::plug());
  std::string error;
  fakedrm::device().model = fakedrm::make_model(profile, error);
  ASSERT_TRUE(fakedrm::device().model) << error;
}

void ProfileTest::light()
{
  fakedrm::Device &d = fakedrm::device();
  const drmModeModeInfo mode{65000, 1024, 1048, 1184, 1344, 0, 768, 771, 777, 806, 0, 60, 0, DRM_MODE_TYPE_PREFERRED, "a"};
  d.foreign_blobs[kFoundMode].resize(sizeof(mode));
  std::memcpy(d.foreign_blobs[kFoundMode].data(), &mode, sizeof(mode));
  d.foreign_framebuffers.insert(kFoundFramebuffer);
  d.found[{kCrtc, "ACTIVE"}] = 1;
  d.found[{kCrtc, "MODE_ID"}] = kFoundMode;
  d.found[{kConnector, "CRTC_ID"}] = kCrtc;
  for (const auto &[name, value] : {std::pair("FB_ID", kFoundFramebuffer), std::pair("CRTC_ID", kCrtc), std::pair("SRC_W", 1024U << 16),
                                    std::pair("SRC_H", 768U << 16), std::pair("CRTC_W", 1024U), std::pair("CRTC_H", 768U)})
    d.found[{kPrimary, name}] = value;
}

void ProfileTest::open()
{
  DeviceRequest request;
  request.fd = drm_fd.get();
  auto opened = Display::open(request, {}, heard);
  ASSERT_TRUE(opened) << opened.error().message;
  display = *opened;
}

void ProfileTest::expect_no_refusals()
{
  for (const fakedrm::Refused &refused : fakedrm::device().refused)
    EXPECT_TRUE(refused.commit.flags & DRM_MODE_ATOMIC_TEST_ONLY)
        << "a real commit was refused: " << refused.why << ", flags " << refused.commit.flags;
}

std::uint64_t ProfileTest::now(std::uint32_t object, const std::string &name)
{
  const fakedrm::Device &d = fakedrm::device();
  if (const auto it = d.found.find({object, name}); it != d.found.end())
    return it->second;
  for (const auto &[id, specs] : d.model->objects)
    for (const fakedrm::PropertySpec &spec : specs)
      if (id == object && spec.name == name)
        return spec.value;
  return 0;
}

std::vector<std::string> ProfileTest::state()
{
  const fakedrm::Device &d = fakedrm::device();
  std::vector<std::string> lines;
  for (const auto &[id, specs] : d.model->objects)
    for (const fakedrm::PropertySpec &spec : specs) {
      // what a commit alone means, and what the kernel sets to Good by itself
      if (spec.name == "IN_FENCE_FD" || spec.name == "OUT_FENCE_PTR" || spec.name == "link-status" ||
          spec.name.substr(0, 10) == "WRITEBACK_")
        continue;
      std::string value = std::to_string(now(id, spec.name));
      if (spec.name == "MODE_ID")
        for (const auto *blobs : {&d.foreign_blobs, &d.old_blobs})
          if (const auto blob = blobs->find(static_cast<std::uint32_t>(now(id, spec.name))); blob != blobs->end())
            value = std::string(blob->second.begin(), blob->second.end());
      lines.push_back(std::to_string(id) + " " + spec.name + " " + value);
    }
  return lines;
}

FrameLayout ProfileTest::frame(const Memory &memory, Format format, std::uint32_t width, std::uint32_t height,
                               std::uint32_t more_stride_bytes)
{
  std::uint64_t size = 0;
  Result<FrameLayout> layout = make_linear_layout(format.fourcc, width, height, 512, 65536, size);
  EXPECT_TRUE(layout) << fourcc_to_string(format.fourcc);
  layout->format = format;
  for (std::size_t i = 0; i < layout->n_planes; i++) {
    layout->planes[i].fd = memory.fd.get();
    layout->planes[i].object = *query_object(memory.fd.get());
    layout->planes[i].stride_bytes += more_stride_bytes;
  }
  return *layout;
}

Picture ProfileTest::picture_of(const FrameLayout &layout)
{
  Picture picture;
  picture.format = layout.format;
  picture.width = layout.width;
  picture.height = layout.height;
  picture.rate = {60, 1};
  return picture;
}

Result<Shown> ProfileTest::show(const FrameLayout &layout, int frames, std::shared_ptr<const Overlay> overlay)
{
  Result<Shown> shown = Shown::Dropped;
  for (int i = 0; i < frames; i++) {
    Result<FramebufferCache::Import> import = display->import(layout);
    if (!import)
      return import.error();
    Frame frame;
    frame.framebuffer = import->imported;
    frame.overlay = overlay;
    shown = display->show(frame, FlipQueue::Overflow::Wait);
    if (!shown)
      return shown;
    EXPECT_TRUE(*shown == Shown::Yes);
  }
  EXPECT_TRUE(display->drain(kLong_ns));
  return shown;
}

std::string ProfileTest::outcome(const FrameLayout &layout, const View &view, int frames)
{
  display->set_view(view);
  if (const Result<void> configured = display->configure(picture_of(layout)); !configured)
    return "refused: " + configured.error().message;
  const Result<Shown> shown = show(layout, frames);
  if (!shown)
    return "refused: " + shown.error().message;
  // "plane 30 of /dev/… (driver), Virtual-1, 1024x768@60.004, 1024x768 at 0,0"
  const std::size_t mode = heard.where.find("Virtual-1, ");
  return heard.where.substr(0, heard.where.find(" of ")) + ", " + heard.where.substr(mode + 11);
}

std::vector<std::string> profile_names()
{
  std::vector<std::string> names;
  for (const fakedrm::Profile &profile : fakedrm::all_profiles())
    names.emplace_back(profile.name);
  return names;
}

std::string name_of(const testing::TestParamInfo<std::string> &info)
{
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

} // namespace gstdrm::test
