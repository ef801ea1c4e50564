#pragma once
/// Fields as pictures: colour maps, and panels of pixels side by side in one SVG file.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

#include <cotangent/core/error.hpp>

namespace examples {

using colour = std::array<std::uint8_t, 3>;
/// Ten colours from 0 to 1; between them colours are interpolated.
using colour_map = std::array<colour, 10>;

/// Tenths of matplotlib's maps (van der Walt and Smith, 2015; CC0): even steps look even, in print and to the colour-blind.
inline constexpr colour_map viridis{{{68, 1, 84}, {72, 40, 120}, {62, 74, 137}, {49, 104, 142}, {38, 130, 142},
                                     {31, 158, 137}, {53, 183, 121}, {110, 206, 88}, {181, 222, 43}, {253, 231, 37}}};
inline constexpr colour_map magma{{{0, 0, 4}, {24, 15, 61}, {68, 15, 118}, {114, 31, 129}, {158, 47, 127},
                                   {205, 64, 113}, {241, 96, 93}, {253, 150, 104}, {254, 202, 141}, {252, 253, 191}}};
inline constexpr colour_map inferno{{{0, 0, 4}, {27, 12, 65}, {74, 12, 107}, {120, 28, 109}, {165, 44, 96},
                                     {207, 68, 70}, {237, 105, 37}, {251, 155, 6}, {247, 209, 61}, {252, 255, 164}}};

inline colour colour_at(const colour_map& map, double t) {
  const double x = std::isfinite(t) ? std::clamp(t, 0.0, 1.0) * 9 : 0;
  const std::size_t i = std::min(std::size_t(x), std::size_t(8));
  colour c;
  for (std::size_t k = 0; k < 3; ++k) c[k] = std::uint8_t(std::lround(map[i][k] + (x - double(i)) * (map[i + 1][k] - map[i][k])));
  return c;
}

/// Values in rows from the top, drawn with `map` from `low` to `high`.
struct field {
  std::string title;
  int width = 0, height = 0;
  std::vector<double> values;
  double low = 0, high = 1;
  colour_map map = viridis;
  std::string bar_label = "";  // of the colour bar beside it; empty: no bar
};

/// The field as a PNG file (ISO/IEC 15948) with a palette of 256 colours.
inline std::string png(const field& f) {
  std::string file("\x89PNG\r\n\x1a\n", 8);
  const auto big_endian = [](std::string& to, std::uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) to += char(n >> shift & 0xff);
  };
  const auto chunk = [&](std::string_view type, std::string_view data) {
    std::string body(type);
    body += data;
    big_endian(file, std::uint32_t(data.size()));
    file += body;
    big_endian(file, std::uint32_t(crc32(0, reinterpret_cast<const Bytef*>(body.data()), uInt(body.size()))));
  };
  std::string header, palette, rows;
  big_endian(header, std::uint32_t(f.width)), big_endian(header, std::uint32_t(f.height));
  header += std::string("\x08\x03\0\0\0", 5);  // 8 bits, palette
  for (int i = 0; i < 256; ++i)
    for (const std::uint8_t c : colour_at(f.map, i / 255.0)) palette += char(c);
  for (int y = 0; y < f.height; ++y) {
    rows += '\0';  // no filter
    for (int x = 0; x < f.width; ++x) {
      const double t = (f.values[std::size_t(y * f.width + x)] - f.low) / (f.high - f.low);
      rows += char(std::lround(255 * (std::isfinite(t) ? std::clamp(t, 0.0, 1.0) : 0)));
    }
  }
  uLongf size = compressBound(uLong(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), uLong(rows.size()), 9) != Z_OK)
    throw cotangent::error("png: zlib cannot compress the picture");
  packed.resize(size);
  chunk("IHDR", header), chunk("PLTE", palette), chunk("IDAT", packed), chunk("IEND", "");
  return file;
}

/// Bytes in base 64 (RFC 4648).
inline std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min(bytes.size() - i, std::size_t(3));
    std::uint32_t n = 0;
    for (std::size_t k = 0; k < 3; ++k) n = n << 8 | (k < count ? std::uint8_t(bytes[i + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? digits[n >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// Fields side by side as the text of an SVG file; each is `size` pixels high.
inline std::string field_chart(std::string_view title, std::string_view subtitle, const std::vector<field>& fields, double size = 256,
                               bool smooth = false) {
  constexpr double margin = 28, gap = 26, top = 112, bottom = 30, bar_room = 74;
  std::string body;
  const auto add = [&](const char* format, auto... args) {
    char buffer[512];
    std::snprintf(buffer, sizeof buffer, format, args...);
    body += buffer;
  };
  const auto text = [&](double x, double y, const char* kind, std::string_view content) {
    add("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, kind);
    for (const char c : content) body += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    body += "</text>\n";
  };
  double x = margin;
  for (const field& f : fields) {
    const double width = size * f.width / f.height;
    text(x, top - 14, "panel", f.title);
    add("<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" preserveAspectRatio=\"none\" style=\"image-rendering:%s\" href=\"data:image/png;base64,", x, top,
        width, size, smooth ? "auto" : "pixelated");
    body += base64(png(f)) + "\"/>\n";
    add("<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x, top, width, size);
    x += width;
    if (!f.bar_label.empty()) {
      field bar{"", 1, 64, {}, 0, 63, f.map};
      for (int i = 0; i < 64; ++i) bar.values.push_back(63 - i);
      add("<image x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"%.1f\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,", x + 14, top, size);
      body += base64(png(bar)) + "\"/>\n";
      for (int i = 0; i <= 4; ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%.3g", f.low + (f.high - f.low) * i / 4);
        text(x + 32, top + size - size * i / 4 + 4, "tick", number);
      }
      text(x + 14, top - 14, "tick", f.bar_label);
      x += bar_room;
    }
    x += gap;
  }
  const double width = x - gap + margin, height = top + size + bottom;
  char head[256];
  std::snprintf(head, sizeof head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", width,
                height, width, height);
  const std::string panels = std::move(body);
  body = head;
  body += R"(<style>
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", Arial, sans-serif; fill: #57606a; }
.title { font-size: 19px; font-weight: 600; fill: #1f2328; }
.subtitle { font-size: 13px; }
.panel { font-size: 14px; font-weight: 600; fill: #1f2328; }
.tick { font-size: 12px; font-variant-numeric: tabular-nums; }
.paper { fill: #ffffff; stroke: #d8dee4; }
.frame { fill: none; stroke: #8c959f; }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4ae; }
  .title, .panel { fill: #e6edf3; }
  .paper { fill: #14181d; stroke: #30363d; }
  .frame { stroke: #6b747d; }
}
</style>
)";
  add("<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"%.1f\" height=\"%.1f\" rx=\"8\"/>\n", width - 1, height - 1);
  text(24, 36, "title", title);
  text(24, 58, "subtitle", subtitle);
  return body + panels + "</svg>\n";
}

}  // namespace examples
