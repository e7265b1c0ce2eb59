# muster_embed(TARGET FILE FUNCTION): the bytes of FILE become `std::string_view FUNCTION()` of a
# source file of TARGET. The assembler takes them in: a literal would be slow to compile.
function(muster_embed TARGET FILE FUNCTION)
  string(REPLACE "::" "_" SYMBOL ${FUNCTION})
  string(REGEX REPLACE "::[^:]*$" "" SPACE ${FUNCTION})
  string(REGEX REPLACE "^.*::" "" NAME ${FUNCTION})
  set(OUTPUT ${CMAKE_BINARY_DIR}/embedded/${SYMBOL}.cc)
  file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
"// The bytes of a file, by the assembler.
#include <string_view>
__asm__(
    \".section .rodata\\n\"
    \".global ${SYMBOL}_begin\\n.global ${SYMBOL}_end\\n\"
    \"${SYMBOL}_begin:\\n.incbin \\\"${FILE}\\\"\\n${SYMBOL}_end:\\n.byte 0\\n\"
    \".previous\\n\");
extern \"C\" const char ${SYMBOL}_begin[];
extern \"C\" const char ${SYMBOL}_end[];
namespace ${SPACE} {
std::string_view ${NAME}();
std::string_view ${NAME}() { return {${SYMBOL}_begin, ${SYMBOL}_end}; }
}  // namespace ${SPACE}
")
  set_source_files_properties(${OUTPUT} PROPERTIES OBJECT_DEPENDS ${FILE})
  target_sources(${TARGET} PRIVATE ${OUTPUT})
endfunction()
