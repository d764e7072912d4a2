// SPDX-License-Identifier: LGPL-2.1-or-later
// Displays of saved machines on the box's vkms: what gst-drm-inspect-1.0 saved of a user's board is
// what the library and the program list of the device that plays it, and kmsdmabufsink negotiates
// with it as with the board.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <drm_fourcc.h>

#include "configfs_support.hpp"
#include "kms_support.hpp"
#include "support/machine_facts.hpp"

namespace {

using namespace gstdrm::test;
using gstdrm::Format;
using gstdrm::GstPtr;
using Pairs = std::set<Format>;

constexpr int kWidth = 640;
constexpr int kHeight = 480;

struct Card {
  const char *file; // under tests/data/inspect
  const char *card;
};

const Card kCards[] = {
    {"board.json", "card0"},   // tiled, primary and overlay
    {"machine.json", "card0"}, // tiled, primary and cursor
    {"machine.json", "card1"}, // without modifiers
};

std::vector<SavedSource> machine_of(const std::string &path)
{
  std::vector<SavedSource> machine;
  std::string error;
  fail_unless(read_saved_machine(path, machine, error), "%s", error.c_str());
  return machine;
}

std::vector<SavedSource> saved(const Card &row)
{
  return machine_of(std::string(GST_DRM_TEST_DATA_DIR) + "/inspect/" + row.file);
}

// vkms with the facts of a card.
class Played {
public:
  explicit Played(const Card &row)
      : facts_(facts_of_card(saved(row), row.card)),
        device_("machine", {{facts_.begin(), facts_.end()}})
  {
    device_.set_display(0, {k640x480});
  }
  [[nodiscard]] const std::string &path() const { return device_.path(); }
  [[nodiscard]] std::string card() const { return path().substr(path().rfind('/') + 1); }

private:
  std::vector<std::string> facts_;
  ConfigfsDevice device_;
};

Pairs pairs_of(const SavedSource &source)
{
  return {source.formats.begin(), source.formats.end()};
}

Pairs pairs_of(const GstDrmFormatSet *set)
{
  Pairs pairs;
  Format format;
  for (guint i = 0; gst_drm_format_set_get(set, i, &format.fourcc, &format.modifier); i++)
    pairs.insert(format);
  return pairs;
}

// The library's list of one device, as a saved machine has it.
std::vector<SavedSource> listed(const std::string &path)
{
  std::vector<SavedSource> sources;
  GPtrArray *list = gst_drm_enumerate_kms();
  for (guint i = 0; i < list->len; i++) {
    const auto *source = static_cast<const GstDrmSource *>(g_ptr_array_index(list, i));
    if (g_strcmp0(gst_drm_source_get_device(source), path.c_str()) != 0)
      continue;
    fail_unless(gst_drm_source_get_problem(source) == nullptr, "%s",
                gst_drm_source_get_problem(source));
    g_autoptr(GstDrmFormatSet) set = gst_drm_source_get_formats(source);
    const Pairs pairs = pairs_of(set);
    sources.push_back({"kms",
                       gst_drm_source_get_name(source),
                       gst_drm_source_get_driver(source),
                       gst_drm_source_get_description(source),
                       {pairs.begin(), pairs.end()}});
  }
  g_ptr_array_unref(list);
  return sources;
}

// Everything but the numbers of the card and of its planes.
void check_same(const std::vector<SavedSource> &found, const std::vector<SavedSource> &wanted,
                const char *who)
{
  fail_unless(found.size() == wanted.size(), "%s: %zu planes for %zu", who, found.size(),
              wanted.size());
  for (std::size_t i = 0; i < wanted.size(); i++) {
    fail_unless_equals_string(found[i].description.c_str(), wanted[i].description.c_str());
    fail_unless_equals_string(found[i].driver.c_str(), wanted[i].driver.c_str());
    fail_unless(!wanted[i].formats.empty() && pairs_of(found[i]) == pairs_of(wanted[i]),
                "%s, %s: %zu pairs for %zu", who, wanted[i].name.c_str(), pairs_of(found[i]).size(),
                pairs_of(wanted[i]).size());
  }
}

GST_START_TEST(test_same_tables)
{
  const Card &row = kCards[__i__];
  const std::vector<SavedSource> wanted = planes_of_card(saved(row), row.card);
  const Played played(row);
  check_same(listed(played.path()), wanted, "the library");
  // and once more through the program, whose file plays again
  const std::string file = "/tmp/kms-machine.json";
  // under ASan, what OpenGL drivers lose when they are unloaded is no business of this test
  const std::string command = std::string("ASAN_OPTIONS=detect_leaks=0 ") + GST_DRM_TEST_INSPECT + " --save " + file + " >/dev/null";
  fail_unless_equals_int(std::system(command.c_str()), 0);
  const std::vector<SavedSource> again = machine_of(file);
  check_same(planes_of_card(again, played.card()), wanted, "gst-drm-inspect-1.0");
  fail_unless(facts_of_card(again, played.card()) == facts_of_card(saved(row), row.card));
  std::remove(file.c_str());
}
GST_END_TEST

GstPtr<GstCaps> offer_of(const Sink &sink)
{
  GstPad *pad = gst_element_get_static_pad(sink.element(), "sink");
  auto caps = GstPtr<GstCaps>::adopt(gst_pad_query_caps(pad, nullptr));
  gst_object_unref(pad);
  return caps;
}

// What the board's planes scan out is what is offered; a tiled frame is shown with its modifier,
// and what the board does not take is refused.
GST_START_TEST(test_negotiation)
{
  const Card &row = kCards[0];
  const Played played(row);
  const std::vector<SavedSource> planes = planes_of_card(saved(row), row.card);
  Sink sink(("driver-name=\"\" device=" + played.path()).c_str());
  fail_unless(sink.set_state(GST_STATE_PLAYING), "%s",
              sink.next_message(GST_MESSAGE_ERROR).c_str());
  const GstPtr<GstCaps> offer = offer_of(sink);
  g_autoptr(GstDrmFormatSet) set = gst_drm_format_set_new_from_caps(offer.get());
  fail_unless(set != nullptr);
  const Pairs offered = pairs_of(set);
  const Pairs primary = pairs_of(planes[0]);
  Pairs all = primary;
  all.merge(pairs_of(planes[1]));
  fail_unless(std::includes(offered.begin(), offered.end(), primary.begin(), primary.end()),
              "%zu pairs", offered.size());
  fail_unless(std::includes(all.begin(), all.end(), offered.begin(), offered.end()), "%zu pairs",
              offered.size());
  fail_unless(!offered.contains({DRM_FORMAT_NV12, gstdrm::kModLinear}));
  fail_unless(!sink.set_caps(dma_drm_caps("NV12", kWidth, kHeight)));
  fail_unless(sink.set_caps(dma_drm_caps("XR24:0x0100000000000001", kWidth, kHeight)), "%s",
              sink.next_message(GST_MESSAGE_ERROR).c_str());
  for (int i = 0; i < 3; i++) {
    // rows of tiles: 8 lines and 512 bytes each, which 640x480 fills
    GstPtr<GstBuffer> frame =
        allocate(GST_DRM_ALLOCATOR_KIND_UDMABUF, DRM_FORMAT_XRGB8888, kWidth, kHeight);
    fail_unless_equals_int(sink.push(frame.release()), GST_FLOW_OK);
  }
  fail_unless(sink.stat("shown") >= 1);
  fail_unless_equals_uint64(sink.stat("copies"), 0);
}
GST_END_TEST

GST_START_TEST(test_what_facts_cannot_say)
{
  const auto refused = [](const std::vector<SavedSource> &machine, const char *card) {
    try {
      (void)facts_of_card(machine, card);
    } catch (const std::exception &) {
      return true;
    }
    return false;
  };
  std::vector<SavedSource> machine = saved(kCards[0]);
  fail_unless(!refused(machine, "card0"));
  fail_unless(refused(machine, "card7"));
  machine[0].formats.push_back({DRM_FORMAT_R8, 0}); // "R8  "
  fail_unless(refused(machine, "card0"));
  machine[0].formats.back() = {DRM_FORMAT_NV12, gstdrm::kModImplicit};
  fail_unless(refused(machine, "card0"));
}
GST_END_TEST

Suite *kms_machine_suite()
{
  Suite *suite = suite_create("kms_machine");
  TCase *tcase = tcase_create("boards");
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_same_tables, 0, G_N_ELEMENTS(kCards));
  tcase_add_test(tcase, test_negotiation);
  tcase_add_test(tcase, test_what_facts_cannot_say);
  return suite;
}

} // namespace

GST_DRM_CHECK_MAIN(kms_machine)
