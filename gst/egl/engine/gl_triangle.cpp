// SPDX-License-Identifier: LGPL-2.1-or-later
#include "gl_triangle.hpp"

#include <array>
#include <utility>

#include "egl_error.hpp"
#include "gl_state.hpp"

namespace gstdrm::egl {

Triangle::~Triangle()
{
  const GlCalls &gl = device_->calls().gl;
  if (array_)
    gl.delete_vertex_arrays(1, &array_);
  if (vertices_)
    gl.delete_buffers(1, &vertices_);
}

Result<std::unique_ptr<Triangle>> Triangle::make(const std::shared_ptr<Device> &device)
{
  std::unique_ptr<Triangle> triangle(new Triangle(device));
  const GlCalls &gl = device->calls().gl;
  drain_errors(gl);
  constexpr std::array<GLfloat, 6> corners{-1, -1, 3, -1, -1, 3};
  gl.gen_buffers(1, &triangle->vertices_);
  // also where GL draws without: the one that is bound may be somebody else's
  if (gl.gen_vertex_arrays && gl.bind_vertex_array && gl.delete_vertex_arrays)
    gl.gen_vertex_arrays(1, &triangle->array_);
  gl.bind_buffer(GL_ARRAY_BUFFER, triangle->vertices_);
  gl.buffer_data(GL_ARRAY_BUFFER, sizeof(corners), corners.data(), GL_STATIC_DRAW);
  gl.bind_buffer(GL_ARRAY_BUFFER, 0);
  if (const GLenum error = gl.get_error(); error != GL_NO_ERROR) {
    device->note_error(error);
    return Error{ErrorCode::Device, device->driver().describe() + " makes no vertex buffer: " +
                                        gl_error_name(error) + kUpdateDriver};
  }
  return triangle;
}

} // namespace gstdrm::egl
