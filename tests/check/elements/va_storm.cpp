// SPDX-License-Identifier: LGPL-2.1-or-later
// vadmabufsrc and vadmabufconvert while several threads change states and properties, seek, flush, renegotiate and ask, while
// elements are replaced, and while several elements open, share and close one display.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <gst/app/gstappsink.h>

#include "device/va/va_support.hpp"
#include "support/dmabuf_elements.hpp"
#include "support/storm.hpp"
#include "support/threads.hpp"
#include "va_native.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct StormRow {
  const char *driver;
  const char *behind; // what stands behind vadmabufconvert
};

constexpr char kSink[] = "fakesink name=sink async=false sync=false";
constexpr char kQueue[] = "tee name=tee ! queue max-size-buffers=2 ! fakesink name=sink async=false sync=false "
                          "tee. ! queue max-size-buffers=1 leaky=downstream ! fakesink async=false sync=false";

const StormRow kStorms[] = {
    {"formats=NV12:BGRX,memory=memfd", kSink},
    {"formats=NV12:BGRX,memory=memfd,async=1", kQueue}, // a thread waits for each frame
    {"formats=NV12:BGRX,modifiers=x-tiled:linear,memory=memfd,deinterlace=bob:adaptive", kQueue},
};

GstPtr<GstElement> launch(const std::string &description)
{
  GError *error = nullptr;
  auto pipeline = GstPtr<GstElement>::adopt(gst_parse_launch(description.c_str(), &error));
  fail_unless(pipeline && !error, "%s", error ? error->message : "");
  return pipeline;
}

class VaStorm : public Storm {
public:
  explicit VaStorm(const StormRow &row) : Storm(description(row)) { VaStorm::choose_caps(0); }
  void ask(int n) const
  {
    const auto filter = caps_of("video/x-raw(memory:DMABuf),format=DMA_DRM");
    for (int i = 0; i < n; i++) {
      for (const char *name : {"src", "convert"}) {
        const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(child(name).get(), "src"));
        const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), i % 2 == 0 ? filter.get() : nullptr));
        for (GstQuery *made : {gst_query_new_latency(), gst_query_new_duration(GST_FORMAT_TIME), gst_query_new_context("gst.va.display.handle"),
                               gst_query_new_accept_caps(filter.get())}) {
          const auto query = GstPtr<GstQuery>::adopt(made);
          gst_pad_query(pad.get(), query.get());
        }
      }
      const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(child("convert").get(), "sink"));
      const auto allocation = GstPtr<GstQuery>::adopt(gst_query_new_allocation(caps_of(dma_caps("NV12", 48, 32)).get(), TRUE));
      gst_pad_query(sink.get(), allocation.get());
      g_usleep(500);
    }
  }
  void set_properties(int n) const
  {
    static constexpr const char *kPatterns[] = {"smpte", "ball", "solid", "frame-counter", "gradient", "checkers"};
    static constexpr const char *kDirections[] = {"identity", "90r", "180", "auto", "horiz"};
    static constexpr const char *kDeinterlace[] = {"auto", "off", "bob", "adaptive"};
    for (int i = 0; i < n; i++) {
      GObject *src = G_OBJECT(child("src").get());
      GObject *convert = G_OBJECT(child("convert").get());
      gst_util_set_object_arg(src, "pattern", kPatterns[i % 6]);
      gst_util_set_object_arg(convert, "video-direction", kDirections[i % 5]);
      gst_util_set_object_arg(convert, "deinterlace", kDeinterlace[i % 4]);
      g_object_set(src, "color", static_cast<guint>(i), "num-surfaces", 2U + static_cast<guint>(i % 4), nullptr);
      g_object_set(convert, "add-borders", i % 2, "num-surfaces", 2U + static_cast<guint>(i % 3), nullptr);
      for (GObject *object : {src, convert}) {
        const std::string node = "/dev/dri/renderD" + std::to_string(128 + i / 4 % 2);
        g_object_set(object, "device", node.c_str(), nullptr);
        g_autofree gchar *device = nullptr;
        GstStructure *stats = nullptr;
        g_object_get(object, "device", &device, "drm-stats", &stats, nullptr);
        gst_structure_free(stats);
      }
      g_usleep(400);
    }
  }

private:
  static std::string description(const StormRow &row)
  {
    set_driver(row.driver);
    return std::string("vadmabufsrc name=src ! capsfilter name=filter caps-change-mode=delayed ! vadmabufconvert name=convert ! "
                       "capsfilter name=after caps-change-mode=delayed ! ") + row.behind;
  }
  void choose_caps(int i) const override
  {
    static constexpr const char *kFormats[] = {"NV12", "XR24"};
    const auto sized = [i](const char *format, int n) { return caps_of(dma_caps(format, 32 + 16 * (n % 3), 32) + ",framerate=1000/1"); };
    g_object_set(child("filter").get(), "caps", sized(kFormats[i % 2], i).get(), nullptr);
    // All of them in another order: a capsfilter whose caps change within a query answers what the old and the new ones
    // have in common.
    const auto any = GstPtr<GstCaps>::adopt(gst_caps_new_empty());
    for (int k = 0; k < 6; k++)
      gst_caps_append(any.get(), gst_caps_copy(sized(kFormats[(i / 2 + k) % 2], i + 1 + k / 2).get()));
    g_object_set(child("after").get(), "caps", any.get(), nullptr);
  }
};

