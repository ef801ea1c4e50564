/// examples/support: the main job's data files, charts, progress lines and Ctrl-C.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <sstream>

#include <catch2/catch.hpp>
#include <unistd.h>
#include <zlib.h>

#include <support/idx.hpp>
#include <support/progress.hpp>
#include <support/signals.hpp>
#include <support/svg.hpp>

#include "temporary_folder.hpp"

using namespace examples;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

namespace {

std::string idx_bytes(std::initializer_list<std::uint32_t> extents, std::size_t count, char type = 8) {
  std::string s{0, 0, type, char(extents.size())};
  for (const std::uint32_t e : extents)
    for (int shift = 24; shift >= 0; shift -= 8) s += char(e >> shift & 0xff);
  for (std::size_t i = 0; i < count; ++i) s += char(i % 10);
  return s;
}

std::string write_gz(const std::string& path, const std::string& bytes) {
  const gzFile f = gzopen(path.c_str(), "wb");
  gzwrite(f, bytes.data(), unsigned(bytes.size()));
  gzclose(f);
  return path;
}

}  // namespace

TEST_CASE("idx: images and labels are read, gzipped or not") {
  const temporary_folder folder;
  const std::string images = write_gz(folder / "images.gz", idx_bytes({6, 2, 3}, 36)), labels = folder / "labels";
  write_text(labels, idx_bytes({6}, 6));
  const labelled_images d = read_labelled_images(images, labels);
  CHECK(d.count == 6);
  CHECK(d.rows == 2);
  CHECK(d.cols == 3);
  CHECK(d.images.size() == 36);
  CHECK(d.images[7] == 7 / 255.0f);
  CHECK(d.labels == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("idx: a missing file names the Debian package") {
  const temporary_folder folder;
  CHECK_THROWS_WITH(read_idx(folder / "none.gz", 3), "there is no file " + (folder / "none.gz") +
                                                         ": install the Debian package dataset-fashion-mnist "
                                                         "(apt-get install dataset-fashion-mnist)");
  CHECK_THROWS_AS(read_idx(folder.path.string(), 3), cotangent::io_error);
}

TEST_CASE("idx: a file cut anywhere is refused") {
  const temporary_folder folder;
  const std::string whole = read_text(write_gz(folder / "whole.gz", idx_bytes({60, 2, 3}, 360)));
  const std::string cut = folder / "cut.gz";
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_text(cut, whole.substr(0, n));
    CHECK_THROWS_AS(read_idx(cut, 3), cotangent::io_error);
  }
  write_text(cut, whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH(read_idx(cut, 3), cut + " is truncated: it ends before the data that its header announces");
  write_text(cut, whole.substr(0, whole.size() - 3));
  CHECK_THROWS_WITH(read_idx(cut, 3), cut + " is truncated: its checksum is missing");
}

TEST_CASE("idx: a corrupt file is refused") {
  const temporary_folder folder;
  const std::string bad = folder / "bad.gz", whole = read_text(write_gz(folder / "whole.gz", idx_bytes({60, 2, 3}, 360)));
  std::string bytes = whole;
  bytes[bytes.size() - 6] ^= 1;  // the checksum
  write_text(bad, bytes);
  CHECK_THROWS_WITH(read_idx(bad, 3), Contains(bad + " is corrupt: ") && Contains("incorrect data check"));

  const auto refuses = [&](const std::string& content, int rank, const std::string& words) {
    write_gz(bad, content);
    CHECK_THROWS_WITH(read_idx(bad, rank), EndsWith(words));
  };
  refuses(idx_bytes({60, 2, 3}, 360), 1, "is not an IDX file of bytes with 1 axis: its first four bytes are wrong");
  refuses(idx_bytes({60, 2, 3}, 360, 13), 3, "is not an IDX file of bytes with 3 axes: its first four bytes are wrong");
  refuses("P6 1 1 255 not an IDX file at all", 3, "is not an IDX file of bytes with 3 axes: its first four bytes are wrong");
  refuses(idx_bytes({60, 2, 3}, 359), 3, "is truncated: it ends before the data that its header announces");
  refuses(idx_bytes({60, 2, 3}, 361), 3, "is corrupt: it goes on after the data that its header announces");
  refuses(idx_bytes({0, 2, 3}, 0), 3, "is corrupt: its header announces an impossible size");
  refuses(idx_bytes({0xffffffff, 0xffffffff, 3}, 0), 3, "is corrupt: its header announces an impossible size");
  refuses(idx_bytes({0x7fffffff}, 9), 1, "is truncated: it ends before the data that its header announces");
}

TEST_CASE("idx: images and labels that disagree are refused") {
  const temporary_folder folder;
  const std::string images = write_gz(folder / "images.gz", idx_bytes({6, 2, 3}, 36));
  const std::string labels = write_gz(folder / "labels.gz", idx_bytes({7}, 7));
  CHECK_THROWS_WITH(read_labelled_images(images, labels), images + " has 6 images, but " + labels + " has 7 labels");
  std::string wild = idx_bytes({6}, 6);
  wild.back() = 10;
  write_gz(labels, wild);
  CHECK_THROWS_WITH(read_labelled_images(images, labels), labels + " is corrupt: it has the label 10, and there are 10 classes");
}

TEST_CASE("svg: ticks are round numbers that cover the data") {
  const axis_ticks loss(0.187, 0.513, 5);
  CHECK(loss.low == Approx(0.1));
  CHECK(loss.high == Approx(0.6));
  CHECK(loss.step == Approx(0.1));
  CHECK(loss.decimals == 1);
  const axis_ticks epochs(1, 3, 8, true);
  CHECK(epochs.step == 1);
  CHECK(epochs.decimals == 0);
  const axis_ticks constant(2, 2, 5);
  CHECK(constant.low < 2);
  CHECK(constant.high > 2);
  const axis_ticks large(0, 123456, 5);
  CHECK(large.step == 50000);
}

TEST_CASE("svg: a chart has its words escaped and no numbers that are not") {
  const double nan = std::nan("");
  const std::string svg = line_chart("a < b & c", "\"d\"", "epoch",
                                     {{"loss", {{"train", {1, 2, 3}, {0.5, nan, 0.25}}, {"test", {}, {}}}},
                                      {"accuracy", {{"train", {1, 2, 3}, {nan, nan, nan}}}, true}});
  CHECK_THAT(svg, Contains("a &lt; b &amp; c") && Contains("&quot;d&quot;") && Contains("no data yet") && EndsWith("</svg>\n"));
  CHECK_THAT(svg, !Contains("nan") && !Contains("inf"));
}

TEST_CASE("progress: without a terminal an epoch is one plain line") {
  const temporary_folder folder;
  std::FILE* out = std::fopen((folder / "out").c_str(), "w+");
  REQUIRE(out);
  {
    progress bar(10, 60000, out);
    for (int epoch = 1; epoch <= 2; ++epoch) {
      bar.begin(epoch);
      for (int i = 0; i < 100; ++i) bar.update(600 * i, 0.5, 0.8);
      bar.end(60000, 0.25, 0.9, "test accuracy 88.31%");
    }
  }
  std::fclose(out);
  const std::string text = read_text(folder / "out");
  CHECK(std::count(text.begin(), text.end(), '\n') == 2);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK_THAT(text, Contains("epoch  1/10  ") && EndsWith("samples/s  loss 0.2500  accuracy 90.00%  test accuracy 88.31%\n"));
}

TEST_CASE("progress: thousands are separated") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(-1234567) == "-1,234,567");
}

TEST_CASE("signals: the first Ctrl-C is a flag") {
  {
    const interrupt_guard guard;
    CHECK_FALSE(interrupt_guard::requested());
    std::raise(SIGINT);
    CHECK(interrupt_guard::requested());
    CHECK(interrupt_guard::exit_code() == 130);
  }
  interrupt_signal = 0;
}
