# libtackle-text.so: what is made with ICU and libstemmer, src/text/icu. libtackle loads it when it
# first needs it (see src/text/text.c), so nothing links with it.

pkg_check_modules(icu REQUIRED IMPORTED_TARGET icu-uc)
find_path(stemmer_include libstemmer.h REQUIRED)
find_library(stemmer_library stemmer REQUIRED)

# Readings and simplified forms of Chinese characters, from the package unicode-data.
find_path(unihan_dir NAMES Unihan_Readings.txt.bz2 Unihan_Readings.txt.gz Unihan_Readings.txt
  HINTS /usr/share/unicode /usr/share/unicode/ucd REQUIRED)
if(NOT EXISTS ${unihan_dir}/Unihan_Readings.txt AND EXISTS ${unihan_dir}/Unihan_Readings.txt.bz2)
  find_program(bzip2_program bzip2)
  if(NOT bzip2_program)
    message(FATAL_ERROR "The tables of Chinese characters in ${unihan_dir} are packed by bzip2, which "
      "is missing: install the package bzip2, or run tools/setup build.")
  endif()
endif()
set(hanzi ${PROJECT_BINARY_DIR}/generated/text/hanzi.inc)
add_custom_command(
  OUTPUT ${hanzi}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated/text
  COMMAND ${PROJECT_SOURCE_DIR}/tools/readings ${unihan_dir} > ${hanzi}.new
  COMMAND ${CMAKE_COMMAND} -E rename ${hanzi}.new ${hanzi}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/readings
  COMMENT "Readings of Chinese characters")

file(GLOB text_sources CONFIGURE_DEPENDS src/text/icu/*.c)
add_library(tackle_text SHARED ${text_sources} ${hanzi} src/text/lookup.c src/core/buf.c)
set_target_properties(tackle_text PROPERTIES OUTPUT_NAME tackle-text
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION} C_VISIBILITY_PRESET hidden)
target_include_directories(tackle_text PRIVATE include ${PROJECT_BINARY_DIR}/include src
  ${PROJECT_BINARY_DIR}/generated/text ${stemmer_include})
target_compile_options(tackle_text PRIVATE -Wno-conversion -Wno-sign-conversion) # ICU's macros
target_link_libraries(tackle_text PRIVATE PkgConfig::icu ${stemmer_library} Threads::Threads)

# How it is found: programs of the build look there, libtackle.so looks beside itself, the command
# where it is installed, and programs with libtackle.a at last in this folder.
set(last_resort ${CMAKE_INSTALL_FULL_LIBDIR})
if(TACKLE_SANITIZE) # their dlopen() does not know the RUNPATH of the caller
  set(last_resort ${PROJECT_BINARY_DIR})
endif()
set_source_files_properties(src/text/text.c PROPERTIES
  COMPILE_DEFINITIONS TKL__LIBDIR="${last_resort}")
set_target_properties(tackle PROPERTIES INSTALL_RPATH $ORIGIN)
file(RELATIVE_PATH lib_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set_target_properties(tackle_cli PROPERTIES INSTALL_RPATH $ORIGIN/${lib_from_bin})
add_dependencies(tackle tackle_text)
add_dependencies(tackle_static tackle_text)
