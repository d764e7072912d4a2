// SPDX-License-Identifier: LGPL-2.1-or-later
#include "egl_calls.hpp"

#include <string>
#include <string_view>

namespace gstdrm::egl {
namespace {

// Fills in functions one by one, and remembers the first that is missing.
struct Filler {
  const Loader &loader;
  const char *missing = nullptr;

  template <typename Function> void take(Function &into, const char *name, bool is_always)
  {
    into = reinterpret_cast<Function>(loader ? loader(name) : nullptr);
    if (!into && is_always && !missing)
      missing = name;
  }
  [[nodiscard]] Error lack_of(const char *what) const
  {
    return Error{ErrorCode::Unsupported,
                 std::string("The ") + what + " has no " + missing +
                     "(), which every driver has; check that libEGL and the GL driver belong "
                     "together",
                 0};
  }
};

} // namespace

#define GSTDRM_TAKE(member, type, name) filler.take(calls.member, name, true);
#define GSTDRM_TAKE_EXTENSION(member, type, name) filler.take(calls.member, name, false);

Result<Calls> load_calls(const Loader &egl, const Loader &gl)
{
  EglCalls calls;
  Filler filler{egl};
  GSTDRM_EGL_FUNCTIONS(GSTDRM_TAKE, GSTDRM_TAKE_EXTENSION)
  if (filler.missing)
    return filler.lack_of("EGL library");
  const Result<GlCalls> loaded = load_gl_calls(gl);
  if (!loaded)
    return loaded.error();
  return Calls{calls, *loaded};
}

Result<GlCalls> load_gl_calls(const Loader &loader)
{
  GlCalls calls;
  Filler filler{loader};
  GSTDRM_GL_FUNCTIONS(GSTDRM_TAKE, GSTDRM_TAKE_EXTENSION)
  if (filler.missing)
    return filler.lack_of("GL driver");
  return calls;
}

Names names_in(const char *list)
{
  Names names;
  std::string_view rest(list ? list : "");
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    if (end != 0)
      names.emplace(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return names;
}

} // namespace gstdrm::egl
