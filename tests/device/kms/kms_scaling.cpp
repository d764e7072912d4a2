// SPDX-License-Identifier: LGPL-2.1-or-later
// kmsdmabufsink on a display that scales, has a zpos and takes HDR metadata: vkms with the
// parameters of docs/box-kernel.md. Each is shown by what the kernel scanned out, or holds.
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include "configfs_support.hpp"
#include "kms_hotplug_support.hpp"
#include "kms_image.hpp"

using namespace gstdrm::test;

namespace {

constexpr auto kComplaints = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);

struct Row {
  const char *name;
  const char *properties;
  int width, height;
  const char *caps;
  std::function<Image(const Image &picture)> screen;
};

const Row kRows[] = {
    {"twice as large", "mode=640x480", 320, 240, "",
     [](const Image &p) { return scaled(p, 640, 480); }},
    {"half as large", "mode=640x480", 1280, 960, "",
     [](const Image &p) { return scaled(p, 640, 480); }},
    {"bars above and below", "mode=640x480", 320, 200, "",
     [](const Image &p) { return on_black(640, 480, scaled(p, 640, 400), 0, 40); }},
    {"bars on both sides", "mode=640x480", 200, 240, "",
     [](const Image &p) { return on_black(640, 480, scaled(p, 400, 480), 120, 0); }},
    {"cover", "mode=640x480 fit=cover", 400, 200, "",
     [](const Image &p) { return scaled(cut(p, 66, 0, 266, 200), 640, 480); }},
    {"fill", "mode=640x480 fit=fill", 400, 200, "",
     [](const Image &p) { return scaled(p, 640, 480); }},
    {"none", "mode=640x480 fit=none", 320, 240, "",
     [](const Image &p) { return on_black(640, 480, p, 160, 120); }},
    {"pixels twice as wide as high", "mode=640x480", 320, 480, ", pixel-aspect-ratio=(fraction)2/1",
     [](const Image &p) { return scaled(p, 640, 480); }},
    {"render rectangle", "mode=640x480 render-rectangle=<100,50,200,300>", 320, 240, "",
     [](const Image &p) { return on_black(640, 480, scaled(p, 200, 150), 100, 125); }},
    {"render rectangle, covered", "mode=640x480 fit=cover render-rectangle=<101,51,200,300>", 320,
     240, "",
     [](const Image &p) {
       return on_black(640, 480, scaled(cut(p, 80, 0, 160, 240), 200, 300), 101, 51);
     }},
    {"the best mode, and the rest scaled", "mode=match", 1000, 700, "",
     [](const Image &p) { return on_black(1024, 768, scaled(p, 1024, 717), 0, 25); }},
    {"more than the plane does: pixel for pixel", "mode=640x480", 64, 48, "",
     [](const Image &p) { return on_black(640, 480, p, 288, 216); }},
    {"turned, where the plane does not do both: not scaled", "mode=640x480 rotation=rotate-90", 320,
     240, "", [](const Image &p) { return on_black(640, 480, turned(p, 1), 200, 80); }},
};

// The properties of an object of the device, by name.
class Properties {
public:
  Properties(int fd, std::uint32_t object, std::uint32_t type) : fd_(fd)
  {
    drmModeObjectProperties *list = drmModeObjectGetProperties(fd, object, type);
    ck_assert(list != nullptr);
    for (std::uint32_t i = 0; i < list->count_props; i++) {
      drmModePropertyRes *property = drmModeGetProperty(fd, list->props[i]);
      found_.emplace_back(property, list->prop_values[i]);
    }
    drmModeFreeObjectProperties(list);
  }
  Properties(const Properties &) = delete;
  Properties &operator=(const Properties &) = delete;
  ~Properties()
  {
    for (const auto &[property, value] : found_)
      drmModeFreeProperty(property);
  }
  [[nodiscard]] std::uint64_t value(const char *name) const { return find(name).second; }
  // the name of the value of an enum
  [[nodiscard]] std::string choice(const char *name) const
  {
    const auto &[property, value] = find(name);
    for (int i = 0; i < property->count_enums; i++)
      if (property->enums[i].value == value)
        return property->enums[i].name;
    return "";
  }
  // empty: no blob
  [[nodiscard]] std::vector<std::uint8_t> blob(const char *name) const
  {
    std::vector<std::uint8_t> bytes;
    if (drmModePropertyBlobRes *blob =
            drmModeGetPropertyBlob(fd_, static_cast<std::uint32_t>(value(name)))) {
      const auto *data = static_cast<const std::uint8_t *>(blob->data);
      bytes.assign(data, data + blob->length);
      drmModeFreePropertyBlob(blob);
    }
    return bytes;
  }

private:
  using Entry = std::pair<drmModePropertyRes *, std::uint64_t>;
  [[nodiscard]] const Entry &find(const char *name) const
  {
    for (const Entry &entry : found_)
      if (std::strcmp(entry.first->name, name) == 0)
        return entry;
    ck_abort_msg("no property %s", name);
    return found_.front();
  }
  int fd_;
  std::vector<Entry> found_;
};

} // namespace

