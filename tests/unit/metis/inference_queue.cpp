// SPDX-License-Identifier: LGPL-2.1-or-later
// The queue of metisdmabufinfer with a device whose answers each test decides.
#include "inference_queue_fixture.hpp"

#include <functional>
#include <thread>

#include <sys/resource.h>

namespace {

using namespace gstdrm;
using namespace gstdrm::metis;
using namespace gstdrm::metis::test;

struct ScriptRow {
  const char *name;
  const char *items;  // f: a frame, p: a passive item
  const char *script; // what the device does, see Device
  unsigned max_in_flight;
  bool short_timeout;
  const char *outcomes;
};

const ScriptRow kScripts[] = {
    {"every_frame_is_answered", "ffff", "....", 2, false, "rrrr"},
    {"passive_items_keep_their_turn", "fpfpp", "..", 2, false, "rprpp"},
    {"passive_items_alone", "ppp", "", 1, false, "ppp"},
    {"the_second_fails", "ffff", ".f..", 1, false, "rerr"},
    {"the_second_is_refused", "ffff", ".x..", 1, false, "rerr"},
    {"every_one_fails", "fff", "fff", 2, false, "eee"},
    {"done_before_it_is_done", "fff", ".r.", 1, false, "rer"},
    {"lost_at_the_submission", "ffff", ".L..", 1, false, "rlll"},
    {"lost_at_the_end", "ffff", ".D..", 1, false, "rlll"},
    {"lost_with_passive_items", "fpfp", "L", 1, false, "lplp"},
    {"the_first_is_never_done_and_fills_the_device", "fff", "n..", 1, true, "ttt"},
    {"the_second_is_never_done_and_another_has_room", "ffff", ".n..", 2, true, "rtrr"},
    {"no_memory_at_the_submission", "fpff", ".m.", 1, false, "rpee"},
    {"no_memory_at_the_end", "ffff", ".M..", 2, false, "reee"},
    {"none_is_ever_done", "ffff", "nnnn", 2, true, "tttt"},
};

class Scripts : public testing::TestWithParam<ScriptRow> {};

TEST_P(Scripts, OutcomesInOrder)
{
  const ScriptRow &row = GetParam();
  Options options{row.max_in_flight};
  if (row.short_timeout)
    options.timeout = 5ms;
  const std::string items = row.items;
  {
    Fixture f(row.script, options);
    for (std::size_t i = 0; i < items.size(); i++)
      ASSERT_EQ(f.queue->push(items[i] == 'f' ? f.frame(static_cast<int>(i))
                                              : Fixture::passive(static_cast<int>(i))),
                Passage::Done);
    std::string got;
    for (std::size_t i = 0; i < items.size(); i++) {
      const auto outcome = f.queue->pop();
      ASSERT_TRUE(outcome);
      EXPECT_EQ(number_in(*outcome), static_cast<int>(i));
      got += letter_of(*outcome);
    }
    EXPECT_EQ(got, row.outcomes);
    EXPECT_LE(f.device->most_inside(), row.max_in_flight);
  }
  EXPECT_EQ(payloads_alive, 0);
}

INSTANTIATE_TEST_SUITE_P(InferenceQueue, Scripts, testing::ValuesIn(kScripts),
                         [](const auto &info) { return std::string(info.param.name); });

// The result is that of the frame's own request: the device writes the request's number.
TEST(InferenceQueue, ResultsBelongToTheirFrames)
{
  Fixture f("", {3, 4});
  std::thread pusher([&] {
    for (int i = 0; i < 200; i++)
      EXPECT_EQ(f.queue->push(i % 7 == 3 ? Fixture::passive(i, i % 2 == 0) : f.frame(i)),
                Passage::Done);
  });
  int request = 0;
  for (int i = 0; i < 200; i++) {
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    ASSERT_EQ(number_in(*outcome), i);
    if (i % 7 != 3) {
      ASSERT_EQ(letter_of(*outcome), 'r');
      EXPECT_EQ(static_cast<int>(outcome->outputs[0]->data()[0]), request++ & 0xff);
    }
  }
  pusher.join();
  EXPECT_EQ(f.counters.inferences, static_cast<std::uint64_t>(request));
  EXPECT_EQ(f.counters.in_flight, 0U);
  EXPECT_EQ(f.counters.device_ns, 100'000U * static_cast<unsigned>(request));
  EXPECT_EQ(f.counters.imports, 1U); // one memory
  EXPECT_EQ(f.counters.import_hits, static_cast<std::uint64_t>(request) - 1);
  EXPECT_LE(f.outputs->n_unused(), 5U); // blocks go round
}

// The next outcomes, as letters.
std::string next_outcomes(Fixture &f, int &number, int count)
{
  std::string got;
  for (; count > 0; count--) {
    const auto outcome = f.queue->pop();
    EXPECT_TRUE(outcome && number_in(*outcome) == number) << number;
    number++;
    got += outcome ? letter_of(*outcome) : '-';
  }
  return got;
}

// The frames that come while the device works pass without a result, but for the newest one.
TEST(InferenceQueue, LeakyInfersTheNewestFrame)
{
  Options options{4};
  options.leaky = true;
  Fixture f("hhh", options);
  int next = 0, popped = 0;
  const auto push = [&](const char *items) {
    for (; *items; items++)
      ASSERT_EQ(f.queue->push(*items == 'f' ? f.frame(next++) : Fixture::passive(next++)),
                Passage::Done);
  };
  push("f");
  f.device->wait_for_submissions(1);
  push("ffpff");
  EXPECT_EQ(f.device->n_submitted(), 1U);
  f.device->answer(0);
  EXPECT_EQ(next_outcomes(f, popped, 5), "rpppp");
  f.device->wait_for_submissions(2);
  push("f");
  f.device->answer(1);
  EXPECT_EQ(next_outcomes(f, popped, 1), "r");
  f.device->wait_for_submissions(3);
  f.device->answer(2);
  EXPECT_EQ(next_outcomes(f, popped, 1), "r");
  EXPECT_EQ(f.device->most_inside(), 1U);
  EXPECT_EQ(f.counters.inferences, 3U);
}

// An inference that never ends stops the others until it is late.
TEST(InferenceQueue, LeakyGoesOnAfterALateRequest)
{
  Options options{2};
  options.leaky = true;
  options.timeout = 5ms;
  Fixture f("n.", options);
  int popped = 0;
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  f.device->wait_for_submissions(1);
  for (int i = 1; i < 4; i++)
    ASSERT_EQ(f.queue->push(f.frame(i)), Passage::Done);
  EXPECT_EQ(next_outcomes(f, popped, 4), "tppr");
}

struct ForgetRow {
  const char *name;
  Forget what;
  bool is_alive; // the frame's memory
  unsigned imports;
};

const ForgetRow kForgets[] = {
    {"nothing", Forget::Nothing, false, 1},
    {"unused_memory", Forget::Unused, false, 2},
    {"memory_in_use_is_kept", Forget::Unused, true, 1},
    {"all", Forget::All, true, 2},
};

class Forgets : public testing::TestWithParam<ForgetRow> {};

// The CPU's mapping of a frame, which is made anew where it was let go.
TEST_P(Forgets, MappingsOfFrames)
{
  const ForgetRow &row = GetParam();
  Fixture f("", {.takes = Takes::Tensors});
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  std::vector<std::shared_ptr<const void>> tokens = f.queue->pop()->liveness;
  if (!row.is_alive)
    tokens.clear();
  f.queue->forget_imports(row.what);
  ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
  ASSERT_TRUE(f.queue->pop());
  EXPECT_EQ(f.counters.imports, row.imports);
}

INSTANTIATE_TEST_SUITE_P(InferenceQueue, Forgets, testing::ValuesIn(kForgets),
                         [](const auto &info) { return std::string(info.param.name); });

// A flush ends the wait for a worker that is busy.
TEST(InferenceQueue, ForgetsNothingWhileFlushing)
{
  Fixture f("");
  f.queue->set_flushing(true);
  f.queue->forget_imports(Forget::All);
}

TEST(InferenceQueue, SubmissionsOverlap)
{
  Fixture f("hhhhhh", {3});
  for (int i = 0; i < 6; i++)
    ASSERT_EQ(f.queue->push(f.frame(i)), Passage::Done);
  f.device->wait_for_submissions(3);
  for (std::size_t i = 0; i < 6; i++) {
    f.device->answer(i);
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(letter_of(*outcome), 'r');
  }
  EXPECT_EQ(f.device->most_inside(), 3U);
}

// With all places taken a push sleeps until an item leaves or a flush begins.
TEST(InferenceQueue, FullQueueHoldsThePusher)
{
  Fixture f("hhhh", {2, 2});
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
  ASSERT_EQ(f.queue->push(Fixture::passive(2, false)), Passage::Done); // an event has no place
  std::atomic<bool> third_is_in{false};
  Passage fourth = Passage::Done;
  std::thread pusher([&] {
    EXPECT_EQ(f.queue->push(f.frame(3)), Passage::Done);
    third_is_in = true;
    fourth = f.queue->push(f.frame(4));
  });
  f.device->wait_for_submissions(2);
  EXPECT_FALSE(third_is_in);
  f.device->answer(0);
  ASSERT_TRUE(f.queue->pop());
  f.device->wait_for_submissions(3); // the third has come in
  f.queue->set_flushing(true);
  pusher.join();
  EXPECT_TRUE(third_is_in);
  EXPECT_EQ(fourth, Passage::Flushing);
  EXPECT_FALSE(f.queue->pop());
}

// A wake-up in vain costs two system calls, for each frame that comes while another one is inside.
TEST(InferenceQueue, FramesThatComeDoNotWakeTheThreadThatPops)
{
  constexpr int kFrames = 300;
  Fixture f("h", {1, kFrames});
  long sleeps = 0;
  std::thread popper([&] {
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_THREAD, &before);
    EXPECT_TRUE(f.queue->pop());
    ::getrusage(RUSAGE_THREAD, &after);
    sleeps = after.ru_nvcsw - before.ru_nvcsw;
  });
  for (int i = 0; i < kFrames; i++) {
    EXPECT_EQ(f.queue->push(f.frame(i)), Passage::Done);
    std::this_thread::yield(); // whoever woke runs
  }
  f.device->answer(0);
  popper.join();
  EXPECT_LE(sleeps, 10); // its own, and those for locks
}

TEST(InferenceQueue, FlushDropsAllAndTheQueueGoesOn)
{
  {
    Fixture f("hhhh", {2});
    for (int i = 0; i < 4; i++)
      ASSERT_EQ(f.queue->push(f.frame(i)), Passage::Done);
    f.device->wait_for_submissions(2);
    f.queue->set_flushing(true);
    EXPECT_EQ(f.queue->push(f.frame(9)), Passage::Flushing);
    EXPECT_EQ(f.queue->drain(), Passage::Flushing);
    EXPECT_FALSE(f.queue->pop());
    f.queue->set_flushing(false);
    ASSERT_EQ(f.queue->push(f.frame(10)), Passage::Done);
    EXPECT_EQ(f.outputs->n_unused(), 0U); // the device still has the memory of both
    for (std::size_t i = 0; i < 3; i++)
      f.device->answer(i);
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(number_in(*outcome), 10);
    EXPECT_EQ(static_cast<int>(outcome->outputs[0]->data()[0]), 2); // the third request
  }
  EXPECT_EQ(payloads_alive, 0);
}

// What came too late is not taken for the answer to another frame, and frees its place.
TEST(InferenceQueue, LateAnswerFreesThePlace)
{
  Fixture f("h", {1, 8, 5ms});
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  auto outcome = f.queue->pop();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(letter_of(*outcome), 't');
  EXPECT_EQ(f.outputs->n_unused(), 0U);
  f.device->answer(0);
  while (f.counters.in_flight != 0) // the worker takes notice
    std::this_thread::yield();
  ASSERT_EQ(f.queue->push(f.frame(1)), Passage::Done);
  outcome = f.queue->pop();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(letter_of(*outcome), 'r');
  EXPECT_EQ(static_cast<int>(outcome->outputs[0]->data()[0]), 1);
}

TEST(InferenceQueue, DrainWaitsUntilTheLastItemIsHandedOn)
{
  Fixture f("h", {1});
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  ASSERT_EQ(f.queue->push(Fixture::passive(1)), Passage::Done);
  std::atomic<int> handed_on{0};
  std::atomic<bool> drained{false};
  std::thread popper([&] {
    while (f.queue->pop()) { // an item is still with this thread, for a while
      for (int i = 0; i < 1000 && !drained; i++)
        std::this_thread::yield();
      handed_on++;
    }
  });
  f.device->answer(0);
  EXPECT_EQ(f.queue->drain(), Passage::Done);
  EXPECT_EQ(handed_on, 2);
  drained = true;
  f.queue->set_flushing(true);
  popper.join();
}

// The destructor of the queue closes the device first, and the memory goes after it.
TEST(InferenceQueue, StopsWithRequestsUnderWay)
{
  {
    Fixture f("nnn", {2});
    for (int i = 0; i < 3; i++)
      ASSERT_EQ(f.queue->push(f.frame(i)), Passage::Done);
    f.device->wait_for_submissions(2);
    EXPECT_EQ(f.outputs->n_unused(), 0U);
    f.queue.reset();
    EXPECT_TRUE(f.device->is_closed());
    EXPECT_EQ(f.outputs->n_unused(), 2U);
    EXPECT_EQ(f.counters.in_flight, 0U);
  }
  EXPECT_EQ(payloads_alive, 0);
}

struct MapRow {
  const char *name;
  bool cache_maps;
  unsigned imports;
};

class Maps : public testing::TestWithParam<MapRow> {};

TEST_P(Maps, TensorsAreMadeOfTheFramesPixels)
{
  Options options;
  options.takes = Takes::Tensors;
  options.cache_maps = GetParam().cache_maps;
  Fixture f("", options);
  for (int i = 0; i < 5; i++)
    ASSERT_EQ(f.queue->push(f.frame(i)), Passage::Done);
  for (int i = 0; i < 5; i++) {
    const auto outcome = f.queue->pop();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(letter_of(*outcome), 'r');
  }
  EXPECT_EQ(f.device->inputs(), std::vector<std::uint8_t>(5, 77));
  EXPECT_EQ(f.counters.imports, GetParam().imports);
  EXPECT_EQ(f.counters.import_hits, 5 - GetParam().imports);
}

INSTANTIATE_TEST_SUITE_P(InferenceQueue, Maps,
                         testing::Values(MapRow{"mappings_are_kept", true, 1},
                                         MapRow{"each_frame_is_mapped", false, 5}),
                         [](const auto &info) { return std::string(info.param.name); });

// Nobody waits for the result of a frame that was dropped while its tensor was made.
TEST(InferenceQueue, FlushDuringPreprocessing)
{
  Options options;
  options.takes = Takes::Tensors;
  auto f = std::make_unique<Fixture>("", options);
  const std::shared_ptr<Device> device = f->device;
  std::atomic<bool> flushed{false};
  auto flushing = std::make_shared<FrameFormat>();
  flushing->prepare = [&](const PictureView &, std::byte *) {
    f->queue->set_flushing(true);
    flushed = true;
  };
  Item item = f->frame(0);
  item.frame->format = flushing;
  ASSERT_EQ(f->queue->push(std::move(item)), Passage::Done);
  while (!flushed)
    std::this_thread::yield();
  f->queue.reset();
  EXPECT_EQ(device->n_submitted(), 0U);
  EXPECT_EQ(f->counters.in_flight, 0U);
  EXPECT_EQ(payloads_alive, 0);
}

// A frame in no dma-buf is read where it lies.
TEST(InferenceQueue, SystemMemory)
{
  Options options;
  options.takes = Takes::Tensors;
  Fixture f("", options);
  const std::vector<std::uint8_t> pixels(64, 33);
  Item item = f.frame(0);
  item.frame->layout = {};
  item.frame->picture = {DRM_FORMAT_XRGB8888, 4, 4, {pixels.data()}, {16}};
  ASSERT_EQ(f.queue->push(std::move(item)), Passage::Done);
  ASSERT_TRUE(f.queue->pop());
  EXPECT_EQ(f.device->inputs(), std::vector<std::uint8_t>{33});
}

// The time that push() waits for a place does not count as latency.
TEST(InferenceQueue, LatencyBeginsWithThePlace)
{
  Options options;
  options.places = 1;
  Fixture f("", options);
  ASSERT_EQ(f.queue->push(f.frame(0)), Passage::Done);
  Item next = f.frame(1);
  std::thread upstream([&] { EXPECT_EQ(f.queue->push(std::move(next)), Passage::Done); });
  std::this_thread::sleep_for(50ms); // the second frame waits by now, or the test proves nothing
  const auto stall_ends = std::chrono::steady_clock::now();
  ASSERT_TRUE(f.queue->pop());
  upstream.join();
  const auto second = f.queue->pop();
  ASSERT_TRUE(second);
  EXPECT_LE(second->inside, std::chrono::steady_clock::now() - stall_ends);
}

} // namespace