GST_START_TEST(test_storm)
{
  const VaStorm storm(kStorms[__i__]);
  storm.set(GST_STATE_PLAYING);
  at_once({[&] { storm.change_states(60); }, [&] { storm.seek(120); }, [&] { storm.renegotiate(200); }, [&] { storm.ask(60); },
           [&] { storm.set_properties(150); }});
  storm.play_once_more();
  fail_unless(storm.errors().empty(), "%s: %s", kStorms[__i__].driver, storm.errors().substr(0, 2000).c_str());
}
GST_END_TEST

// Threads that set a property each, which nobody else sets: none is lost.
GST_START_TEST(test_setters)
{
  const auto element = GstPtr<GstElement>::adopt(GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("vadmabufconvert", nullptr))));
  std::atomic<int> lost{0};
  const auto set_number = [&] {
    for (guint i = 0; i < 5000; i++) {
      guint got = 0;
      g_object_set(element.get(), "num-surfaces", 2 + i % 30, nullptr);
      g_object_get(element.get(), "num-surfaces", &got, nullptr);
      lost += got == 2 + i % 30 ? 0 : 1;
    }
  };
  const auto set_borders = [&] {
    for (int i = 0; i < 5000; i++) {
      gboolean got = FALSE;
      g_object_set(element.get(), "add-borders", i % 2, nullptr);
      g_object_get(element.get(), "add-borders", &got, nullptr);
      lost += got == i % 2 ? 0 : 1;
    }
  };
  at_once({set_number, set_borders});
  fail_unless_equals_int(lost, 0);
}
GST_END_TEST

// ---- two elements and one display

constexpr char kContext[] = "gst.va.display.handle";

// Elements of one bin that start at the same time on threads of their own: each gives the bin its display, and asks for it.
GST_START_TEST(test_started_at_once)
{
  set_driver(kStorms[__i__].driver);
  const std::string branch = "! video/x-raw(memory:DMABuf),width=64,height=48,framerate=1000/1 ! vadmabufconvert ! video/x-raw(memory:DMABuf),width=32,height=32 ! "
                             "fakesink async=false sync=false num-buffers=3 ";
  const auto pipeline = launch("bin ( name=a vadmabufsrc num-buffers=4 " + branch + ") bin ( name=b vadmabufsrc num-buffers=4 " + branch + ")");
  std::array<GstPtr<GstElement>, 2> bins;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    bins[i] = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(pipeline.get()), i == 0 ? "a" : "b"));
    gst_element_set_locked_state(bins[i].get(), TRUE);
  }
  const auto play = [](GstElement *bin) {
    for (int i = 0; i < 40; i++) {
      gst_element_set_state(bin, GST_STATE_PLAYING);
      g_usleep(static_cast<gulong>(i % 4) * 500);
      gst_element_set_state(bin, GST_STATE_NULL);
    }
  };
  at_once({[&] { play(bins[0].get()); }, [&] { play(bins[1].get()); }});
  for (const auto &bin : bins)
    gst_element_set_locked_state(bin.get(), FALSE);
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// A display that one pipeline opened goes on in another, when the first has gone.
GST_START_TEST(test_display_of_one_that_has_gone)
{
  set_driver(kStorms[__i__].driver);
  Pipeline other("vadmabufsrc name=src ! " + dma_caps("NV12", 64, 48) + " ! vadmabufconvert ! " + dma_caps("XR24", 32, 32) + " ! appsink name=sink sync=false max-buffers=2");
  for (int i = 0; i < 20; ++i) {
    auto first = std::make_unique<Pipeline>("vadmabufsrc name=src ! " + dma_caps("NV12", 64, 48) + " ! appsink name=sink sync=false max-buffers=2");
    fail_unless(first->play());
    g_autoptr(GstSample) kept = first->pull();
    fail_unless(kept != nullptr);
    const auto query = GstPtr<GstQuery>::adopt(gst_query_new_context(kContext));
    fail_unless(gst_element_query(first->get("src"), query.get()));
    GstContext *context = nullptr;
    gst_query_parse_context(query.get(), &context);
    for (const char *name : {"src"})
      gst_element_set_context(other.get(name), context);
    at_once({[&] { first.reset(); }, [&] { other.play(); }});
    g_autoptr(GstSample) sample = other.pull();
    fail_unless(sample != nullptr, "%s", other.message(GST_MESSAGE_ERROR).c_str());
    (void)read_frame(kept);
    other.stop();
  }
}
GST_END_TEST

