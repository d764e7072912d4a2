// SPDX-License-Identifier: LGPL-2.1-or-later
// Several sinks in one process: each its own connector, CRTC and planes over one descriptor, by
// choice, by name, on a descriptor of the application's and on leases; what is taken is said so.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/drm_node.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "configfs_support.hpp"
#include "kms_support.hpp"

using namespace gstdrm::test;

namespace {

constexpr int kWidth = 640, kHeight = 480;

// Shows noise of that seed and compares what the display scans out.
void show_and_check(Sink &sink, unsigned seed)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const GstPtr<GstBuffer> picture = make_noise(info, seed);
  ck_assert_int_eq(sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release()), GST_FLOW_OK);
  const GstPtr<GstSample> sample = sink.snapshot();
  ck_assert_msg(sample, "no snapshot: %s", sink.next_message(GST_MESSAGE_WARNING).c_str());
  ck_assert_int_eq(
      largest_difference(sample.get(), reference(info, picture.get(), kWidth, kHeight)), 0);
}

void start(Sink &sink)
{
  ck_assert_msg(sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
}

void expect_words(const std::string &message, const std::vector<std::string> &words)
{
  for (const std::string &word : words)
    ck_assert_msg(message.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word.c_str(),
                  message.c_str());
}

void expect_refused(const std::string &properties, const std::vector<std::string> &words)
{
  Sink sink(properties.c_str());
  ck_assert_msg(!sink.set_state(GST_STATE_READY), "%s was opened", properties.c_str());
  expect_words(sink.next_message(GST_MESSAGE_ERROR), words);
}

// The sink waits where it may, and says why it cannot show.
void expect_waiting(Sink &sink, const std::vector<std::string> &words)
{
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  start(sink);
  ck_assert(sink.next_message(GST_MESSAGE_ERROR).empty());
  ck_assert_int_eq(
      sink.push(to_dmabuf(info, make_noise(info, 9).get(), Shape::Tight).release()),
      GST_FLOW_ERROR);
  expect_words(sink.next_message(GST_MESSAGE_ERROR), words);
}

const std::vector<OutputSpec> kThree = {{0, false, true}, {1, false, true}, {2, true, true}};

unsigned count_framebuffers(int fd)
{
  drmModeRes *resources = drmModeGetResources(fd);
  const int count = resources->count_fbs; // of this file only
  drmModeFreeResources(resources);
  return static_cast<unsigned>(count);
}

} // namespace

