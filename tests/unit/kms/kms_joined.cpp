// SPDX-License-Identifier: LGPL-2.1-or-later
// An output that another program has lit: what the sink asks of the kernel beside it, and what it
// leaves alone. On the fake libdrm.
#include "kms_joined.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "fake_clock.hpp"
#include "support/open_fds.hpp"

namespace {

using namespace gstdrm;
using namespace gstdrm::kms;
using namespace gstdrm::test;

TEST_F(Joined, each_commit_names_its_plane_alone)
{
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  play(**display, 3);
  ASSERT_TRUE((*display)->stop());
  ASSERT_EQ(fakedrm::device().commits.size(), 4U);
  for (const fakedrm::Commit &made : fakedrm::device().commits) {
    EXPECT_EQ(objects(made), std::vector<std::uint32_t>{fakedrm::kOverlay});
    EXPECT_EQ(made.flags & DRM_MODE_ATOMIC_ALLOW_MODESET, 0U);
  }
  // in the middle of the other program's mode, not of the largest
  EXPECT_EQ(value(commit(0), fakedrm::kOverlay, "CRTC_X"), 160U);
  EXPECT_EQ(value(commit(0), fakedrm::kOverlay, "CRTC_Y"), 120U);
  EXPECT_EQ(value(commit(3), fakedrm::kOverlay, "FB_ID"), 0U); // as it was
  EXPECT_EQ(value(commit(3), fakedrm::kOverlay, "CRTC_ID"), 0U);
}

TEST_F(Joined, a_plane_that_is_named_is_given_back_with_its_picture)
{
  fakedrm::device().framebuffers[kForeignFramebuffer] = 1;
  auto display = join(ModeRequest::Kind::Auto, fakedrm::kPrimary);
  ASSERT_TRUE(display) << display.error().message;
  play(**display, 2);
  ASSERT_TRUE((*display)->stop());
  EXPECT_NE(value(commit(1), fakedrm::kPrimary, "FB_ID"), kForeignFramebuffer);
  EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kPrimary, "FB_ID"),
            kForeignFramebuffer);
  fakedrm::device().framebuffers.erase(kForeignFramebuffer);
}

// What the file lists changes for the application too.
TEST_F(Joined, the_applications_file_gets_no_writeback_connectors)
{
  {
    auto display = join();
    ASSERT_TRUE(display) << display.error().message;
    EXPECT_FALSE(fakedrm::device().client_caps.count(DRM_CLIENT_CAP_WRITEBACK_CONNECTORS));
  }
  auto alone = join(ModeRequest::Kind::Match);
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_TRUE(fakedrm::device().client_caps.count(DRM_CLIENT_CAP_WRITEBACK_CONNECTORS));
  EXPECT_FALSE(fakedrm::device().client_caps.count(DRM_CLIENT_CAP_ASPECT_RATIO));
}

TEST_F(Joined, two_sinks_take_a_plane_each_and_a_third_waits)
{
  fakedrm::device().plane_users.clear(); // the other program shows its background colour
  auto first = join(), second = join();
  ASSERT_TRUE(first);
  ASSERT_TRUE(second) << second.error().message;
  auto third = join(ModeRequest::Kind::Current);
  ASSERT_TRUE(third) << third.error().message;
  play(**first, 1);
  const auto taken = (*third)->take_output();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().sys_errno, EBUSY);
  EXPECT_NE(taken.error().message.find("Plane 31"), std::string::npos) << taken.error().message;
  ASSERT_TRUE((*second)->start());
  ASSERT_TRUE((*second)->configure(picture(64, 48)));
  ASSERT_TRUE(show(**second, xrgb(memory, 64, 48)));
  EXPECT_EQ(objects(commit(0)), std::vector<std::uint32_t>{fakedrm::kOverlay});
  EXPECT_EQ(objects(commit(1)), std::vector<std::uint32_t>{fakedrm::kPrimary});
}