GST_START_TEST(test_pixels)
{
  const Row &row = kRows[__i__];
  g_print("# %s\n", row.name);
  Show show(row.properties, row.width, row.height);
  show.start(row.caps);
  compare(row.name, show.screen(row.name), row.screen(show.picture));
  ck_assert(show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

namespace {

// A box of one colour on an overlay, shown by the test itself, beside the sink.
class ColouredBox {
public:
  static constexpr std::uint32_t kSize = 64;
  static constexpr guint32 kColour = 0x12ab34;

  ColouredBox(int fd, std::uint32_t plane, std::uint32_t crtc, std::uint32_t x, std::uint32_t y)
      : fd_(fd)
  {
    std::uint32_t pitch = 0;
    std::uint64_t size = 0, offset = 0;
    ck_assert_int_eq(drmModeCreateDumbBuffer(fd, kSize, kSize, 32, 0, &handle_, &pitch, &size), 0);
    ck_assert_int_eq(drmModeMapDumbBuffer(fd, handle_, &offset), 0);
    void *data =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    ck_assert(data != MAP_FAILED);
    for (std::uint32_t i = 0; i < size / 4; i++)
      static_cast<guint32 *>(data)[i] = kColour;
    munmap(data, size);
    ck_assert_int_eq(drmModeAddFB(fd, kSize, kSize, 24, 32, pitch, handle_, &framebuffer_), 0);
    ck_assert_int_eq(drmModeSetPlane(fd, plane, crtc, framebuffer_, 0, static_cast<std::int32_t>(x),
                                     static_cast<std::int32_t>(y), kSize, kSize, 0, 0, kSize << 16,
                                     kSize << 16),
                     0);
  }
  ColouredBox(const ColouredBox &) = delete;
  ColouredBox &operator=(const ColouredBox &) = delete;
  ~ColouredBox()
  {
    drmModeRmFB(fd_, framebuffer_);
    drmModeDestroyDumbBuffer(fd_, handle_);
  }
  static Image over(const Image &picture, int x, int y)
  {
    Image image = picture;
    for (int row = 0; row < static_cast<int>(kSize); row++)
      for (int column = 0; column < static_cast<int>(kSize); column++)
        image.at(x + column, y + row) = kColour;
    return image;
  }

private:
  int fd_;
  std::uint32_t handle_ = 0, framebuffer_ = 0;
};

// The planes of a device with one output, by type.
std::uint32_t plane_of_type(int fd, std::uint64_t type)
{
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < planes->count_planes; i++)
    if (Properties(fd, planes->planes[i], DRM_MODE_OBJECT_PLANE).value("type") == type)
      found = planes->planes[i];
  drmModeFreePlaneResources(planes);
  ck_assert_uint_ne(found, 0);
  return found;
}

std::uint32_t first(int fd, int drmModeRes::*count, std::uint32_t *drmModeRes::*list)
{
  drmModeRes *resources = drmModeGetResources(fd);
  ck_assert_int_ge(resources->*count, 1);
  const std::uint32_t id = (resources->*list)[0];
  drmModeFreeResources(resources);
  return id;
}

// A device of its own with one output and one overlay, and the master's descriptor.
struct OwnDevice {
  ConfigfsDevice device{"one", {{1, false, true}}};
  int fd = open(device.path().c_str(), O_RDWR | O_CLOEXEC);

  OwnDevice()
  {
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1), 0);
    ck_assert_int_eq(drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1), 0);
  }
  OwnDevice(const OwnDevice &) = delete;
  OwnDevice &operator=(const OwnDevice &) = delete;
  ~OwnDevice() { close(fd); }
  [[nodiscard]] std::string properties(const std::string &more) const
  {
    return "mode=match fd=" + std::to_string(fd) + " " + more;
  }
};

} // namespace

