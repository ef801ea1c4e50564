#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>

int main(int count, char** arguments) { return Catch::Session().run(count, arguments); }
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