// Between the choice and the first frame another program lights the plane: it keeps it.
TEST_F(Joined, a_plane_that_was_lit_in_the_meantime_is_left_alone)
{
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  fakedrm::device().plane_users[fakedrm::kOverlay] = fakedrm::kCrtc;
  ASSERT_TRUE((*display)->start());
  ASSERT_TRUE((*display)->configure(picture(320, 240)));
  const auto shown = show(**display, xrgb(memory, 320, 240));
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().sys_errno, EBUSY);
  for (const char *word : {"Plane 31", "another program", "plane-id"})
    EXPECT_NE(shown.error().message.find(word), std::string::npos) << shown.error().message;
  EXPECT_TRUE(fakedrm::device().commits.empty());
  fakedrm::device().plane_users.erase(fakedrm::kOverlay);
  const auto again = show(**display, xrgb(memory, 320, 240));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, Shown::Yes);
}

// A sink of another process, which has the node open too, takes the same plane: whoever is first
// keeps it until it stops.
TEST_F(Joined, a_plane_of_a_sink_of_another_process_is_left_alone)
{
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  const std::string node = "/proc/self/fd/" + std::to_string((*display)->device().memory_fd());
  const UniqueFd other(::open(node.c_str(), O_RDWR | O_CLOEXEC)); // an open file of its own
  ASSERT_TRUE(other);
  const auto lock = [&other](short type) {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = fakedrm::kOverlay;
    range.l_len = 1;
    return fcntl(other.get(), F_OFD_SETLK, &range);
  };
  ASSERT_EQ(lock(F_WRLCK), 0);
  const auto taken = (*display)->take_output();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().sys_errno, EBUSY);
  EXPECT_NE(taken.error().message.find("another sink"), std::string::npos) << taken.error().message;
  ASSERT_EQ(lock(F_UNLCK), 0);
  play(**display, 1);
  EXPECT_NE(lock(F_WRLCK), 0);
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(lock(F_WRLCK), 0);
}

TEST_F(Joined, properties_of_the_plane_are_set_and_come_back)
{
  fakedrm::device().found[{fakedrm::kOverlay, "pixel blend mode"}] = 2;
  OutputRequest wanted;
  wanted.plane_properties = {{"pixel-blend-mode", std::string("Coverage")}};
  wanted.mode_changes = ModeChanges::Never; // which says nothing against a mode of another program
  auto display = join(ModeRequest::Kind::Auto, 0, wanted);
  ASSERT_TRUE(display) << display.error().message;
  EXPECT_EQ((*display)->display_size().width, 640U); // of the other program's mode
  play(**display, 2);
  EXPECT_EQ(value(commit(0), fakedrm::kOverlay, "pixel blend mode"), 1U);
  EXPECT_EQ(commit(1).values.size(), 1U); // a flip is a flip
  ASSERT_TRUE((*display)->stop());
  const fakedrm::Commit &last = fakedrm::device().commits.back();
  EXPECT_EQ(value(last, fakedrm::kOverlay, "pixel blend mode"), 2U);
  for (const fakedrm::Commit &made : fakedrm::device().commits)
    EXPECT_EQ(objects(made), std::vector<std::uint32_t>{fakedrm::kOverlay});
}

struct RefusedRow {
  const char *name;
  void (*change)(OutputRequest &);
  std::vector<const char *> words;
};

const RefusedRow kRefused[] = {
    {"connector",
     [](OutputRequest &r) {
       r.connector_properties = {{"max bpc", std::int64_t{8}}};
     },
     {"connector-properties", "Virtual-1", "another program", "mode=match"}},
    {"vrr", [](OutputRequest &r) { r.vrr = true; }, {"vrr=true", "another program"}},
    {"tearing", [](OutputRequest &r) { r.tearing = true; }, {"tearing=true", "another program"}},
    {"plane",
     [](OutputRequest &r) {
       r.plane_properties = {{"no such", std::int64_t{1}}};
     },
     {"plane-properties", "no property no such"}},
};

