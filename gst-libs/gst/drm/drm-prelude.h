/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

#if defined(_GST_DRM_COMPILATION)
#define GST_DRM_API __attribute__((visibility("default"))) extern
#else
#define GST_DRM_API extern
#endif

/* No C++ exception leaves a function of this library. */
#if defined(__cplusplus)
#define GST_DRM_NOEXCEPT noexcept
#else
#define GST_DRM_NOEXCEPT
#endif
