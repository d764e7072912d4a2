// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matrix.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace inspect {

namespace {

// A source that takes a pair: its index, and whether it takes it only as an external texture.
using Mark = std::pair<std::size_t, bool>;
using Marks = std::vector<Mark>;             // in the order of the sources
using Row = std::map<std::uint32_t, Marks>;  // by fourcc
using Matrix = std::map<std::uint64_t, Row>; // by modifier, so linear is first

// Limits far above real machines, which give pictures of some 20 MB. Three GPUs and a display have
// 3000 squares; 60 sources of 7000 pairs have 420 000 marks.
constexpr std::size_t kMostSquares = 1U << 18; // modifiers times formats of a picture
constexpr std::size_t kMostMarks = 1U << 22;   // sources times lines of a text

Matrix collect(const std::vector<Source> &sources)
{
  Matrix matrix;
  for (std::size_t i = 0; i < sources.size(); i++)
    for (const Pair &pair : sources[i].pairs)
      matrix[pair.modifier][pair.fourcc].emplace_back(i, pair.external_only);
  return matrix;
}

std::size_t count_pairs(const Matrix &matrix)
{
  std::size_t n = 0;
  for (const auto &[modifier, row] : matrix)
    n += row.size();
  return n;
}

std::vector<std::uint32_t> fourccs_of(const Matrix &matrix)
{
  std::set<std::uint32_t> seen;
  for (const auto &[modifier, row] : matrix)
    for (const auto &[fourcc, marks] : row)
      seen.insert(fourcc);
  return {seen.begin(), seen.end()};
}

// A to Z, AA to AZ and so on, as the columns of a spreadsheet.
std::string letter(std::size_t index)
{
  std::string text;
  for (std::size_t rest = index + 1; rest > 0; rest = (rest - 1) / 26)
    text.insert(text.begin(), static_cast<char>('A' + (rest - 1) % 26));
  return text;
}

// Pads the text to the width of the longest letter.
std::string in_column(std::string text, std::size_t n_sources)
{
  text.resize(letter(n_sources - 1).size(), ' ');
  return text;
}

std::string legend(const std::vector<Source> &sources)
{
  std::string text;
  for (std::size_t i = 0; i < sources.size(); i++) {
    const std::string what = describe(sources[i]);
    text += letter(i) + "  " + printable(sources[i].name) + (what.empty() ? "" : "  " + what) +
            (sources[i].problem.empty() ? "" : "  (" + printable(sources[i].problem) + ")") + "\n";
  }
  return text;
}

std::string head_of(std::size_t n_sources)
{
  std::string text;
  for (std::size_t i = 0; i < n_sources; i++)
    text += (i ? " " : "") + in_column(letter(i), n_sources);
  return text;
}

// x: taken; e: only as an external texture; .: not taken.
std::string spaced(const Marks &marks, std::size_t n_sources)
{
  std::string text;
  auto mark = marks.begin();
  for (std::size_t i = 0; i < n_sources; i++) {
    const bool here = mark != marks.end() && mark->first == i;
    text += (i ? " " : "") + in_column(!here ? "." : mark->second ? "e" : "x", n_sources);
    if (here)
      ++mark;
  }
  return text;
}

std::string draw_text(const std::vector<Source> &sources, const Matrix &matrix)
{
  constexpr std::size_t kNames = 60; // columns
  const std::string heads = head_of(sources.size());
  std::string text = legend(sources) + "x  taken   e  as an external texture alone   .  not\n";
  for (const auto &[modifier, row] : matrix) {
    text += "\n" + heads + "  " + modifier_name(modifier) + "  " + hex(modifier) + "\n";
    // fourccs with the same sources share a line, in the order of their first fourcc
    std::map<Marks, std::vector<std::string>> groups;
    std::vector<const Marks *> order;
    for (const auto &[fourcc, marks] : row) {
      std::vector<std::string> &names = groups[marks];
      if (names.empty())
        order.push_back(&marks);
      names.push_back(fourcc_name(fourcc));
    }
    for (const Marks *marks : order) {
      std::string head = spaced(*marks, sources.size());
      for (const std::string &line : wrap(groups[*marks], kNames)) {
        text += head + "  " + line + "\n";
        head.assign(head.size(), ' ');
      }
    }
  }
  return text;
}

std::string escape(const std::string &text)
{
  const Text escaped(g_markup_escape_text(printable(text).c_str(), -1));
  return escaped.get();
}

std::string draw_json(const std::vector<Source> &sources, const Matrix &matrix)
{
  std::string text = "{\n  \"schema\": \"gst-drm-matrix\",\n  \"version\": 1,\n  \"pairs\": [";
  const char *separator = "\n";
  for (const auto &[modifier, row] : matrix)
    for (const auto &[fourcc, marks] : row) {
      text += std::string(separator) + "    { \"format\": " + quote(fourcc_name(fourcc)) +
              ", \"modifier\": " + quote(hex(modifier)) +
              ", \"modifier-name\": " + quote(modifier_name(modifier)) + ", \"sources\": [";
      const char *comma = "";
      for (const auto &[index, external_only] : marks) {
        text += std::string(comma) + " { \"name\": " + quote(sources[index].name) +
                ", \"external-only\": " + (external_only ? "true" : "false") + " }";
        comma = ",";
      }
      text += " ] }";
      separator = ",\n";
    }
  return text + "\n  ]\n}\n";
}

constexpr const char *kColours[] = {"#1b6ca8", "#d1495b", "#3f8f4f", "#c98a1b",
                                    "#7a4fa3", "#2b9c9c", "#8c564b", "#555555"};

const char *colour(std::size_t index)
{
  return kColours[index % std::size(kColours)];
}

// A grid of modifiers and formats. Each cell has a bar for each source, which is hollow if the
// source takes the pair only as an external texture.
class Picture {
public:
  Picture(const std::vector<Source> &sources, const Matrix &matrix)
      : sources_(sources), matrix_(matrix), fourccs_(fourccs_of(matrix))
  {
    for (const auto &[modifier, row] : matrix_)
      widest_ = std::max(widest_, modifier_name(modifier).size());
  }

