#include "cli/progress_line.h"

#include <fmt/format.h>

namespace muster::cli {

namespace {

/// Not inside a character.
void cut(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  text.resize(most);
}

}  // namespace

void ProgressLine::show(std::string text) {
  if (!host_->err_is_terminal) return;
  const int columns = host_->columns();
  // A line that reaches the last column would be followed by a second one.
  if (columns > 1) cut(text, static_cast<std::size_t>(columns) - 1);
  host_->err(fmt::format("\r{:{}}\r{}", "", shown_, text));
  shown_ = text.size();
}

void ProgressLine::clear() {
  if (shown_ == 0) return;
  host_->err(fmt::format("\r{:{}}\r", "", shown_));
  shown_ = 0;
}

}  // namespace muster::cli
