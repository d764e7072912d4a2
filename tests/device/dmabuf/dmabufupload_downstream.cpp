// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload downstream of which dma-bufs of the kernel are asked for.
#define GST_DRM_TEST_KINDS "udmabuf", "dma-heap"
#include "../../check/elements/dmabufupload_downstream.cpp"