// What lies on top goes by zpos, which may change while frames are shown, and is put back.
GST_START_TEST(test_zpos)
{
  const OwnDevice own;
  const std::uint32_t primary = plane_of_type(own.fd, DRM_PLANE_TYPE_PRIMARY);
  const std::uint32_t overlay = plane_of_type(own.fd, DRM_PLANE_TYPE_OVERLAY);
  const std::uint32_t crtc = first(own.fd, &drmModeRes::count_crtcs, &drmModeRes::crtcs);
  const auto zpos_of = [&](std::uint32_t plane) {
    return Properties(own.fd, plane, DRM_MODE_OBJECT_PLANE).value("zpos");
  };
  {
    Show show(own.properties("zpos=2 plane-id=" + std::to_string(primary)).c_str(), 640, 480);
    show.start();
    ck_assert_uint_eq(zpos_of(primary), 2);
    const ColouredBox box(own.fd, overlay, crtc, 10, 20); // zpos 1
    show.push();
    compare("above", show.screen("above"), show.picture);
    g_object_set(show.sink.element(), "zpos", 0, nullptr);
    show.push();
    compare("below", show.screen("below"), ColouredBox::over(show.picture, 10, 20));
    g_object_set(show.sink.element(), "zpos", 7, nullptr);
    show.push();
    compare("above again", show.screen("above again"), show.picture);
    ck_assert(show.sink.next_message(kComplaints).empty());
    g_object_set(show.sink.element(), "zpos", 8, nullptr); // the property ends at 7
    show.push();
    const std::string warning = show.sink.next_message(GST_MESSAGE_WARNING);
    gstdrm::test::say(warning);
    ck_assert(warning.find("takes zpos 0 to 7") != std::string::npos);
    compare("as it was", show.screen("as it was"), show.picture);
  }
  ck_assert_uint_eq(zpos_of(primary), 0);
}
GST_END_TEST

