// SPDX-License-Identifier: LGPL-2.1-or-later
// What a hard user sends through egldmabufdownload, and who keeps what it puts out: rates, fields, events and sizes that are not
// everyday's are honoured, or refused in one error; the pool's buffers come back, whoever had them last.
#include <array>
#include <functional>
#include <memory>
#include <set>

#include <sys/resource.h>

#include "support/egl_odd.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

constexpr const char *kTexture = "video/x-raw(memory:GLMemory), format=(string)RGBA, texture-target=(string)2D, width=(int)64, height=(int)48";

// "glupload ! egldmabufdownload" with frames of system memory before it.
class Down {
public:
  explicit Down(const char *out, const char *settings = "")
  {
    const std::string words = std::string("glupload ! egldmabufdownload name=d ") + settings;
    h_.reset(gst_harness_new_parse(words.c_str()));
    fail_unless(h_ != nullptr);
    gst_harness_set_sink_caps(h_.get(), caps_of(out).release());
  }
  [[nodiscard]] GstHarness *get() const { return h_.get(); }
  void play(const std::string &caps) const { gst_harness_set_src_caps(h_.get(), caps_of(caps).release()); }
  [[nodiscard]] GstPtr<GstBuffer> push(GstBuffer *frame) const
  {
    fail_unless_equals_int(gst_harness_push(h_.get(), frame), GST_FLOW_OK);
    return GstPtr<GstBuffer>::adopt(gst_harness_pull(h_.get()));
  }
  [[nodiscard]] GstPtr<GstCaps> caps() const { return GstPtr<GstCaps>::adopt(gst_pad_get_current_caps(h_->sinkpad)); }
  [[nodiscard]] guint64 stat(const char *field) const
  {
    const auto element = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(h_->element), "d"));
    GstStructure *stats = nullptr;
    g_object_get(element.get(), "drm-stats", &stats, nullptr);
    guint64 value = G_MAXUINT64;
    gst_structure_get_uint64(stats, field, &value);
    gst_structure_free(stats);
    return value;
  }

private:
  struct TearDown {
    void operator()(GstHarness *h) const noexcept { gst_harness_teardown(h); }
  };
  std::unique_ptr<GstHarness, TearDown> h_;
};

GST_START_TEST(test_rates_out)
{
  const Down down("video/x-raw, format=RGBA");
  const std::string caps = with(plain("RGBA"), kRates[__i__]);
  down.play(caps);
  const auto out = down.push(new_frame(caps, 3));
  fail_unless(gst_caps_is_subset(down.caps().get(), caps_of(std::string("video/x-raw(ANY), ") + kRates[__i__]).get()), "%s",
              text_of(down.caps().get()).c_str());
  fail_unless(all_dmabuf(out.get()));
}
GST_END_TEST

struct FieldsOutRow {
  const char *format;
  bool is_copied; // also where OpenGL draws
};
const FieldsOutRow kFieldsOut[] = {{"NV12", true}, {"I420", true}, {"RGBA", false}, {"NV16", false}};

// Red and blue fields: a draw would average the chroma of 4:2:0 over both.
GST_START_TEST(test_fields_out)
{
  const FieldsOutRow &row = kFieldsOut[__i__];
  const Down down((std::string("video/x-raw, format=") + row.format).c_str());
  const std::string caps = with(plain("RGBA"), "interlace-mode=interleaved, framerate=25/1");
  down.play(caps);
  const GstVideoInfo info = video_info(caps);
  GstBuffer *frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  for_each_row(frame, info, GST_MAP_WRITE, [](guint, guint y, std::uint8_t *data, std::size_t bytes) {
    for (std::size_t x = 0; x < bytes; x++)
      data[x] = x % 4 == 3 || x % 4 == (y % 2 ? 0 : 2) ? 255 : 0;
  });
  GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED | GST_VIDEO_BUFFER_FLAG_TFF);
  const auto out = down.push(frame);
  const GstVideoInfo made = info_of(down.caps());
  fail_unless(GST_VIDEO_INFO_IS_INTERLACED(&made), "%s", text_of(down.caps().get()).c_str());
  if (row.is_copied)
    fail_unless_equals_uint64(down.stat("draws"), 0);
  if (!GST_VIDEO_INFO_IS_YUV(&made))
    return;
  std::array<std::set<int>, 2> seen; // of Cb, by the row's field
  for_each_row(out.get(), made, GST_MAP_READ, [&](guint plane, guint y, std::uint8_t *data, std::size_t) {
    if (plane == 1)
      seen[y % 2].insert(data[16]);
  });
  fail_unless(seen[0].size() == 1 && seen[1].size() == 1, "%s: %zu and %zu values of Cb", row.format, seen[0].size(), seen[1].size());
  fail_unless(std::abs(*seen[0].begin() - *seen[1].begin()) > 80, "%s: the fields are mixed", row.format);
}
GST_END_TEST

GST_START_TEST(test_events_out)
{
  const EventRow &row = kEvents[__i__];
  const std::string caps = plain_caps("RGBA", 64, 48);
  const Down down("video/x-raw, format=RGBA");
  down.play(caps);
  (void)down.push(new_frame(caps, 1));
  fail_unless(gst_harness_push_event(down.get(), row.make()));
  check_arrival(down.get(), row);
  (void)down.push(new_frame(caps, 2));
}
GST_END_TEST

// --- refusals ----------------------------------------------------------------------------------

