// SPDX-License-Identifier: LGPL-2.1-or-later
// Parts of caps with the fields that frames and textures have: what the two sources of
// gsteglcaps.hpp share. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "gsteglcaps.hpp"

namespace gstdrm {

// What a structure of the sink pad's caps says about memory.
enum class FrameKind { DmaDrm, Implicit, Plain };
const char *feature_of(FrameKind kind) noexcept;
const char *target_name(egl::Target target) noexcept;

// video/x-raw in that memory, of every size that there is.
CapsPart empty_part(const char *feature, std::uint32_t max_size = kMaxFrameSize);
void set_text(CapsPart &part, const char *field, const char *text);
void set_names(CapsPart &part, const std::vector<GstVideoFormat> &formats);
// colorimetry and chroma-site
bool has_colours(const CapsPart &part);
void drop_colours(CapsPart &part);
// Whether a field allows the text; a field that is absent allows everything.
bool allows(const CapsPart &part, const char *field, const char *text);
// Whether the frames are said to have fields; a mode that is not said is progressive.
bool has_fields(const CapsPart &part);
// The part within a limit of this element, which has features and sizes.
std::optional<CapsPart> within(const CapsPart &part, const CapsPart &limit);
// The names of the pairs' linear frames.
std::vector<GstVideoFormat> names_of(const FormatSet &pairs);

// What the frames may be that become these textures.
CapsParts frames_of(const CapsParts &textures, const UploadFormats &formats);

} // namespace gstdrm
