#include "catch.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include <cotangent/io/npz.hpp>

#include "temporary_folder.hpp"

namespace ct = cotangent;
namespace io = cotangent::io;
using Catch::Matchers::Contains;

ct::array<float, 3, 4> matrix() {
  ct::array<float, 3, 4> m;
  for (int i = 0; i < 12; ++i) m.data()[i] = float(i) / 4;
  return m;
}

TEST_CASE("npz: what is saved is loaded") {
  const temporary_folder folder;
  const std::string path = folder / "a.npz";
  const auto m = matrix();
  const ct::array<double, ct::dyn> v{1, 2.5, -3};
  const ct::array<std::int32_t> step = 42;
  const ct::array<bool, 3> flags{true, false, true};
  const ct::array<float, ct::dyn, 3> empty({0, 3});
  io::save_npz(path, {{"m", m}, {"v", v}, {"step", step}, {"flags", flags}, {"empty", empty}, {"flat", ct::view<const float, 12>(m.data())}});
  CHECK(folder.files() == 1);
  const io::npz_file f = io::load_npz(path);
  CHECK(f.entries().size() == 6);
  CHECK(f.get<float, 3, 4>("m") == m);
  CHECK(f.get<float, ct::dyn, 4>("m").shape() == ct::shape{3, 4});
  CHECK(f.get<double, ct::dyn>("v") == v);
  CHECK(f.get<std::int32_t>("step") == 42);
  CHECK(f.get<bool, 3>("flags") == flags);
  CHECK(f.get<float, ct::dyn, 3>("empty").shape() == ct::shape{0, 3});
  CHECK(f.contains("flat"));
  CHECK_FALSE(f.contains("fla"));
  ct::array<float, 3, 4> into;
  f.read("m", into);
  CHECK(into == m);
}

TEST_CASE("npz: every dtype survives") {
  const temporary_folder folder;
  unsigned char bytes[6 * 16];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(i % 2);
  std::vector<io::npz_item> items;
  for (int d = 0; d <= int(ct::dtype::complex128); ++d)
    items.emplace_back(std::string(ct::name_of(ct::dtype(d))), ct::dtype(d), ct::shape{2, 3}, bytes);
  io::save_npz(folder / "n.npz", items);
  const io::npz_file f = io::load_npz(folder / "n.npz");
  REQUIRE(f.entries().size() == items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    CHECK(f.entries()[i].type == items[i].type);
    CHECK(std::memcmp(f.entries()[i].data.data(), items[i].data, items[i].bytes()) == 0);
  }
}

TEST_CASE("npz: a compressed file of NumPy's, with a column-major array, is read") {
  // numpy.savez_compressed(m=numpy.asfortranarray(numpy.arange(6, dtype="f4").reshape(2, 3)), b=[True, False], i=numpy.int64(-7))
  static const char numpy_wrote[] =
    "\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xce\x2c\xe0\xd3\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00\x6d\x2e"
    "\x6e\x70\x79\x01\x00\x10\x00\x98\x00\x00\x00\x00\x00\x00\x00\x56\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50"
    "\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a"
    "\x12\x0f\x29\x2a\x4d\x05\x0a\x17\x67\x24\x16\xa4\x02\xb9\x1a\x46\x3a\x0a\xc6\x9a\x3a\x0a\xb5\x0a\xe4\x03\x2e\x06\x30\x70\x70\x60"
    "\x60\x68\xb0\x07\x62\x07\x10\x87\x81\x61\x81\x03\x00\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xee\x19\xbb\x5d\xff"
    "\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00\x62\x2e\x6e\x70\x79\x01\x00\x10\x00\x82\x00\x00\x00\x00\x00\x00\x00\x46\x00\x00\x00"
    "\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x5e\x93\x64\xa8\xae\xa3\xa0"
    "\x9e\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x46\x3a\x9a"
    "\x3a\x0a\xb5\x0a\x14\x00\x2e\x46\x06\x00\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xc8\xb8\x3c\xe4\xff\xff\xff\xff"
    "\xff\xff\xff\xff\x05\x00\x14\x00\x69\x2e\x6e\x70\x79\x01\x00\x10\x00\x88\x00\x00\x00\x00\x00\x00\x00\x46\x00\x00\x00\x00\x00\x00"
    "\x00\x9b\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x69\xa1\xae\xa3\xa0\x9e\x96\x5f"
    "\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\x9a\x3a\x0a\xb5\x0a\x14"
    "\x01\xae\x9f\xff\x21\x00\x00\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xce\x2c\xe0\xd3\x56\x00\x00\x00\x98"
    "\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x6d\x2e\x6e\x70\x79\x50\x4b\x01\x02\x2d\x03"
    "\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xee\x19\xbb\x5d\x46\x00\x00\x00\x82\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x80\x01\x8d\x00\x00\x00\x62\x2e\x6e\x70\x79\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xc8\xb8\x3c"
    "\xe4\x46\x00\x00\x00\x88\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x0a\x01\x00\x00\x69\x2e\x6e\x70\x79"
    "\x50\x4b\x05\x06\x00\x00\x00\x00\x03\x00\x03\x00\x99\x00\x00\x00\x87\x01\x00\x00\x00\x00";
  const temporary_folder folder;
  write_text(folder / "n.npz", std::string(numpy_wrote, sizeof numpy_wrote - 1));
  const io::npz_file f = io::load_npz(folder / "n.npz");
  CHECK(f.get<float, 2, 3>("m") == ct::array<float, 2, 3>{{0, 1, 2}, {3, 4, 5}});
  CHECK(f.get<bool, 2>("b") == ct::array<bool, 2>{true, false});
  CHECK(f.get<std::int64_t>("i") == -7);
}

