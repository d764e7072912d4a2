// SPDX-License-Identifier: LGPL-2.1-or-later
// A lease whose owner takes it back at any commit, between the making of its request and the
// kernel's answer, and while a flip is outstanding. The error says so; nothing waits, and nothing
// is left. On the fake libdrm.
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kms_joined.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

class Revoked : public Joined, public testing::WithParamInterface<ModeRequest::Kind> {
protected:
  // true: the kernel has taken up that commit
  static bool is_revoked()
  {
    const std::lock_guard guard(fakedrm::device().lock);
    return fakedrm::device().lease_revoked;
  }
  static void set_revoked(int at)
  {
    const std::lock_guard guard(fakedrm::device().lock);
    fakedrm::device().revoke_at = at;
  }
  // What the sink would post.
  static std::string told(const Display &display, const Result<Shown> &shown)
  {
    if (!shown)
      return shown.error().message;
    const std::optional<Error> why = display.failure();
    return why ? why->message : "nothing";
  }
  Result<Shown> push(Display &display)
  {
    Frame frame;
    {
      Result<FramebufferCache::Import> import = display.import(xrgb(memory, 640, 480));
      if (!import)
        return import.error();
      frame.framebuffer = import->imported;
    }
    const auto owner = std::make_shared<int>(0);
    owners.push_back(owner);
    frame.owner = owner;
    return display.show(frame, FlipQueue::Overflow::Wait);
  }
  // Shows frames until the lease is gone and that was told, or all of them.
  void play_until_revoked(Display &display)
  {
    for (int i = 0; i < kFrames; i++) {
      const auto shown = push(display);
      if (shown && *shown == Shown::Yes && !is_revoked())
        continue;
      if (shown &&
          *shown == Shown::Yes) { // its commit was made by the event thread, or is to come
        (void)display.drain(kLong_ns);
        continue;
      }
      EXPECT_TRUE(is_revoked());
      EXPECT_TRUE(!shown || *shown == Shown::Failed) << "frame " << i << " was dropped";
      EXPECT_NE(told(display, shown).find("revoked"), std::string::npos) << told(display, shown);
      return;
    }
    (void)display.drain(kLong_ns); // the event thread commits what waits
    EXPECT_TRUE(!is_revoked() ||
                told(display, Shown::Yes).find("revoked") != std::string::npos);
  }
  // One frame in flight, and one that waits, when `revoke` is called.
  void end_with_a_flip_outstanding(const std::function<void()> &revoke)
  {
    const auto opened = join(GetParam());
    ASSERT_TRUE(opened) << opened.error().message;
    Display &display = **opened;
    ASSERT_TRUE(display.start() && display.configure(picture(640, 480)));
    ASSERT_TRUE(push(display) && display.drain(kLong_ns));
    {
      const std::lock_guard guard(fakedrm::device().lock);
      fakedrm::device().send_events = false;
    }
    ASSERT_TRUE(push(display) && push(display));
    revoke();
    while (heard.failures == 0)
      std::this_thread::yield();
    const auto shown = push(display);
    EXPECT_TRUE(!shown || *shown == Shown::Failed);
    EXPECT_NE(told(display, shown).find("revoked"), std::string::npos) << told(display, shown);
    EXPECT_TRUE(display.stop()); // there is nothing to put back
    EXPECT_EQ(heard.failures, 1);
    expect_nothing_held();
  }
  // A thread that lets go of the display closes its descriptors last.
  static bool settles_to(unsigned fds)
  {
    for (int ms = 0; ms < 10000 && count_fds() > fds; ms++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count_fds() <= fds;
  }
  void expect_nothing_held() const
  {
    for (const std::weak_ptr<int> &owner : owners)
      EXPECT_TRUE(owner.expired());
    EXPECT_EQ(heard.dark, 0);
  }
  static constexpr int kFrames = 4;
  std::vector<std::weak_ptr<int>> owners;
};

TEST_P(Revoked, at_each_commit_from_the_first_to_the_last)
{
  const unsigned fds = count_fds();
  bool was_revoked = true;
  for (int at = 1; was_revoked; at++) {
    SCOPED_TRACE("commit " + std::to_string(at));
    ASSERT_LT(at, 100);
    set_revoked(at);
    {
      const auto opened = join(GetParam());
      if (opened) {
        Display &display = **opened;
        ASSERT_TRUE(display.start());
        const auto configured = display.configure(picture(640, 480));
        ASSERT_TRUE(configured) << configured.error().message;
        play_until_revoked(display);
        EXPECT_TRUE(display.stop()); // there is nothing to put back
        expect_nothing_held();
      } else {
        EXPECT_TRUE(is_revoked());
      }
    }
    was_revoked = is_revoked();
    EXPECT_EQ(left_over(), 0);
    EXPECT_TRUE(settles_to(fds));
    owners.clear();
    replug();
    light();
  }
}

TEST_P(Revoked, while_a_flip_is_outstanding_that_completes)
{
  end_with_a_flip_outstanding([] {
    set_revoked(1); // at the commit of the frame that waits for the flip
    fakedrm::send_held_events();
  });
}

// Its owner turned the CRTC off. The kernel tells of the end of a lease (drm_lease.c).
TEST_P(Revoked, while_a_flip_is_outstanding_that_never_completes)
{
  end_with_a_flip_outstanding([] {
    {
      const std::lock_guard guard(fakedrm::device().lock);
      fakedrm::device().lease_revoked = true;
    }
    fakedrm::hotplug();
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, Revoked,
                         testing::Values(ModeRequest::Kind::Current, ModeRequest::Kind::Match),
                         [](const auto &row) {
                           return row.param == ModeRequest::Kind::Current ? "joined" : "alone";
                         });

} // namespace