// Without plane-id the plane is the first that can have the zpos.
GST_START_TEST(test_zpos_chooses)
{
  const OwnDevice own;
  Show show(own.properties("zpos=5").c_str(), 640, 480);
  show.start();
  compare("zpos=5", show.screen("zpos=5"), show.picture);
  ck_assert(show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

// PQ with its metadata, then a stream without it, then PQ again until the sink stops.
GST_START_TEST(test_hdr)
{
  const char *pq = ", colorimetry=(string)1:1:14:7, content-light-level=(string)1000:400, "
                   "mastering-display-info=(string)"
                   "\"35400:14600:8500:39850:6550:2300:15635:16450:10000000:50\"";
  // struct hdr_output_metadata (drm_mode.h), from CTA-861-G
  const std::vector<std::uint8_t> expected = {
      0,    0,    0,    0,                            // metadata_type
      2,    0,                                        // EOTF: PQ; static metadata type 1
      0x48, 0x8a, 0x08, 0x39,                         // red, in 0.00002
      0x34, 0x21, 0xaa, 0x9b,                         // green
      0x96, 0x19, 0xfc, 0x08,                         // blue
      0x13, 0x3d, 0x42, 0x40,                         // white
      0xe8, 0x03, 0x32, 0x00, 0xe8, 0x03, 0x90, 0x01, // 1000 cd/m2, 0.0050 cd/m2, MaxCLL, MaxFALL
      0,    0,
  };
  const OwnDevice own;
  own.device.set_display(0, {k1024x768, k640x480}, DisplayKind::Hdr);
  const std::uint32_t connector =
      first(own.fd, &drmModeRes::count_connectors, &drmModeRes::connectors);
  const auto expect = [&](const char *row, const std::vector<std::uint8_t> &blob,
                          const char *colorspace) {
    g_print("# %s\n", row);
    const Properties now(own.fd, connector, DRM_MODE_OBJECT_CONNECTOR);
    ck_assert(now.blob("HDR_OUTPUT_METADATA") == blob);
    const std::string choice = now.choice("Colorspace");
    ck_assert_str_eq(choice.c_str(), colorspace);
  };
  expect("before", {}, "Default");
  {
    Show show(own.properties("").c_str(), 640, 480);
    show.start(pq);
    expect("PQ", expected, "BT2020_RGB");
    compare("PQ", show.screen("PQ"), show.picture);
    show.start("");
    expect("not HDR", {}, "Default");
    show.start(", colorimetry=(string)1:1:15:7"); // ARIB STD-B67
    expect(
        "HLG",
        [] {
          std::vector<std::uint8_t> bytes(32, 0);
          bytes[4] = 3;
          return bytes;
        }(),
        "BT2020_RGB");
    show.start(pq);
    expect("PQ again", expected, "BT2020_RGB");
    ck_assert(show.sink.next_message(kComplaints).empty());
  }
  expect("after", {}, "Default");
}
GST_END_TEST

// A display that does not say in its EDID that it takes PQ is told nothing.
GST_START_TEST(test_no_hdr)
{
  const OwnDevice own;
  own.device.set_display(0, {k1024x768, k640x480});
  const std::uint32_t connector =
      first(own.fd, &drmModeRes::count_connectors, &drmModeRes::connectors);
  Show show(own.properties("").c_str(), 640, 480);
  show.start(", colorimetry=(string)1:1:14:7");
  const Properties now(own.fd, connector, DRM_MODE_OBJECT_CONNECTOR);
  ck_assert(now.blob("HDR_OUTPUT_METADATA").empty());
  const std::string choice = now.choice("Colorspace");
  ck_assert_str_eq(choice.c_str(), "Default");
  compare("SDR", show.screen("SDR"), show.picture);
  ck_assert(show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

// Larger than every mode of the display: the largest mode, and scaled. A larger display that is
// plugged in then shows it pixel for pixel.
GST_START_TEST(test_larger_than_every_mode)
{
  OwnDevice own;
  own.device.set_display(0, {k640x480, k800x600});
  Show show(own.properties("").c_str(), 1600, 1200);
  show.start();
  compare("scaled down", show.screen("scaled down"), scaled(show.picture, 800, 600));
  own.device.plug(0, false);
  expect_hotplug(show.sink, own.device.connectors()[0], false);
  own.device.set_display(0, {k1920x1080, k640x480});
  own.device.plug(0, true);
  expect_hotplug(show.sink, own.device.connectors()[0], true);
  show.push();
  show.push();
  compare("to 1080p", show.screen("to 1080p"),
          on_black(1920, 1080, scaled(show.picture, 1440, 1080), 240, 0));
  ck_assert(show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

namespace {

struct AdaptiveRow {
  const char *properties;
  int widths[4]; // of the display's mode, with each picture
};

const AdaptiveRow kAdaptiveRows[] = {
    {"mode-changes=auto", {640, 640, 640, 640}},
    {"mode-changes=always", {640, 800, 640, 640}},
    {"mode-changes=start", {640, 640, 640, 640}},
    {"mode=800x600", {800, 800, 800, 800}},
};

} // namespace

// A stream that changes its size: the plane scales it, and the display keeps its mode.
GST_START_TEST(test_adaptive_stream)
{
  const AdaptiveRow &row = kAdaptiveRows[__i__];
  g_print("# %s\n", row.properties);
  Sink sink(row.properties);
  const int sizes[4][2] = {{640, 480}, {800, 600}, {320, 240}, {640, 480}};
  for (int i = 0; i < 4; i++) {
    const auto [width, height] = sizes[i];
    const GstVideoInfo info = video_info(plain_caps("BGRx", width, height));
    const auto noise = make_noise(info, static_cast<unsigned>(i));
    ck_assert(sink.set_caps(dma_drm_caps("XR24", width, height)));
    for (int frame = 0; frame < 2; frame++)
      ck_assert_int_eq(sink.push(to_dmabuf(info, noise.get(), Shape::Tight).release()),
                       GST_FLOW_OK);
    const auto sample = sink.snapshot();
    ck_assert_msg(sample, "%s", sink.next_message(GST_MESSAGE_WARNING).c_str());
    const Image screen = screen_of(sample.get());
    ck_assert_int_eq(screen.width, row.widths[i]);
    compare(row.properties, screen,
            scaled(image_of(info, noise.get()), screen.width, screen.height));
  }
  ck_assert(sink.next_message(kComplaints).empty());
}
GST_END_TEST

// What a camera wrote into its file: the picture has to be turned clockwise by 90 degrees.
GST_START_TEST(test_direction_of_the_stream)
{
  Show show("mode=640x480 video-direction=auto", 320, 240);
  show.start();
  compare("as it is", show.screen("as it is"), scaled(show.picture, 640, 480));
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(show.sink.element(), "sink"));
  const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
  ck_assert(gst_pad_push_event(peer.get(), gst_event_new_tag(gst_tag_list_new(
                                               GST_TAG_IMAGE_ORIENTATION, "rotate-90", nullptr))));
  show.push();
  compare("turned", show.screen("turned"), on_black(640, 480, turned(show.picture, 3), 200, 80));
  // the next file was not turned, and says nothing
  ck_assert(gst_pad_push_event(peer.get(), gst_event_new_stream_start("another")));
  show.push();
  compare("next", show.screen("next"), scaled(show.picture, 640, 480));
  ck_assert(show.sink.next_message(kComplaints).empty());
}
GST_END_TEST

// The sink starts anew behind another source, which has no tag. That one sends no STREAM_START, as
// some forget it: GStreamer warns, and goes on.
GST_START_TEST(test_direction_ends_with_the_stream)
{
  Show show("mode=640x480 video-direction=auto", 320, 240);
  show.start();
  const auto pad = GstPtr<GstPad>::adopt(gst_element_get_static_pad(show.sink.element(), "sink"));
  const auto peer = GstPtr<GstPad>::adopt(gst_pad_get_peer(pad.get()));
  ck_assert(gst_pad_push_event(peer.get(), gst_event_new_tag(gst_tag_list_new(
                                               GST_TAG_IMAGE_ORIENTATION, "rotate-90", nullptr))));
  show.push();
  compare("turned", show.screen("turned"), on_black(640, 480, turned(show.picture, 3), 200, 80));
  ck_assert(show.sink.set_state(GST_STATE_READY));
  ck_assert(gst_pad_unlink(peer.get(), pad.get()));
  const auto other = GstPtr<GstPad>::adopt(gst_pad_new("other", GST_PAD_SRC));
  ck_assert(gst_pad_set_active(other.get(), TRUE));
  ck_assert_int_eq(gst_pad_link(other.get(), pad.get()), GST_PAD_LINK_OK);
  ck_assert(show.sink.set_state(GST_STATE_PLAYING));
  const std::string text = dma_drm_caps("XR24", 320, 240);
  const auto caps = GstPtr<GstCaps>::adopt(gst_caps_from_string(text.c_str()));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  _gst_check_expecting_log = TRUE;
  ck_assert(gst_pad_push_event(other.get(), gst_event_new_caps(caps.get())));
  ck_assert(gst_pad_push_event(other.get(), gst_event_new_segment(&segment)));
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(
        gst_pad_push(other.get(), to_dmabuf(show.info, show.noise.get(), Shape::Tight).release()),
        GST_FLOW_OK);
  _gst_check_expecting_log = FALSE;
  compare("not turned", show.screen("not turned"), scaled(show.picture, 640, 480));
  ck_assert(show.sink.next_message(kComplaints).empty());
  ck_assert(show.sink.set_state(GST_STATE_READY));
  gst_pad_set_active(other.get(), FALSE);
  gst_pad_unlink(other.get(), pad.get());
}
GST_END_TEST

static Suite *kms_scaling_suite(void)
{
  Suite *s = suite_create("kms-scaling");
  TCase *tc = tcase_create("scaling");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, test_pixels, 0, G_N_ELEMENTS(kRows));
  tcase_add_test(tc, test_zpos);
  tcase_add_test(tc, test_zpos_chooses);
  tcase_add_test(tc, test_hdr);
  tcase_add_test(tc, test_no_hdr);
  tcase_add_test(tc, test_larger_than_every_mode);
  tcase_add_test(tc, test_direction_of_the_stream);
  tcase_add_test(tc, test_direction_ends_with_the_stream);
  tcase_add_loop_test(tc, test_adaptive_stream, 0, G_N_ELEMENTS(kAdaptiveRows));
  return s;
}

GST_DRM_CHECK_MAIN(kms_scaling)
