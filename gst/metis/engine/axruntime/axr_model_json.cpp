// SPDX-License-Identifier: LGPL-2.1-or-later
#include "axr_model_json.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>

#include <fcntl.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gst/drm/core/errno_text.hpp>
#include <gst/drm/core/unique_fd.hpp>

namespace gstdrm::metis::axr {

namespace {

constexpr off_t kMaxBytes = 256 << 20; // weights may be inside; the parser counts in int
constexpr int kMaxDepth = 128;

Error unreadable(const std::string &path, int error)
{
  return Error{ErrorCode::Device,
               "The model \"" + path + "\" cannot be read (" + errno_text(error) +
                   "). Name the model.json of a compiled model.",
               error};
}

Result<std::string> read_file(const std::string &path)
{
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about = {};
  if (!fd || ::fstat(fd.get(), &about) != 0)
    return unreadable(path, errno);
  if (!S_ISREG(about.st_mode))
    return unreadable(path, S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
  if (about.st_size > kMaxBytes)
    return unreadable(path, EFBIG);
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return unreadable(path, errno);
    if (got == 0)
      break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

struct Free {
  void operator()(json_tokener *tokener) const noexcept { json_tokener_free(tokener); }
  void operator()(json_object *object) const noexcept { json_object_put(object); }
};

} // namespace

Result<void> check_model_json(const std::string &path)
{
  if (path.size() >= 4 && path.compare(path.size() - 4, 4, ".axm") == 0)
    return {};
  Result<std::string> text = read_file(path);
  if (!text)
    return text.error();
  const std::unique_ptr<json_tokener, Free> tokener(json_tokener_new_ex(kMaxDepth));
  if (!tokener)
    return unreadable(path, ENOMEM);
  const std::unique_ptr<json_object, Free> root(
      json_tokener_parse_ex(tokener.get(), text->data(), static_cast<int>(text->size())));
  const json_tokener_error error = json_tokener_get_error(tokener.get());
  const std::string where = " at byte " +
                            std::to_string(json_tokener_get_parse_end(tokener.get())) + " of " +
                            std::to_string(text->size());
  if (error == json_tokener_continue)
    return Error{ErrorCode::Format,
                 "The model \"" + path + "\" ends in the middle of its JSON, after " +
                     std::to_string(text->size()) +
                     " bytes. The file is not complete: compile the model or copy it again.",
                 EINVAL};
  if (error != json_tokener_success)
    return Error{ErrorCode::Format,
                 "The model \"" + path + "\" is no JSON (" + json_tokener_error_desc(error) +
                     where + "). Name the model.json of a compiled model.",
                 EINVAL};
  if (!json_object_is_type(root.get(), json_type_object))
    return Error{ErrorCode::Format,
                 "The model \"" + path +
                     "\" is JSON, but no object. Name the model.json of a compiled model.",
                 EINVAL};
  return {};
}

} // namespace gstdrm::metis::axr
