/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

#if defined(_GST_DRM_COMPILATION)
#define GST_DRM_API __attribute__((visibility("default"))) extern
#else
#define GST_DRM_API extern
#endif
