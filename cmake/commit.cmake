# Writes OUTPUT, a header with the commit of the tree at SOURCE. Run by every build; the file is
# left alone while it would be the same.
execute_process(COMMAND git describe --always --abbrev=9 --exclude=* --dirty=+
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE COMMIT ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
set(TEXT "#define MUSTER_COMMIT \"${COMMIT}\"\n")
set(BEFORE "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} BEFORE)
endif()
if(NOT TEXT STREQUAL BEFORE)
  file(WRITE ${OUTPUT} ${TEXT})
endif()