// ---- replaced while it plays

// Stops the stream before a pad, and puts another element in the place of the one behind it.
class Replacement {
public:
  Replacement(GstElement *bin, const char *factory) : bin_(bin), factory_(factory) {}

  void replace()
  {
    const auto old = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(bin_), "replaced"));
    const auto sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(old.get(), "sink"));
    const auto before = GstPtr<GstPad>::adopt(gst_pad_get_peer(sink.get()));
    done_ = false;
    gst_pad_add_probe(before.get(), GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, on_blocked, this, nullptr);
    while (!done_)
      g_usleep(200);
  }

private:
  static GstPadProbeReturn on_blocked(GstPad *pad, GstPadProbeInfo *, gpointer data) noexcept
  {
    auto &self = *static_cast<Replacement *>(data);
    if (self.done_)
      return GST_PAD_PROBE_REMOVE;
    const auto old = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(self.bin_), "replaced"));
    const auto src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(old.get(), "src"));
    const auto behind = GstPtr<GstPad>::adopt(gst_pad_get_peer(src.get()));
    gst_element_set_locked_state(old.get(), TRUE); // from the bin, which may be on its way to PLAYING
    gst_bin_remove(GST_BIN(self.bin_), old.get());
    gst_element_set_state(old.get(), GST_STATE_NULL);
    GstElement *made = gst_element_factory_make(self.factory_, "replaced");
    gst_bin_add(GST_BIN(self.bin_), made);
    const auto made_sink = GstPtr<GstPad>::adopt(gst_element_get_static_pad(made, "sink"));
    const auto made_src = GstPtr<GstPad>::adopt(gst_element_get_static_pad(made, "src"));
    gst_pad_link(made_src.get(), behind.get());
    gst_pad_link(pad, made_sink.get());
    gst_element_sync_state_with_parent(made);
    self.done_ = true;
    return GST_PAD_PROBE_REMOVE;
  }

  GstElement *bin_;
  const char *factory_;
  std::atomic<bool> done_{false};
};

// The application keeps a frame of each element that has gone, and reads it.
GST_START_TEST(test_replaced)
{
  set_driver(kStorms[__i__].driver);
  Pipeline pipeline("vadmabufsrc name=src pattern=frame-counter ! " + dma_caps("NV12", 64, 48) + ",framerate=1000/1 ! queue max-size-buffers=1 ! "
                    "vadmabufconvert name=replaced ! queue max-size-buffers=2 ! capsfilter caps=" + dma_caps("XR24", 64, 48) + " ! appsink name=sink sync=false max-buffers=1");
  fail_unless(pipeline.play());
  GstElement *bin = GST_ELEMENT(GST_ELEMENT_PARENT(pipeline.get("src")));
  std::vector<GstPtr<GstSample>> kept;
  std::atomic<bool> over{false};
  Replacement replacement(bin, "vadmabufconvert");
  const auto ask = [&] {
    while (!over) {
      const auto element = GstPtr<GstElement>::adopt(gst_bin_get_by_name(GST_BIN(bin), "replaced"));
      GstStructure *stats = nullptr;
      if (!element)
        continue;
      g_object_get(element.get(), "drm-stats", &stats, nullptr);
      gst_structure_free(stats);
      g_usleep(300);
    }
  };
  const auto pull = [&] {
    while (!over)
      if (auto sample = GstPtr<GstSample>::adopt(gst_app_sink_try_pull_sample(GST_APP_SINK(pipeline.get("sink")), GST_MSECOND)))
        if (kept.empty() || gst_sample_get_buffer(kept.back().get())->pool != gst_sample_get_buffer(sample.get())->pool)
          kept.push_back(std::move(sample)); // more would leave the element none
  };
  at_once({[&] {
             for (int i = 0; i < 25; i++) {
               replacement.replace();
               g_usleep(2000);
             }
             over = true;
           },
           ask, pull});
  fail_unless(!kept.empty(), "%s", pipeline.message(GST_MESSAGE_ERROR).c_str());
  pipeline.stop();
  for (const auto &sample : kept)
    fail_unless(read_counter(read_frame(sample.get())).valid);
}
GST_END_TEST

Suite *va_storm_suite()
{
  Suite *suite = suite_create("va-storm");
  TCase *tcase = tcase_create("storm");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_storm, 0, G_N_ELEMENTS(kStorms));
  tcase_add_test(tcase, test_setters);
  tcase_add_loop_test(tcase, test_started_at_once, 0, G_N_ELEMENTS(kStorms));
  tcase_add_loop_test(tcase, test_display_of_one_that_has_gone, 0, 2);
  tcase_add_loop_test(tcase, test_replaced, 0, 2);
  return suite;
}

} // namespace

GST_DRM_VA_NATIVE_MAIN(va_storm)
