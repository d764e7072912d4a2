// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc and vadmabufconvert in a process that has few descriptors (ulimit -n) or little memory (ulimit -v) left, before
// consumers that keep whatever they get, and behind drivers that fail more than once: a frame or one error, never both and
// never neither, nothing that grows, and all is as before when there is room again.
#include <algorithm>
#include <optional>
#include <vector>

#include <gst/app/gstappsink.h>
#include <gst/drm/gstdrm-private.hpp>

#include "support/descriptors.hpp"
#include "support/little_memory.hpp"
#include "va_support.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;
using C = vadriver::Counter;

// Frames of 14 MiB.
constexpr int kWidth = 2560;
constexpr int kHeight = 1440;

struct ElementRow {
  const char *name;
  std::string (*launch)(const std::string &properties, int width, int height); // of the element "element"
};

std::string of_source(const std::string &properties, int width, int height)
{
  return "vadmabufsrc name=element " + properties + " ! " + dma_caps("XR24", width, height) + " ! appsink name=sink sync=false max-buffers=1";
}

// The source draws small frames, which need little of anything.
std::string of_converter(const std::string &properties, int width, int height)
{
  return "vadmabufsrc name=source num-surfaces=2 ! " + dma_caps("NV12", 64, 48) + " ! vadmabufconvert name=element " + properties + " ! " +
         dma_caps("XR24", width, height) + ",pixel-aspect-ratio=1/1 ! appsink name=sink sync=false max-buffers=1";
}

const ElementRow kElements[] = {{"vadmabufsrc", of_source}, {"vadmabufconvert", of_converter}};
const char *const kDrivers[] = {"formats=NV12:BGRX", "profile=ihd", "profile=i965", "profile=radeonsi", "profile=radeonsi26", "profile=nouveau,formats=NV12:BGRX"};

// Whether a frame came, else the one error: of the element, or of the source before a converter.
bool plays(Pipeline &pipeline, std::string &error)
{
  const bool started = pipeline.play();
  g_autoptr(GstSample) sample = started ? pipeline.pull() : nullptr;
  if (sample)
    return true;
  if (started)
    (void)pipeline.message(GST_MESSAGE_ERROR); // it may come a moment after the stream's end
  pipeline.stop(); // no other one follows
  auto errors = pipeline.errors_of("element");
  if (errors.empty()) // the source before a converter has few, too
    errors = pipeline.errors_of("source");
  fail_unless(errors.size() == 1, "%u errors: %s", static_cast<unsigned>(errors.size()), errors.empty() ? "" : errors[0].c_str());
  error = errors[0];
  return false;
}

void load_classes()
{
  set_driver("formats=NV12:BGRX");
  for (const auto &element : kElements) {
    Pipeline pipeline(element.launch("", 64, 48));
    std::string error;
    fail_unless(plays(pipeline, error), "%s", error.c_str());
  }
}

// ---- ulimit -n

// From the first step of a start on, GStreamer's buffer pool included (its own lack of them is a critical, which ends
// the test). va_convert_metas has the frames of a vadmabufconvert that has started.
GST_START_TEST(test_few_descriptors)
{
  const ElementRow &element = kElements[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kElements)];
  const auto turn = static_cast<unsigned>(__i__) / G_N_ELEMENTS(kElements);
  const char *driver = kDrivers[turn];
  load_classes();
  set_driver(driver);
  const unsigned before = settled_fds();
  int frames = 0;
  int told = 0;
  for (unsigned left = turn; left < 42; left += G_N_ELEMENTS(kDrivers)) { // all, among the drivers
    Pipeline pipeline(element.launch("", 64, 48));
    std::string error;
    {
      const FewDescriptors few(left);
      (plays(pipeline, error) ? frames : told)++;
      pipeline.stop();
    }
    for (const char *part : {"EMFILE", "(ulimit -n)"})
      fail_unless(error.empty() || error.find(part) != std::string::npos, "%s before %s, %u left: %s", driver, element.name, left, error.c_str());
    // there is room again
    fail_unless(plays(pipeline, error), "%s, %u descriptors were left: %s", driver, left, error.c_str());
    pipeline.stop();
  }
  fail_unless(frames > 0 && told > 0, "%s: %d frames, %d errors", driver, frames, told);
  fail_unless(settles_at(before));
}
GST_END_TEST

