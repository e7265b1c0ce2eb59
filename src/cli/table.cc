#include "cli/table.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::cli {

std::string painted(std::string_view text, Paint paint, bool color) {
  constexpr std::array<std::string_view, 6> codes = {"",         "\x1b[32m", "\x1b[33m",
                                                     "\x1b[31m", "\x1b[2m",  "\x1b[1m"};
  if (!color || paint == Paint::None || text.empty()) return std::string(text);
  return std::string(codes[static_cast<std::size_t>(paint)]).append(text).append("\x1b[0m");
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation
  }));
}

std::string cut(std::string_view text, std::size_t width) {
  if (width_of(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && ++count == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size(), Cell(""));
  for (Cell& cell : row) cell.text = one_line(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const Layout& layout) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_)
    widths.push_back(layout.headings ? width_of(column.heading) : 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  if (layout.width <= 0) return widths;
  std::size_t all = 2 * (columns_.size() - 1);
  for (const std::size_t width : widths) all += width;
  constexpr std::size_t least = 8;
  for (std::size_t i = columns_.size(); i-- > 0 && all > static_cast<std::size_t>(layout.width);) {
    if (!columns_[i].may_cut || widths[i] <= least) continue;
    const std::size_t over = all - static_cast<std::size_t>(layout.width);
    const std::size_t less = std::min(over, widths[i] - least);
    widths[i] -= less;
    all -= less;
  }
  return widths;
}

std::string Table::line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                        bool color) const {
  std::string out;
  std::string blanks;  // put before the next text, so that none end a line
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = cut(row[i].text, widths[i]);
    const std::size_t rest = widths[i] - std::min(widths[i], width_of(text));
    if (i > 0) blanks += "  ";
    if (columns_[i].right) blanks.append(rest, ' ');
    if (!text.empty()) {
      out += std::exchange(blanks, "");
      out += painted(text, row[i].paint, color);
    }
    if (!columns_[i].right) blanks.append(rest, ' ');
  }
  return out + "\n";
}

std::string Table::to_text(const Layout& layout) const {
  if (rows_.empty()) return "";
  const std::vector<std::size_t> wide = widths(layout);
  std::string out;
  if (layout.headings) {
    std::vector<Cell> headings;
    for (const Column& column : columns_) headings.emplace_back(column.heading, Paint::Dim);
    out += line(headings, wide, layout.color);
  }
  for (const auto& row : rows_) out += line(row, wide, layout.color);
  return out;
}

void Sheet::add(std::string name, Cell value) {
  if (value.text.empty()) return;
  value.text = one_line(value.text);
  lines_.emplace_back(std::move(name), std::move(value));
}

std::string Sheet::to_text(bool color) const {
  std::size_t wide = 0;
  for (const auto& [name, value] : lines_) wide = std::max(wide, width_of(name));
  std::string out;
  for (const auto& [name, value] : lines_) {
    out += painted(name, Paint::Dim, color) + std::string(wide - width_of(name) + 2, ' ');
    out += painted(value.text, value.paint, color) + "\n";
  }
  return out;
}

}  // namespace muster::cli
