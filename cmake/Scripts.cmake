# Server-side scripts: src/<component>/*.lua become generated/<component>/scripts.{c,h}. Libraries
# that several components use are in src/shared and src/line.

# Adds the build steps and puts the generated C files into the variable named by `result`.
function(tackle_embed_scripts result)
  file(GLOB all CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src src/*/*.lua)
  set(components ${all})
  list(TRANSFORM components REPLACE "/.*" "")
  list(REMOVE_DUPLICATES components)
  list(REMOVE_ITEM components shared line)

  file(GLOB embed_sources CONFIGURE_DEPENDS tools/embed/*.c)
  add_executable(embed ${embed_sources})
  target_link_libraries(embed PRIVATE PkgConfig::openssl)

  set(generated "")
  foreach(component ${components})
    set(scripts ${all})
    list(FILTER scripts INCLUDE REGEX "^(${component}|shared|line)/")
    list(TRANSFORM scripts PREPEND ${PROJECT_SOURCE_DIR}/src/)
    file(GLOB headers CONFIGURE_DEPENDS src/${component}/*.h)
    list(PREPEND headers ${PROJECT_SOURCE_DIR}/include/tackle/common.h
      ${PROJECT_SOURCE_DIR}/src/core/options.h ${PROJECT_SOURCE_DIR}/src/line/line.h)
    set(out ${PROJECT_BINARY_DIR}/generated/${component})
    add_custom_command(
      OUTPUT ${out}/scripts.c ${out}/scripts.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND embed ${PROJECT_VERSION} ${PROJECT_SOURCE_DIR}/src/${component} ${out} ${headers}
      DEPENDS embed ${scripts} ${headers}
      COMMENT "Embedding the scripts of ${component}")
    list(APPEND generated ${out}/scripts.c ${out}/scripts.h)
  endforeach()

  # All libraries of this version, for src/functions.
  set(externs "")
  set(items "")
  foreach(component ${components})
    string(APPEND externs "extern const tkl__library tkl__lua_${component};\n")
    string(APPEND items "    &tkl__lua_${component},\n")
  endforeach()
  set(list ${PROJECT_BINARY_DIR}/generated/functions/libraries.c)
  file(CONFIGURE OUTPUT ${list} CONTENT "/* Made by cmake/Scripts.cmake. */
#include \"functions/libraries.h\"

${externs}
const tkl__library *const tkl__libraries[] = {
${items}    NULL,
};
")
  list(APPEND generated ${list})
  set(${result} ${generated} PARENT_SCOPE)
endfunction()

# Functions of the public headers as operations of a loop, for src/loop. `result` as above.
function(tackle_make_operations result)
  file(GLOB headers CONFIGURE_DEPENDS include/tackle/*.h)
  set(made ${PROJECT_BINARY_DIR}/generated/loop/operations_table.c)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated/loop
    COMMAND ${PROJECT_SOURCE_DIR}/tools/operations ${headers} > ${made}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${made}.new ${made}
    DEPENDS ${headers} ${PROJECT_SOURCE_DIR}/tools/operations
    COMMENT "Functions as operations of a loop")
  set(${result} ${made} PARENT_SCOPE)
endfunction()
