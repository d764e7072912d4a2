// SPDX-License-Identifier: LGPL-2.1-or-later
#include "snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <system_error>
#include <utility>

#include "json_reader.hpp"

namespace inspect {

namespace {

constexpr const char *kSchema = "gst-drm-machine";
constexpr int kVersion = 1;
constexpr std::size_t kMaxBytes = 16U << 20;
constexpr std::size_t kMaxSources = 4096;
constexpr std::size_t kMaxPairs = 65536; // of one source
constexpr const char *kKinds[] = {"kms", "gbm", "egl", "va", "v4l2", "vulkan", "wayland", "table"};

// json-c would write different white space in different versions.
std::string to_json(const Pair &pair)
{
  return "{ \"format\": " + quote(fourcc_name(pair.fourcc)) +
         ", \"modifier\": " + quote(hex(pair.modifier)) +
         ", \"modifier-name\": " + quote(modifier_name(pair.modifier)) +
         ", \"external-only\": " + (pair.external_only ? "true" : "false") +
         ", \"planes\": " + std::to_string(pair.planes) + " }";
}

std::string to_json(const Source &source)
{
  const std::pair<const char *, const std::string &> texts[] = {{"kind", source.kind},
                                                                {"name", source.name},
                                                                {"device", source.device},
                                                                {"driver", source.driver},
                                                                {"description", source.description},
                                                                {"problem", source.problem}};
  std::string text = "    {\n";
  for (const auto &[key, value] : texts)
    text += std::string("      \"") + key + "\": " + quote(value) + ",\n";
  text += "      \"formats\": [";
  const char *separator = "\n        ";
  for (const Pair &pair : source.pairs) {
    text += separator + to_json(pair);
    separator = ",\n        ";
  }
  return text + (source.pairs.empty() ? "]" : "\n      ]") + "\n    }";
}

bool parse_hex(const std::string &text, std::uint64_t &number)
{
  guint64 value = 0;
  if (!text.starts_with("0x") || text.size() > 18 ||
      !g_ascii_string_to_unsigned(text.c_str() + 2, 16, 0, G_MAXUINT64, &value, nullptr))
    return false;
  number = value;
  return true;
}

Pair read_pair(Reader &reader)
{
  Pair pair;
  const std::string format = reader.text("format");
  const std::string modifier = reader.text("modifier");
  json_object *external = reader.get("external-only", json_type_boolean);
  json_object *planes = reader.get("planes", json_type_int);
  if (!reader.problem().empty())
    return pair;
  std::uint64_t of_format = 0;
  if (!gst_drm_format_parse(format.c_str(), &pair.fourcc, &of_format, nullptr) || of_format != 0)
    reader.fail("has the \"format\" `" + format + "`, which is no fourcc");
  if (!parse_hex(modifier, pair.modifier))
    reader.fail("has the \"modifier\" `" + modifier + "`, which is no 0x and 16 digits");
  const std::int64_t n_planes = json_object_get_int64(planes);
  if (n_planes < 0 || n_planes > 4)
    reader.fail("has " + std::to_string(n_planes) + " \"planes\"; 0 to 4 are possible");
  pair.planes = static_cast<unsigned>(std::clamp<std::int64_t>(n_planes, 0, 4));
  pair.external_only = json_object_get_boolean(external) != 0;
  return pair;
}

Source read_source(Reader &reader, const std::string &place)
{
  Source source;
  source.kind = reader.text("kind");
  source.name = reader.text("name");
  source.device = reader.text("device");
  source.driver = reader.text("driver");
  source.description = reader.text("description");
  source.problem = reader.text("problem");
  if (reader.problem().empty() && source.name.empty())
    reader.fail("has an empty \"name\"");
  if (reader.problem().empty() && std::none_of(std::begin(kKinds), std::end(kKinds),
                                               [&](const char *k) { return source.kind == k; }))
    reader.fail("is of the kind `" + source.kind + "`, which is not known");
  json_object *formats = reader.list("formats", kMaxPairs);
  const std::size_t size = formats ? json_object_array_length(formats) : 0;
  for (std::size_t i = 0; i < size; i++) {
    Reader entry(json_object_array_get_idx(formats, i), place + ", format " + std::to_string(i));
    source.pairs.push_back(read_pair(entry));
    if (!reader.take_problem(entry))
      return source;
  }
  tidy(source.pairs);
  return source;
}

void read_sources(Reader &top, Machine &machine)
{
  json_object *list = top.list("sources", kMaxSources);
  const std::size_t size = list ? json_object_array_length(list) : 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < size; i++) {
    const std::string place = "source " + std::to_string(i);
    Reader reader(json_object_array_get_idx(list, i), place);
    Source source = read_source(reader, place);
    if (reader.problem().empty() && !names.insert(source.name).second)
      reader.fail("has the name `" + source.name + "`, which another one has");
    if (!top.take_problem(reader))
      return;
    machine.sources.push_back(std::move(source));
  }
}

} // namespace

