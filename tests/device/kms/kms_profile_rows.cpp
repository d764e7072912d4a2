// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine on displays of real drivers, which the box's vkms plays by the facts of
// display_profiles.cpp: the kernel's own atomic checks, and those of the profile, give each picture
// the plane, the mode and the rectangle that the fake libdrm gives it, or the same refusal.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

#include <gst/drm/core/format.hpp>
#include <gst/drm/core/frame_layout.hpp>
#include <gst/drm/core/unique_fd.hpp>

#include "configfs_support.hpp"
#include "engine/display/kms_display.hpp"
#include "kms_raw_support.hpp"
#include "kms_support.hpp"
#include "unit/kms/display_profiles.hpp"
#include "unit/kms/profile_rows.hpp"

namespace gstdrm::test {

namespace {

constexpr std::int64_t kLong_ns = 60'000'000'000;
constexpr std::uint32_t kFirstPlane = 30; // of the rows

struct Listener : kms::DisplayListener {
  std::string where;
  int failures = 0;
  void formats_changed() noexcept override {}
  void picture_placed(const std::string &text) noexcept override { where = text; }
  void display_failed(const Error &) noexcept override { failures++; }
};

DisplayFacts facts_of(const char *name)
{
  std::string error;
  const fakedrm::Profile *profile = fakedrm::find_profile(name, error);
  ck_assert_msg(profile != nullptr, "%s", error.c_str());
  DisplayFacts display;
  for (const fakedrm::Fact &fact : profile->facts)
    display.facts.push_back(fact.setting);
  return display;
}

// Frames as decoders and renderers make them: pitches are multiples of 512 bytes.
FrameLayout frame(const RawBuffer &memory, const Row &row)
{
  std::uint64_t size = 0;
  Result<FrameLayout> layout =
      make_linear_layout(row.fourcc, row.width, row.height, 512, 65536, size);
  ck_assert_msg(static_cast<bool>(layout), "%s", fourcc_to_string(row.fourcc).c_str());
  layout->format = {row.fourcc, row.modifier};
  for (std::size_t i = 0; i < layout->n_planes; i++) {
    layout->planes[i].fd = memory.fd();
    layout->planes[i].object = *query_object(memory.fd());
  }
  return *layout;
}

// The numbers of the planes, in the order of the driver's list.
std::vector<std::uint32_t> planes_of(int fd)
{
  drmSetClientCap(fd, DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1);
  drmModePlaneRes *planes = drmModeGetPlaneResources(fd);
  ck_assert(planes != nullptr);
  std::vector<std::uint32_t> ids(planes->planes, planes->planes + planes->count_planes);
  drmModeFreePlaneResources(planes);
  return ids;
}

using State = std::map<std::string, std::uint64_t>;

void read_properties(int fd, std::uint32_t object, std::uint32_t type, State &state)
{
  drmModeObjectProperties *properties = drmModeObjectGetProperties(fd, object, type);
  for (std::uint32_t i = 0; properties && i < properties->count_props; i++) {
    drmModePropertyRes *property = drmModeGetProperty(fd, properties->props[i]);
    const std::string name = property->name;
    // blobs get other numbers; the others follow the CRTC, the probe and the mode set by themselves
    if (name != "MODE_ID" && name != "DPMS" && name != "EDID" && name != "link-status" &&
        name.substr(0, 10) != "WRITEBACK_")
      state[std::to_string(object) + " " + name] = properties->prop_values[i];
    drmModeFreeProperty(property);
  }
  drmModeFreeObjectProperties(properties);
}

// All values of all objects, as another program would read them.
State state_of(int fd)
{
  State state;
  drmSetClientCap(fd, DRM_CLIENT_CAP_ATOMIC, 1);
  for (const std::uint32_t plane : planes_of(fd))
    read_properties(fd, plane, DRM_MODE_OBJECT_PLANE, state);
  drmModeRes *resources = drmModeGetResources(fd);
  ck_assert(resources != nullptr);
  for (int i = 0; i < resources->count_crtcs; i++)
    read_properties(fd, resources->crtcs[i], DRM_MODE_OBJECT_CRTC, state);
  for (int i = 0; i < resources->count_connectors; i++)
    read_properties(fd, resources->connectors[i], DRM_MODE_OBJECT_CONNECTOR, state);
  drmModeFreeResources(resources);
  return state;
}

// "plane 30": the rows count the planes from there.
std::string with_row_numbers(std::string text, const std::vector<std::uint32_t> &planes)
{
  const std::string word = "plane ";
  if (text.substr(0, word.size()) != word)
    return text;
  const auto id = static_cast<std::uint32_t>(std::stoul(text.substr(word.size())));
  const auto place = std::find(planes.begin(), planes.end(), id) - planes.begin();
  return word + std::to_string(kFirstPlane + place);
}

Result<void> show(kms::Display &display, const FrameLayout &layout)
{
  kms::Picture picture;
  picture.format = layout.format;
  picture.width = layout.width;
  picture.height = layout.height;
  picture.rate = {60, 1};
  if (const Result<void> configured = display.configure(picture); !configured)
    return configured.error();
  for (int i = 0; i < 3; i++) {
    const Result<kms::FramebufferCache::Import> import = display.import(layout);
    if (!import)
      return import.error();
    kms::Frame frame;
    frame.framebuffer = import->imported;
    if (const auto shown = display.show(frame, kms::FlipQueue::Overflow::Wait); !shown)
      return shown.error();
  }
  ck_assert(display.drain(kLong_ns));
  return {};
}

// How the picture is shown, or why not.
std::string outcome(kms::Display &display, const Listener &heard, const FrameLayout &layout,
                    const Row &row, const std::string &connector,
                    const std::vector<std::uint32_t> &planes)
{
  kms::View view;
  view.rotation = row.rotation;
  display.set_view(view);
  if (const Result<void> shown = show(display, layout); !shown)
    return "refused: " + shown.error().message;
  // "plane 36 of /dev/… (driver), Virtual-2, 1024x768@60.004, 1024x768 at 0,0"
  const std::size_t mode = heard.where.find(connector + ", ");
  ck_assert_msg(mode != std::string::npos, "%s", heard.where.c_str());
  return with_row_numbers(heard.where.substr(0, heard.where.find(" of ")), planes) + ", " +
         heard.where.substr(mode + connector.size() + 2);
}

} // namespace

GST_START_TEST(test_row)
{
  const Row &row = kRows[__i__];
  g_print("# %s %s %ux%u\n", row.profile, fourcc_to_string(row.fourcc).c_str(), row.width,
          row.height);
  ConfigfsDevice device("row" + std::to_string(__i__), facts_of(row.profile));
  device.set_display(0, {k1024x768, k640x480}); // the modes of the fake libdrm
  const RawBuffer memory(16 << 20);
  const UniqueFd fd(open(device.path().c_str(), O_RDWR | O_CLOEXEC));
  ck_assert_int_ge(fd.get(), 0);
  const State before = state_of(fd.get());
  Listener heard;
  kms::DeviceRequest request;
  request.fd = fd.get();
  auto opened = kms::Display::open(request, {}, heard);
  ck_assert_msg(static_cast<bool>(opened), "%s", opened ? "" : opened.error().message.c_str());
  ck_assert(static_cast<bool>((*opened)->start()));
  const std::vector<std::uint32_t> planes = planes_of(fd.get());
  const std::string got =
      outcome(**opened, heard, frame(memory, row), row, device.connectors()[0], planes);
  ck_assert_msg(got.find(row.expected) != std::string::npos, "got: %s\nexpected: %s", got.c_str(),
                row.expected);
  if (got.find("does not show") != std::string::npos) // with the reason of each plane
    for (std::size_t i = 0; i < std::min<std::size_t>(planes.size(), 12); i++)
      ck_assert_msg(got.find("\nPlane " + std::to_string(planes[i]) + " (") != std::string::npos,
                    "%s", got.c_str());
  ck_assert(static_cast<bool>((*opened)->stop()));
  const State after = state_of(fd.get());
  for (const auto &[name, value] : before)
    ck_assert_msg(after.at(name) == value, "%s was %lu, is %lu", name.c_str(),
                  static_cast<unsigned long>(value), static_cast<unsigned long>(after.at(name)));
  ck_assert_int_eq(heard.failures, 0);
}
GST_END_TEST

// 0 or the errno.
static int write_to(const char *name, const char *text)
{
  const UniqueFd fd(
      open((std::string("/sys/kernel/config/vkms/bad/") + name).c_str(), O_WRONLY | O_CLOEXEC));
  ck_assert_int_ge(fd.get(), 0);
  return write(fd.get(), text, std::strlen(text)) < 0 ? errno : 0;
}

// The kernel refuses what it does not understand, and no profile changes under a device.
GST_START_TEST(test_bad_facts)
{
  ck_assert_int_eq(mkdir("/sys/kernel/config/vkms/bad", 0755), 0);
  ck_assert_int_eq(write_to("profile", "planes=primary:overlay*2 pairs=primary/XR24/linear"), 0);
  for (const char *fact : {"colour=1",
                           "planes=primary:secondary",
                           "planes=overlay*30",
                           "zpos=all/free/x/0/1",
                           "zpos=all/free/1",
                           "pairs=all/XR24",
                           "pairs=3/XR24/linear",
                           "pairs=cursor/XR24/linear",
                           "pairs=all/XR2/linear",
                           "pitch=",
                           "pitch=0",
                           "scale=3/1/1",
                           "scale=all/0/1",
                           "scale=all/1.1234567890/1",
                           "rotation=all/90",
                           "blend=all/none",
                           "driver=",
                           "cursor-sizes=1:2:3:4:5:6:7:8:9",
                           "a/b/c/d/e/f=1",
                           "=",
                           "alpha=all/1/2/3/4/5"})
    ck_assert_msg(write_to("profile", fact) == EINVAL, "%s", fact);
  ck_assert_int_eq(write_to("enabled", "1"), EINVAL); // overlays without formats
  ck_assert_int_eq(write_to("profile", "pairs=overlay/XR24/linear;\n alpha=all"), 0);
  ck_assert_int_eq(write_to("enabled", "1"), 0);
  ck_assert_int_eq(write_to("profile", "pitch=64"), EBUSY);
  ck_assert_int_eq(write_to("enabled", "0"), 0);
  ck_assert_int_eq(write_to("profile", "pitch=64"), 0); // and may be made anew
  ck_assert_int_eq(write_to("enabled", "1"), 0);
  ck_assert_int_eq(write_to("enabled", "0"), 0);
  ck_assert_int_eq(rmdir("/sys/kernel/config/vkms/bad"), 0);
}
GST_END_TEST

} // namespace gstdrm::test

static Suite *kms_profile_rows_suite(void)
{
  Suite *s = suite_create("kms-profile-rows");
  TCase *tc = tcase_create("rows");
  suite_add_tcase(s, tc);
  tcase_set_timeout(tc, 120);
  tcase_add_loop_test(tc, gstdrm::test::test_row, 0,
                      static_cast<int>(std::size(gstdrm::test::kRows)));
  tcase_add_test(tc, gstdrm::test::test_bad_facts);
  return s;
}

GST_DRM_CHECK_MAIN(kms_profile_rows)
