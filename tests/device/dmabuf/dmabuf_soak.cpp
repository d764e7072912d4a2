// SPDX-License-Identifier: LGPL-2.1-or-later
// The soak test with udmabufs of a real kernel, for fewer frames.
#define GST_DRM_TEST_KINDS "udmabuf"
#define GST_DRM_TEST_SOAK_FRAMES 2000
#include "../../check/elements/dmabuf_soak.cpp"
