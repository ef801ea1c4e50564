#pragma once
/// Memory whose neighbours cannot be touched.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

/// A buffer that ends where an unreadable page begins, and one that begins where an unreadable page ends.
class guarded_buffer {
 public:
  explicit guarded_buffer(std::size_t bytes) : page_(std::size_t(sysconf(_SC_PAGESIZE))), inside_(bytes == 0 ? page_ : (bytes + page_ - 1) / page_ * page_), bytes_(bytes) {
    start_ = static_cast<char*>(mmap(nullptr, inside_ + 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(start_, page_, PROT_NONE);
    mprotect(start_ + page_ + inside_, page_, PROT_NONE);
  }
  guarded_buffer(const guarded_buffer&) = delete;
  ~guarded_buffer() { munmap(start_, inside_ + 2 * page_); }
  template <class T> T* as() const { return reinterpret_cast<T*>(start_ + page_ + inside_ - bytes_); }
  template <class T> T* first() const { return reinterpret_cast<T*>(start_ + page_); }

 private:
  std::size_t page_, inside_, bytes_;
  char* start_;
};
