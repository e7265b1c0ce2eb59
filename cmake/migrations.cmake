# muster_embed_migrations(TARGET): src/store/migrations/<dialect>/<part>_NNNN.sql become arrays in a
# source file of TARGET, in the order of their names, behind store/migrations.h.
function(muster_embed_migrations TARGET)
  set(ARRAYS "")
  set(ROWS "")
  foreach(DIALECT sqlite postgres)
    foreach(PART books blobs)
      file(GLOB FILES CONFIGURE_DEPENDS
        ${CMAKE_SOURCE_DIR}/src/store/migrations/${DIALECT}/${PART}_*.sql)
      list(SORT FILES)
      set(TEXTS "")
      foreach(FILE IN LISTS FILES)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FILE})
        file(READ ${FILE} SQL)
        string(APPEND TEXTS "R\"sql(${SQL})sql\",\n")
      endforeach()
      string(APPEND ARRAYS
        "constexpr std::string_view ${DIALECT}_${PART}[] = {\n${TEXTS}};\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/migrations_embedded.cc @ONLY CONTENT
"#include \"store/migrations.h\"
namespace muster::store {
namespace {
@ARRAYS@}  // namespace
std::span<const std::string_view> migrations(Dialect dialect, Part part) {
  if (dialect == Dialect::Sqlite) {
    if (part == Part::Books) return sqlite_books;
    return sqlite_blobs;
  }
  if (part == Part::Books) return postgres_books;
  return postgres_blobs;
}
}  // namespace muster::store
")
  target_sources(${TARGET} PRIVATE ${CMAKE_BINARY_DIR}/migrations_embedded.cc)
endfunction()
