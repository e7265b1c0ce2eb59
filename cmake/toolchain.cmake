# Flags of the whole build: warnings, sanitizers, linker, compiler cache. The presets choose.

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
# No path of the build machine in binaries, in CHECK messages or in the compiler cache's keys.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(MUSTER_SANITIZE)
  add_compile_options(
    -fsanitize=${MUSTER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES undefined)
    # Checks of every access, most of which AddressSanitizer makes as well: a quarter to a third of
    # the time it takes to compile a file.
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr,function)
  endif()
endif()

find_program(MUSTER_MOLD mold)
if(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness and -fno-pch-timestamp let ccache keep files that use a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${MUSTER_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  # CMake names the header's text too, by a path that ccache takes for a difference of clones.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()
