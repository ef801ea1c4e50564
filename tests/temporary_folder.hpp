#pragma once
/// A folder of a test's own, removed at the end.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

struct temporary_folder {
  std::filesystem::path path;

  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cotangent.XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    path = name;
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }

  std::string operator/(const std::string& name) const { return (path / name).string(); }
  int files() const { return int(std::distance(std::filesystem::directory_iterator(path), {})); }
};

inline void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
