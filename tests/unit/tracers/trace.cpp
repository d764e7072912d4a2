// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tracer drmverify concludes from the frames, mappings and threads that it is told of; and
// the texts of the kernel that it reads.
#include "engine/trace.hpp"

#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "support/threads.hpp"

namespace gstdrm::verify {
namespace {

// source -> element -> sink, with two dma-bufs
struct Chain {
  Trace trace;
  Id source = trace.element("/source", "source", "testsrc", false);
  Id element = trace.element("/element", "element", "testfilter", false);
  Id sink = trace.element("/sink", "sink", "testsink", true);
  Id in = trace.link(source, element, {"src", "sink", "video/x-raw", true});
  Id out = trace.link(element, sink, {"src", "sink", "video/x-raw", true});
  Id a = trace.dmabuf({{1, 1}, 4096}, "system");
  Id b = trace.dmabuf({{1, 2}, 4096}, "udmabuf");
};

Frame dmabuf_frame(Id dmabuf)
{
  return {{dmabuf}, 1, "dmabuf", nullptr, 0};
}
Frame system_frame(const void *memory)
{
  return {{}, 0, "SystemMemory", memory, 0};
}

void push(Trace &trace, Id link, const Frame &frame, const std::function<void()> &within = {})
{
  trace.enter(link, frame, 0);
  if (within)
    within();
  trace.leave();
}

struct Row {
  const char *name;
  void (*run)(Chain &c);
  const char *wanted; // in the JSON
};
void PrintTo(const Row &row, std::ostream *out)
{
  *out << row.name;
}

const char memory_a = 0;
const char memory_b = 0;

const Row kRows[] = {
    {"passes the same dma-buf on",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { push(c.trace, c.out, dmabuf_frame(c.a)); });
     },
     R"("made":0,"passed":1,"changed":0,"copied":0,"other":0,"system":0)"},
    {"passes it on in another thread",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a));
       std::thread([&] { push(c.trace, c.out, dmabuf_frame(c.a)); }).join();
     },
     R"("made":0,"passed":1,"changed":0,"copied":0)"},
    {"writes in place",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] {
         c.trace.mapped(c.a, true, 4096);
         push(c.trace, c.out, dmabuf_frame(c.a));
       });
     },
     R"("changed":1,"copied":0,"other":0,"system":0,"first-changed":1)"},
    {"an encoder's upload of two of three frames",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a));
       push(c.trace, c.in, system_frame(&memory_a));
       push(c.trace, c.in, dmabuf_frame(c.b));
     },
     R"("frames":3,"dmabuf-frames":2,"dmabufs":2,)"},
    {"another dma-buf, by a device",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { push(c.trace, c.out, dmabuf_frame(c.b)); });
     },
     R"("copied":0,"other":1)"},
    {"another dma-buf, written by the CPU",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] {
         c.trace.mapped(c.b, true, 4096);
         push(c.trace, c.out, dmabuf_frame(c.b));
       });
     },
     R"("copied":1,"other":0,"system":0,"first-changed":0,"first-copied":1)"},
    {"system memory, after reading the dma-buf",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] {
         c.trace.mapped(c.a, false, 4096);
         push(c.trace, c.out, system_frame(&memory_a));
       });
     },
     R"("copied":1,"other":0)"},
    {"the same system memory",
     [](Chain &c) {
       push(c.trace, c.in, system_frame(&memory_a),
            [&] { push(c.trace, c.out, system_frame(&memory_a)); });
     },
     R"("copied":0,"other":0,"system":1)"},
    {"another system memory",
     [](Chain &c) {
       push(c.trace, c.in, system_frame(&memory_a),
            [&] { push(c.trace, c.out, system_frame(&memory_b)); });
     },
     R"("copied":1,"other":0,"system":0)"},
    {"the second frame is the first that is copied",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { push(c.trace, c.out, dmabuf_frame(c.a)); });
       push(c.trace, c.in, dmabuf_frame(c.a), [&] {
         c.trace.mapped(c.b, true, 4096);
         push(c.trace, c.out, dmabuf_frame(c.b));
       });
     },
     R"("passed":1,"changed":0,"copied":1,"other":0,"system":0,"first-changed":0,"first-copied":2)"},
    {"a source writes before it pushes",
     [](Chain &c) {
       c.trace.mapped(c.a, true, 4096);
       push(c.trace, c.in, dmabuf_frame(c.a));
     },
     R"("mappings":[{"by":"source","exporter":"system","video":1,"reads":0,"writes":1,"bytes":4096,"first-frame":1}])"},
    {"a source that has not pushed yet", [](Chain &c) { c.trace.mapped(c.a, true, 4096); },
     R"("mappings":[])"},
    {"a thread that never pushes",
     [](Chain &c) {
       std::thread([&] {
         ::pthread_setname_np(::pthread_self(), "reader");
         c.trace.mapped(c.a, false, 4096);
       }).join();
     },
     R"("mappings":[{"by":"thread reader","exporter":"system","video":0,"reads":1,"writes":0,"bytes":4096,"first-frame":0}])"},
    {"a source that is stopped while it fills a frame",
     [](Chain &c) {
       std::thread([&] {
         push(c.trace, c.in, dmabuf_frame(c.a));
         c.trace.mapped(c.a, true, 4096);
       }).join();
     },
     R"("mappings":[{"by":"source","exporter":"system","video":1,"reads":0,"writes":1,)"},
    {"a sink reads",
     [](Chain &c) {
       push(c.trace, c.out, dmabuf_frame(c.b), [&] { c.trace.mapped(c.b, false, 16); });
     },
     R"("by":"sink","exporter":"udmabuf","video":1,"reads":1)"},
    {"a sink copies what it keeps, in a query",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { push(c.trace, c.out, dmabuf_frame(c.a)); });
       c.trace.ask(c.sink, &c);
       c.trace.mapped(c.a, false, 4096);
       c.trace.answered(&c);
       c.trace.mapped(c.b, false, 16); // by the thread
     },
     R"("mappings":[{"by":"sink","exporter":"system","video":1,"reads":1,"writes":0,"bytes":4096,"first-frame":0}])"},
    {"a query whose end is not told of",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { c.trace.ask(c.sink, &c); });
       c.trace.mapped(c.a, true, 4096);
       push(c.trace, c.in, dmabuf_frame(c.a));
     },
     R"("mappings":[{"by":"source","exporter":"system","video":1,"reads":0,"writes":1,)"},
    {"an element hands its last frame on in a query",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a));
       c.trace.ask(c.element, &c);
       push(c.trace, c.out, dmabuf_frame(c.a));
       c.trace.answered(&c);
     },
     R"("made":0,"passed":1,"changed":0,"copied":0,"other":0)"},
    {"new memory that is tried, and then a frame",
     [](Chain &c) {
       push(c.trace, c.in, dmabuf_frame(c.a), [&] { c.trace.mapped(c.b, false, 4096); });
       push(c.trace, c.in, dmabuf_frame(c.b));
     },
     R"("mappings":[{"by":"element","exporter":"udmabuf","video":0,"reads":1,)"},
    {"a link that is not followed",
     [](Chain &c) { push(c.trace, kNone, {}, [&] { c.trace.mapped(c.a, true, 4096); }); },
     R"("mappings":[])"},
};

