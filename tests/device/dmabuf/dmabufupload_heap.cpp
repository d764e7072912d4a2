// SPDX-License-Identifier: LGPL-2.1-or-later
// dmabufupload with memory of the system heap.
#define GST_DRM_TEST_KINDS "dma-heap", "udmabuf"
#include "../../check/elements/dmabufupload.cpp"
