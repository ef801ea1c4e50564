// expect: tree_map: the trees differ in structure
#include <cotangent/core/tree.hpp>
auto t = cotangent::tree_map([](auto a, auto b) { return a + b; }, std::tuple{1, 2}, std::tuple{1, 2, 3});