class Treatments : public testing::TestWithParam<Row> {};

TEST_P(Treatments, AreKnown)
{
  Chain chain;
  GetParam().run(chain);
  const std::string json = chain.trace.to_json(true);
  EXPECT_NE(json.find(GetParam().wanted), std::string::npos) << json;
}
INSTANTIATE_TEST_SUITE_P(Trace, Treatments, testing::ValuesIn(kRows));

// As in a program of many threads: nothing is lost.
TEST(Trace, FromManyThreads)
{
  constexpr unsigned kFrames = 500;
  Chain chain;
  Trace &trace = chain.trace;
  const auto pass = [&](Id dmabuf) {
    return [&trace, &chain, dmabuf] {
      for (unsigned i = 0; i < kFrames; i++)
        push(trace, chain.in, dmabuf_frame(dmabuf), [&] {
          trace.mapped(dmabuf, false, 1);
          push(trace, chain.out, dmabuf_frame(dmabuf));
        });
    };
  };
  test::at_once({pass(chain.a), pass(chain.b),
                 [&] {
                   for (unsigned i = 0; i < 20; i++) {
                     trace.look();
                     (void)trace.to_json(false);
                   }
                 },
                 [&] {
                   for (unsigned i = 0; i < kFrames; i++) {
                     const Id late = trace.element("/late" + std::to_string(i), "late", "late", true);
                     push(trace, trace.link(chain.source, late, {"src", "sink", "", true}),
                          dmabuf_frame(chain.a));
                     trace.stats(late, {{{"copies", i}}, ""});
                     trace.pending(chain.in, UniqueFd(), 0);
                   }
                 }});
  const std::string json = trace.to_json(true);
  EXPECT_NE(json.find(R"("frames":1000,"dmabuf-frames":1000,"dmabufs":2)"), std::string::npos);
  EXPECT_NE(json.find(R"("by":"element","exporter":"system","video":1,"reads":500,)"), std::string::npos);
  EXPECT_NE(json.find(R"("pending-frames":500)"), std::string::npos);
  EXPECT_EQ(trace.frames(), 5 * kFrames);
}

