#pragma once
/// Line charts as SVG: panels side by side, one legend. Follows the reader's light or dark preference.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

/// A line through (x[i], y[i]); a NaN interrupts it.
struct curve {
  std::string name;
  std::vector<double> x, y;
};

/// One plot. Curves of the same name in several panels share their colour and their entry in the legend.
struct panel {
  std::string title;
  std::vector<curve> curves;
  bool percent = false;  // y is a share of 1
};

/// Round numbers that cover [low, high]: steps of 1, 2 or 5 times a power of ten, about `count` of them.
struct axis_ticks {
  double low, high, step;
  int decimals;

  axis_ticks(double lo, double hi, int count, bool whole_numbers = false) {
    if (!(lo < hi)) {
      const double margin = lo == 0 ? 1 : std::abs(lo) * 0.1;
      lo -= margin;
      hi += margin;
    }
    const double raw = (hi - lo) / count, power = std::pow(10.0, std::floor(std::log10(raw)));
    const double lead = raw / power;
    step = power * (lead <= 1.0001 ? 1 : lead <= 2.0001 ? 2 : lead <= 5.0001 ? 5 : 10);
    if (whole_numbers) step = std::max(step, 1.0);
    low = std::floor(lo / step + 1e-9) * step;
    high = std::ceil(hi / step - 1e-9) * step;
    decimals = std::max(0, int(-std::floor(std::log10(step) + 1e-9)));
  }
  int count() const { return int(std::lround((high - low) / step)) + 1; }
  double at(int i) const { return std::abs(low + i * step) < step / 2 ? 0 : low + i * step; }
};

/// The chart as the text of an SVG file.
inline std::string line_chart(std::string_view title, std::string_view subtitle, std::string_view x_label,
                              const std::vector<panel>& panels) {
  constexpr double plot_width = 400, plot_height = 260, top = 118, left = 62, gap = 84, right = 34, bottom = 64;
  const double width = left + double(panels.size()) * plot_width + (double(panels.size()) - 1) * gap + right;
  const double height = top + plot_height + bottom;

  std::string svg;
  const auto add = [&](const char* format, auto... args) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, format, args...);
    svg += buffer;
  };
  const auto escaped = [](std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
  };
  const auto text = [&](double x, double y, const char* kind, const char* anchor, std::string_view content) {
    add("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, kind, anchor);
    svg += escaped(content) + "</text>\n";
  };
  const auto number = [](double v, int decimals, bool percent) {
    char buffer[48];
    std::snprintf(buffer, sizeof buffer, "%.*f%s", decimals, percent ? 100 * v : v, percent ? "%" : "");
    return std::string(buffer);
  };

  std::vector<std::string> names;
  for (const panel& p : panels)
    for (const curve& c : p.curves)
      if (std::find(names.begin(), names.end(), c.name) == names.end()) names.push_back(c.name);
  const auto color = [&](const std::string& name) {
    return int(std::find(names.begin(), names.end(), name) - names.begin()) % 4;
  };

  add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", width, height,
      width, height);
  svg += "<title>" + escaped(title) + "</title>\n";
  svg += R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; fill: #57606a; }
