#pragma once
/// A growing array for constant evaluation. Compilers count the steps of an evaluation, and std::vector takes several
/// times as many per element.

#include <cstddef>
#include <initializer_list>
#include <utility>

namespace cotangent {

/// The part of std::vector's interface that passes over graphs need. Elements are default-constructible.
template <class T> class sequence {
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;

  constexpr void grow(std::size_t n) {
    T* bigger = new T[n]();
    for (std::size_t i = 0; i < size_; ++i) bigger[i] = std::move(data_[i]);
    delete[] data_;
    data_ = bigger, capacity_ = n;
  }

 public:
  constexpr sequence() = default;
  constexpr sequence(std::initializer_list<T> list) {
    if (list.size()) grow(list.size());
    for (const T& x : list) data_[size_++] = x;
  }
  constexpr sequence(std::size_t n, const T& x) { assign(n, x); }
  constexpr sequence(const sequence& o) { *this = o; }
  constexpr sequence(sequence&& o) noexcept : data_(o.data_), size_(o.size_), capacity_(o.capacity_) {
    o.data_ = nullptr, o.size_ = o.capacity_ = 0;
  }
  constexpr sequence& operator=(const sequence& o) {
    if (this == &o) return *this;
    size_ = 0;
    if (o.size_ > capacity_) grow(o.size_);
    for (std::size_t i = 0; i < o.size_; ++i) data_[i] = o.data_[i];
    size_ = o.size_;
    return *this;
  }
  constexpr sequence& operator=(sequence&& o) noexcept {
    if (this == &o) return *this;
    delete[] data_;
    data_ = o.data_, size_ = o.size_, capacity_ = o.capacity_;
    o.data_ = nullptr, o.size_ = o.capacity_ = 0;
    return *this;
  }
  constexpr ~sequence() { delete[] data_; }

  constexpr void push_back(const T& x) {
    if (size_ < capacity_) {
      data_[size_++] = x;
    } else {
      T kept = x;  // x may be an element
      grow(size_ < 8 ? 16 : 3 * size_);
      data_[size_++] = std::move(kept);
    }
  }
  constexpr void pop_back() { --size_; }
  constexpr void clear() { size_ = 0; }
  constexpr void reserve(std::size_t n) {
    if (n > capacity_) grow(n);
  }
  constexpr void assign(std::size_t n, const T& x) {
    size_ = 0;
    reserve(n);
    for (; size_ < n; ++size_) data_[size_] = x;
  }
  /// Removes the first n elements.
  constexpr void drop_front(std::size_t n) {
    for (std::size_t i = n; i < size_; ++i) data_[i - n] = std::move(data_[i]);
    size_ -= n;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& back() { return data_[size_ - 1]; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
};

}  // namespace cotangent
