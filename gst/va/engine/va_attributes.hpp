// SPDX-License-Identifier: LGPL-2.1-or-later
// Attributes for vaCreateSurfaces.
#pragma once

#include <cstdint>

#include <va/va.h>

namespace gstdrm::va {

inline VASurfaceAttrib integer(VASurfaceAttribType type, std::uint32_t value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = VA_SURFACE_ATTRIB_SETTABLE;
  attribute.value.type = VAGenericValueTypeInteger;
  attribute.value.value.i = static_cast<int>(value);
  return attribute;
}

inline VASurfaceAttrib pointer(VASurfaceAttribType type, void *value)
{
  VASurfaceAttrib attribute{};
  attribute.type = type;
  attribute.flags = VA_SURFACE_ATTRIB_SETTABLE;
  attribute.value.type = VAGenericValueTypePointer;
  attribute.value.value.p = value;
  return attribute;
}

} // namespace gstdrm::va
