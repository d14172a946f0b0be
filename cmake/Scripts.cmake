# Server-side scripts: src/<component>/*.lua become generated/<component>/scripts.{c,h}. Libraries
# that several components use are in src/shared.

# Adds the build steps and puts the generated C files into the variable named by `result`.
function(tackle_embed_scripts result)
  file(GLOB all CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src src/*/*.lua)
  set(components ${all})
  list(TRANSFORM components REPLACE "/.*" "")
  list(REMOVE_DUPLICATES components)
  list(REMOVE_ITEM components shared)

  file(GLOB embed_sources CONFIGURE_DEPENDS tools/embed/*.c)
  add_executable(embed ${embed_sources})
  target_link_libraries(embed PRIVATE PkgConfig::openssl)

  set(generated "")
  foreach(component ${components})
    set(scripts ${all})
    list(FILTER scripts INCLUDE REGEX "^(${component}|shared)/")
    list(TRANSFORM scripts PREPEND ${PROJECT_SOURCE_DIR}/src/)
    set(out ${PROJECT_BINARY_DIR}/generated/${component})
    add_custom_command(
      OUTPUT ${out}/scripts.c ${out}/scripts.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${out}
      COMMAND embed ${PROJECT_SOURCE_DIR}/src/${component} ${out}
      DEPENDS embed ${scripts}
      COMMENT "Embedding the scripts of ${component}")
    list(APPEND generated ${out}/scripts.c ${out}/scripts.h)
  endforeach()
  set(${result} ${generated} PARENT_SCOPE)
endfunction()
