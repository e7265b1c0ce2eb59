#include "sim/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace muster::sim {
namespace {

constexpr double width = 960;
constexpr double left = 44;
constexpr double right = 952;
constexpr double top = 10;

double x_of(double at) { return left + (right - left) * std::clamp(at, 0.0, 1.0); }
double y_of(double value, double height) {
  return top + (height - top) * (1.0 - std::clamp(value, 0.0, 1.0));
}

std::string open(double height, const char* label) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", width,
                     height + 26, label);
}

/// Horizontal lines at quarters, with per cent.
std::string percent_grid(double height) {
  std::string svg;
  for (int i = 0; i <= 4; ++i) {
    const double y = y_of(i / 4.0, height);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}%</text>",
        left, right, y, y, left - 6, y + 4, i * 25);
  }
  return svg;
}

std::string time_axis(const std::vector<Tick>& ticks, double height) {
  std::string svg;
  for (const Tick& tick : ticks) {
    const double x = x_of(tick.at);
    const char* anchor = tick.at > 0.97 ? "end" : tick.at < 0.02 ? "start" : "middle";
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
        "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"{4}\">{5}</text>",
        x, top, height + 4, height + 19, anchor, escape(tick.text));
  }
  return svg;
}

double step_at(std::size_t i, std::size_t n) {
  return n < 2 ? 0.0 : static_cast<double>(i) / static_cast<double>(n - 1);
}

}  // namespace

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string legend(const std::vector<std::string>& names) {
  std::string html = "<div class=\"legend\">";
  for (std::size_t i = 0; i < names.size(); ++i)
    html += fmt::format("<span><i class=\"b{}\"></i>{}</span>", i % 8, escape(names[i]));
  return html + "</div>";
}

std::string line_chart(const std::vector<Series>& series, const std::vector<Tick>& ticks,
                       const std::vector<Series>& dashed) {
  constexpr double height = 230;
  std::string svg = open(height, "lines over time") + percent_grid(height);
  svg += time_axis(ticks, height);
  const auto points_of = [](const std::vector<double>& values) {
    std::string points;
    for (std::size_t i = 0; i < values.size(); ++i)
      points +=
          fmt::format("{:.1f},{:.1f} ", x_of(step_at(i, values.size())), y_of(values[i], height));
    return points;
  };
  for (std::size_t s = 0; s < series.size(); ++s) {
    svg += fmt::format(
        "<polygon class=\"f{0} soft\" points=\"{1},{2} {3}{4},{2}\"/>"
        "<polyline class=\"s{0}\" points=\"{3}\"><title>{5}</title></polyline>",
        s % 8, left, height, points_of(series[s].values), right, escape(series[s].name));
  }
  for (std::size_t s = 0; s < dashed.size(); ++s) {
    svg += fmt::format("<polyline class=\"s{} dashed\" points=\"{}\"><title>{}</title></polyline>",
                       s % 8, points_of(dashed[s].values), escape(dashed[s].name));
  }
  return svg + "</svg>";
}

std::string stacked_chart(const std::vector<Series>& series, const std::vector<Tick>& ticks) {
  constexpr double height = 230;
  std::string svg = open(height, "stacked areas over time");
  if (series.empty()) return svg + "</svg>";
  const std::size_t n = series.front().values.size();
  std::vector<double> below(n, 0.0);
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::string up;
    std::string down;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = x_of(step_at(i, n));
      down = fmt::format("{:.1f},{:.1f} ", x, y_of(below[i], height)) + down;
      below[i] += series[s].values[i];
      up += fmt::format("{:.1f},{:.1f} ", x, y_of(below[i], height));
    }
    svg += fmt::format("<polygon class=\"f{}\" points=\"{}{}\"><title>{}</title></polygon>", s % 8,
                       up, down, escape(series[s].name));
  }
  return svg + percent_grid(height) + time_axis(ticks, height) + "</svg>";
}

std::string bar_chart(const std::vector<Bar>& bars, const std::string& unit) {
  constexpr double height = 200;
  std::string svg = open(height, "bars");
  double most = 1;
  for (const Bar& bar : bars) most = std::max(most, bar.height);
  most = 4 * std::ceil(most / 4);  // whole numbers at the lines
  for (int i = 0; i <= 4; ++i) {
    const double y = y_of(i / 4.0, height);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>",
        left, right, y, y, left - 6, y + 4, most * i / 4);
  }
  const double each = (right - left) / static_cast<double>(std::max<std::size_t>(1, bars.size()));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double x = left + each * static_cast<double>(i);
    const double y = y_of(bars[i].height / most, height);
    svg += fmt::format(
        "<rect class=\"f0\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\">"
        "<title>{}</title></rect>"
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        x + each * 0.1, y, each * 0.8, height - y, escape(bars[i].tip + " " + unit), x + each / 2,
        height + 17, escape(bars[i].label));
  }
  return svg + "</svg>";
}

std::string gantt_chart(const std::vector<GanttRow>& rows, const std::vector<Tick>& ticks) {
  constexpr double row_height = 17;
  constexpr double names = 150;
  const double height = top + row_height * static_cast<double>(rows.size());
  const auto x = [](double at) { return names + (right - names) * std::clamp(at, 0.0, 1.0); };
  std::string svg = open(height, "gangs over time");
  for (const Tick& tick : ticks) {
    const char* anchor = tick.at > 0.97 ? "end" : "middle";
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.1f}\"/>"
        "<text class=\"tick\" x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"{4}\">{5}</text>",
        x(tick.at), top, height, height + 17, anchor, escape(tick.text));
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const GanttRow& row = rows[r];
    const double y = top + row_height * static_cast<double>(r);
    svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                       names - 8, y + 12, escape(row.label));
    if (!row.bars.empty())
      svg += fmt::format(
          "<line class=\"wait\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
          x(row.waits_from), x(row.bars.front().from), y + 8, y + 8);
    for (const GanttBar& bar : row.bars) {
      svg += fmt::format(
          "<rect class=\"f{}{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" rx=\"2\">"
          "<title>{}</title></rect>",
          bar.colour % 8, bar.cut ? " cut" : "", x(bar.from), y + 2,
          std::max(1.5, x(bar.to) - x(bar.from)), escape(bar.tip));
    }
  }
  return svg + "</svg>";
}

}  // namespace muster::sim