.title { font-size: 19px; font-weight: 600; fill: #1f2328; }
.subtitle { font-size: 13px; }
.panel { font-size: 14px; font-weight: 600; fill: #1f2328; }
.tick { font-size: 12px; font-variant-numeric: tabular-nums; }
.legend { font-size: 13px; }
.value { font-size: 12px; font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
.paper { fill: #ffffff; stroke: #d8dee4; }
.grid { stroke: #e6e9ed; }
.base { stroke: #8c959f; }
.line { fill: none; stroke-width: 2.25; stroke-linejoin: round; stroke-linecap: round; }
.dot { stroke: #ffffff; stroke-width: 1.5; }
.s0 { stroke: #2563c9; } .f0 { fill: #2563c9; }
.s1 { stroke: #d9622b; } .f1 { fill: #d9622b; }
.s2 { stroke: #2c8a57; } .f2 { fill: #2c8a57; }
.s3 { stroke: #8250c4; } .f3 { fill: #8250c4; }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4ae; }
  .title, .panel { fill: #e6edf3; }
  .value { stroke: #14181d; }
  .paper { fill: #14181d; stroke: #30363d; }
  .grid { stroke: #262c33; }
  .base { stroke: #6b747d; }
  .dot { stroke: #14181d; }
  .s0 { stroke: #6aa5ff; } .f0 { fill: #6aa5ff; }
  .s1 { stroke: #f0935f; } .f1 { fill: #f0935f; }
  .s2 { stroke: #5fc08d; } .f2 { fill: #5fc08d; }
  .s3 { stroke: #b48cf0; } .f3 { fill: #b48cf0; }
}
</style>
)";
  add("<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", width - 1, height - 1);
  text(24, 36, "title", "start", title);
  text(24, 58, "subtitle", "start", subtitle);
  double legend = width - right;
  for (std::size_t i = names.size(); i-- > 0;) {  // from the right; 7.2 is the mean width of a letter
    legend -= 7.2 * double(names[i].size());
    text(legend, 36, "legend", "start", names[i]);
    add("<line class=\"line s%d\" x1=\"%.1f\" y1=\"31.5\" x2=\"%.1f\" y2=\"31.5\"/>\n", int(i % 4), legend - 28, legend - 8);
    legend -= 50;
  }

  for (std::size_t k = 0; k < panels.size(); ++k) {
    const panel& p = panels[k];
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double x_low = infinity, x_high = -infinity, y_low = infinity, y_high = -infinity;
    for (const curve& c : p.curves)
      for (std::size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i) {
        if (!std::isfinite(c.x[i]) || !std::isfinite(c.y[i])) continue;
        x_low = std::min(x_low, c.x[i]), x_high = std::max(x_high, c.x[i]);
        y_low = std::min(y_low, c.y[i]), y_high = std::max(y_high, c.y[i]);
      }
    const double x0 = left + double(k) * (plot_width + gap), y1 = top + plot_height;
    text(x0, top - 20, "panel", "start", p.title);
    if (!(x_low <= x_high)) {
      text(x0 + plot_width / 2, top + plot_height / 2, "subtitle", "middle", "no data yet");
      continue;
    }
    const axis_ticks xs(x_low, x_high, 8, true), ys(y_low, y_high, 5);
    const double x_from = x_low < x_high ? x_low : xs.low, x_to = x_low < x_high ? x_high : xs.high;
    const auto px = [&](double x) { return x0 + (x - x_from) / (x_to - x_from) * plot_width; };
    const auto py = [&](double y) { return y1 - (y - ys.low) / (ys.high - ys.low) * plot_height; };
    for (int i = 0; i < ys.count(); ++i) {
      const double y = py(ys.at(i));
      add("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", i == 0 ? "base" : "grid", x0, y, x0 + plot_width, y);
      text(x0 - 10, y + 4, "tick", "end", number(ys.at(i), p.percent ? std::max(0, ys.decimals - 2) : ys.decimals, p.percent));
    }
    for (int i = 0; i < xs.count(); ++i) {
      const double v = xs.at(i);
      if (v < x_from - 1e-9 || v > x_to + 1e-9) continue;
      add("<line class=\"base\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", px(v), y1, px(v), y1 + 5);
      text(px(v), y1 + 21, "tick", "middle", number(v, xs.decimals, false));
    }
    text(x0 + plot_width / 2, y1 + 44, "legend", "middle", x_label);

    struct last_value {
      double x, y, label;
      int color;
      std::string text;
    };
    std::vector<last_value> ends;
    for (const curve& c : p.curves) {
      std::string path;
      bool pen_down = false;
      std::size_t points = 0, last = 0;
      for (std::size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i) {
        if (!std::isfinite(c.x[i]) || !std::isfinite(c.y[i])) {
          pen_down = false;
          continue;
        }
        char step[64];
        std::snprintf(step, sizeof step, "%c%.1f %.1f", pen_down ? 'L' : 'M', px(c.x[i]), py(c.y[i]));
        path += step;
        pen_down = true;
        last = i;
        ++points;
      }
      if (points == 0) continue;
      add("<path class=\"line s%d\" d=\"", color(c.name));
      svg += path + "\"/>\n";
      if (points <= 40)
        for (std::size_t i = 0; i < std::min(c.x.size(), c.y.size()); ++i)
          if (std::isfinite(c.x[i]) && std::isfinite(c.y[i]))
            add("<circle class=\"dot f%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", color(c.name), px(c.x[i]), py(c.y[i]));
      const double x = px(c.x[last]), y = py(c.y[last]);
      ends.push_back({x, y, y, color(c.name), number(c.y[last], p.percent ? 1 : 3, p.percent)});
    }
    // The last values beside the ends of their lines, moved apart where they would overlap.
    std::sort(ends.begin(), ends.end(), [](const last_value& a, const last_value& b) { return a.y < b.y; });
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i].label = ends[i].y - 10;
      if (i > 0 && ends[i].label < ends[i - 1].label + 28) ends[i].label = std::max(ends[i].y + 19, ends[i - 1].label + 28);
      add("<text x=\"%.1f\" y=\"%.1f\" class=\"value f%d\" style=\"font-size:12px\" text-anchor=\"end\">%s</text>\n", ends[i].x + 6,
          ends[i].label, ends[i].color, ends[i].text.c_str());
    }
  }
  return svg + "</svg>\n";
}

}  // namespace examples
