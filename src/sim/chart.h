// Small SVG charts for the report: lines, stacked areas, bars and a Gantt. Colours are classes
// (f0 fills, s0 strokes, b0 is a background, ... up to 7) that the page's style sheet defines, so
// that a page can be light or dark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::sim {

struct Series {
  std::string name;
  std::vector<double> values;  // one per step, 0 to 1
};

/// What stands under the horizontal axis: position 0 to 1, and a text.
struct Tick {
  double at = 0;
  std::string text;
};

std::string escape(const std::string& text);
/// `dashed`: more lines, in the colours of the series.
std::string line_chart(const std::vector<Series>& series, const std::vector<Tick>& ticks,
                       const std::vector<Series>& dashed = {});
std::string stacked_chart(const std::vector<Series>& series, const std::vector<Tick>& ticks);

struct Bar {
  std::string label;
  double height = 0;  // in units of `top` of the chart
  std::string tip;
};
std::string bar_chart(const std::vector<Bar>& bars, const std::string& unit);

struct GanttBar {
  double from = 0;  // 0 to 1
  double to = 0;
  std::size_t colour = 0;
  bool cut = false;  // ended before its time
  std::string tip;
};
struct GanttRow {
  std::string label;
  double waits_from = 0;  // 0 to 1: a thin line from here to the first bar
  std::vector<GanttBar> bars;
};
std::string gantt_chart(const std::vector<GanttRow>& rows, const std::vector<Tick>& ticks);

std::string legend(const std::vector<std::string>& names);

}  // namespace muster::sim
