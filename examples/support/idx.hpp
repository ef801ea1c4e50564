#pragma once
/// The IDX files of MNIST and its kin, gzipped or not.
///
/// Format: a big-endian magic number 00 00 TYPE RANK, RANK big-endian 32-bit extents, then the elements.

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include <cotangent/core/error.hpp>

namespace examples {

/// The unsigned bytes of an IDX file.
struct idx_file {
  std::vector<std::size_t> extents;
  std::vector<std::uint8_t> bytes;
};

/// Images as floats from 0 to 1, row-major [count, rows, cols], and their classes.
struct labelled_images {
  std::size_t count = 0, rows = 0, cols = 0;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

/// Reads an IDX file of unsigned bytes with `rank` axes. Throws cotangent::io_error with one sentence.
inline idx_file read_idx(const std::string& path, int rank) {
  using cotangent::io_error;
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose_r);
  if (!file && errno == ENOENT)
    throw io_error("there is no file " + path + ": install the Debian package dataset-fashion-mnist (apt-get install dataset-fashion-mnist)");
  if (!file) throw io_error("cannot read " + path + ": " + std::strerror(errno ? errno : ENOMEM));
  gzbuffer(file.get(), 1 << 17);

  const auto read = [&](void* to, std::size_t bytes) {
    std::uint8_t* out = static_cast<std::uint8_t*>(to);
    while (bytes > 0) {
      const int n = gzread(file.get(), out, unsigned(std::min<std::size_t>(bytes, 1u << 30)));
      int code = Z_OK;
      const char* message = gzerror(file.get(), &code);
      if (code == Z_ERRNO) throw io_error("cannot read " + path + ": " + std::strerror(errno));
      if (n < 0 && code != Z_BUF_ERROR) throw io_error(path + " is corrupt: " + message);
      if (n <= 0) throw io_error(path + " is truncated: it ends before the data that its header announces");
      out += n;
      bytes -= std::size_t(n);
    }
  };

  std::uint8_t magic[4];
  read(magic, 4);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] != rank)
    throw io_error(path + " is not an IDX file of bytes with " + std::to_string(rank) + (rank == 1 ? " axis" : " axes") +
                   ": its first four bytes are wrong");
  idx_file idx;
  std::size_t size = 1;
  for (int k = 0; k < rank; ++k) {
    std::uint8_t b[4];
    read(b, 4);
    const std::size_t n = std::size_t(b[0]) << 24 | std::size_t(b[1]) << 16 | std::size_t(b[2]) << 8 | b[3];
    if (n == 0 || size > (std::size_t(1) << 33) / n) throw io_error(path + " is corrupt: its header announces an impossible size");
    size *= n;
    idx.extents.push_back(n);
  }
  // In steps, so that a corrupt header does not make us ask for gigabytes.
  for (std::size_t used = 0; used < size;) {
    const std::size_t step = std::min<std::size_t>(size - used, 1 << 24);
    idx.bytes.resize(used + step);
    read(idx.bytes.data() + used, step);
    used += step;
  }
  char more;
  const int rest = gzread(file.get(), &more, 1);  // reaches the checksum at the end, too
  int code = Z_OK;
  const char* message = gzerror(file.get(), &code);
  if (rest > 0) throw io_error(path + " is corrupt: it goes on after the data that its header announces");
  if (code == Z_BUF_ERROR) throw io_error(path + " is truncated: its checksum is missing");
  if (rest < 0) throw io_error(path + " is corrupt: " + message);
  return idx;
}

/// Reads images and their labels, which must be as many, with classes below `classes`. Throws cotangent::io_error.
inline labelled_images read_labelled_images(const std::string& image_path, const std::string& label_path, int classes = 10) {
  const idx_file images = read_idx(image_path, 3), labels = read_idx(label_path, 1);
  if (images.extents[0] != labels.extents[0])
    throw cotangent::io_error(image_path + " has " + std::to_string(images.extents[0]) + " images, but " + label_path + " has " +
                              std::to_string(labels.extents[0]) + " labels");
  labelled_images d{images.extents[0], images.extents[1], images.extents[2], {}, {}};
  d.images.reserve(images.bytes.size());
  for (const std::uint8_t b : images.bytes) d.images.push_back(float(b) / 255.0f);
  for (const std::uint8_t b : labels.bytes) {
    if (b >= classes)
      throw cotangent::io_error(label_path + " is corrupt: it has the label " + std::to_string(b) + ", and there are " +
                                std::to_string(classes) + " classes");
    d.labels.push_back(b);
  }
  return d;
}

}  // namespace examples