TEST(Durations, Percentiles)
{
  Durations durations;
  for (std::int64_t us = 1; us <= 1000; us++)
    durations.add(us * 1000);
  JsonWriter json;
  durations.write(json);
  // each to 1/8 of its value, from above
  EXPECT_EQ(json.text(), R"({"count":1000,"p50-us":511,"p95-us":959,"max-us":1000})");
}

TEST(Durations, OddTimes)
{
  Durations durations;
  durations.add(-5);
  durations.add(INT64_MAX);
  JsonWriter json;
  durations.write(json);
  EXPECT_EQ(json.text(),
            R"({"count":2,"p50-us":0,"p95-us":9223372036854775,"max-us":9223372036854775})");
}

TEST(DmabufFacts, Exporter)
{
  EXPECT_EQ(parse_exporter(
                "pos:\t0\nflags:\t02\nsize:\t4096\ncount:\t2\nexp_name:\tlinux,cma\nname:\t\n"),
            "linux,cma");
  EXPECT_EQ(parse_exporter("pos:\t0\nflags:\t02\n"), "");
  EXPECT_EQ(parse_exporter("exp_name:"), "");
  EXPECT_EQ(read_exporter(-1), "");
}

TEST(DmabufFacts, Attachments)
{
  const char *text =
      "\nDma-buf Objects:\n"
      "size    \tflags   \tmode    \tcount   \texp_name\tino     \tname\n"
      "00065536\t00000002\t00080007\t00000003\tsystem\t00000041\tframe of a camera\n"
      "\twrite fence:axl metis-0 seq 1 signalled\n"
      "\tAttached Devices:\n\tmetis.0\n\tvkms\nTotal 2 devices attached\n\n"
      "00004096\t00000002\t00080007\t00000001\tudmabuf\t00000042\t<none>\n"
      "\tAttached Devices:\nTotal 0 devices attached\n\n\nTotal 2 objects, 69632 bytes\n";
  const Attachments wanted = {{41, {"metis.0", "vkms"}}, {42, {}}};
  EXPECT_EQ(parse_attachments(text), wanted);
  for (const char *nothing : {"", "\tAttached Devices:\n\tvkms\n", "a b c d e f\n", "1 2 3 4 5\n"})
    EXPECT_TRUE(parse_attachments(nothing).empty()) << nothing;
}

TEST(DmabufFacts, Mapped)
{
  const char *maps =
      "55d0-55d1 r-xp 00000000 fe:00 1234 /usr/bin/gst-launch-1.0\n"
      "7f00-7f10 rw-s 00000000 00:0c 41                         /dmabuf:frame of a camera\n"
      "7f10-7f20 r--s 00000000 00:0c 42                         /dmabuf:\n"
      "7f20-7f30 rw-s 00000000 00:05 7                          /dev/dri/card0\n"
      "7f30-7f40 rw-p 00000000 00:00 0\n";
  EXPECT_EQ(parse_mapped(maps), (std::set<std::uint64_t>{41, 42}));
  for (const char *nothing : {"", " /dmabuf:", "a b c d e /dmabuf:\n", "1 2 3 4 -5 /dmabuf:\n"})
    EXPECT_TRUE(parse_mapped(nothing).empty()) << nothing;
}

} // namespace
} // namespace gstdrm::verify
