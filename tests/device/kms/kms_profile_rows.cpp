// SPDX-License-Identifier: LGPL-2.1-or-later
// The engine on displays of real drivers, which the box's vkms plays by the facts of
// display_profiles.cpp: the kernel's own atomic checks, and those of the profile, give each picture
// the plane, the mode and the rectangle that the fake libdrm gives it, or the same refusal.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
#include "profile_facts.hpp"
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

Result<void> push(kms::Display &display, const FrameLayout &layout, int frames,
                  std::shared_ptr<const kms::Overlay> overlay = nullptr)
{
  for (int i = 0; i < frames; i++) {
    const Result<kms::FramebufferCache::Import> import = display.import(layout);
    if (!import)
      return import.error();
    kms::Frame frame;
    frame.framebuffer = import->imported;
    frame.overlay = overlay;
    if (const auto shown = display.show(frame, kms::FlipQueue::Overflow::Wait); !shown)
      return shown.error();
  }
  ck_assert(display.drain(kLong_ns));
  return {};
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
  return push(display, layout, 3);
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

namespace {

// One profile's display, open and lit by an XR24 picture of the whole mode.
struct Lit {
  enum class File { Lent, Own };
  Lit(const fakedrm::Profile &profile, const char *purpose, bool tearing = false,
      File whose = File::Lent)
      : device(purpose + ("-" + std::string(profile.name)), facts_of(std::string(profile.name))),
        fd(open(device.path().c_str(), O_RDWR | O_CLOEXEC))
  {
    device.set_display(0, {k1024x768, k640x480});
    const bool has_modifiers = !has_fact(profile, "XR24/none");
    layout = frame(memory, {"", DRM_FORMAT_XRGB8888, has_modifiers ? kModLinear : kModImplicit,
                            1024, 768, 0, ""});
    kms::DeviceRequest request;
    if (whose == File::Own) {
      drmDropMaster(fd.get());
      request.path = device.path();
    } else {
      request.fd = fd.get();
    }
    kms::OutputRequest output;
    output.tearing = tearing;
    auto opened = kms::Display::open(request, output, heard);
    if (!opened) {
      error = opened.error().message;
      return;
    }
    display = *opened;
    ck_assert(static_cast<bool>(display->start()));
    const Result<void> shown = show(*display, layout);
    ck_assert_msg(static_cast<bool>(shown), "%s", shown ? "" : shown.error().message.c_str());
  }

  Lit(const Lit &) = delete;
  Lit &operator=(const Lit &) = delete;
  ~Lit()
  {
    if (display)
      ck_assert(static_cast<bool>(display->stop()));
  }

  static bool has_fact(const fakedrm::Profile &profile, std::string_view part)
  {
    return std::any_of(profile.facts.begin(), profile.facts.end(), [&](const fakedrm::Fact &fact) {
      return fact.setting.find(part) != std::string_view::npos;
    });
  }
  // How many objects have this value of this property.
  [[nodiscard]] long count(const std::string &property, std::uint64_t value) const
  {
    const State state = state_of(fd.get());
    return std::count_if(state.begin(), state.end(), [&](const auto &entry) {
      return entry.first.substr(entry.first.find(' ') + 1) == property && entry.second == value;
    });
  }
  [[nodiscard]] long lit_planes() const
  {
    return static_cast<long>(planes_of(fd.get()).size()) - count("FB_ID", 0);
  }

  ConfigfsDevice device;
  UniqueFd fd;
  RawBuffer memory{16 << 20};
  FrameLayout layout;
  Listener heard;
  std::shared_ptr<kms::Display> display;
  std::string error;
};

const fakedrm::Profile &profile_of(int index)
{
  const fakedrm::Profile &profile = fakedrm::all_profiles()[static_cast<std::size_t>(index)];
  g_print("# %s\n", std::string(profile.name).c_str());
  return profile;
}

} // namespace

// Cursors of the sizes that the driver has, over the edges too.
GST_START_TEST(test_cursor)
{
  const fakedrm::Profile &profile = profile_of(__i__);
  const Lit lit(profile, "cursor");
  kms::CursorImage image;
  image.width = image.height = 24;
  image.pixels.assign(std::size_t{24} * 24 * 4, 0xff);
  const bool has_cursor = Lit::has_fact(profile, ":cursor");
  const Result<void> set = lit.display->set_cursor(image);
  ck_assert_msg(static_cast<bool>(set) == has_cursor, "%s",
                set ? "set" : set.error().message.c_str());
  if (!has_cursor)
    return;
  const long before = lit.lit_planes();
  for (const auto &[x, y] :
       {std::pair(10, 10), std::pair(-20, -20), std::pair(1000, 750), std::pair(501, 303)}) {
    lit.display->move_cursor(x, y);
    ck_assert(static_cast<bool>(push(*lit.display, lit.layout, 2)));
    ck_assert_int_eq(lit.count("CRTC_X", static_cast<std::uint64_t>(std::int64_t{x})), 1);
    ck_assert_int_eq(lit.lit_planes(), before + 1);
  }
  ck_assert(static_cast<bool>(lit.display->set_cursor({})));
  ck_assert(static_cast<bool>(push(*lit.display, lit.layout, 2)));
  ck_assert_int_eq(lit.lit_planes(), before);
}
GST_END_TEST

// Overlays are on a plane of their own where there is one that can change its size.
GST_START_TEST(test_overlay)
{
  const fakedrm::Profile &profile = profile_of(__i__);
  const Lit lit(profile, "overlay");
  auto pixels = std::make_shared<std::vector<std::uint32_t>>(64 * 64, 0xff112233U);
  kms::OverlayImage image;
  image.pixels = reinterpret_cast<const std::uint8_t *>(pixels->data());
  image.stride_bytes = 64 * 4;
  image.width = image.height = 64;
  image.owner = pixels;
  const bool has_plane =
      Lit::has_fact(profile, ":overlay") && !Lit::has_fact(profile, "unmodified-only=size");
  const long before = lit.lit_planes();
  for (const std::int32_t x : {100, 110, 1000}) { // the last hangs over the edge, and is smaller
    image.place = {x, 50, 64, 64};
    auto overlay = std::make_shared<kms::Overlay>();
    overlay->images = {image};
    ck_assert(static_cast<bool>(push(*lit.display, lit.layout, 2, overlay)));
  }
  ck_assert_int_eq(lit.display->can_overlay(), has_plane);
  ck_assert_int_eq(lit.lit_planes(), before + has_plane);
  ck_assert(static_cast<bool>(push(*lit.display, lit.layout, 2)));
  ck_assert_int_eq(lit.lit_planes(), before);
}
GST_END_TEST

// Tearing flips where the driver has them, and a clear refusal where it has none.
GST_START_TEST(test_tearing)
{
  const fakedrm::Profile &profile = profile_of(__i__);
  const bool has_them = Lit::has_fact(profile, "async=1");
  {
    // on a descriptor of another's, flips are told of by fences
    const Lit lent(profile, "lent", true);
    ck_assert(!lent.display);
    ck_assert_msg(lent.error.find("tearing=true cannot be used") != std::string::npos &&
                      (lent.error.find("one has none") != std::string::npos) == has_them,
                  "%s", lent.error.c_str());
  }
  const Lit lit(profile, "tearing", true, Lit::File::Own);
  ck_assert_msg((lit.display != nullptr) == has_them, "%s", lit.error.c_str());
  if (!has_them) {
    ck_assert_msg(lit.error.find("no asynchronous atomic flips") != std::string::npos, "%s",
                  lit.error.c_str());
    return;
  }
  const Result<void> pushed = push(*lit.display, lit.layout, 20);
  ck_assert_msg(static_cast<bool>(pushed), "%s", pushed ? "" : pushed.error().message.c_str());
}
GST_END_TEST

// The mode set mends a link that was lost before, and the largest depth stays as it was.
GST_START_TEST(test_link)
{
  const fakedrm::Profile &profile = profile_of(__i__);
  const ConfigfsDevice device("lost-" + std::string(profile.name),
                              facts_of(std::string(profile.name)));
  const UniqueFd fd(open(device.path().c_str(), O_RDWR | O_CLOEXEC));
  const auto link = [](int card) {
    drmModeRes *resources = drmModeGetResources(card);
    drmModeObjectProperties *properties =
        drmModeObjectGetProperties(card, resources->connectors[0], DRM_MODE_OBJECT_CONNECTOR);
    std::uint64_t value = 99;
    for (std::uint32_t i = 0; i < properties->count_props; i++) {
      drmModePropertyRes *property = drmModeGetProperty(card, properties->props[i]);
      if (std::strcmp(property->name, "link-status") == 0)
        value = properties->prop_values[i];
      drmModeFreeProperty(property);
    }
    drmModeFreeObjectProperties(properties);
    drmModeFreeResources(resources);
    return value;
  };
  const bool is_bad = Lit::has_fact(profile, "link=bad");
  ck_assert_uint_eq(link(fd.get()), is_bad ? DRM_MODE_LINK_STATUS_BAD : DRM_MODE_LINK_STATUS_GOOD);
  const Lit lit(profile, "link");
  ck_assert_uint_eq(link(lit.fd.get()), DRM_MODE_LINK_STATUS_GOOD);
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
  const int profiles = static_cast<int>(gstdrm::test::fakedrm::all_profiles().size());
  tcase_add_loop_test(tc, gstdrm::test::test_cursor, 0, profiles);
  tcase_add_loop_test(tc, gstdrm::test::test_overlay, 0, profiles);
  tcase_add_loop_test(tc, gstdrm::test::test_tearing, 0, profiles);
  tcase_add_loop_test(tc, gstdrm::test::test_link, 0, profiles);
  tcase_add_test(tc, gstdrm::test::test_bad_facts);
  return s;
}

GST_DRM_CHECK_MAIN(kms_profile_rows)