TEST_CASE("npz: asking for what is not there is a sentence") {
  const temporary_folder folder;
  const std::string path = folder / "a.npz";
  io::save_npz(path, {{"m", matrix()}});
  const io::npz_file f = io::load_npz(path);
  CHECK_THROWS_WITH((f.get<float, 3>("w")), path + ": has no array 'w'");
  CHECK_THROWS_WITH((f.get<float, 4, 3>("m")), path + ": 'm' is float32[3,4], expected float32[4,3]");
  CHECK_THROWS_WITH((f.get<double, 3, 4>("m")), path + ": 'm' is float32[3,4], expected float64[3,4]");
  CHECK_THROWS_WITH((f.get<float, 12>("m")), path + ": 'm' is float32[3,4], expected float32[12]");
  CHECK_THROWS_WITH(io::load_npz(folder / "none.npz"), "cannot read " + (folder / "none.npz") + ": No such file or directory");
  CHECK_THROWS_WITH(io::load_npz(folder.path.string()), "cannot read " + folder.path.string() + ": Is a directory");
  CHECK_THROWS_WITH(io::save_npz(path, {{"m", matrix()}, {"m", matrix()}}), Contains("two arrays are named 'm'"));
  CHECK(io::load_npz(path).contains("m"));
}

TEST_CASE("npz: a file cut anywhere is refused") {
  const temporary_folder folder;
  io::save_npz(folder / "a.npz", {{"m", matrix()}});
  const std::string whole = read_text(folder / "a.npz");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_text(folder / "cut.npz", whole.substr(0, n));
    CHECK_THROWS_AS(io::load_npz(folder / "cut.npz"), ct::io_error);
  }
  write_text(folder / "cut.npz", whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH(io::load_npz(folder / "cut.npz"), Contains("not a whole .npz file: its directory is missing (was it cut off?)"));
}

TEST_CASE("npz: no flipped byte gets through to the elements") {
  const temporary_folder folder;
  const auto m = matrix();
  io::save_npz(folder / "a.npz", {{"m", m}});
  const std::string whole = read_text(folder / "a.npz");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bad = whole;
    bad[i] = char(bad[i] ^ 0x55);
    write_text(folder / "bad.npz", bad);
    try {
      const io::npz_file f = io::load_npz(folder / "bad.npz");
      if (f.contains("m")) CHECK(f.get<float, 3, 4>("m") == m);
    } catch (const ct::io_error&) {
    }
  }
  std::string bad = whole;
  const std::size_t first = bad.find(std::string(reinterpret_cast<const char*>(m.data()), sizeof(float) * 12));
  REQUIRE(first != std::string::npos);
  bad[first + 5] = char(bad[first + 5] ^ 1);
  write_text(folder / "bad.npz", bad);
  CHECK_THROWS_WITH(io::load_npz(folder / "bad.npz"), Contains("the checksum of 'm.npy' is wrong"));
}

TEST_CASE("npz: a full disk is a sentence and leaves the old file") {
  CHECK_THROWS_WITH(io::save_npz("/dev/full", {{"m", matrix()}}), "cannot write /dev/full: No space left on device");
  const temporary_folder folder;
  const std::string path = folder / "a.npz";
  io::save_npz(path, {{"m", matrix()}});
  const std::string before = read_text(path);
  rlimit limit;
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_WITH(io::save_npz(path, {{"m", matrix()}, {"n", matrix()}}), "cannot write " + path + ": File too large");
  CHECK_THROWS_AS(io::save_npz(folder / "new.npz", {{"m", matrix()}, {"n", matrix()}}), ct::io_error);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(read_text(path) == before);
  CHECK(folder.files() == 1);
}

TEST_CASE("atomic_file: nothing is there before commit, nothing is left without it") {
  const temporary_folder folder;
  const std::string path = folder / "f";
  {
    io::atomic_file file(path);
    file.write("half", 4);
    CHECK_FALSE(std::filesystem::exists(path));
  }
  CHECK(folder.files() == 0);
  io::atomic_file file(path);
  file.write("whole", 5);
  file.commit();
  CHECK(read_text(path) == "whole");
  CHECK(folder.files() == 1);
  CHECK_THROWS_WITH(io::atomic_file(folder / "no/f"), "cannot write " + (folder / "no/f") + ": No such file or directory");
  CHECK_THROWS_WITH(io::atomic_file(folder.path.string()), "cannot write " + folder.path.string() + ": Is a directory");
}

TEST_CASE("atomic_file: a symbolic link and the file's permissions stay") {
  const temporary_folder folder;
  write_text(folder / "real", "old");
  std::filesystem::permissions(folder / "real", std::filesystem::perms(0640));
  std::filesystem::create_symlink(folder / "real", folder / "link");
  io::atomic_file file(folder / "link");
  file.write("new", 3);
  file.commit();
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_text(folder / "real") == "new");
  CHECK(std::filesystem::status(folder / "real").permissions() == std::filesystem::perms(0640));
}