// Left to choose, each sink gets an output of its own; the fourth waits for one of them.
GST_START_TEST(test_each_its_own)
{
  const ConfigfsDevice device("three", kThree);
  const std::string properties = "device=" + device.path();
  const unsigned before = count_fds();
  {
    std::vector<std::unique_ptr<Sink>> sinks;
    for (unsigned i = 0; i < 3; i++) {
      sinks.push_back(std::make_unique<Sink>(properties.c_str()));
      start(*sinks.back());
    }
    Sink fourth(properties.c_str());
    ck_assert(fourth.set_state(GST_STATE_READY));
    for (unsigned round = 0; round < 2; round++)
      for (unsigned i = 0; i < 3; i++)
        show_and_check(*sinks[i], round * 3 + i);
    expect_waiting(fourth, {device.path(), "another sink of this process", "connector"});
    // one leaves, the others go on, and its place is free: not the one that the fourth has chosen
    ck_assert(sinks[1]->set_state(GST_STATE_READY));
    ck_assert(fourth.set_state(GST_STATE_READY));
    start(fourth);
    show_and_check(fourth, 9);
    expect_waiting(*sinks[1], {"another sink of this process"});
    ck_assert(fourth.set_state(GST_STATE_NULL));
    ck_assert(sinks[1]->set_state(GST_STATE_NULL));
    show_and_check(*sinks[0], 10);
    show_and_check(*sinks[2], 11);
    Sink late(properties.c_str());
    start(late);
    show_and_check(late, 12);
    show_and_check(*sinks[0], 13);
  }
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

namespace {

struct PlayerRow {
  const char *name;
  const char *properties;
  GstState waits_in; // of the pipelines that do not play
};

const PlayerRow kPlayers[] = {
    {"READY", "", GST_STATE_READY},
    {"PAUSED", "", GST_STATE_PAUSED},
    {"PAUSED, the last frame stays", "restore=false", GST_STATE_PAUSED},
    {"READY, the last frame stays", "restore=false", GST_STATE_READY},
};

} // namespace

// A player with a pipeline for each codec, and one display: the pipelines wait, and play by turns.
GST_START_TEST(test_pipelines_wait_for_one_display)
{
  const PlayerRow &row = kPlayers[__i__];
  g_print("# %s\n", row.name);
  const ConfigfsDevice device("one", {{0, false, true}});
  std::vector<GstPtr<GstElement>> pipelines;
  for (const char *source : {"pattern=red ! video/x-raw,format=BGRx", "pattern=green ! video/x-raw,format=RGB16",
                             "pattern=blue ! video/x-raw,format=BGRx"}) {
    const std::string line = "videotestsrc " + std::string(source) +
                             ",width=640,height=480,framerate=30/1 ! kmsdmabufsink name=sink device=" +
                             device.path() + " " + row.properties;
    GError *error = nullptr;
    pipelines.push_back(GstPtr<GstElement>::adopt(
        GST_ELEMENT(gst_object_ref_sink(gst_parse_launch(line.c_str(), &error)))));
    ck_assert_msg(!error, "%s", error ? error->message : "");
  }
  const auto set_state = [](GstElement *pipeline, GstState state) {
    gst_element_set_state(pipeline, state);
    const GstStateChangeReturn changed =
        gst_element_get_state(pipeline, nullptr, nullptr, GST_CLOCK_TIME_NONE);
    const auto bus = GstPtr<GstBus>::adopt(gst_element_get_bus(pipeline));
    const auto error = GstPtr<GstMessage>::adopt(gst_bus_pop_filtered(bus.get(), GST_MESSAGE_ERROR));
    GError *why = nullptr;
    if (error)
      gst_message_parse_error(error.get(), &why, nullptr);
    ck_assert_msg(changed == GST_STATE_CHANGE_SUCCESS && !error, "%s", why ? why->message : "?");
  };
  for (const GstPtr<GstElement> &pipeline : pipelines)
    set_state(pipeline.get(), row.waits_in);
  if (row.waits_in == GST_STATE_PAUSED) // the first shows its picture, and gives the display up
    set_state(pipelines[0].get(), GST_STATE_READY);
  for (const std::size_t turn : {1U, 0U, 2U, 1U}) {
    set_state(pipelines[turn].get(), GST_STATE_PLAYING);
    const auto sink = GstPtr<GstElement>::adopt(
        gst_bin_get_by_name(GST_BIN(pipelines[turn].get()), "sink"));
    GstSample *taken = nullptr;
    for (int i = 0; i < 1000 && !taken; i++) { // until the first frame is on screen
      g_usleep(10'000);
      g_signal_emit_by_name(sink.get(), "snapshot", &taken);
    }
    const auto sample = GstPtr<GstSample>::adopt(taken);
    ck_assert(sample);
    guint32 pixel = 0;
    gst_buffer_extract(gst_sample_get_buffer(sample.get()), 4 * (240 * 640 + 320), &pixel, 4);
    g_print("# %zu: %06x\n", turn, pixel & 0xffffff);
    ck_assert_uint_eq(pixel & 0xf0f0f0, (turn == 0 ? 0xf00000U : turn == 1 ? 0x00f000U : 0x0000f0U));
    set_state(pipelines[turn].get(), GST_STATE_READY);
  }
  for (const GstPtr<GstElement> &pipeline : pipelines)
    gst_element_set_state(pipeline.get(), GST_STATE_NULL);
}
GST_END_TEST

// As behind a tee: both displays scan out the same buffers, and each keeps them for itself.
GST_START_TEST(test_one_stream_on_two_displays)
{
  const ConfigfsDevice device("three", kThree);
  const std::string properties = "zero-copy=require device=" + device.path();
  const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
  const unsigned before = count_fds();
  {
    const GstPtr<GstBuffer> pictures[] = {make_noise(info, 1), make_noise(info, 2)};
    const GstPtr<GstBuffer> frames[] = {to_dmabuf(info, pictures[0].get(), Shape::Tight),
                                        to_dmabuf(info, pictures[1].get(), Shape::Tight)};
    Sink left(properties.c_str()), right(properties.c_str());
    start(left);
    start(right);
    const auto show = [&](const std::vector<Sink *> &sinks, int i) {
      for (Sink *sink : sinks)
        ck_assert_int_eq(sink->push(gst_buffer_ref(frames[i % 2].get())), GST_FLOW_OK);
      for (Sink *sink : sinks) {
        const GstPtr<GstSample> sample = sink->snapshot();
        ck_assert_msg(sample, "%s", sink->next_message(GST_MESSAGE_WARNING).c_str());
        ck_assert_int_eq(largest_difference(
                             sample.get(), reference(info, pictures[i % 2].get(), kWidth, kHeight)),
                         0);
      }
    };
    for (int i = 0; i < 6; i++)
      show({&left, &right}, i);
    ck_assert_uint_eq(left.stat("imports"), 2);
    ck_assert_uint_eq(right.stat("imports"), 2);
    ck_assert(left.set_state(GST_STATE_NULL));
    for (int i = 0; i < 4; i++)
      show({&right}, i);
    ck_assert_uint_eq(right.stat("imports"), 2);
    ck_assert(right.set_state(GST_STATE_NULL));
    for (const GstPtr<GstBuffer> &frame : frames)
      ck_assert_int_eq(GST_MINI_OBJECT_REFCOUNT_VALUE(frame.get()), 1);
  }
  ck_assert_uint_eq(count_fds(), before);
}
GST_END_TEST

GST_START_TEST(test_taken_by_name)
{
  const ConfigfsDevice device("three", kThree);
  const std::string properties = "device=" + device.path() + " connector=" + device.connectors()[1];
  Sink sink(properties.c_str());
  start(sink);
  show_and_check(sink, 1);
  Sink waiting(properties.c_str());
  expect_waiting(waiting, {"Connector " + device.connectors()[1], device.path(), "another sink"});
  Sink other(("device=" + device.path() + " connector=" + device.connectors()[2]).c_str());
  start(other);
  show_and_check(other, 2);
  show_and_check(sink, 3);
}
GST_END_TEST

// Two devices with other planes each: the sinks do not hinder each other, and left to choose they
// take both.
GST_START_TEST(test_two_devices)
{
  const ConfigfsDevice one("one", {{0, false, true}}), two("two", {{3, true, true}});
  Sink first(("device=" + one.path()).c_str()), second(("device=" + two.path()).c_str());
  start(first);
  start(second);
  for (unsigned i = 0; i < 3; i++) {
    show_and_check(first, i);
    show_and_check(second, 100 + i);
  }
  Sink third("driver-name=\"\""); // the box's own vkms
  start(third);
  show_and_check(third, 7);
}
GST_END_TEST

// Left to choose, a sink takes the card with a display, and not the one with a headset.
GST_START_TEST(test_a_headset_is_no_display)
{
  const ConfigfsDevice headset("one", {{0, false, true}}), display("two", {{0, false, true}});
  headset.set_display(0, {k640x480}, DisplayKind::Headset);
  std::vector<gstdrm::UniqueFd> masters; // of every other card
  for (const std::string &path : gstdrm::list_drm_nodes(gstdrm::DrmNodeType::Card))
    if (path != headset.path() && path != display.path())
      masters.emplace_back(open(path.c_str(), O_RDWR | O_CLOEXEC));
  Sink sink("driver-name=\"\"");
  start(sink);
  show_and_check(sink, 1);
}
GST_END_TEST

namespace {

// The nodes of all cards there are, out of the way for a while.
class HiddenCards {
public:
  HiddenCards() : paths_(gstdrm::list_drm_nodes(gstdrm::DrmNodeType::Card))
  {
    for (const std::string &path : paths_)
      ck_assert_int_eq(rename(path.c_str(), hidden(path).c_str()), 0);
  }
  HiddenCards(const HiddenCards &) = delete;
  HiddenCards &operator=(const HiddenCards &) = delete;
  ~HiddenCards()
  {
    for (const std::string &path : paths_)
      rename(hidden(path).c_str(), path.c_str());
  }

private:
  static std::string hidden(const std::string &path)
  {
    return path.substr(0, path.rfind('/')) + "/hidden-" + path.substr(path.rfind('/') + 1);
  }
  std::vector<std::string> paths_;
};

} // namespace

// Left to choose, a sink takes a display that may be there, and not a card that has none.
GST_START_TEST(test_a_display_of_unknown_state)
{
  const HiddenCards others;
  const ConfigfsDevice none("one", {{0, false, false}, {0, false, false}});
  const ConfigfsDevice unknown("two", {{0, false, false}});
  unknown.set_unknown(0);
  { // as the console does
    const gstdrm::UniqueFd fd(open(unknown.path().c_str(), O_RDWR | O_CLOEXEC));
    drmModeRes *resources = drmModeGetResources(fd.get());
    for (int i = 0; i < resources->count_connectors; i++)
      drmModeFreeConnector(drmModeGetConnector(fd.get(), resources->connectors[i]));
    drmModeFreeResources(resources);
  }
  Sink sink("driver-name=\"\"");
  ck_assert_msg(sink.set_state(GST_STATE_READY), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
  start(sink);
  show_and_check(sink, 1);
}
GST_END_TEST

// Left to choose, a sink goes on to the next card where another program is master of the first.
GST_START_TEST(test_other_programs_keep_their_cards)
{
  const ConfigfsDevice device("one", {{0, false, true}});
  std::vector<gstdrm::UniqueFd> masters; // of every other card
  for (const std::string &path : gstdrm::list_drm_nodes(gstdrm::DrmNodeType::Card)) {
    gstdrm::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    ck_assert_msg(drmIsMaster(fd.get()), "%s has a master", path.c_str());
    if (path != device.path())
      masters.push_back(std::move(fd));
  }
  {
    Sink sink("driver-name=\"\"");
    start(sink);
    show_and_check(sink, 1);
  }
  masters.emplace_back(open(device.path().c_str(), O_RDWR | O_CLOEXEC));
  expect_refused("driver-name=\"\"", {"Another program holds the display", "SET_MASTER"});
}
GST_END_TEST

// An application's descriptor, given as it is and as a dup: one DRM client, which stays master
// throughout.
GST_START_TEST(test_shared_descriptor)
{
  const ConfigfsDevice device("three", kThree);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const int twin = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  ck_assert(drmIsMaster(fd));
  {
    Sink first(("mode=match fd=" + std::to_string(fd)).c_str()),
        second(("mode=match fd=" + std::to_string(twin)).c_str());
    Sink third(("device=" + device.path()).c_str()); // joins them: the node can have one master
    start(first);
    start(second);
    start(third);
    show_and_check(first, 1);
    show_and_check(second, 2);
    show_and_check(third, 3);
    ck_assert(first.set_state(GST_STATE_NULL));
    show_and_check(second, 4);
    ck_assert(drmIsMaster(fd));
  }
  ck_assert(drmIsMaster(fd));
  ck_assert_uint_eq(count_framebuffers(fd), 0);
  close(twin);
  close(fd);
}
GST_END_TEST

// A second open file of the same node that is not master.
GST_START_TEST(test_descriptor_without_master)
{
  const ConfigfsDevice device("three", kThree);
  const int master = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  ck_assert(drmIsMaster(master) && !drmIsMaster(fd));
  expect_refused("fd=" + std::to_string(fd), {"fd is not master", "vkms", "SET_MASTER", "lease"});
  close(fd);
  close(master);
}
GST_END_TEST

namespace {

std::vector<std::uint32_t> lessees(int fd)
{
  drmModeLesseeListRes *list = drmModeListLessees(fd);
  ck_assert(list != nullptr);
  std::vector<std::uint32_t> ids(list->lessees, list->lessees + list->count);
  drmFree(list);
  return ids;
}

} // namespace

// Two sinks on one lease of two connectors, made from a descriptor that keeps the third output.
GST_START_TEST(test_lease)
{
  const ConfigfsDevice device("three", kThree);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const std::string lease = "mode=match fd=" + std::to_string(fd) + " lease=" + device.connectors()[0] + "," +
                            device.connectors()[2];
  {
    Sink first(lease.c_str()), second(lease.c_str()), third(("mode=match fd=" + std::to_string(fd)).c_str());
    start(first);
    start(second);
    start(third);
    ck_assert_uint_eq(lessees(fd).size(), 1);
    for (unsigned i = 0; i < 2; i++) {
      show_and_check(first, i);
      show_and_check(second, 10 + i);
      show_and_check(third, 20 + i);
    }
    expect_refused("fd=" + std::to_string(fd) + " lease=" + device.connectors()[1],
                   {device.connectors()[1], "another sink of this process"});
  }
  ck_assert_uint_eq(lessees(fd).size(), 0);
  expect_refused("fd=" + std::to_string(fd) + " lease=HDMI-A-9",
                 {"HDMI-A-9", device.connectors()[0]});
  ck_assert_uint_eq(lessees(fd).size(), 0);
  close(fd);
}
GST_END_TEST

GST_START_TEST(test_lease_revoked)
{
  const ConfigfsDevice device("three", kThree);
  const int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);
  const unsigned before = count_fds();
  {
    Sink sink(("mode=match fd=" + std::to_string(fd) + " lease=" + device.connectors()[1]).c_str());
    start(sink);
    show_and_check(sink, 1);
    const std::vector<std::uint32_t> ids = lessees(fd);
    ck_assert_uint_eq(ids.size(), 1);
    ck_assert_int_eq(drmModeRevokeLease(fd, ids[0]), 0);
    const GstVideoInfo info = video_info(plain_caps("BGRx", kWidth, kHeight));
    const GstPtr<GstBuffer> picture = make_noise(info, 1);
    GstFlowReturn ret = GST_FLOW_OK;
    for (unsigned i = 0; i < 10 && ret == GST_FLOW_OK; i++)
      ret = sink.push(to_dmabuf(info, picture.get(), Shape::Tight).release());
    ck_assert_int_eq(ret, GST_FLOW_ERROR);
    expect_words(sink.next_message(GST_MESSAGE_ERROR),
                 {"lease", device.connectors()[1], "revoked"});
    ck_assert(sink.set_state(GST_STATE_NULL));
  }
  ck_assert_uint_eq(count_fds(), before);
  close(fd);
}
GST_END_TEST

namespace {

// What a program that is master no more has left on: a picture of its own on one display.
class LeftOn {
public:
  LeftOn(const std::string &path, const std::string &connector, unsigned crtc)
      : fd_(open(path.c_str(), O_RDWR | O_CLOEXEC))
  {
    drmModeRes *resources = drmModeGetResources(fd_.get());
    crtcs_.assign(resources->crtcs, resources->crtcs + resources->count_crtcs);
    drmModeModeInfo mode{};
    for (int i = 0; i < resources->count_connectors; i++) {
      drmModeConnector *found = drmModeGetConnector(fd_.get(), resources->connectors[i]);
      if (std::string(drmModeGetConnectorTypeName(found->connector_type)) + "-" +
              std::to_string(found->connector_type_id) ==
          connector) {
        connector_ = found->connector_id;
        mode = found->modes[0];
      }
      drmModeFreeConnector(found);
    }
    drmModeFreeResources(resources);
    std::uint32_t handle = 0, pitch = 0;
    std::uint64_t size = 0;
    ck_assert_int_eq(drmModeCreateDumbBuffer(fd_.get(), mode.hdisplay, mode.vdisplay, 32, 0,
                                             &handle, &pitch, &size),
                     0);
    ck_assert_int_eq(
        drmModeAddFB(fd_.get(), mode.hdisplay, mode.vdisplay, 24, 32, pitch, handle, &framebuffer_),
        0);
    ck_assert_int_eq(
        drmModeSetCrtc(fd_.get(), crtcs_.at(crtc), framebuffer_, 0, 0, &connector_, 1, &mode), 0);
    ck_assert_int_eq(drmDropMaster(fd_.get()), 0);
  }
  // Its picture is on that CRTC and on no other, and its display too.
  void expect_on(unsigned crtc) const
  {
    for (unsigned i = 0; i < crtcs_.size(); i++) {
      drmModeCrtc *now = drmModeGetCrtc(fd_.get(), crtcs_[i]);
      ck_assert_msg((now->buffer_id == framebuffer_) == (i == crtc), "CRTC %u: framebuffer %u", i,
                    now->buffer_id);
      drmModeFreeCrtc(now);
    }
    drmModeConnector *connector = drmModeGetConnectorCurrent(fd_.get(), connector_);
    drmModeEncoder *encoder = drmModeGetEncoder(fd_.get(), connector->encoder_id);
    ck_assert_uint_eq(encoder->crtc_id, crtcs_.at(crtc));
    drmModeFreeEncoder(encoder);
    drmModeFreeConnector(connector);
  }

private:
  gstdrm::UniqueFd fd_;
  std::vector<std::uint32_t> crtcs_;
  std::uint32_t connector_ = 0, framebuffer_ = 0;
};

} // namespace

// The second display could have either CRTC, and has the only one of the first: it keeps it.
GST_START_TEST(test_a_lit_display_keeps_its_crtc)
{
  const ConfigfsDevice device("two", {{0, false, true}, {0, false, true, {0}}});
  const LeftOn console(device.path(), device.connectors()[1], 0);
  Sink sink(("device=" + device.path() + " connector=" + device.connectors()[0]).c_str());
  ck_assert(!sink.set_state(GST_STATE_READY));
  const std::string error = sink.next_message(GST_MESSAGE_ERROR);
  ck_assert_msg(error.find("No CRTC of") != std::string::npos, "%s", error.c_str());
  console.expect_on(0);
}
GST_END_TEST

static Suite *kms_outputs_suite(void)
{
  Suite *s = suite_create("kms-outputs");
  TCase *tc = tcase_create("outputs");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_test(tc, test_each_its_own);
  tcase_add_loop_test(tc, test_pipelines_wait_for_one_display, 0, G_N_ELEMENTS(kPlayers));
  tcase_add_test(tc, test_one_stream_on_two_displays);
  tcase_add_test(tc, test_taken_by_name);
  tcase_add_test(tc, test_two_devices);
  tcase_add_test(tc, test_a_headset_is_no_display);
  tcase_add_test(tc, test_a_display_of_unknown_state);
  tcase_add_test(tc, test_other_programs_keep_their_cards);
  tcase_add_test(tc, test_a_lit_display_keeps_its_crtc);
  tcase_add_test(tc, test_shared_descriptor);
  tcase_add_test(tc, test_descriptor_without_master);
  tcase_add_test(tc, test_lease);
  tcase_add_test(tc, test_lease_revoked);
  return s;
}

GST_DRM_CHECK_MAIN(kms_outputs)
