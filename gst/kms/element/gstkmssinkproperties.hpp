// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of kmsdmabufsink.
#pragma once

#include <glib-object.h>

namespace gstdrm {

enum SinkProperty : guint {
  PROP_0,
  PROP_DRIVER_NAME,
  PROP_BUS_ID,
  PROP_DEVICE,
  PROP_FD,
  PROP_LEASE,
  PROP_CONNECTOR,
  PROP_PLANE_ID,
  PROP_MODE,
  PROP_MODE_CHANGES,
  PROP_CONNECTOR_PROPERTIES,
  PROP_PLANE_PROPERTIES,
  PROP_RESTORE,
  PROP_VRR,
  PROP_TEARING,
  PROP_DISPLAY_WIDTH,
  PROP_DISPLAY_HEIGHT,
  PROP_FIT,
  PROP_ZPOS,
  PROP_ROTATION,
  PROP_UPRIGHT,
  PROP_VIDEO_DIRECTION,
  PROP_RENDER_RECTANGLE,
  PROP_ZERO_COPY,
  PROP_SYNC_MODE,
  PROP_FENCE_TIMEOUT,
  PROP_CURSOR_X,
  PROP_CURSOR_Y,
  PROP_CURSOR_IMAGE,
  PROP_DRM_STATS,
  PROP_IMPLICIT_MODIFIER,
  // kmssink's names, for its users' command lines:
  PROP_CONNECTOR_ID,
  PROP_FORCE_MODESETTING,
  PROP_RESTORE_CRTC,
  PROP_CAN_SCALE,
  PROP_SKIP_VSYNC,
};

void install_sink_properties(GObjectClass *klass);

void set_sink_property(GObject *object, guint id, const GValue *value, GParamSpec *spec);
void get_sink_property(GObject *object, guint id, GValue *value, GParamSpec *spec);

} // namespace gstdrm
