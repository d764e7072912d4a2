// SPDX-License-Identifier: LGPL-2.1-or-later
// A display beside another program, on the fake libdrm.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <xf86drmMode.h>

#include "kms_display_fixture.hpp"

namespace gstdrm::test {

inline constexpr std::uint32_t kModeBlob = 600, kOtherModeBlob = 601, kForeignFramebuffer = 77;

// Another program shows 640x480 on the primary plane.
class Joined : public DisplayTest {
protected:
  Joined() { light(); }
  // The device as that program leaves it.
  static void light()
  {
    fakedrm::Device &d = fakedrm::device();
    d.found[{fakedrm::kCrtc, "ACTIVE"}] = 1;
    d.found[{fakedrm::kCrtc, "MODE_ID"}] = kModeBlob;
    d.found[{fakedrm::kConnector, "CRTC_ID"}] = fakedrm::kCrtc;
    d.found[{fakedrm::kPrimary, "FB_ID"}] = kForeignFramebuffer;
    d.plane_users[fakedrm::kPrimary] = fakedrm::kCrtc;
    d.foreign_framebuffers.insert(kForeignFramebuffer);
    drmModeModeInfo mode{25175, 640, 656, 752, 800, 0, 480, 490, 492, 525, 0, 60, 0, 0, "b"};
    add_mode(kModeBlob, mode);
    mode.hdisplay = 800;
    add_mode(kOtherModeBlob, mode);
  }
  static void add_mode(std::uint32_t id, const drmModeModeInfo &mode)
  {
    const auto *bytes = reinterpret_cast<const std::uint8_t *>(&mode);
    fakedrm::device().foreign_blobs[id].assign(bytes, bytes + sizeof(mode));
  }
  Result<std::shared_ptr<kms::Display>>
  join(kms::ModeRequest::Kind kind = kms::ModeRequest::Kind::Auto, std::uint32_t plane_id = 0,
       kms::OutputRequest output = {})
  {
    kms::DeviceRequest request;
    request.fd = drm_fd.get();
    output.mode.kind = kind;
    output.plane_id = plane_id;
    return kms::Display::open(request, output, heard);
  }
  static std::vector<std::uint32_t> objects(const fakedrm::Commit &commit)
  {
    std::vector<std::uint32_t> ids;
    for (const auto &[key, value] : commit.values)
      if (ids.empty() || ids.back() != key.first)
        ids.push_back(key.first);
    return ids;
  }
  // Starts, and shows so many frames of 320x240.
  void play(kms::Display &display, int frames)
  {
    ASSERT_TRUE(display.start());
    ASSERT_TRUE(display.configure(picture(320, 240)));
    for (int i = 0; i < frames; i++) {
      const auto shown = show(display, xrgb(memory, 320, 240));
      ASSERT_TRUE(shown) << shown.error().message;
      ASSERT_EQ(*shown, kms::Shown::Yes);
    }
    ASSERT_TRUE(display.drain(kLong_ns));
  }

  Listener heard;
};

} // namespace gstdrm::test
