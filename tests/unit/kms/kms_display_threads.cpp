// SPDX-License-Identifier: LGPL-2.1-or-later
// A display that starts, shows and stops while other threads move the cursor, change the view, take
// snapshots and ask: with threads that really run in parallel, which the box's never do (TSan,
// ASan).
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "kms_display_fixture.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

// GST_DRM_TEST_ROUNDS sets another number: 10000 for a long look under TSan.
int rounds()
{
  const char *text = std::getenv("GST_DRM_TEST_ROUNDS");
  return text ? std::atoi(text) : 200;
}

CursorImage cursor()
{
  return {64, 64, std::vector<std::uint8_t>(64 * 64 * 4, 0x80)};
}

// Starts, shows two frames, stops; after every third time the last frame stays on screen.
bool play(Display &display, const Memory &memory, int round)
{
  display.set_restore(round % 3 != 2);
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
  const int wanted = rounds();
  std::atomic<bool> done{false};
  std::atomic<int> played{0};
  // So many calls a round and no more, so that the round has the processor too.
  constexpr int kCallsPerRound = 16;
  const auto until_done = [&done, &played](const std::function<void(int)> &what) {
    return [&done, &played, what] {
      for (int i = 0; !done;)
        if (i < (played + 1) * kCallsPerRound)
          what(i++);
        else
          std::this_thread::yield();
    };
  };
  at_once({[&] {
             for (int round = 0; round < wanted; round++)
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
           }),
           until_done([&](int i) {
             {
               const std::lock_guard guard(fakedrm::device().lock);
               fakedrm::device().connected = i % 3 != 0;
             }
             fakedrm::hotplug();
             fakedrm::tick();
           })});
  EXPECT_EQ(played, wanted);
  EXPECT_FALSE((*display)->snapshot()); // it has stopped
  display = Error{};
}

// A buffer that calls the function when the display gives it back.
struct OnRelease {
  explicit OnRelease(std::function<void()> what) : call(std::move(what)) {}
  OnRelease(const OnRelease &) = delete;
  OnRelease &operator=(const OnRelease &) = delete;
  ~OnRelease() { call(); }
  const std::function<void()> call;
};

// Shows two frames, so that the event thread gives the first one back: `call` runs there, with the
// display in use.
void show_and_give_back(Display &display, const Memory &memory, std::function<void()> call)
{
  for (int i = 0; i < 2; i++) {
    Result<FramebufferCache::Import> import = display.import(xrgb(memory, 640, 480));
    ASSERT_TRUE(import);
    Frame frame;
    frame.framebuffer = import->imported;
    if (i == 0)
      frame.owner = std::make_shared<OnRelease>(std::move(call));
    const auto shown = display.show(frame, FlipQueue::Overflow::Wait);
    ASSERT_TRUE(shown) << shown.error().message;
  }
}

TEST_F(DisplayTest, the_event_thread_may_call_back)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  std::atomic<bool> called{false};
  show_and_give_back(**display, memory, [&] {
    EXPECT_TRUE((*display)->on_event_thread());
    const Result<Snapshot> snapshot = (*display)->snapshot(); // would wait for this thread
    EXPECT_FALSE(snapshot);
    EXPECT_EQ(snapshot.error().sys_errno, EDEADLK);
    EXPECT_NE(snapshot.error().message.find("another thread"), std::string::npos);
    EXPECT_EQ((*display)->counters().shown, 2U);
    EXPECT_FALSE((*display)->describe().empty());
    EXPECT_FALSE((*display)->failure());
    (*display)->set_view({});
    (*display)->move_cursor(1, 2);
    called = true;
  });
  while (!called)
    std::this_thread::yield();
  EXPECT_FALSE((*display)->on_event_thread());
  const Result<Snapshot> here = (*display)->snapshot(); // the fake writes nothing
  EXPECT_TRUE(here || here.error().sys_errno != EDEADLK);
  EXPECT_TRUE((*display)->stop());
}

// As a bus handler does that ends the pipeline.
TEST_F(DisplayTest, the_event_thread_may_let_the_display_go)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  std::atomic<bool> ready{false}, called{false};
  std::shared_ptr<Display> last;
  show_and_give_back(**display, memory, [&] {
    while (!ready) // the streaming thread is out of the display
      std::this_thread::yield();
    EXPECT_TRUE(last->stop());
    EXPECT_TRUE(last->give_up_output());
    last.reset();
    called = true;
  });
  last = std::move(*display);
  display = Error{};
  ready = true;
  while (!called)
    std::this_thread::yield();
  const auto left = [] {
    const std::lock_guard guard(fakedrm::device().lock);
    return fakedrm::alive();
  };
  while (left() != 0) // the thread leaves the display
    std::this_thread::yield();
}

// What an application's bus handler may let go: the listener's owner, and the display with it.
struct Owner {
  std::shared_ptr<Display> display;
};

// Lets its owner go in the first call of an event, and notes the calls that come without it.
struct LetsGo : Listener {
  std::shared_ptr<Owner> owner = std::make_shared<Owner>();
  std::weak_ptr<Owner> seen = owner;
  std::shared_ptr<Owner> kept;
  int calls = 0, calls_without_owner = 0;
  void ref() noexcept override { kept = seen.lock(); }
  void unref() noexcept override { kept.reset(); }
  void report(const Report &) noexcept override
  {
    calls++;
    calls_without_owner += seen.expired();
    if (!owner)
      return;
    EXPECT_TRUE(owner->display->stop());
    EXPECT_TRUE(owner->display->give_up_output());
    owner.reset();
  }
};

