#pragma once
/// Named arrays in a file: NumPy's .npz, a ZIP archive of .npy files.
///
/// Layouts: NumPy, "numpy.lib.format"; PKWARE, "APPNOTE.TXT - .ZIP File Format Specification". Needs zlib.

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include <cotangent/core/array.hpp>
#include <cotangent/core/dtype.hpp>
#include <cotangent/core/error.hpp>
#include <cotangent/core/view.hpp>
#include <cotangent/io/atomic_file.hpp>

namespace cotangent::io {

static_assert(std::endian::native == std::endian::little, "io/npz.hpp: only little-endian machines are supported");

/// NumPy's spelling of a dtype. NumPy has no bfloat16; JAX saves it as the two raw bytes `|V2`, and so do we.
constexpr std::string_view npy_descr(dtype d) {
  constexpr std::string_view names[] = {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4",
                                        "<u8", "<f2", "|V2", "<f4", "<f8", "<c8", "<c16"};
  return names[int(d)];
}

/// A name and where its elements are: what `save_npz` takes.
struct npz_item {
  std::string name;
  dtype type;
  shape extents;
  const void* data;

  template <class T, extent... E>
  npz_item(std::string n, const array<T, E...>& a) : npz_item(std::move(n), dtype_of<T>, a.shape(), a.data()) {}
  template <class T, extent... E>
  npz_item(std::string n, const view<T, E...>& v) : npz_item(std::move(n), dtype_of<std::remove_const_t<T>>, v.shape(), v.data()) {}
  npz_item(std::string n, dtype d, const shape& s, const void* p) : name(std::move(n)), type(d), extents(s), data(p) {}

  std::size_t bytes() const { return std::size_t(extents.size()) * std::size_t(size_of(type)); }
};

/// Little-endian fields of a ZIP record, appended to or read from bytes.
struct zip_record {
  std::string bytes;
  zip_record& u16(std::uint64_t x) { return append(x, 2); }
  zip_record& u32(std::uint64_t x) { return append(x, 4); }
  zip_record& u64(std::uint64_t x) { return append(x, 8); }
  zip_record& text(std::string_view s) {
    bytes += s;
    return *this;
  }
  static std::uint64_t read(const unsigned char* p, int count) {
    std::uint64_t x = 0;
    for (int i = 0; i < count; ++i) x |= std::uint64_t(p[i]) << (8 * i);
    return x;
  }

 private:
  zip_record& append(std::uint64_t x, int count) {
    for (int i = 0; i < count; ++i) bytes += char(x >> (8 * i) & 0xff);
    return *this;
  }
};

inline std::uint32_t crc_of(const void* data, std::size_t bytes, std::uint32_t crc = 0) {
  return bytes == 0 ? crc : std::uint32_t(::crc32_z(crc, static_cast<const Bytef*>(data), bytes));  // zlib resets at null
}

/// A .npy file's header; the elements start at a multiple of 64 bytes.
inline std::string npy_header(const npz_item& item) {
  std::string dict = "{'descr': '" + std::string(npy_descr(item.type)) + "', 'fortran_order': False, 'shape': (";
  for (int k = 0; k < item.extents.rank; ++k) dict += std::to_string(item.extents[k]) + (k + 1 < item.extents.rank ? ", " : "");
  dict += item.extents.rank == 1 ? ",), }" : "), }";
  dict.append(63 - (10 + dict.size()) % 64, ' ');
  dict += '\n';
  return zip_record{}.text("\x93NUMPY").u16(1).u16(dict.size()).bytes + dict;
}

/// Writes arrays as an uncompressed .npz that `numpy.load` reads. The file appears whole or not at all: a crash, a full
/// disk or an exception leaves what was at `path` before. Throws io_error.
inline void save_npz(const std::string& path, const std::vector<npz_item>& items) {
  constexpr std::uint64_t limit = 0xffffffff;  // above it the 64-bit fields of an "extra" record count
  atomic_file file(path);
  std::uint64_t offset = 0;
  std::string directory;
  const auto put = [&](const void* data, std::size_t bytes) {
    file.write(data, bytes);
    offset += bytes;
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    const npz_item& item = items[i];
    for (std::size_t j = 0; j < i; ++j)
      if (items[j].name == item.name) throw io_error("cannot write " + path + ": two arrays are named '" + item.name + "'");
    const std::string header = npy_header(item), name = item.name + ".npy";
    const std::uint64_t size = header.size() + item.bytes(), start = offset;
    const std::uint32_t crc = crc_of(item.data, item.bytes(), crc_of(header.data(), header.size()));
    const bool large = size >= limit || start >= limit;
    const std::uint64_t short_size = large ? limit : size;
    const auto common = [&](zip_record& r) -> zip_record& {  // flags (UTF-8 name), stored, 1980-01-01, sizes
      return r.u16(large ? 45 : 20).u16(0x800).u16(0).u16(0).u16(0x21).u32(crc).u32(short_size).u32(short_size).u16(name.size());
    };
    zip_record local;
    common(local.u32(0x04034b50)).u16(large ? 20 : 0).text(name);
    if (large) local.u16(1).u16(16).u64(size).u64(size);
    put(local.bytes.data(), local.bytes.size());
    put(header.data(), header.size());
    put(item.data, item.bytes());
    zip_record central;
    common(central.u32(0x02014b50).u16(3 << 8 | 45)).u16(large ? 28 : 0).u16(0).u16(0).u16(0).u32(0100644u << 16);
    central.u32(large ? limit : start).text(name);
    if (large) central.u16(1).u16(24).u64(size).u64(size).u64(start);
    directory += central.bytes;
  }
  const std::uint64_t start = offset, count = items.size();
  put(directory.data(), directory.size());
  zip_record end;
  if (start >= limit || count >= 0xffff) {
    end.u32(0x06064b50).u64(44).u16(45).u16(45).u32(0).u32(0).u64(count).u64(count).u64(directory.size()).u64(start);
    end.u32(0x07064b50).u32(0).u64(offset).u32(1);
  }
  const std::uint64_t short_count = std::min<std::uint64_t>(count, 0xffff);
  end.u32(0x06054b50).u16(0).u16(0).u16(short_count).u16(short_count);
  end.u32(std::min<std::uint64_t>(directory.size(), limit)).u32(std::min(start, limit)).u16(0);
  put(end.bytes.data(), end.bytes.size());
  file.commit();
}
inline void save_npz(const std::string& path, std::initializer_list<npz_item> items) {
  save_npz(path, std::vector<npz_item>(items));
}

/// The arrays of a .npz file, compressed or not, checked and in memory. Made by `load_npz`.
class npz_file {
 public:
  struct entry {
    std::string name;
    dtype type = dtype::float32;
    shape extents;
    std::vector<unsigned char> data;  // row-major
  };

