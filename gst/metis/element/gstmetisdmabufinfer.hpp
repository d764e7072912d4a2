// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gst.h>

G_DECLARE_FINAL_TYPE(GstMetisDmabufInfer, gst_metis_dmabuf_infer, GST, METIS_DMABUF_INFER,
                     GstElement)
GST_ELEMENT_REGISTER_DECLARE(metisdmabufinfer)
