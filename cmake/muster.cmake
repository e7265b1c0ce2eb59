# How Muster's targets are made. Files are found by name and place: adding one needs no edit here.
#
#   muster_library(NAME [DEPS lib...] [LIBS target...])
#     src/NAME/**.cc become the library muster_NAME, its *_test.cc, with what is in
#     its testing/, the tests muster_NAME_test
#   muster_app(NAME [DEPS lib...] [LIBS target...] [ALLOCATOR target])
#     apps/NAME/**.cc become build/<preset>/NAME
#   muster_gtest(TARGET LABEL label SOURCES file... [DEPS lib...] [LIBS target...] [TIMEOUT s])
#   muster_command_test(NAME LABEL label COMMAND ... [TIMEOUT s])
#   muster_bench(NAME SOURCES file... [DEPS lib...] [LIBS target...])
#     becomes build/<preset>/bin/bench_NAME, run by `make bench-NAME`
#   muster_fuzz(NAME SOURCES file... [DEPS lib...] [LIBS target...] [RUNS n] [MAX_LEN bytes]
#               [SEEDS glob...] [LONG])
#     a libFuzzer target, in the asan preset only; SEEDS are the files it starts from; with LONG
#     inputs are not short at first
#   muster_soak(NAME KIND kind BINARY target [OPTIONS ...])
#     a long run of that binary; tools/soak.sh knows the kinds. Every fuzzer has one.
#
# DEPS are names of src/ folders, LIBS are CMake targets. Tests run in the root of the source tree.
# Labels: tidy unit scenario property sim fuzz server e2e contract cli (`make test`),
# soak (`make soak`).

include(GoogleTest)

# The headers nearly every file uses, compiled once; every target reuses it. Commands reuse a second
# one that has CLI11 as well, which costs each of them seconds otherwise.
function(muster_precompile)
  if(NOT MUSTER_PCH)
    return()
  endif()
  muster_precompile_one(muster_pch pch.cc)
  muster_precompile_one(muster_cli_pch cli_pch.cc LIBS CLI11::CLI11 HEADERS <CLI/CLI.hpp>)
endfunction()

function(muster_precompile_one NAME FILE)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" MUSTER_BUILD_TYPE)
  cmake_parse_arguments(ARG "" "" "LIBS;HEADERS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/pch/${FILE} CONTENT "// Makes the precompiled header.\n")
  add_library(${NAME} OBJECT ${CMAKE_BINARY_DIR}/pch/${FILE})
  target_link_libraries(${NAME} PRIVATE fmt::fmt ${ARG_LIBS})
  target_precompile_headers(${NAME} PRIVATE
    <algorithm> <array> <chrono> <compare> <cstddef> <cstdint> <functional> <limits> <map> <memory>
    <optional> <set> <span> <string> <string_view> <tuple> <type_traits> <unordered_map> <utility>
    <variant> <vector> <fmt/format.h> ${ARG_HEADERS})
  # A precompiled header has the path of its folder in it, so ccache would miss in every new clone:
  # it compares this text instead, which says what went into the header.
  set(SUM "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE}")
  string(APPEND SUM " ${CMAKE_CXX_FLAGS_${MUSTER_BUILD_TYPE}} ${MUSTER_SANITIZE} ${ARG_HEADERS}")
  foreach(PACKAGE libstdc++-12-dev libc6-dev libfmt-dev libcli11-dev)
    execute_process(COMMAND dpkg-query -W ${PACKAGE} OUTPUT_VARIABLE VERSION ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND SUM " ${VERSION}")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/CMakeFiles/${NAME}.dir/cmake_pch.hxx.pch.sum
    CONTENT "${SUM}\n")
endfunction()

# The rest of the arguments: what it is linked with.
function(muster_configure_target TARGET)
  target_include_directories(${TARGET} PRIVATE ${CMAKE_SOURCE_DIR})
  if(TARGET muster_cli_pch AND "CLI11::CLI11" IN_LIST ARGN)
    target_precompile_headers(${TARGET} REUSE_FROM muster_cli_pch)
  elseif(TARGET muster_pch)
    target_precompile_headers(${TARGET} REUSE_FROM muster_pch)
  endif()
endfunction()

function(muster_link TARGET)
  foreach(DEP IN LISTS ARGN)
    target_link_libraries(${TARGET} PRIVATE muster_${DEP})
  endforeach()
endfunction()