std::string write_snapshot(const Machine &machine)
{
  std::string text = std::string("{\n  \"schema\": \"") + kSchema +
                     "\",\n  \"version\": " + std::to_string(kVersion) +
                     ",\n  \"kernel\": " + quote(machine.kernel) +
                     ",\n  \"gstreamer\": " + quote(machine.gstreamer) + ",\n  \"sources\": [";
  const char *separator = "\n";
  for (const Source &source : machine.sources) {
    text += separator + to_json(source);
    separator = ",\n";
  }
  return text + (machine.sources.empty() ? "]" : "\n  ]") + "\n}\n";
}

Outcome<Machine> parse_snapshot(std::string_view text, const std::string &name)
{
  const std::string file = printable(name);
  Json root;
  if (const std::string problem = parse_json(text, root); !problem.empty())
    return Failure{file + " is no saved machine, as --save makes it: it " + problem};
  Reader top(root.get(), "it");
  const std::string schema = top.text("schema");
  if (!top.problem().empty() || schema != kSchema)
    return Failure{file +
                   " is no saved machine, as --save makes it: it is JSON of another program"};
  json_object *version = top.get("version", json_type_int);
  if (version && json_object_get_int64(version) != kVersion)
    return Failure{file + " is of version " + json_object_get_string(version) +
                   "; this program reads version " + std::to_string(kVersion)};
  Machine machine;
  machine.kernel = top.text("kernel");
  machine.gstreamer = top.text("gstreamer");
  read_sources(top, machine);
  if (!top.problem().empty())
    return Failure{file + " is no good saved machine: " + printable(top.problem())};
  return machine;
}

Outcome<std::string> read_file(const std::string &path)
{
  std::string text(kMaxBytes + 1, '\0');
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.read(text.data(), static_cast<std::streamsize>(text.size())).eof()) {
    const int error = errno;
    if (file)
      return Failure{printable(path) + " has more than 16 MiB, which is the most that is read"};
    return Failure{"cannot read " + printable(path) + ": " + g_strerror(error ? error : EIO)};
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string write_file(const std::string &path, const std::string &text)
{
  // Replaces the file, or the target of a symbolic link, by a new file; but writes into a device or
  // a pipe.
  std::error_code none;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, none);
  const std::string target = none ? path : real.string();
  errno = 0;
  if (std::filesystem::exists(target, none) && !std::filesystem::is_regular_file(target, none)) {
    std::ofstream file(target, std::ios::binary);
    file << text;
    file.flush();
    const int error = errno;
    return file ? "" : "cannot write " + printable(path) + ": " + g_strerror(error ? error : EIO);
  }
  GError *error = nullptr;
  if (g_file_set_contents_full(target.c_str(), text.data(), static_cast<gssize>(text.size()),
                               G_FILE_SET_CONTENTS_CONSISTENT, 0666, &error))
    return {};
  const std::string why = printable(error->message);
  g_error_free(error);
  return "cannot write " + printable(path) + ": " + why;
}

} // namespace inspect
