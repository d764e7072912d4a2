// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload, egldmabufupload and egldmabufdownload in one pipeline while several threads change its states, seek, flush, renegotiate and ask:
// no element may say that a format was refused where the stream was only being stopped, and each start is a new one.
#include <string>

#include <gst/gl/gl.h>

#include "support/dmabuf_elements.hpp"
#include "support/no_display_server.hpp"
#include "support/storm.hpp"
#include "support/threads.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::GstPtr;

struct StormRow {
  const char *name;
  const char *behind; // what stands behind egldmabufupload
};

const StormRow kStorms[] = {
    {"a sink alone", "fakesink name=sink async=false sync=false"},
    {"a queue", "queue name=queue max-size-buffers=2 ! capsfilter name=after ! fakesink name=sink async=false sync=false"},
    {"the way out of OpenGL", "egldmabufdownload name=download ! fakesink name=sink async=false sync=false"},
    {"the way out, on another thread", "queue name=queue max-size-buffers=2 ! egldmabufdownload name=download ! queue max-size-buffers=2 ! fakesink name=sink async=false sync=false"},
};

class EglStorm : public Storm {
public:
  explicit EglStorm(const StormRow &row)
      : Storm(std::string("videotestsrc name=src ! capsfilter name=filter caps-change-mode=delayed ! dmabufupload name=dma ! egldmabufupload name=upload ! ") + row.behind)
  {
    EglStorm::choose_caps(0);
  }
  void ask(int n) const
  {
    for (int i = 0; i < n; i++) {
      for (const char *name : {"upload", "download"})
        if (const auto element = child(name))
          ask(element.get());
      g_usleep(1000);
    }
  }
  static void ask(GstElement *element)
  {
    for (const char *pad_name : {"sink", "src"}) {
      const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(element, pad_name));
      const auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad.get(), nullptr));
    }
    gst_util_set_object_arg(G_OBJECT(element), "zero-copy", "prefer");
    GstStructure *stats = nullptr;
    g_object_get(element, "drm-stats", &stats, nullptr);
    gst_structure_free(stats);
  }

private:
  void choose_caps(int i) const override
  {
    static constexpr const char *kFormats[] = {"BGRx", "RGBA", "NV12", "I420"};
    g_object_set(child("filter").get(), "caps", caps_of(plain_caps(kFormats[i % 4], 32 + 2 * (i % 3), 32)).get(), nullptr);
  }
};

GST_START_TEST(test_storm)
{
  const EglStorm storm(kStorms[__i__]);
  storm.set(GST_STATE_PLAYING);
  at_once({[&] { storm.change_states(60); }, [&] { storm.seek(120); }, [&] { storm.renegotiate(200); }, [&] { storm.ask(60); }});
  storm.play_once_more();
  fail_unless(storm.errors().empty(), "%s: %s", kStorms[__i__].name, storm.errors().substr(0, 2000).c_str());
}
GST_END_TEST

Suite *egl_storm_suite()
{
  Suite *suite = suite_create("egl-storm");
  TCase *tcase = tcase_create("storm");
  suite_add_tcase(suite, tcase);
  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_storm, 0, G_N_ELEMENTS(kStorms));
  return suite;
}

} // namespace

int main(int argc, char **argv)
{
  gstdrm::test::use_no_display_server();
  gst_check_init(&argc, &argv);
  return run_suite(egl_storm_suite());
}