function(muster_library NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${NAME}/*.cc)
  set(TESTS ${SOURCES})
  list(FILTER SOURCES EXCLUDE REGEX "_(test|bench)\\.cc$|/testing/")
  list(FILTER TESTS INCLUDE REGEX "_test\\.cc$|/testing/")

  set(PUBLIC_DEPS fmt::fmt)
  foreach(DEP IN LISTS ARG_DEPS)
    list(APPEND PUBLIC_DEPS muster_${DEP})
  endforeach()
  if(SOURCES)
    add_library(muster_${NAME} STATIC ${SOURCES})
    target_include_directories(muster_${NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(muster_${NAME} PUBLIC ${PUBLIC_DEPS} PRIVATE ${ARG_LIBS})
    muster_configure_target(muster_${NAME} ${ARG_LIBS})
  else()  # headers only, or the folder is not there yet
    add_library(muster_${NAME} INTERFACE)
    target_include_directories(muster_${NAME} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(muster_${NAME} INTERFACE ${PUBLIC_DEPS})
  endif()
  if(TESTS)
    muster_gtest(muster_${NAME}_test LABEL unit SOURCES ${TESTS} DEPS ${NAME} LIBS ${ARG_LIBS}
      PREFIX ${NAME}.)
  endif()
endfunction()

function(muster_app NAME)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;ALLOCATOR" ${ARGN})
  file(GLOB_RECURSE SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/apps/${NAME}/*.cc)
  list(FILTER SOURCES EXCLUDE REGEX "_(test|bench)\\.cc$")
  if(NOT SOURCES)
    message(STATUS "apps/${NAME} has no sources: no ${NAME} binary")
    return()
  endif()
  add_executable(${NAME} ${SOURCES})
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  muster_configure_target(${NAME})  # most of its files have no options: CLI11 would cost them more
  target_link_libraries(${NAME} PRIVATE ${ARG_ALLOCATOR})  # before all that allocate
  muster_link(${NAME} ${ARG_DEPS})
  target_link_libraries(${NAME} PRIVATE ${ARG_LIBS})
endfunction()

function(muster_gtest TARGET)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT;PREFIX" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT ARG_LABEL OR NOT ARG_SOURCES)
    message(FATAL_ERROR "muster_gtest(${TARGET}) needs LABEL and SOURCES")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_PREFIX)
    set(ARG_PREFIX ${ARG_LABEL}.)
  endif()
  add_executable(${TARGET} ${ARG_SOURCES})
  muster_configure_target(${TARGET} ${ARG_LIBS})
  muster_link(${TARGET} ${ARG_DEPS})
  target_link_libraries(${TARGET} PRIVATE ${ARG_LIBS} GTest::gtest_main GTest::gmock)
  gtest_discover_tests(${TARGET}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${ARG_PREFIX}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(muster_command_test NAME)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
  if(NOT ARG_LABEL OR NOT ARG_COMMAND)
    message(FATAL_ERROR "muster_command_test(${NAME}) needs LABEL and COMMAND")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${NAME} COMMAND ${ARG_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${NAME} PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
endfunction()

function(muster_bench NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(bench_${NAME} ${ARG_SOURCES})
  muster_configure_target(bench_${NAME})
  muster_link(bench_${NAME} ${ARG_DEPS})
  target_link_libraries(bench_${NAME} PRIVATE ${ARG_LIBS} benchmark::benchmark)
endfunction()

function(muster_fuzz NAME)
  cmake_parse_arguments(ARG "LONG" "RUNS;MAX_LEN" "SOURCES;DEPS;LIBS;SEEDS" ${ARGN})
  if(NOT MUSTER_SANITIZE MATCHES fuzzer-no-link)
    return()
  endif()
  if(NOT ARG_RUNS)
    set(ARG_RUNS 20000)
  endif()
  add_executable(fuzz_${NAME} ${ARG_SOURCES})
  muster_configure_target(fuzz_${NAME})
  muster_link(fuzz_${NAME} ${ARG_DEPS})
  target_link_libraries(fuzz_${NAME} PRIVATE ${ARG_LIBS})
  target_link_options(fuzz_${NAME} PRIVATE -fsanitize=fuzzer)

  set(OPTIONS -timeout=60 -print_final_stats=1 -artifact_prefix=${CMAKE_BINARY_DIR}/)
  if(ARG_MAX_LEN)
    list(APPEND OPTIONS -max_len=${ARG_MAX_LEN})
  endif()
  if(ARG_LONG)
    list(APPEND OPTIONS -len_control=0)
  endif()
  if(ARG_SEEDS)
    file(GLOB_RECURSE SEEDS CONFIGURE_DEPENDS ${ARG_SEEDS})
    list(JOIN SEEDS "," SEEDS)
    file(WRITE ${CMAKE_BINARY_DIR}/fuzz_${NAME}.seeds "${SEEDS}")
    list(APPEND OPTIONS -seed_inputs=@${CMAKE_BINARY_DIR}/fuzz_${NAME}.seeds)
  endif()
  muster_command_test(fuzz.${NAME} LABEL fuzz TIMEOUT 300
    COMMAND fuzz_${NAME} -runs=${ARG_RUNS} -seed=1 ${OPTIONS})
  muster_soak(fuzz_${NAME} KIND fuzz BINARY fuzz_${NAME} OPTIONS ${OPTIONS})
endfunction()

function(muster_soak NAME)
  cmake_parse_arguments(ARG "" "KIND;BINARY" "OPTIONS" ${ARGN})
  muster_command_test(soak.${NAME} LABEL soak TIMEOUT 14400
    COMMAND tools/soak.sh ${ARG_KIND} $<TARGET_FILE:${ARG_BINARY}> ${ARG_OPTIONS})
endfunction()