// ---- ulimit -n, from the negotiation on: what a start takes, which is more than a negotiation does, is there

// Leaves few descriptors once: at the first query for caps that leaves a pad, or at the first caps that come to it.
class FewFromCapsOn {
public:
  FewFromCapsOn(GstPad *pad, unsigned left) : pad_(GstPtr<GstPad>::share(pad)), left_(left)
  {
    const bool leaves = gst_pad_get_direction(pad) == GST_PAD_SRC;
    probe_ = gst_pad_add_probe(pad, leaves ? GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM : GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, see, this, nullptr);
  }
  FewFromCapsOn(const FewFromCapsOn &) = delete;
  FewFromCapsOn &operator=(const FewFromCapsOn &) = delete;
  ~FewFromCapsOn() { gst_pad_remove_probe(pad_.get(), probe_); }
  [[nodiscard]] bool came() const { return few_.has_value(); }

private:
  static GstPadProbeReturn see(GstPad *, GstPadProbeInfo *info, gpointer self) noexcept
  {
    auto &hook = *static_cast<FewFromCapsOn *>(self);
    const bool caps = info->type & GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM ? GST_EVENT_TYPE(info->data) == GST_EVENT_CAPS
                                                                       : GST_QUERY_TYPE(info->data) == GST_QUERY_CAPS;
    if (caps && !hook.few_)
      hook.few_.emplace(hook.left_);
    return GST_PAD_PROBE_OK;
  }

  GstPtr<GstPad> pad_;
  unsigned left_;
  gulong probe_ = 0;
  std::optional<FewDescriptors> few_;
};

// Where the errno is lost on the way from the driver's call to the message, its advice is missing.
struct NegotiationRow {
  const char *driver;
  std::size_t element; // of kElements
  const char *properties;
  const char *pad;
  std::vector<const char *> errors; // each comes for some number of descriptors
};

const NegotiationRow kNegotiations[] = {
    // one frame of the format; a frame that is drawn beside the pattern's pictures; the pool
    {"formats=NV12:BGRX", 0, "", "src", {"could allocate no surface", "cannot be prepared: vaExportSurfaceHandle", "has no surfaces"}},
    // the pictures: each surface needs more while it is made than when it is there
    {"formats=NV12:BGRX,memory=udmabuf", 0, "pattern=frame-counter", "src", {"could allocate no surface", "cannot be prepared: vaCreateSurfaces", "has no surfaces"}},
    // one frame of the format; the conversion that is tried
    {"formats=NV12:BGRX", 1, "", "sink", {"takes: vaCreateSurfaces", "takes: vaExportSurfaceHandle", "takes: A frame of NV12 (LINEAR) 64x48 cannot become"}},
};

