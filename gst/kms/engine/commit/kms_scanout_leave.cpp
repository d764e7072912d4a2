// SPDX-License-Identifier: LGPL-2.1-or-later
// Scanout: the last frame stays on screen when the sink stops.
#include <cerrno>

#include "engine/card/kms_objects.hpp"
#include "kms_scanout.hpp"

namespace gstdrm::kms {

Result<void> Scanout::leave(Frame &last)
{
  if (!plan_)
    return {}; // it was turned off
  const bool file_stays = kept_files_->keep(*device_, output_.crtc.id);
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
