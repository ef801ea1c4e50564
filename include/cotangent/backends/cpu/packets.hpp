#pragma once
/// Instances to and from the lanes of packets (compiler/packets.hpp), in blocks that are transposed in registers.

#include <cotangent/backends/cpu/pack.hpp>

namespace cotangent::host {
inline namespace COTANGENT_ISA {

/// Where the instances of an array lie: `before` blocks, `instances` rows in each, `elements` in a row.
struct instance_rows {
  extent before = 1, instances = 1, elements = 1;
  instance_rows(const shape& dims, int axis) : instances(dims[axis]) {
    for (int i = 0; i < axis; ++i) before *= dims[i];
    for (int i = axis + 1; i < dims.rank; ++i) elements *= dims[i];
  }
};

/// One row per element, of Lanes instances each, from `count` rows of instances. Behind the last instance it is repeated.
template <int Lanes, class T> void rows_to_lanes(const T* from, extent elements, extent count, T* to) {
  constexpr int N = native_bytes / int(sizeof(T)) < Lanes ? native_bytes / int(sizeof(T)) : Lanes;
  if constexpr (N == 1 || sizeof(T) < 4) {
    for (extent j = 0; j < elements; ++j)
      for (extent i = 0; i < Lanes; ++i) to[j * Lanes + i] = from[(i < count ? i : count - 1) * elements + j];
  } else
    for (extent lane = 0; lane < Lanes; lane += N)
      for (extent j = 0; j < elements; j += N) {
        const int columns = elements - j < N ? int(elements - j) : N;
        pack<T, N> rows[N];
        for (int i = 0; i < N; ++i) {
          const T* row = from + (lane + i < count ? lane + i : count - 1) * elements + j;
          rows[i] = columns == N ? pack<T, N>::load(row) : pack<T, N>::load(row, columns);
        }
        transpose(rows);
        for (int i = 0; i < columns; ++i) rows[i].store(to + (j + i) * Lanes + lane);
      }
}
/// And back, the first `count` instances.
template <int Lanes, class T> void lanes_to_rows(const T* from, extent elements, extent count, T* to) {
  constexpr int N = native_bytes / int(sizeof(T)) < Lanes ? native_bytes / int(sizeof(T)) : Lanes;
  if constexpr (N == 1 || sizeof(T) < 4) {
    for (extent j = 0; j < elements; ++j)
      for (extent i = 0; i < count; ++i) to[i * elements + j] = from[j * Lanes + i];
  } else
    for (extent lane = 0; lane < count; lane += N)
      for (extent j = 0; j < elements; j += N) {
        const int columns = elements - j < N ? int(elements - j) : N, filled = count - lane < N ? int(count - lane) : N;
        pack<T, N> rows[N];
        for (int i = 0; i < N; ++i) rows[i] = pack<T, N>::load(from + (j + (i < columns ? i : 0)) * Lanes + lane);
        transpose(rows);
        for (int i = 0; i < filled; ++i) {
          T* row = to + (lane + i) * elements + j;
          if (columns == N) rows[i].store(row);
          else rows[i].store(row, columns);
        }
      }
}

/// Instances [first, first + count) of an array to a packet's memory.
template <int Lanes, class T> void fill_packet(const void* array, const instance_rows& rows, extent first, extent count, void* packet) {
  for (extent b = 0; b < rows.before; ++b)
    rows_to_lanes<Lanes>(static_cast<const T*>(array) + (b * rows.instances + first) * rows.elements, rows.elements, count, static_cast<T*>(packet) + b * rows.elements * Lanes);
}
template <int Lanes, class T> void empty_packet(const void* packet, const instance_rows& rows, extent first, extent count, void* array) {
  for (extent b = 0; b < rows.before; ++b)
    lanes_to_rows<Lanes>(static_cast<const T*>(packet) + b * rows.elements * Lanes, rows.elements, count, static_cast<T*>(array) + (b * rows.instances + first) * rows.elements);
}

}  // namespace COTANGENT_ISA
}  // namespace cotangent::host