GST_START_TEST(test_few_from_negotiation)
{
  const NegotiationRow &row = kNegotiations[__i__];
  const ElementRow &element = kElements[row.element];
  load_classes();
  set_driver(row.driver);
  const unsigned before = settled_fds();
  std::vector<std::string> errors;
  constexpr unsigned kMost = 60;
  bool played = false;
  for (unsigned left = 0; left < kMost && !played; ++left) {
    fail_unless(settles_at(before)); // or what goes meanwhile makes room
    Pipeline pipeline(element.launch(row.properties, 64, 48));
    std::string error;
    {
      const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(pipeline.get("element"), row.pad));
      const FewFromCapsOn few(pad.get(), left);
      played = plays(pipeline, error);
      fail_unless(few.came());
      pipeline.stop();
    }
    for (const char *part : {"EMFILE", "(ulimit -n)"})
      fail_unless(played || error.find(part) != std::string::npos, "%s before %s, %u left: %s", row.driver, element.name, left, error.c_str());
    errors.push_back(error);
    std::string again;
    fail_unless(plays(pipeline, again), "%s, %u descriptors were left: %s", row.driver, left, again.c_str());
    pipeline.stop();
  }
  fail_unless(played, "%s: no frame with %u descriptors", row.driver, kMost);
  for (const char *wanted : row.errors)
    fail_unless(std::any_of(errors.begin(), errors.end(), [&](const std::string &error) { return error.find(wanted) != std::string::npos; }),
                "%s: never \"%s\"", row.driver, wanted);
  fail_unless(settles_at(before));
}
GST_END_TEST

// ---- ulimit -v

#if !defined(__SANITIZE_ADDRESS__) // whose shadow takes terabytes of addresses
constexpr std::size_t kMegabytes[] = {12, 40, 160};
const char *const kFewDrivers[] = {"formats=NV12:BGRX"};

GST_START_TEST(test_little_memory)
{
  const ElementRow &element = kElements[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kElements)];
  const char *driver = kFewDrivers[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kElements)];
  load_classes();
  set_driver(driver);
  const unsigned before = settled_fds();
  int told = 0;
  int frames = 0;
  for (const std::size_t megabytes : kMegabytes) {
    // so many that there is never room for all
    Pipeline pipeline(element.launch("num-surfaces=24", kWidth, kHeight));
    std::string error;
    bool came = false;
    {
      const LittleMemory little(megabytes << 20);
      fail_unless(little.is_set());
      came = plays(pipeline, error);
      pipeline.stop();
    }
    frames += came ? 1 : 0;
    told += came ? 0 : 1;
    g_object_set(pipeline.get("element"), "num-surfaces", 2, nullptr);
    fail_unless(plays(pipeline, error), "%s on %s, %u MiB were left: %s", element.name, driver, static_cast<unsigned>(megabytes), error.c_str());
    pipeline.stop();
  }
  g_print("# %s on %s: %d frames, %d errors\n", element.name, driver, frames, told);
  fail_unless(frames > 0 && told > 0, "%s on %s: %d frames, %d errors", element.name, driver, frames, told);
  fail_unless(settles_at(before));
}
GST_END_TEST
#endif

// ---- a consumer that keeps everything, before a pool of two

