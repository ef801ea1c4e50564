#pragma once
/// A progress bar per epoch on a terminal; one plain line per epoch elsewhere.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace examples {

/// 1234567 as "1,234,567".
inline std::string with_commas(long long n) {
  std::string digits = std::to_string(n < 0 ? -n : n), out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return n < 0 ? "-" + out : out;
}

/// Usage: `begin(epoch)`, any number of `update(...)`, `end(...)`. Draws at most 20 times a second.
///
///     epoch  3/10  ━━━━━━━━━━━━━━━━────────   62%  121,340 samples/s  loss 0.3121  accuracy 88.90%
class progress {
 public:
  progress(int epochs, long long samples_per_epoch, std::FILE* out = stdout)
      : out_(out), epochs_(epochs), samples_(std::max(samples_per_epoch, 1ll)), terminal_(is_terminal(out)) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Starts the clock of epoch `epoch`, counted from 1.
  void begin(int epoch) {
    epoch_ = epoch;
    start_ = clock::now();
    drawn_ = start_ - std::chrono::hours(1);
  }

  /// `done` samples of the epoch are through; mean loss and accuracy (0 to 1) so far.
  void update(long long done, double loss, double accuracy) {
    if (!terminal_) return;
    const clock::time_point now = clock::now();
    if (now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    draw(done, seconds(now), loss, accuracy, "");
    std::fflush(out_);
  }

  /// Ends the epoch's line; `more` follows it, as in "test accuracy 88.31%". Returns samples per second.
  double end(long long done, double loss, double accuracy, std::string_view more = "") {
    const double elapsed = seconds(clock::now());
    draw(done, elapsed, loss, accuracy, more);
    std::fputc('\n', out_);
    std::fflush(out_);
    dirty_ = false;
    return double(done) / elapsed;
  }

  /// Removes a half-drawn bar, as before an error message.
  void clear() {
    if (dirty_) std::fputs("\r\x1b[K", out_);
    if (dirty_) std::fflush(out_);
    dirty_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;

  static bool is_terminal(std::FILE* f) {
    const char* term = std::getenv("TERM");
    return ::isatty(::fileno(f)) && term && std::string_view(term) != "dumb";
  }
  static bool is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
      if (const char* value = std::getenv(name); value && *value) {
        const std::string_view v(value);
        return v.find("UTF-8") != v.npos || v.find("utf8") != v.npos;
      }
    return false;
  }

  double seconds(clock::time_point now) const { return std::max(std::chrono::duration<double>(now - start_).count(), 1e-9); }

  int columns() const {
    winsize size{};
    return ::ioctl(::fileno(out_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  void draw(long long done, double elapsed, double loss, double accuracy, std::string_view more) {
    char head[48], tail[160];
    const int digits = int(std::to_string(epochs_).size());
    std::snprintf(head, sizeof head, "epoch %*d/%d  ", digits, epoch_, epochs_);
    std::snprintf(tail, sizeof tail, "%s samples/s  loss %.4f  accuracy %.2f%%", with_commas(std::llround(double(done) / elapsed)).c_str(),
                  loss, 100 * accuracy);
    std::string text(tail);
    if (!more.empty()) text.append("  ").append(more);
    if (!terminal_) {
      std::fprintf(out_, "%s%s", head, text.c_str());
      return;
    }
    const double share = std::clamp(double(done) / double(samples_), 0.0, 1.0);
    const int head_columns = int(std::string_view(head).size()) + 6, spare = columns() - 1 - head_columns - int(text.size()) - 2;
    const int width = spare < 5 ? 0 : std::min(spare, 30);  // a narrow terminal gets no bar, a narrower one less text
    const int text_room = columns() - 1 - head_columns;
    const bool wide = is_utf8();
    std::string bar;
    for (int i = 0; i < width; ++i) bar += i < int(share * width + 0.5) ? (wide ? "━" : "=") : (wide ? "─" : "-");
    if (width > 0) bar += "  ";
    std::fprintf(out_, "\r\x1b[K%s\x1b[36m%s\x1b[0m%3d%%  ", head, bar.c_str(), int(100 * share));
    std::fputs(text.substr(0, std::size_t(std::max(text_room, 0))).c_str(), out_);
    dirty_ = true;
  }

  std::FILE* out_;
  int epochs_, epoch_ = 1;
  long long samples_;
  bool terminal_, dirty_ = false;
  clock::time_point start_ = clock::now(), drawn_ = start_;
};

}  // namespace examples