// Nor is the display taken away from the other program for the sake of it.
TEST_F(Joined, what_is_the_other_programs_is_refused)
{
  for (const RefusedRow &row : kRefused)
    for (const auto kind : {ModeRequest::Kind::Auto, ModeRequest::Kind::Current}) {
      OutputRequest wanted;
      row.change(wanted);
      const auto display = join(kind, 0, wanted);
      ASSERT_FALSE(display) << row.name;
      for (const char *word : row.words)
        EXPECT_NE(display.error().message.find(word), std::string::npos)
            << row.name << ": " << display.error().message;
      EXPECT_TRUE(fakedrm::device().commits.empty());
    }
}

struct KindRow {
  const char *name;
  ModeRequest::Kind kind;
  bool lit, spare;
  bool opens, joins;
};

const KindRow kKindRows[] = {
    {"auto_beside_a_picture", ModeRequest::Kind::Auto, true, true, true, true},
    {"auto_where_it_is_dark", ModeRequest::Kind::Auto, false, true, true, false},
    {"auto_where_no_plane_is_left", ModeRequest::Kind::Auto, true, false, true, false},
    {"match_beside_a_picture", ModeRequest::Kind::Match, true, true, true, false},
    {"current_where_it_is_dark", ModeRequest::Kind::Current, false, true, false, false},
    {"current_where_no_plane_is_left", ModeRequest::Kind::Current, true, false, false, false},
};

class JoinedKinds : public Joined, public testing::WithParamInterface<KindRow> {};

TEST_P(JoinedKinds, join_or_set_a_mode)
{
  fakedrm::device().found[{fakedrm::kCrtc, "ACTIVE"}] = GetParam().lit;
  if (!GetParam().spare)
    fakedrm::device().plane_users[fakedrm::kOverlay] = fakedrm::kCrtc;
  auto display = join(GetParam().kind);
  ASSERT_EQ(static_cast<bool>(display), GetParam().opens);
  if (!display)
    return;
  play(**display, 1);
  EXPECT_EQ((commit(0).flags & DRM_MODE_ATOMIC_ALLOW_MODESET) == 0, GetParam().joins);
}

INSTANTIATE_TEST_SUITE_P(Rows, JoinedKinds, testing::ValuesIn(kKindRows),
                         [](const auto &info) { return std::string(info.param.name); });

// The application waits for events of its own on the descriptor that it lends.
TEST_F(Joined, events_of_the_application_are_left_to_it)
{
  fakedrm::device().out_fences = true;
  fakedrm::send_foreign_event();
  auto display = join();
  ASSERT_TRUE(display);
  play(**display, 3);
  for (const fakedrm::Commit &made : fakedrm::device().commits)
    EXPECT_EQ(made.flags & DRM_MODE_PAGE_FLIP_EVENT, 0U);
  EXPECT_EQ((*display)->counters().shown, 3U);
  ASSERT_TRUE((*display)->stop());
  char byte = 0;
  EXPECT_EQ(read(drm_fd.get(), &byte, 1), 1); // it is still there
}

// The other program draws when it sees a vblank, and the first commit of a start, or after a
// replug, comes after it.
TEST_F(Joined, the_first_frame_waits_for_the_turn_of_the_other_program)
{
  const StoppedClock clock;
  const auto turn = std::chrono::nanoseconds(std::chrono::seconds(1)) / 60 / 8;
  fakedrm::Device &d = fakedrm::device();
  d.vblank_ns = static_cast<std::uint64_t>(monotonic_now_ns());
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  for (const char *what : {"start", "second start"}) {
    const int before = d.vblank_questions;
    const auto begin = std::chrono::steady_clock::now();
    play(**display, 1);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, turn) << what;
    EXPECT_EQ(d.vblank_questions, before + 1) << what;
    for (const bool connected : {false, true}) {
      d.connected = connected;
      fakedrm::hotplug();
      const auto replugged = std::chrono::steady_clock::now();
      const auto shown = show(**display, xrgb(memory, 320, 240));
      ASSERT_TRUE(shown) << shown.error().message;
      EXPECT_EQ(*shown, connected ? Shown::Yes : Shown::Dropped);
      EXPECT_GE(std::chrono::steady_clock::now() - replugged, turn) << what << " " << connected;
    }
    ASSERT_TRUE((*display)->drain(kLong_ns));
    ASSERT_TRUE((*display)->stop());
  }
}

