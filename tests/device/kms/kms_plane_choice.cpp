// SPDX-License-Identifier: LGPL-2.1-or-later
// What the choice of planes for a picture and its overlay costs: atomic ioctls, test commits
// included, with one to four overlay planes.
#include <string>

#include "configfs_support.hpp"
#include "kms_image.hpp"
#include "kms_ioctls.hpp"
#include "kms_overlays.hpp"

namespace gstdrm::test {

namespace {

constexpr int kWidth = 320, kHeight = 240;

// Until it is on screen.
void push(Show &show, const Composition &composition)
{
  const std::uint64_t before = show.sink.stat("shown");
  GstBuffer *buffer = to_dmabuf(show.info, show.noise.get(), Shape::Tight).release();
  gst_buffer_add_video_overlay_composition_meta(buffer, composition.get());
  ck_assert_int_eq(show.sink.push(buffer), GST_FLOW_OK);
  for (int i = 0; i < 20000 && show.sink.stat("shown") == before; i++)
    g_usleep(1000);
  ck_assert_uint_eq(show.sink.stat("shown"), before + 1);
}

unsigned since(unsigned before)
{
  return count_drm_ioctls(kAtomic) - before;
}

struct Cost {
  unsigned open = 0;   // to READY
  unsigned first = 0;  // the first frame with its overlay
  unsigned change = 0; // a frame with another overlay
};

Cost measure(unsigned overlays, const char *fit)
{
  const ConfigfsDevice device("choice", {{overlays, false, true}});
  Cost cost;
  unsigned before = count_drm_ioctls(kAtomic);
  Show show(("driver-name=\"\" device=" + device.path() + " mode=640x480 fit=" + fit).c_str(),
            kWidth, kHeight);
  ck_assert(show.sink.set_state(GST_STATE_READY));
  cost.open = since(before);
  ck_assert(show.sink.set_caps(dma_drm_caps("XR24", kWidth, kHeight)));
  before = count_drm_ioctls(kAtomic);
  push(show, compose({{10, 10, 64, 32, 0xffff0000}}));
  cost.first = since(before);
  ck_assert_uint_eq(show.sink.stat("overlays"), 1);
  before = count_drm_ioctls(kAtomic);
  push(show, compose({{20, 20, 64, 32, 0xff00ff00}}));
  cost.change = since(before);
  ck_assert_uint_eq(show.sink.stat("overlays"), 2);
  return cost;
}

} // namespace

// The cost of a decision does not grow with the planes where the first that is asked says yes;
// where every plane refuses the picture as it is wanted, it grows with their number, and not with
// its power.
GST_START_TEST(test_cost_of_a_choice)
{
  const auto overlays = static_cast<unsigned>(__i__);
  const Cost easy = measure(overlays, "none");
  const Cost hard = measure(overlays, "contain"); // vkms does not scale here
  g_print("# %u overlay planes: %u atomic ioctls to READY; first frame %u, %u where scaling is "
          "refused; another overlay %u\n",
          overlays, easy.open, easy.first, hard.first, easy.change);
  const Cost one = measure(1, "none");
  ck_assert_uint_eq(easy.first, one.first);
  ck_assert_uint_eq(easy.change, 1);
  ck_assert_uint_eq(hard.change, 1);
  // with and without writeback, with and without black behind it
  ck_assert_uint_le(hard.first, one.first + 4 * (overlays + 1));
}
GST_END_TEST

void add_plane_choice_cases(Suite *suite)
{
  TCase *tc = tcase_create("choice");
  suite_add_tcase(suite, tc);
  tcase_set_timeout(tc, 60);
  tcase_add_loop_test(tc, test_cost_of_a_choice, 1, 5);
}

} // namespace gstdrm::test