GST_START_TEST(test_keeps_everything)
{
  const ElementRow &element = kElements[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kElements)];
  const char *driver = kDrivers[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kElements)];
  const Counters counters;
  load_classes();
  set_driver(std::string(driver) + "," + counters.setting());
  const unsigned before = settled_fds();
  std::vector<GstPtr<GstSample>> kept;
  {
    Pipeline pipeline(element.launch("num-surfaces=2", 64, 48));
    fail_unless(pipeline.play(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
    auto sink = GST_APP_SINK(pipeline.get("sink"));
    auto pull = [&](GstClockTime limit) { return GstPtr<GstSample>::adopt(gst_app_sink_try_pull_sample(sink, limit)); };
    kept.push_back(pull(60 * GST_SECOND));
    fail_unless(static_cast<bool>(kept.back()), "%s on %s: %s", element.name, driver, pipeline.message(GST_MESSAGE_ERROR).c_str());
    while (auto sample = pull(300 * GST_MSECOND)) {
      kept.push_back(std::move(sample));
      fail_unless(kept.size() <= 2, "%s on %s: more frames than surfaces", element.name, driver);
    }
    const auto made = counters[C::Create] - counters[C::Import]; // the source has a second frame
    const std::string said = pipeline.message(GST_MESSAGE_WARNING);
    for (const char *part : {"waits for a free buffer", "sink (appsink)", "num-surfaces"})
      fail_unless(said.find(part) != std::string::npos, "%s on %s: %s", element.name, driver, said.c_str());
    kept.erase(kept.begin()); // one comes back, and the stream goes on
    auto next = pull(60 * GST_SECOND);
    fail_unless(static_cast<bool>(next), "%s on %s: the stream has stopped", element.name, driver);
    fail_unless_equals_uint64(counters[C::Create] - counters[C::Import], made);
    pipeline.stop(); // although the pool is empty
    fail_unless(pipeline.errors_of("element").empty());
    kept.push_back(std::move(next));
  }
  // the element has gone, and its frames are still there
  for (const auto &sample : kept)
    fail_unless_equals_int(static_cast<int>(read_frame(sample.get()).layout.width), 64);
  kept.clear();
  fail_unless(settles_at(before));
}
GST_END_TEST

// ---- each failure is one message, and so is the next one

const char *const kFailures[] = {
    "begin:40", "render:40", "end:40",                     // behind the first frames
    "create:1", "create:5", "export:1", "buffer:1", "render:1",
};

GST_START_TEST(test_fails_twice)
{
  const ElementRow &element = kElements[static_cast<std::size_t>(__i__) % G_N_ELEMENTS(kElements)];
  const std::string failure = kFailures[static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kElements)];
  load_classes();
  const unsigned before = settled_fds();
  for (std::size_t i = 0; i < 2; ++i) { // all, among the rows
    const char *driver = kDrivers[(static_cast<std::size_t>(__i__) / G_N_ELEMENTS(kElements) + i * 3) % G_N_ELEMENTS(kDrivers)];
    set_driver(std::string(driver) + ",fail=" + failure);
    Pipeline pipeline(element.launch("num-surfaces=2", 64, 48));
    for (int round = 0; round < 2; ++round) { // each opens a display of its own, which counts anew
      bool ended = !pipeline.play();
      for (int i = 0; !ended && i < 60; ++i) {
        g_autoptr(GstSample) sample = pipeline.pull();
        ended = sample == nullptr;
      }
      if (ended && pipeline.errors_of("element").empty())
        (void)pipeline.message(GST_MESSAGE_ERROR); // it may come a moment after the stream's end
      pipeline.stop();
      auto errors = pipeline.errors_of("element");
      if (errors.empty()) // the source before a converter shares its display, and made the call
        errors = pipeline.errors_of("source");
      fail_unless(errors.size() == (ended ? 1U : 0U), "%s on %s, %s, round %d: %u errors: %s", element.name, driver, failure.c_str(), round,
                  static_cast<unsigned>(errors.size()), errors.empty() ? "" : errors[0].c_str());
    }
  }
  fail_unless(settles_at(before));
}
GST_END_TEST

Suite *va_limits_suite()
{
  constexpr int kAll = G_N_ELEMENTS(kElements) * G_N_ELEMENTS(kDrivers);
  Suite *suite = suite_create("va_limits");
  TCase *tcase = tcase_create("general");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 200);
  tcase_add_loop_test(tcase, test_few_descriptors, 0, kAll);
#if !defined(__SANITIZE_ADDRESS__)
  tcase_add_loop_test(tcase, test_little_memory, 0, G_N_ELEMENTS(kElements) * G_N_ELEMENTS(kFewDrivers));
#endif
  tcase_add_loop_test(tcase, test_keeps_everything, 0, kAll);
  tcase_add_loop_test(tcase, test_fails_twice, 0, G_N_ELEMENTS(kElements) * G_N_ELEMENTS(kFailures));
  TCase *negotiation = tcase_create("negotiation");
  suite_add_tcase(suite, negotiation);
  tcase_set_timeout(negotiation, 200);
  tcase_add_loop_test(negotiation, test_few_from_negotiation, 0, G_N_ELEMENTS(kNegotiations));
  return suite;
}

} // namespace

GST_DRM_VA_CHECK_MAIN(va_limits)
