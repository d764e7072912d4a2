/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The one header applications include. */
#include <gst/drm/drm-prelude.h>
#include <gst/drm/gstdrmallocation.h>
#include <gst/drm/gstdrmallocator.h>
#include <gst/drm/gstdrmbufferpool.h>
#include <gst/drm/gstdrmconstraints.h>
#include <gst/drm/gstdrmdevicequery.h>
#include <gst/drm/gstdrmenumerate.h>
#include <gst/drm/gstdrmerror.h>
#include <gst/drm/gstdrmexplain.h>
#include <gst/drm/gstdrmformat.h>
#include <gst/drm/gstdrmformatset.h>
#include <gst/drm/gstdrmframe.h>
#include <gst/drm/gstdrmimplicitmodifier.h>
#include <gst/drm/gstdrmsync.h>
#include <gst/drm/gstdrmtensormeta.h>
#include <gst/drm/gstdrmvideoinfo.h>
#include <gst/drm/gstdrmzerocopy.h>
