// Tables for people: a line of headings, columns as wide as what stands in them, the columns that
// may be cut made to fit the screen. Pure. Widths count characters (UTF-8), not bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

enum class Paint : std::uint8_t { None, Good, Busy, Bad, Dim, Bold };
/// The text between the escapes of that colour; as it is when there is no colour to be.
std::string painted(std::string_view text, Paint paint, bool color);

struct Cell {
  std::string text;
  Paint paint = Paint::None;
  // NOLINTNEXTLINE(google-explicit-constructor): a row is written as a list of texts
  Cell(std::string t, Paint p = Paint::None) : text(std::move(t)), paint(p) {}
  // NOLINTNEXTLINE(google-explicit-constructor): the same for literals
  Cell(const char* t) : text(t) {}
};

struct Column {
  std::string heading;
  bool right = false;  // numbers
  bool may_cut = false;
};

struct Layout {
  int width = 0;  // of the screen; 0: no limit
  bool color = false;
  bool headings = true;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Missing cells at the end are empty, those too many are left out.
  void add(std::vector<Cell> row);
  std::size_t size() const { return rows_.size(); }
  /// Lines without blanks at their ends; "" without rows.
  std::string to_text(const Layout& layout) const;

 private:
  std::vector<std::size_t> widths(const Layout& layout) const;
  std::string line(const std::vector<Cell>& row, const std::vector<std::size_t>& widths,
                   bool color) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// "name:   value" lines, the values one under the other; those without a value are left out.
class Sheet {
 public:
  void add(std::string name, Cell value);
  std::string to_text(bool color) const;

 private:
  std::vector<std::pair<std::string, Cell>> lines_;
};

/// Characters of a UTF-8 text.
std::size_t width_of(std::string_view text);
/// At most so many characters, the last one "…" if it was longer.
std::string cut(std::string_view text, std::size_t width);
/// Line breaks and other control bytes become blanks: names come from other people.
std::string one_line(std::string_view text);

}  // namespace muster::cli
