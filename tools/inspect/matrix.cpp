// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matrix.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace inspect {

namespace {

// For each source one mark: x taken, e as an external texture alone, . not.
using Marks = std::string;
using Row = std::map<std::uint32_t, Marks>;  // by fourcc
using Matrix = std::map<std::uint64_t, Row>; // by modifier: linear first, implicit where it sorts

Matrix collect(const std::vector<Source> &sources)
{
  Matrix matrix;
  for (std::size_t i = 0; i < sources.size(); i++)
    for (const Pair &pair : sources[i].pairs) {
      Marks &marks = matrix[pair.modifier][pair.fourcc];
      marks.resize(sources.size(), '.');
      marks[i] = pair.external_only ? 'e' : 'x';
    }
  return matrix;
}

std::string letter(std::size_t index)
{
  std::string text(1, static_cast<char>('A' + index % 26));
  return index < 26 ? text : text + std::to_string(index / 26);
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

std::string spaced(const Marks &marks)
{
  std::string text;
  for (const char mark : marks)
    text += (text.empty() ? "" : " ") + std::string(1, mark);
  return text;
}

std::string draw_text(const std::vector<Source> &sources)
{
  constexpr std::size_t kNames = 60; // columns
  std::string heads;
  for (std::size_t i = 0; i < sources.size(); i++)
    heads += (i ? " " : "") + letter(i);
  std::string text = legend(sources) + "x  taken   e  as an external texture alone   .  not\n";
  for (const auto &[modifier, row] : collect(sources)) {
    text += "\n" + heads + "  " + modifier_name(modifier) + "  " + hex(modifier) + "\n";
    // fourccs that the same sources take share a line
    std::vector<std::pair<Marks, std::vector<std::string>>> groups;
    for (const auto &[fourcc, marks] : row) {
      const auto it = std::find_if(groups.begin(), groups.end(),
                                   [&marks = marks](const auto &g) { return g.first == marks; });
      auto &group =
          it == groups.end() ? groups.emplace_back(marks, std::vector<std::string>()) : *it;
      group.second.push_back(fourcc_name(fourcc));
    }
    for (const auto &[marks, names] : groups) {
      std::string head = spaced(marks);
      for (const std::string &line : wrap(names, kNames)) {
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

std::string draw_json(const std::vector<Source> &sources)
{
  std::string text = "{\n  \"schema\": \"gst-drm-matrix\",\n  \"version\": 1,\n  \"pairs\": [";
  const char *separator = "\n";
  for (const auto &[modifier, row] : collect(sources))
    for (const auto &[fourcc, marks] : row) {
      text += std::string(separator) + "    { \"format\": " + quote(fourcc_name(fourcc)) +
              ", \"modifier\": " + quote(hex(modifier)) +
              ", \"modifier-name\": " + quote(modifier_name(modifier)) + ", \"sources\": [";
      const char *comma = "";
      for (std::size_t i = 0; i < marks.size(); i++) {
        if (marks[i] == '.')
          continue;
        text += std::string(comma) + " { \"name\": " + quote(sources[i].name) +
                ", \"external-only\": " + (marks[i] == 'e' ? "true" : "false") + " }";
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

// A grid of modifiers by formats; each cell has a bar for each source, hollow where the pair is an
// external texture alone.
class Picture {
public:
  explicit Picture(const std::vector<Source> &sources)
      : sources_(sources), matrix_(collect(sources))
  {
    std::set<std::uint32_t> seen;
    for (const auto &[modifier, row] : matrix_) {
      widest_ = std::max(widest_, modifier_name(modifier).size());
      for (const auto &[fourcc, marks] : row)
        seen.insert(fourcc);
    }
    fourccs_.assign(seen.begin(), seen.end());
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
    for (std::size_t i = 0; it != row.end() && i < it->second.size(); i++) {
      const std::string ink = colour(i);
      if (it->second[i] == 'x')
        rectangle(x + 4 + 4 * i, y + 3, 3, 12, "fill=\"" + ink + "\"");
      else if (it->second[i] == 'e')
        rectangle(x + 4 + 4 * i, y + 3, 3, 12, "fill=\"none\" stroke=\"" + ink + "\"");
    }
  }

  const std::vector<Source> &sources_;
  Matrix matrix_;
  std::vector<std::uint32_t> fourccs_;
  std::size_t widest_ = 0;
  std::string text_;
};

std::string draw_html(const std::vector<Source> &sources)
{
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
         "<title>DRM formats and modifiers</title></head>\n<body>\n"
         "<p>A filled bar: the source takes the pair. A hollow bar: as an external texture "
         "alone.</p>\n" +
         Picture(sources).draw() + "</body>\n</html>\n";
}

} // namespace

std::string draw_matrix(const std::vector<Source> &sources, Form form)
{
  switch (form) {
  case Form::Text:
    return draw_text(sources);
  case Form::Json:
    return draw_json(sources);
  case Form::Svg:
    return Picture(sources).draw();
  case Form::Html:
    return draw_html(sources);
  }
  return {};
}

} // namespace inspect