struct RefusalRow {
  const char *name;
  const char *caps;
  const char *part; // of the message
};
const RefusalRow kRefusals[] = {
    {"wider than a texture", "video/x-raw(memory:GLMemory), format=RGBA, texture-target=2D, width=16385, height=2, framerate=30/1", "16384"},
    {"higher than a texture", "video/x-raw(memory:GLMemory), format=RGBA, texture-target=2D, width=2, height=16385, framerate=30/1", "16384"},
    {"textures of planes", "video/x-raw(memory:GLMemory), format=NV12, texture-target=2D, width=64, height=48, framerate=30/1", "glcolorconvert"},
    {"a rectangle", "video/x-raw(memory:GLMemory), format=RGBA, texture-target=rectangle, width=64, height=48, framerate=30/1", "takes"},
    {"system memory", "video/x-raw, format=RGBA, width=64, height=48, framerate=30/1", "glupload"},
    {"one field each", "video/x-raw(memory:GLMemory, format:Interlaced), format=RGBA, texture-target=2D, width=64, height=48, "
                       "interlace-mode=alternate, framerate=30/1", "alternate"},
    {"a feature that nobody knows", "video/x-raw(memory:GLMemory, meta:Nothing), format=RGBA, texture-target=2D, width=64, height=48, framerate=30/1",
     "meta:Nothing"},
};

GST_START_TEST(test_refusals_out)
{
  const RefusalRow &row = kRefusals[__i__];
  const Harness h("egldmabufdownload");
  fail_if(h.negotiate(row.caps), "%s", row.name);
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), row.part);
  // the second failure has its message, too, and good caps are taken afterwards
  fail_if(h.negotiate("video/x-raw(memory:GLMemory), format=Y444, texture-target=2D, width=64, height=48, framerate=30/1"));
  CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "Y444");
  fail_unless(h.negotiate(with(kTexture, "framerate=30/1")), "%s", h.last_error().c_str());
}
GST_END_TEST

// Each frame that fails has its message: an application that goes on behind the first hears of the second.
GST_START_TEST(test_each_failure_is_said)
{
  const Harness h("egldmabufdownload");
  fail_unless(h.negotiate(with(kTexture, "framerate=30/1")), "%s", h.last_error().c_str());
  for (int i = 0; i < 2; i++) {
    fail_unless_equals_int(gst_harness_push(h.get(), gst_buffer_new()), GST_FLOW_ERROR);
    CHECK_ONE_MESSAGE(h.messages(GST_MESSAGE_ERROR), "cannot turn a frame of");
  }
}
GST_END_TEST

// --- who is last to let go -----------------------------------------------------------------------

struct LastRow {
  const char *name;
  GstBuffer *(*derive)(GstBuffer *out);
};
const LastRow kLasts[] = {
    {"the buffer", [](GstBuffer *out) { return gst_buffer_ref(out); }},
    {"a shallow copy", [](GstBuffer *out) { return gst_buffer_copy(out); }},
    {"a sub-buffer", [](GstBuffer *out) { return gst_buffer_copy_region(out, GST_BUFFER_COPY_ALL, 64, 128); }},
    {"its memory in another buffer",
     [](GstBuffer *out) {
       GstBuffer *other = gst_buffer_new();
       gst_buffer_append_memory(other, gst_memory_ref(gst_buffer_peek_memory(out, 0)));
       return other;
     }},
    {"a share of its memory",
     [](GstBuffer *out) {
       GstBuffer *other = gst_buffer_new();
       gst_buffer_append_memory(other, gst_memory_share(gst_buffer_peek_memory(out, 0), 0, 64));
       return other;
     }},
};

// Whoever has a part of a frame last gives it back to the pool: the same memories go round.
GST_START_TEST(test_pool_recycles)
{
  const LastRow &row = kLasts[__i__];
  const std::string caps = plain_caps("RGBA", 64, 48);
  const Down down("video/x-raw, format=RGBA");
  down.play(caps);
  GstPtr<GstBuffer> kept;
  std::set<GstMemory *> memories;
  for (guint i = 0; i < 40; i++) {
    const auto out = down.push(new_frame(caps, i));
    memories.insert(gst_buffer_peek_memory(out.get(), 0));
    kept = GstPtr<GstBuffer>::adopt(row.derive(out.get()));
  }
  fail_unless(memories.size() <= 4, "%s: %zu memories for 40 frames of which one is kept", row.name, memories.size());
}
GST_END_TEST

// What the pool may make is a quarter of the process's descriptors at most.
GST_START_TEST(test_kept_frames_are_said)
{
  const unsigned most = __i__ == 0 ? 64 : 25;
  const struct rlimit less = {__i__ == 0 ? descriptors_before.rlim_cur : rlim_t{4} * most, descriptors_before.rlim_max};
  fail_unless(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  check_kept_frames_are_said("gltestsrc pattern=red ! video/x-raw(memory:GLMemory),format=RGBA,width=16,height=16 ! "
                             "egldmabufdownload ! video/x-raw,format=RGBA",
                             "egldmabufdownload", most);
  fail_unless(::setrlimit(RLIMIT_NOFILE, &descriptors_before) == 0);
}
GST_END_TEST

Suite *egl_odd_download_suite()
{
  Suite *suite = suite_create("egl-odd-download");
  TCase *tcase = add_odd_cases(suite);
  tcase_add_loop_test(tcase, test_rates_out, 0, G_N_ELEMENTS(kRates));
  tcase_add_loop_test(tcase, test_fields_out, 0, G_N_ELEMENTS(kFieldsOut));
  tcase_add_loop_test(tcase, test_events_out, 0, G_N_ELEMENTS(kEvents));
  tcase_add_loop_test(tcase, test_refusals_out, 0, G_N_ELEMENTS(kRefusals));
  tcase_add_test(tcase, test_each_failure_is_said);
  tcase_add_loop_test(tcase, test_pool_recycles, 0, G_N_ELEMENTS(kLasts));
  tcase_add_loop_test(tcase, test_kept_frames_are_said, 0, 2);
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  return run_with_egl(argc, argv, egl_odd_download_suite);
}