  const std::vector<entry>& entries() const { return entries_; }
  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// The array `name`; its dtype and extents must be these (extents may be `dyn`). Throws io_error.
  template <class T, extent... E> array<T, E...> get(std::string_view name) const {
    const entry& e = checked(name, dtype_of<T>, {E...});
    array<T, E...> a(uninitialized, e.extents);
    copy(e, a.data());
    return a;
  }
  /// Copies the array `name` into an existing one of the same dtype and shape. Throws io_error.
  template <class T, extent... E> void read(std::string_view name, array<T, E...>& to) const {
    copy(checked(name, dtype_of<T>, to.shape()), to.data());
  }
  template <class T, extent... E> void read(std::string_view name, const view<T, E...>& to) const {
    copy(checked(name, dtype_of<T>, to.shape()), to.data());
  }

 private:
  friend npz_file load_npz(const std::string& path);

  const entry* find(std::string_view name) const {
    for (const entry& e : entries_)
      if (e.name == name) return &e;
    return nullptr;
  }
  const entry& checked(std::string_view name, dtype d, const shape& s) const {
    const entry* e = find(name);
    if (!e) throw io_error(path_ + ": has no array '" + std::string(name) + "'");
    bool same = e->type == d && e->extents.rank == s.rank;
    for (int k = 0; same && k < s.rank; ++k) same = s[k] == dyn || s[k] == e->extents[k];
    if (!same)
      throw io_error(path_ + ": '" + e->name + "' is " + std::string(name_of(e->type)) + text_of(e->extents) + ", expected " +
                     std::string(name_of(d)) + text_of(s));
    return *e;
  }
  static void copy(const entry& e, void* to) {
    if (!e.data.empty()) std::memcpy(to, e.data.data(), e.data.size());
  }

  std::string path_;
  std::vector<entry> entries_;
};

/// The whole of a file. Throws io_error.
inline std::vector<unsigned char> read_bytes(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw_errno("cannot read", path);
  std::vector<unsigned char> bytes;
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(std::max<std::size_t>(1 << 16, 2 * used));
    const std::size_t n = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    if (n == 0) break;
    used += n;
  }
  if (std::ferror(file.get())) throw_errno("cannot read", path);
  bytes.resize(used);
  return bytes;
}

/// Reads the .npy members of a ZIP archive that is in memory. Every field is checked before it is used.
class npz_reader {
 public:
  npz_reader(const std::string& path, const std::vector<unsigned char>& bytes) : path_(path), bytes_(bytes) {}