TEST_F(DisplayTest, a_listener_lives_until_the_calls_of_an_event_are_made)
{
  LetsGo lets_go;
  DeviceRequest request;
  request.fd = drm_fd.get();
  auto display = Display::open(request, {}, lets_go);
  ASSERT_TRUE(display) << display.error().message;
  lets_go.owner->display = std::move(*display);
  display = Error{};
  ASSERT_TRUE(lets_go.owner->display->start());
  fakedrm::device().foreign_blobs = {{700, {1, 2, 3}}};
  fakedrm::device().found[{fakedrm::kConnector, "EDID"}] = 700; // another display
  fakedrm::hotplug();
  EXPECT_EQ(lets_go.calls, 2); // the formats, and the connector
  EXPECT_EQ(lets_go.calls_without_owner, 0);
  EXPECT_TRUE(lets_go.seen.expired());
}

// The event thread is in a call when the display is let go, and is the last to let go: what it
// closes then is the device's of that display.
TEST_F(DisplayTest, another_device_comes_when_the_event_thread_is_done)
{
  auto display = open();
  ASSERT_TRUE(display && (*display)->start() && (*display)->configure(picture(640, 480)));
  const pid_t own = gettid();
  std::atomic<bool> inside{false}, let_go{false}, plugged{false}, called{false};
  show_and_give_back(**display, memory, [&, own] {
    inside = true;
    while (!let_go || !(plugged || state_of_thread(own) == 'S'))
      std::this_thread::yield();
    called = true;
  });
  while (!inside)
    std::this_thread::yield();
  const std::weak_ptr<Display> seen = *display;
  display = Error{};
  let_go = true;
  replug();
  EXPECT_TRUE(seen.expired());
  plugged = true;
  while (!called)
    std::this_thread::yield();
}

// A pipeline's state lock, which set_state() holds in one thread, and waits for in another.
struct StateLock : Listener {
  std::timed_mutex state;
  std::shared_ptr<Display> display;
  std::atomic<bool> inside{false}, in_time{false}, done{false};
  void report(const Report &report) noexcept override
  {
    if (report.what == Report::What::Failed || report.what == Report::What::Unplugged ||
        report.what == Report::What::PluggedIn)
      end();
  }
  // As a synchronous bus handler does it.
  void end() noexcept
  {
    inside = true;
    while (!taken)
      std::this_thread::yield();
    // not try_lock_for(): gcc 12's TSan does not see pthread_mutex_clocklock()
    in_time = state.try_lock_until(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (in_time) {
      (void)display->stop();
      state.unlock();
    }
    done = true;
  }
  std::atomic<bool> taken{false};
  void stop()
  {
    while (!inside)
      std::this_thread::yield();
    const std::lock_guard guard(state);
    taken = true;
    EXPECT_TRUE(display->stop());
  }
  void await_done() const
  {
    while (!done)
      std::this_thread::yield();
  }
};

TEST_F(DisplayTest, a_listener_and_another_thread_may_stop_it_at_once)
{
  for (const bool on_hotplug_thread : {true, false}) {
    StateLock both;
    DeviceRequest request;
    request.fd = drm_fd.get();
    auto display = Display::open(request, {}, both);
    ASSERT_TRUE(display) << display.error().message;
    ASSERT_TRUE((*display)->start() && (*display)->configure(picture(640, 480)));
    both.display = std::move(*display);
    display = Error{};
    std::thread hotplug;
    if (on_hotplug_thread) {
      fakedrm::device().connected = false;
      hotplug = std::thread(fakedrm::hotplug);
      both.stop();
      hotplug.join();
      fakedrm::device().connected = true;
    } else {
      fakedrm::device().send_events = false;
      for (int i = 0; i < 2; i++) // the second waits for the first one's flip
        ASSERT_TRUE(show(*both.display, xrgb(memory, 640, 480)));
      {
        const std::lock_guard guard(fakedrm::device().lock);
        fakedrm::device().error = ENODEV;
        fakedrm::device().fail_call = "drmModeAtomicCommit";
      }
      fakedrm::send_held_events(); // the event thread commits the second
      while (!both.inside)
        std::this_thread::yield();
      {
        const std::lock_guard guard(fakedrm::device().lock);
        fakedrm::device().fail_call.clear();
        fakedrm::device().send_events = true;
      }
      both.stop();
    }
    both.await_done();
    EXPECT_TRUE(both.in_time) << "the thread that stops the display waits for the listener";
    EXPECT_TRUE(both.display->start()); // and it is as good as new
    EXPECT_TRUE(both.display->stop());
    both.display.reset();
    both.wait();
  }
}

// As a thread that nobody waits for does, where it lets the display go while the process ends.
TEST_F(DisplayTest, a_display_may_outlive_the_registry_at_exit)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process that has made no registry so far
  EXPECT_EXIT(
      {
        static std::shared_ptr<Display> last; // goes after every static that is made from now on
        last = *open();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
