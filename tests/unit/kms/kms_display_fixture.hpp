// SPDX-License-Identifier: LGPL-2.1-or-later
// A display on the fake libdrm, and pictures for it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <drm_fourcc.h>
#include <gst/drm/core/ordered_mutex.hpp>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_drm.hpp"
#include "gst/kms/engine/display/kms_display.hpp"

namespace gstdrm::test {

// For what takes a few refreshes where the processor is free.
inline constexpr std::int64_t kLong_ns = 60'000'000'000;

// An application may be behind each call, so the engine holds no lock meanwhile.
inline void expect_no_lock()
{
  const char *held = OrderedMutex::innermost();
  EXPECT_EQ(held, nullptr) << held;
}

struct Listener : kms::DisplayListener {
  ~Listener() override { wait(); }
  // Until no thread of a display uses it: where a test lets a display go that plays, the event
  // thread may be the last to let go. A derived class waits in its own destructor, since its
  // virtual functions end with it.
  void wait() const
  {
    while (refs > 0)
      std::this_thread::yield();
  }
  void ref() noexcept override { refs++; }
  void unref() noexcept override { refs--; }
  std::atomic<int> refs{0};
  std::atomic<int> failures{0};
  std::atomic<int> changes{0};
  std::atomic<int> stalls{0};
  std::atomic<int> repaints{0}; // requests for the picture once more
  int view_refusals = 0, overlay_refusals = 0, turns_left_out = 0;
  int master_changes = 0;
  int plugs = 0; // messages that the connector has changed
  int dark = 0, lit = 0; // of a joined output
  std::string where;
  void report(const kms::Report &report) noexcept override
  {
    using What = kms::Report::What;
    expect_no_lock();
    switch (report.what) {
    case What::Failed: failures++; break;
    case What::FormatsChanged: changes++; break;
    case What::Stalled: stalls++; break;
    case What::RepaintWanted: repaints++; break;
    case What::MasterLost:
    case What::MasterRegained: master_changes++; break;
    case What::Unplugged:
    case What::PluggedIn: plugs++; break;
    case What::TurnLeftOut: turns_left_out++; break;
    case What::ViewRefused: view_refusals++; break;
    case What::OverlayRefused: overlay_refusals++; break;
    case What::OutputDark: dark++; break;
    case What::OutputLit: lit++; break;
    case What::PicturePlaced: where = report.text; break;
    case What::FrameLost: break;
    }
  }
};

// Something with an identity: the fake imports it.
struct Memory {
  UniqueFd fd;
  explicit Memory(std::uint64_t size) : fd(memfd_create("fake-dmabuf", MFD_CLOEXEC))
  {
    EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  }
};

inline FrameLayout xrgb(const Memory &memory, std::uint32_t width, std::uint32_t height)
{
  FrameLayout layout;
  layout.format = {DRM_FORMAT_XRGB8888, kModLinear};
  layout.width = width;
  layout.height = height;
  layout.n_planes = 1;
  layout.planes[0] = {memory.fd.get(), 0, width * 4, *query_object(memory.fd.get())};
  return layout;
}

inline FrameLayout nv12(const Memory &y, const Memory &uv, std::uint32_t width,
                        std::uint32_t height)
{
  FrameLayout layout = xrgb(y, width, height);
  layout.format.fourcc = DRM_FORMAT_NV12;
  layout.n_planes = 2;
  layout.planes[0].stride_bytes = width;
  const bool same = &y == &uv;
  layout.planes[1] = {uv.fd.get(), same ? std::uint64_t{width} * height : 0, width,
                      *query_object(uv.fd.get())};
  return layout;
}

inline kms::Picture picture(std::uint32_t width, std::uint32_t height)
{
  kms::Picture p;
  p.format = {DRM_FORMAT_XRGB8888, kModLinear};
  p.width = width;
  p.height = height;
  p.rate = {60, 1};
  return p;
}

// What is left of a display that was let go. The event thread may be in a call of the display, and
// is the last to let go then.
inline int left_over()
{
  const auto alive = [] {
    const std::lock_guard guard(fakedrm::device().lock);
    return fakedrm::alive();
  };
  for (int ms = 0; ms < 10000 && alive() != 0; ms++)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return alive();
}

class DisplayTest : public testing::Test {
protected:
  DisplayTest() : drm_fd(fakedrm::plug()) {}
  ~DisplayTest() override
  {
    drm_fd.reset();
    EXPECT_TRUE(fakedrm::await_closed());
    listener.wait();
    EXPECT_EQ(left_over(), 0);
    EXPECT_EQ(fakedrm::device().double_closes, 0U);
  }

  // Another device in the place of the one so far, whose displays were let go.
  void replug()
  {
    drm_fd.reset(); // plug() waits until nobody has it open
    drm_fd.reset(fakedrm::plug());
  }

  Result<std::shared_ptr<kms::Display>> open()
  {
    kms::DeviceRequest request;
    request.fd = drm_fd.get();
    return kms::Display::open(request, {}, listener);
  }

  static Result<kms::Shown> show(kms::Display &display, const FrameLayout &layout)
  {
    Result<kms::FramebufferCache::Import> import = display.import(layout);
    if (!import)
      return import.error();
    kms::Frame frame;
    frame.framebuffer = import->imported;
    return display.show(frame, kms::FlipQueue::Overflow::Wait);
  }

  static const fakedrm::Commit &commit(std::size_t index)
  {
    return fakedrm::device().commits.at(index);
  }
  static std::uint64_t value(const fakedrm::Commit &c, std::uint32_t object, const char *name)
  {
    const auto it = c.values.find({object, name});
    return it == c.values.end() ? ~std::uint64_t{0} : it->second;
  }
  // As the last commit that names it sets it.
  static std::uint64_t last_value(std::uint32_t object, const char *name)
  {
    std::uint64_t found = ~std::uint64_t{0};
    for (const fakedrm::Commit &c : fakedrm::device().commits)
      if (const std::uint64_t v = value(c, object, name); v != ~std::uint64_t{0})
        found = v;
    return found;
  }

  UniqueFd drm_fd;
  Listener listener;
  Memory memory{1024 * 768 * 4};
};

} // namespace gstdrm::test
