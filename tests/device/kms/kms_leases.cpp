// SPDX-License-Identifier: LGPL-2.1-or-later
// A user interface leases one overlay plane, with its connector and CRTC, to a sink that joins the
// mode which it did not set. The lease is revoked in mid-stream, and another one made.
#include "kms_leases.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/unique_fd.hpp>

#include "configfs_support.hpp"
#include "kms_ui.hpp"

namespace gstdrm::test {

namespace {

constexpr int kWidth = 640, kHeight = 480, kSide = 128;
constexpr int kX = 40, kY = 200;
constexpr Ui::Hole kNoHole{0, 0, 0, 0};

bool is_overlay(int fd, std::uint32_t plane)
{
  drmModeObjectProperties *list = drmModeObjectGetProperties(fd, plane, DRM_MODE_OBJECT_PLANE);
  bool overlay = false;
  for (std::uint32_t i = 0; i < list->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
    overlay |=
        std::strcmp(property->name, "type") == 0 && list->prop_values[i] == DRM_PLANE_TYPE_OVERLAY;
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(list);
  return overlay;
}

struct LeaseOfPlane {
  UniqueFd fd;
  std::uint32_t lessee = 0;
};

// Of the first connector and CRTC, and an overlay plane.
LeaseOfPlane lease_plane(const Ui &ui)
{
  drmModeRes *resources = drmModeGetResources(ui.fd());
  std::vector<std::uint32_t> objects{resources->crtcs[0]};
  for (int i = 0; i < resources->count_connectors; i++) {
    drmModeConnector *connector = drmModeGetConnectorCurrent(ui.fd(), resources->connectors[i]);
    if (connector->connector_type != DRM_MODE_CONNECTOR_WRITEBACK)
      objects.push_back(connector->connector_id);
    drmModeFreeConnector(connector);
  }
  ck_assert_uint_eq(objects.size(), 2);
  drmModeFreeResources(resources);
  drmModePlaneRes *planes = drmModeGetPlaneResources(ui.fd());
  for (std::uint32_t i = 0; i < planes->count_planes && objects.size() < 3; i++)
    if (is_overlay(ui.fd(), planes->planes[i]))
      objects.push_back(planes->planes[i]);
  drmModeFreePlaneResources(planes);
  ck_assert_uint_eq(objects.size(), 3);
  LeaseOfPlane lease;
  lease.fd = UniqueFd(drmModeCreateLease(ui.fd(), objects.data(), 3, O_CLOEXEC, &lease.lessee));
  ck_assert_msg(lease.fd, "no lease");
  return lease;
}

std::string on_lease(const LeaseOfPlane &lease, const char *mode)
{
  return "driver-name=\"\" fd=" + std::to_string(lease.fd.get()) + " mode=" + mode +
         " fit=none render-rectangle=<40,200,128,128>";
}

struct Inset {
  GstVideoInfo info = video_info(plain_caps("BGRx", kSide, kSide));
  Image picture{1, 1};

  GstFlowReturn push(Sink &sink, unsigned seed)
  {
    const auto noise = make_noise(info, seed);
    picture = image_of(info, noise.get());
    return sink.push(to_dmabuf(info, noise.get(), Shape::Tight).release());
  }
  // Until it is on screen.
  void show(Sink &sink, unsigned seed)
  {
    const std::uint64_t before = sink.stat("shown");
    ck_assert_int_eq(push(sink, seed), GST_FLOW_OK);
    for (int i = 0; i < 20000 && sink.stat("shown") == before; i++)
      g_usleep(1000);
    ck_assert_uint_eq(sink.stat("shown"), before + 1);
  }
};

void start(Sink &sink)
{
  ck_assert_msg(sink.set_state(GST_STATE_READY), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
  ck_assert_msg(sink.set_caps(dma_drm_caps("XR24", kSide, kSide)), "%s",
                sink.next_message(GST_MESSAGE_ERROR).c_str());
}

// The UI's picture, with the inset where there is one.
void expect_screen(const char *stage, Ui &ui, const Image *inset)
{
  const Ui::Screen screen = ui.screen();
  Image expected = screen.drawn;
  for (int y = 0; inset && y < kSide; y++)
    for (int x = 0; x < kSide; x++)
      expected.at(kX + x, kY + y) = inset->at(x, y);
  compare(stage, screen.shown, expected);
}

void expect_revoked(const std::string &message)
{
  for (const char *word : {"lease", "revoked", "start again"})
    ck_assert_msg(message.find(word) != std::string::npos, "\"%s\" is not in \"%s\"", word,
                  message.c_str());
}

} // namespace

// mode=auto as well: the application gives a descriptor, and the display is lit.
GST_START_TEST(test_joins_on_a_lease)
{
  const ConfigfsDevice device("lease", {{2, false, true}});
  Ui ui(device.path(), kWidth, kHeight, kNoHole);
  const LeaseOfPlane lease = lease_plane(ui);
  Sink sink(on_lease(lease, __i__ ? "current" : "auto").c_str());
  Inset inset;
  start(sink);
  for (unsigned i = 0; i < 3; i++)
    inset.show(sink, i);
  expect_screen("on the lease", ui, &inset.picture);
  ck_assert(sink.set_state(GST_STATE_NULL));
  expect_screen("after it", ui, nullptr);
  const std::string text =
      sink.next_message(static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  ck_assert_msg(text.empty(), "%s", text.c_str());
  ui.pause();
  ck_assert_uint_eq(ui.frames(), ui.flips());
}
GST_END_TEST

// The error says what has happened, nothing is left, the UI goes on, and another lease is as good.
GST_START_TEST(test_revoked_in_mid_stream)
{
  const ConfigfsDevice device("lease", {{2, false, true}});
  Ui ui(device.path(), kWidth, kHeight, kNoHole);
  const unsigned before = count_fds();
  for (unsigned round = 0; round < 3; round++) {
    const LeaseOfPlane lease = lease_plane(ui);
    Sink sink(on_lease(lease, "current").c_str());
    Inset inset;
    start(sink);
    for (unsigned i = 0; i < 3; i++)
      inset.show(sink, 10 * round + i);
    expect_screen("on the lease", ui, &inset.picture);
    ck_assert_int_eq(drmModeRevokeLease(ui.fd(), lease.lessee), 0);
    GstFlowReturn ret = GST_FLOW_OK;
    for (unsigned i = 0; i < 10 && ret == GST_FLOW_OK; i++)
      ret = inset.push(sink, i);
    ck_assert_int_eq(ret, GST_FLOW_ERROR);
    expect_revoked(sink.next_message(GST_MESSAGE_ERROR));
    ck_assert(sink.set_state(GST_STATE_NULL));
    const std::string warning = sink.next_message(GST_MESSAGE_WARNING);
    ck_assert_msg(warning.empty(), "%s", warning.c_str());
    expect_screen("after it", ui, nullptr);
    ck_assert(!sink.set_state(GST_STATE_READY)); // nothing is left of that lease
    expect_revoked(sink.next_message(GST_MESSAGE_ERROR));
  }
  ck_assert_uint_eq(count_fds(), before);
  ui.pause();
  ck_assert_uint_eq(ui.frames(), ui.flips());
}
GST_END_TEST

void add_lease_cases(Suite *suite)
{
  TCase *tc = tcase_create("leases");
  suite_add_tcase(suite, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_joins_on_a_lease, 0, 2);
  tcase_add_test(tc, test_revoked_in_mid_stream);
}

} // namespace gstdrm::test
