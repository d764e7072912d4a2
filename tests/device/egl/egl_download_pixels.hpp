// SPDX-License-Identifier: LGPL-2.1-or-later
// Cases of the program egl_download in files of their own.
#pragma once

#include <string>

#include <gst/gst.h>

#include "support/check_main.hpp"

namespace gstdrm::test {

// The path of two frames of 321x241, or of more that are smaller; the same in every run.
std::string noise_file();
// A probe of buffers: they are said to stand on their heads.
GstPadProbeReturn add_flip(GstPad *pad, GstPadProbeInfo *info, gpointer nothing);

void add_download_pixel_cases(TCase *tcase);
void add_download_state_cases(TCase *tcase);
void add_download_handler_cases(TCase *tcase, TCase *ended);

} // namespace gstdrm::test