TEST_F(Joined, a_driver_that_tells_no_vblank_is_played_to)
{
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  play(**display, 3);
  EXPECT_GT(fakedrm::device().vblank_questions, 0);
  EXPECT_EQ((*display)->counters().shown, 3U);
}

// The CRTC refuses commits while it is dark.
TEST_F(Joined, frames_are_dropped_while_the_output_is_dark)
{
  auto display = join();
  ASSERT_TRUE(display);
  play(**display, 2);
  fakedrm::device().found[{fakedrm::kCrtc, "ACTIVE"}] = 0;
  fakedrm::device().fail_call = "drmModeAtomicCommit";
  fakedrm::device().error = EINVAL;
  int dropped = 0;
  for (int i = 0; i < 100 && dropped < 3; i++) { // the first may wait for the other program's turn
    const auto shown = show(**display, xrgb(memory, 320, 240));
    ASSERT_TRUE(shown) << shown.error().message;
    dropped += *shown == Shown::Dropped ? 1 : 0;
  }
  EXPECT_EQ(dropped, 3);
  EXPECT_EQ(heard.dark, 1);
  EXPECT_EQ((*display)->counters().held, 0U);
  EXPECT_GE((*display)->counters().dropped, 3U);
  fakedrm::device().found[{fakedrm::kCrtc, "ACTIVE"}] = 1;
  fakedrm::device().found[{fakedrm::kCrtc, "MODE_ID"}] = kOtherModeBlob;
  fakedrm::device().fail_call.clear();
  const auto shown = show(**display, xrgb(memory, 320, 240));
  ASSERT_TRUE(shown);
  EXPECT_EQ(*shown, Shown::Yes);
  EXPECT_EQ(heard.lit, 1);
  EXPECT_EQ(value(fakedrm::device().commits.back(), fakedrm::kOverlay, "CRTC_X"), 240U);
  EXPECT_EQ(heard.failures, 0);
}

TEST_F(Joined, each_run_tells_that_the_output_is_dark)
{
  auto display = join();
  ASSERT_TRUE(display);
  fakedrm::device().found[{fakedrm::kCrtc, "ACTIVE"}] = 0;
  for (int run = 1; run <= 2; run++) {
    ASSERT_TRUE((*display)->start() && (*display)->configure(picture(320, 240)));
    const auto shown = show(**display, xrgb(memory, 320, 240));
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, Shown::Dropped);
    EXPECT_EQ(heard.dark, run);
    ASSERT_TRUE((*display)->stop());
  }
  // lit while the sink was stopped: nothing to tell in a run that has never seen it dark
  fakedrm::device().found[{fakedrm::kCrtc, "ACTIVE"}] = 1;
  play(**display, 2);
  EXPECT_EQ(heard.lit, 0);
}

// A frame that waits for the flip before it is committed, and refused, where nobody calls: by the
// thread that reads the display's events.
TEST_F(Joined, a_waiting_frame_that_a_dark_output_refuses_is_dropped)
{
  fakedrm::Device &d = fakedrm::device();
  auto display = join();
  ASSERT_TRUE(display);
  play(**display, 2);
  d.send_events = false;
  for (const char *which : {"in flight", "waiting"}) {
    const auto shown = show(**display, xrgb(memory, 320, 240));
    ASSERT_TRUE(shown) << which << ": " << shown.error().message;
    ASSERT_EQ(*shown, Shown::Yes) << which;
  }
  ASSERT_EQ((*display)->counters().held, 2U); // one in flight, one waiting
  const std::uint64_t dropped = (*display)->counters().dropped;
  d.found[{fakedrm::kCrtc, "ACTIVE"}] = 0;
  d.fail_call = "drmModeAtomicCommit";
  d.error = EINVAL;
  fakedrm::send_held_events();
  (void)(*display)->drain(kLong_ns); // until it is refused
  EXPECT_EQ((*display)->counters().dropped, dropped + 1);
  const auto next = show(**display, xrgb(memory, 320, 240));
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(*next, Shown::Dropped);
  const auto after = show(**display, xrgb(memory, 320, 240));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*after, Shown::Dropped);
  EXPECT_EQ(heard.dark, 1);
  EXPECT_EQ((*display)->counters().held, 0U);
  EXPECT_EQ((*display)->counters().dropped, dropped + 3);
  d.found[{fakedrm::kCrtc, "ACTIVE"}] = 1;
  d.fail_call.clear();
  d.send_events = true;
  const auto lit = show(**display, xrgb(memory, 320, 240));
  ASSERT_TRUE(lit) << lit.error().message;
  EXPECT_EQ(*lit, Shown::Yes);
  EXPECT_EQ(heard.lit, 1);
  EXPECT_EQ(heard.failures, 0);
}