  std::vector<npz_file::entry> read() {
    const std::size_t end = find_end();
    std::uint64_t count = field(end + 10, 2), at = field(end + 16, 4);
    if (count == 0xffff || at == 0xffffffff) {
      if (end < 20 || field(end - 20, 4) != 0x07064b50) damaged("its 64-bit directory is missing");
      const std::uint64_t wide = field(end - 20 + 8, 8);
      if (field(wide, 4) != 0x06064b50) damaged("its 64-bit directory is missing");
      count = field(wide + 32, 8);
      at = field(wide + 48, 8);
    }
    std::vector<npz_file::entry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (field(at, 4) != 0x02014b50) damaged("its directory is broken");
      const std::uint64_t name_size = field(at + 28, 2), extra_size = field(at + 30, 2);
      const std::string name(text(at + 46, name_size));
      member m{name, field(at + 10, 2), field(at + 16, 4), field(at + 20, 4), field(at + 24, 4), field(at + 42, 4)};
      if (field(at + 8, 2) & 1) damaged("'" + name + "' is encrypted");
      read_extra(m, at + 46 + name_size, extra_size);
      if (name.ends_with(".npy")) entries.push_back(parse(name.substr(0, name.size() - 4), unpack(m)));
      at += 46 + name_size + extra_size + field(at + 32, 2);
    }
    return entries;
  }

 private:
  struct member {
    std::string name;
    std::uint64_t method, crc, packed, size, start;
  };

  [[noreturn]] void damaged(const std::string& why) const { throw io_error(path_ + ": not a whole .npz file: " + why); }

  const unsigned char* span(std::uint64_t at, std::uint64_t count) const {
    if (count > bytes_.size() || at > bytes_.size() - count) damaged("it ends too early");
    return bytes_.data() + at;
  }
  std::uint64_t field(std::uint64_t at, int count) const { return zip_record::read(span(at, std::uint64_t(count)), count); }
  std::string_view text(std::uint64_t at, std::uint64_t count) const {
    return {reinterpret_cast<const char*>(span(at, count)), std::size_t(count)};
  }

  std::size_t find_end() const {
    const std::size_t n = bytes_.size(), furthest = n > 22 + 0xffff ? n - 22 - 0xffff : 0;
    for (std::size_t at = n >= 22 ? n - 22 : 0; n >= 22; --at) {
      if (field(at, 4) == 0x06054b50 && at + 22 + field(at + 20, 2) == n) return at;
      if (at == furthest) break;
    }
    damaged("its directory is missing (was it cut off?)");
  }

  /// 64-bit sizes: each is present where the 32-bit field is full.
  void read_extra(member& m, std::uint64_t at, std::uint64_t size) const {
    const std::uint64_t end = at + size;
    while (at + 4 <= end) {
      const std::uint64_t id = field(at, 2), length = field(at + 2, 2);
      std::uint64_t from = at + 4;
      if (id == 1)
        for (std::uint64_t* x : {&m.size, &m.packed, &m.start})
          if (*x == 0xffffffff && from + 8 <= at + 4 + length) {
            *x = field(from, 8);
            from += 8;
          }
      at += 4 + length;
    }
  }

  std::vector<unsigned char> unpack(const member& m) const {
    if (field(m.start, 4) != 0x04034b50) damaged("'" + m.name + "' is not where the directory says");
    const unsigned char* from = span(m.start + 30 + field(m.start + 26, 2) + field(m.start + 28, 2), m.packed);
    std::vector<unsigned char> out;
    if (m.method == 0) {
      if (m.packed != m.size) damaged("'" + m.name + "' has two sizes");
      out.assign(from, from + m.packed);
    } else if (m.method == 8) {
      if (m.size / 1100 > m.packed) damaged("'" + m.name + "' claims an impossible size");
      out.resize(m.size);
      inflate_into(m, from, out);
    } else
      damaged("'" + m.name + "' is packed by method " + std::to_string(m.method) + "; only stored and deflated are supported");
    if (crc_of(out.data(), out.size()) != m.crc) damaged("the checksum of '" + m.name + "' is wrong");
    return out;
  }

  void inflate_into(const member& m, const unsigned char* from, std::vector<unsigned char>& out) const {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw io_error(path_ + ": no memory to unpack '" + m.name + "'");
    std::uint64_t in_left = m.packed, out_left = out.size();
    stream.next_in = const_cast<Bytef*>(from);
    stream.next_out = out.data();
    int code = Z_OK;
    while (code == Z_OK) {
      const auto take = [](std::uint64_t& left) {
        const uInt n = uInt(std::min<std::uint64_t>(left, 1u << 30));
        left -= n;
        return n;
      };
      if (stream.avail_in == 0) stream.avail_in = take(in_left);
      if (stream.avail_out == 0) stream.avail_out = take(out_left);
      code = ::inflate(&stream, Z_NO_FLUSH);
    }
    const bool whole = code == Z_STREAM_END && stream.avail_out == 0 && out_left == 0;
    inflateEnd(&stream);
    if (!whole) damaged("'" + m.name + "' does not unpack");
  }

  /// The value of `key` in a .npy header, a Python dict literal.
  std::string_view value_of(const std::string& name, std::string_view dict, std::string_view key) const {
    const std::size_t at = dict.find("'" + std::string(key) + "':");
    if (at == std::string_view::npos) damaged("the header of '" + name + "' has no " + std::string(key));
    std::string_view rest = dict.substr(at + key.size() + 3);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    if (rest.starts_with('(')) return rest.substr(1, std::min(rest.find(')'), rest.size()) - 1);
    if (rest.starts_with('\'')) return rest.substr(1, std::min(rest.find('\'', 1), rest.size()) - 1);
    return rest.substr(0, rest.find_first_of(",}"));
  }

  npz_file::entry parse(const std::string& name, std::vector<unsigned char> npy) const {
    if (npy.size() < 12 || std::memcmp(npy.data(), "\x93NUMPY", 6) != 0) damaged("'" + name + "' is not an array");
    const std::size_t start = npy[6] == 1 ? 10 : 12, length = std::size_t(zip_record::read(npy.data() + 8, npy[6] == 1 ? 2 : 4));
    if (npy[6] < 1 || npy[6] > 3 || length > npy.size() - start) damaged("the header of '" + name + "' is broken");
    const std::string_view dict(reinterpret_cast<const char*>(npy.data()) + start, length);

    npz_file::entry e;
    e.name = name;
    e.type = parse_type(name, value_of(name, dict, "descr"));
    std::string_view extents = value_of(name, dict, "shape");
    std::uint64_t bytes = std::uint64_t(size_of(e.type));
    while (!extents.empty()) {
      if (extents[0] == ' ' || extents[0] == ',') {
        extents.remove_prefix(1);
        continue;
      }
      std::uint64_t n = 0;
      const auto [stop, code] = std::from_chars(extents.data(), extents.data() + extents.size(), n);
      if (code != std::errc()) damaged("the shape of '" + name + "' is broken");
      if (e.extents.rank == max_rank) throw io_error(path_ + ": '" + name + "' has more than " + std::to_string(max_rank) + " axes");
      if (n != 0 && bytes > (std::uint64_t(1) << 62) / n) damaged("the shape of '" + name + "' is impossible");
      bytes *= n;
      e.extents.push_back(extent(n));
      extents.remove_prefix(std::size_t(stop - extents.data()));
    }
    if (bytes != npy.size() - start - length) damaged("'" + name + "' has another number of bytes than its shape says");
    const bool column_major = value_of(name, dict, "fortran_order").starts_with("True");
    npy.erase(npy.begin(), npy.begin() + std::ptrdiff_t(start + length));
    e.data = std::move(npy);
    if (column_major) to_row_major(e);
    return e;
  }

  dtype parse_type(const std::string& name, std::string_view descr) const {
    for (int d = 0; d <= int(dtype::complex128); ++d) {
      const std::string_view known = npy_descr(dtype(d));
      const bool one_byte = size_of(dtype(d)) == 1;  // has no byte order: |i1 and <i1 are the same
      if (known == descr || (descr == "<V2" && known == "|V2") || (one_byte && descr.size() == 3 && known.substr(1) == descr.substr(1)))
        return dtype(d);
    }
    throw io_error(path_ + ": '" + name + "' has the dtype '" + std::string(descr) + "', which is not supported");
  }

  static void to_row_major(npz_file::entry& e) {
    const std::size_t width = std::size_t(size_of(e.type)), count = e.data.size() / width;
    std::vector<unsigned char> out(e.data.size());
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t rest = i, to = 0;
      for (int k = 0; k < e.extents.rank; ++k) {  // column-major: the first index runs fastest
        const std::size_t n = std::size_t(e.extents[k]);
        std::size_t stride = 1;
        for (int j = k + 1; j < e.extents.rank; ++j) stride *= std::size_t(e.extents[j]);
        to += rest % n * stride;
        rest /= n;
      }
      std::memcpy(out.data() + to * width, e.data.data() + i * width, width);
    }
    e.data = std::move(out);
  }

  const std::string& path_;
  const std::vector<unsigned char>& bytes_;
};

/// Reads a .npz file of NumPy's `savez` or `savez_compressed`, or of `save_npz`. Checks everything, the checksums too,
/// before it returns. Throws io_error.
inline npz_file load_npz(const std::string& path) {
  const std::vector<unsigned char> bytes = read_bytes(path);
  npz_file file;
  file.path_ = path;
  file.entries_ = npz_reader(path, bytes).read();
  return file;
}

}  // namespace cotangent::io
