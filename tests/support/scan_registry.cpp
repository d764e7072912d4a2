// SPDX-License-Identifier: LGPL-2.1-or-later
// Lets GStreamer read all plugins once, so that what they leave behind is not taken for a test's.
#include <cstdlib>

#include <gst/gst.h>

int main(int argc, char **argv)
{
  gst_init(&argc, &argv);
  return gst_registry_get_feature_list_cookie(gst_registry_get()) > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
