// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload with dma-bufs of the kernel.
#define GST_DRM_TEST_KINDS "udmabuf", "dma-heap"
#include "../../check/elements/dmabufupload.cpp"
