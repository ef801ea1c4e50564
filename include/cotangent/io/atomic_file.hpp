#pragma once
/// A file that is there whole or not at all.

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cotangent/core/error.hpp>

namespace cotangent::io {

/// `doing path: why`, with errno's text.
[[noreturn]] inline void throw_errno(std::string_view doing, const std::string& path, int code = errno) {
  throw io_error(std::string(doing) + " " + path + ": " + std::strerror(code));
}

/// Writes `path` by way of a temporary file beside it: nothing is at `path`, or what was there before, until
/// `commit()` has everything on the disk. Without `commit()` the destructor removes the temporary file.
/// A `path` that is a device or a pipe is written directly. Every failure throws io_error.
class atomic_file {
 public:
  explicit atomic_file(std::string path) : path_(std::move(path)) {
    struct stat existing {};
    const bool exists = ::stat(path_.c_str(), &existing) == 0;
    if (exists && S_ISDIR(existing.st_mode)) throw_errno("cannot write", path_, EISDIR);
    if (exists && !S_ISREG(existing.st_mode)) {
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) throw_errno("cannot write", path_);
      return;
    }
    if (exists) {  // a symbolic link stays a link: its target is replaced
      if (char* target = ::realpath(path_.c_str(), nullptr)) {
        path_ = target;
        std::free(target);
      }
    }
    temporary_ = path_ + ".XXXXXX.tmp";
    fd_ = ::mkostemps(temporary_.data(), 4, O_CLOEXEC);
    if (fd_ < 0) {
      temporary_.clear();
      throw_errno("cannot write", path_);
    }
    const mode_t mask = ::umask(0);
    ::umask(mask);
    (void)::fchmod(fd_, exists ? (existing.st_mode & 0777) : (0666 & ~mask));
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() { discard(); }

  void write(const void* data, std::size_t bytes) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::write(fd_, from, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail();
      from += n;
      bytes -= std::size_t(n);
    }
  }
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// Puts the file in its place.
  void commit() {
    if (!temporary_.empty() && ::fsync(fd_) != 0) fail();
    const int closed = ::close(std::exchange(fd_, -1));
    if (closed != 0) fail();
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
    temporary_.clear();
    const std::size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
    const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {  // the new name outlives a power cut too; not every file system can do it
      (void)::fsync(directory);
      ::close(directory);
    }
  }

 private:
  [[noreturn]] void fail() {
    const int code = errno;
    discard();
    throw_errno("cannot write", path_, code);
  }
  void discard() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
  }

  std::string path_, temporary_;
  int fd_ = -1;
};

}  // namespace cotangent::io
