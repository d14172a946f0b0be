# Installation: libraries, headers, command, manual, completion, and two ways to find them again,
# pkg-config (tackle.pc) and CMake (find_package(tackle)). Both find their way from where they
# are, so a tree that was moved or installed below DESTDIR works.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tackle)

# The static library drags its dependencies along; it is a component of its own so that users of
# the shared one need no headers but ours.
install(TARGETS tackle EXPORT tackle-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tackle_static EXPORT tackle-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tackle_text LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
install(EXPORT tackle-shared NAMESPACE tackle:: DESTINATION ${config_dir})
install(EXPORT tackle-static NAMESPACE tackle:: DESTINATION ${config_dir})
configure_package_config_file(cmake/tackle-config.cmake.in
  ${PROJECT_BINARY_DIR}/tackle-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tackle-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/tackle-config.cmake ${PROJECT_BINARY_DIR}/tackle-config-version.cmake
  DESTINATION ${config_dir})

file(RELATIVE_PATH prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(tackle.pc.in tackle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tackle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/tackle ${PROJECT_BINARY_DIR}/include/tackle
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

if(TARGET tackle_cli)
  install(TARGETS tackle_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

  # The manual: a page for the command and one for each component, made from its own tables.
  set(man_dir ${PROJECT_BINARY_DIR}/man)
  add_custom_command(
    OUTPUT ${man_dir}/tackle.1
    COMMAND ${PROJECT_SOURCE_DIR}/tools/manual $<TARGET_FILE:tackle_cli>
            ${PROJECT_SOURCE_DIR}/docs/man/tackle.1.in ${man_dir}
    DEPENDS tackle_cli tools/manual docs/man/tackle.1.in
    COMMENT "Writing the manual")
  add_custom_target(manual ALL DEPENDS ${man_dir}/tackle.1)
  install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
file(GLOB completion CONFIGURE_DEPENDS cli/*.bash)
install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tackle)
