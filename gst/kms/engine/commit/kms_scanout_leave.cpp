// SPDX-License-Identifier: LGPL-2.1-or-later
// Scanout: the last frame goes and its mode stays, or it stays on screen when the sink stops.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/card/kms_objects.hpp"
#include "kms_scanout.hpp"

namespace gstdrm::kms {

// The plane off, or a black picture where the CRTC is not on without its primary plane (amdgpu, vc4
// and others). Each commit blocks until it is on screen.
bool Scanout::hide_picture()
{
  if (!plan_)
    return true;
  Request off;
  off.disable_plane(*plan_->plane);
  if (plan_->overlay)
    off.disable_plane(*plan_->overlay);
  bool is_hidden = commit_request(device_->fd(), off, 0, 0) == 0;
  const auto primary =
      std::find_if(output_.crtc_planes.begin(), output_.crtc_planes.end(),
                   [](const Plane &plane) { return plane.type == PlaneType::Primary; });
  std::unique_ptr<DumbBuffer> other;
  if (!is_hidden && !output_.joined && primary != output_.crtc_planes.end() &&
      make_background(plan_->mode, other) == 0) {
    PlaneSetup black;
    black.framebuffer_id = (other ? other : background_)->framebuffer_id();
    black.source = black.destination = {0, 0, plan_->mode.hdisplay, plan_->mode.vdisplay};
    Request cover;
    if (plan_->plane->id != primary->id)
      cover.disable_plane(*plan_->plane);
    if (plan_->overlay)
      cover.disable_plane(*plan_->overlay);
    cover.set_plane(*primary, output_.crtc.id, black);
    is_hidden = commit_request(device_->fd(), cover, 0, 0) == 0;
    if (is_hidden && other)
      background_ = std::move(other);
    if (is_hidden && plan_->plane->id != primary->id)
      plan_->background = &*primary; // turned off, where the next plan does not need it
  }
  if (is_hidden)
    forget_overlay();
  return is_hidden;
}

Result<void> Scanout::leave(Frame &last)
{
  if (!plan_)
    return {}; // it was turned off
  const bool file_stays = kept_files_->keep(*device_, plan_->plane->id);
  // first: it tells whether the kernel can
  if (!last.framebuffer->leave_on_screen(file_stays))
    return device_error("The last frame cannot stay on connector " + output_.connector.name +
                            " of " + device_->name() +
                            ": Linux has framebuffers that outlive their file since 6.8, and the "
                            "device cannot be opened a second time. The display is put back.",
                        ENOTSUP);
  if (plan_->background)
    (void)background_->leave_on_screen(file_stays);
  if (overlay_.shown())
    (void)overlay_.shown()->buffer->leave_on_screen(file_stays);
  // with its buffer the cursor would go at some later time
  if (const Plane *cursor = cursor_plane(); cursor && cursor_.is_shown()) {
    Request request;
    request.disable_plane(*cursor);
    (void)commit_request(device_->fd(), request, 0, 0);
  }
  forget_picture();
  return {};
}

} // namespace gstdrm::kms