// The descriptor is that of a lease, and its owner takes the objects back: no dark output, which
// would be waited for.
TEST_F(Joined, a_lease_that_is_revoked_is_an_error)
{
  fakedrm::Device &d = fakedrm::device();
  {
    auto display = join(ModeRequest::Kind::Current);
    ASSERT_TRUE(display) << display.error().message;
    play(**display, 2);
    d.lease_revoked = true;
    d.found[{fakedrm::kCrtc, "ACTIVE"}] = 0; // as good as gone
    d.fail_call = "drmModeAtomicCommit";
    d.error = ENOENT;
    bool failed = false;
    for (int i = 0; i < 3 && !failed; i++) {
      const auto shown = show(**display, xrgb(memory, 320, 240));
      failed = !shown || *shown == Shown::Failed;
    }
    EXPECT_TRUE(failed);
    EXPECT_EQ(heard.dark, 0);
    EXPECT_EQ(heard.failures, 1);
    const std::optional<Error> why = (*display)->failure();
    ASSERT_TRUE(why);
    EXPECT_NE(why->message.find("lease in fd"), std::string::npos) << why->message;
    EXPECT_NE(why->message.find("revoked"), std::string::npos) << why->message;
    EXPECT_TRUE((*display)->stop()); // there is nothing to put back
  }
  const auto again = join(ModeRequest::Kind::Current);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("revoked"), std::string::npos) << again.error().message;
}

// Before Linux 6.8 an open file keeps the last frame of a sink: not only until the next sink on the
// CRTC shows its own.
TEST_F(Joined, a_last_frame_stays_while_another_sink_plays)
{
  fakedrm::device().closes_framebuffers = false;
  const unsigned before = count_fds();
  {
    auto left = join(); // the overlay plane
    ASSERT_TRUE(left) << left.error().message;
    (*left)->set_restore(false);
    play(**left, 1);
    const auto framebuffer = static_cast<std::uint32_t>(
        value(fakedrm::device().commits.back(), fakedrm::kOverlay, "FB_ID"));
    ASSERT_TRUE((*left)->stop());
    left = Error{};
    const unsigned kept = count_fds();
    EXPECT_GT(kept, before);
    {
      auto other = join(ModeRequest::Kind::Auto, fakedrm::kPrimary);
      ASSERT_TRUE(other) << other.error().message;
      play(**other, 2);
      ASSERT_TRUE((*other)->stop());
    }
    EXPECT_EQ(count_fds(), kept);
    fakedrm::device().framebuffers.erase(framebuffer); // the open file's
    auto next = join();                                // on the plane of the first
    ASSERT_TRUE(next) << next.error().message;
    play(**next, 1);
    ASSERT_TRUE((*next)->stop());
  }
  EXPECT_EQ(count_fds(), before);
}

// The other program's planes are where they were, and the sink's keeps its picture.
TEST_F(Joined, the_last_frame_stays_where_that_is_asked_for)
{
  auto display = join();
  ASSERT_TRUE(display) << display.error().message;
  (*display)->set_restore(false);
  play(**display, 2);
  const auto framebuffer = static_cast<std::uint32_t>(
      value(fakedrm::device().commits.back(), fakedrm::kOverlay, "FB_ID"));
  ASSERT_TRUE((*display)->stop());
  EXPECT_EQ(fakedrm::device().commits.size(), 2U);
  EXPECT_EQ(fakedrm::device().left, std::vector<std::uint32_t>{framebuffer});
}

} // namespace
