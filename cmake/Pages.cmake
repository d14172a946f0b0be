# The dashboard: web/* become generated/serve/pages.c, a table of files with their bytes and the first
# digits of their SHA-256. Run as a script (cmake -P) with SOURCE, the folder, and OUT, the C file.

# Adds the build step and puts the generated C file into the variable named by `result`.
function(tackle_embed_pages result)
  file(GLOB files CONFIGURE_DEPENDS web/* web/pages/*)
  set(out ${PROJECT_BINARY_DIR}/generated/serve/pages.c)
  set(script ${PROJECT_SOURCE_DIR}/cmake/Pages.cmake)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}/web -DOUT=${out} -P ${script}
    DEPENDS ${files} ${script}
    COMMENT "Embedding the dashboard")
  set(${result} ${out} PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

file(GLOB_RECURSE names RELATIVE ${SOURCE} ${SOURCE}/*)
list(SORT names)
set(arrays "")
set(rows "")
set(number 0)
foreach(name ${names})
  file(READ ${SOURCE}/${name} bytes HEX)
  file(SHA256 ${SOURCE}/${name} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes
    "${bytes}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}\n};\n")
  string(APPEND rows
    "    {\"/${name}\", \"\\\"${hash}\\\"\", file_${number}, sizeof file_${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by cmake/Pages.cmake. */
#include \"pages.h\"

${arrays}
const serve_page serve_pages[] = {
${rows}    {0},
};
")
