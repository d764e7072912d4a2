// SPDX-License-Identifier: LGPL-2.1-or-later
// A display that starts, shows and stops while other threads move the cursor, change the view, take
// snapshots and ask: with threads that really run in parallel, which the box's never do (TSan, ASan).
#include <atomic>
#include <functional>

#include "kms_display_fixture.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

constexpr int kRounds = 60;

CursorImage cursor()
{
  return {64, 64, std::vector<std::uint8_t>(64 * 64 * 4, 0x80)};
}

// Starts, shows two frames, stops; every fourth time something else is plugged in.
bool play(Display &display, const Memory &memory, int round)
{
  {
    const std::lock_guard guard(fakedrm::device().lock);
    fakedrm::device().connected = round % 4 != 3;
  }
  if (!display.start() || !display.configure(picture(640, 480)))
    return false;
  for (int i = 0; i < 2; i++) {
    Result<FramebufferCache::Import> import = display.import(xrgb(memory, 640, 480));
    if (!import)
      return false;
    Frame frame;
    frame.framebuffer = import->imported;
    if (!display.show(frame, FlipQueue::Overflow::Wait))
      return false;
  }
  return static_cast<bool>(display.stop());
}

TEST_F(DisplayTest, every_thread_may_call_while_it_starts_and_stops)
{
  fakedrm::device().found[{fakedrm::kOverlay, "type"}] = DRM_PLANE_TYPE_CURSOR;
  auto display = open();
  ASSERT_TRUE(display) << display.error().message;
  const Result<void> set = (*display)->set_cursor(cursor());
  ASSERT_TRUE(set) << set.error().message;
  std::atomic<bool> done{false};
  std::atomic<int> played{0};
  const auto until_done = [&done](const std::function<void(int)> &what) {
    return [&done, what] {
      for (int i = 0; !done; i++)
        what(i);
    };
  };
  at_once({[&] {
             for (int round = 0; round < kRounds; round++)
               played += play(**display, memory, round);
             done = true;
           },
           until_done([&](int i) {
             (*display)->move_cursor(i % 600, i % 400);
             View view;
             view.fit = i % 2 ? Fit::Contain : Fit::None;
             (*display)->set_view(view);
           }),
           until_done([&](int i) {
             (void)(*display)->set_cursor(i % 2 ? std::optional(cursor()) : std::nullopt);
           }),
           until_done([&](int) {
             (void)(*display)->snapshot();
             (void)(*display)->counters();
             (void)(*display)->describe();
             (void)(*display)->formats();
             (void)(*display)->limits();
           })});
  EXPECT_EQ(played, kRounds);
  EXPECT_FALSE((*display)->snapshot()); // it has stopped
  display = Error{};
}

} // namespace