  std::string draw()
  {
    const std::size_t left = 12 + widest_ * 7;
    const std::size_t top = 24 + 18 * sources_.size() + 44;
    const std::size_t cell = std::max<std::size_t>(14, 4 * sources_.size() + 6);
    const std::size_t width = std::max<std::size_t>(left + cell * fourccs_.size() + 12, 480);
    const std::size_t height = top + 18 * matrix_.size() + 12;
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
            "\" height=\"" + std::to_string(height) +
            "\" font-family=\"monospace\" font-size=\"11\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    draw_legend();
    for (std::size_t i = 0; i < fourccs_.size(); i++) {
      const std::size_t x = left + cell * i + cell / 2 + 4;
      text_ += "<text transform=\"translate(" + std::to_string(x) + " " + std::to_string(top - 6) +
               ") rotate(-90)\">" + escape(fourcc_name(fourccs_[i])) + "</text>\n";
    }
    std::size_t y = top;
    for (const auto &[modifier, row] : matrix_) {
      label(left - 8, y + 13, modifier_name(modifier), "end");
      for (std::size_t i = 0; i < fourccs_.size(); i++)
        draw_cell(row, fourccs_[i], left + cell * i, y, cell);
      y += 18;
    }
    return text_ + "</svg>\n";
  }

private:
  void label(std::size_t x, std::size_t y, const std::string &text, const char *anchor)
  {
    text_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
             "\" text-anchor=\"" + anchor + "\">" + escape(text) + "</text>\n";
  }

  void rectangle(std::size_t x, std::size_t y, std::size_t w, std::size_t h,
                 const std::string &style)
  {
    text_ += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
             std::to_string(w) + "\" height=\"" + std::to_string(h) + "\" " + style + "/>\n";
  }

  void draw_legend()
  {
    for (std::size_t i = 0; i < sources_.size(); i++) {
      const std::string what = describe(sources_[i]);
      rectangle(12, 14 + 18 * i, 10, 10, std::string("fill=\"") + colour(i) + "\"");
      label(28, 23 + 18 * i, sources_[i].name + (what.empty() ? "" : "  " + what), "start");
    }
  }

  void draw_cell(const Row &row, std::uint32_t fourcc, std::size_t x, std::size_t y,
                 std::size_t cell)
  {
    rectangle(x, y, cell, 18, "fill=\"none\" stroke=\"#e4e4e4\"");
    const auto it = row.find(fourcc);
    if (it == row.end())
      return;
    for (const auto &[index, external_only] : it->second) {
      const std::string ink = colour(index);
      rectangle(x + 4 + 4 * index, y + 3, 3, 12,
                external_only ? "fill=\"none\" stroke=\"" + ink + "\"" : "fill=\"" + ink + "\"");
    }
  }

  const std::vector<Source> &sources_;
  const Matrix &matrix_;
  std::vector<std::uint32_t> fourccs_;
  std::size_t widest_ = 0;
  std::string text_;
};

std::string draw_html(const std::vector<Source> &sources, const Matrix &matrix)
{
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
         "<title>DRM formats and modifiers</title></head>\n<body>\n"
         "<p>A filled bar: the source takes the pair. A hollow bar: as an external texture "
         "alone.</p>\n" +
         Picture(sources, matrix).draw() + "</body>\n</html>\n";
}

// What is too large for this form; empty if nothing is.
std::string excess(const std::vector<Source> &sources, const Matrix &matrix, Form form)
{
  const std::size_t n_fourccs = fourccs_of(matrix).size();
  const std::size_t lines =
      matrix.size() + count_pairs(matrix); // upper limit: a head, and one line per pair
  const bool is_picture = form == Form::Svg || form == Form::Html;
  if (is_picture ? matrix.size() * n_fourccs <= kMostSquares
                 : form == Form::Json || sources.size() * lines <= kMostMarks)
    return {};
  return "a matrix of " + count(sources.size(), "source", "sources") + ", " +
         count(matrix.size(), "modifier", "modifiers") + " and " +
         count(n_fourccs, "format", "formats") + " is too large to be drawn as " +
         (is_picture ? "a picture" : "text") + "; --format json has each pair";
}

} // namespace

Outcome<std::string> draw_matrix(const std::vector<Source> &sources, Form form)
{
  const Matrix matrix = collect(sources);
  if (const std::string text = excess(sources, matrix, form); !text.empty())
    return Failure{text};
  switch (form) {
  case Form::Text:
    return draw_text(sources, matrix);
  case Form::Json:
    return draw_json(sources, matrix);
  case Form::Svg:
    return Picture(sources, matrix).draw();
  case Form::Html:
    return draw_html(sources, matrix);
  }
  return Failure{"no such form"};
}

} // namespace inspect
