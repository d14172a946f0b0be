# Installation: libraries, headers, command, manual, completion, and two ways to find them again,
# pkg-config (tackle.pc) and CMake (find_package(tackle)). Both find their way from where they
# are, so a tree that was moved or installed below DESTDIR works.

include(CMakePackageConfigHelpers)

# All users may read what a package has, whatever the umask is when it is made.
set(everybody_reads OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(everybody_runs ${everybody_reads} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tackle)

# The static library drags its dependencies along; it is a component of its own so that users of
# the shared one need no headers but ours.
install(TARGETS tackle EXPORT tackle-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS tackle_static EXPORT tackle-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT development)
install(TARGETS tackle_text LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP
  COMPONENT library)
install(EXPORT tackle-shared NAMESPACE tackle:: DESTINATION ${config_dir}
  COMPONENT development)
install(EXPORT tackle-static NAMESPACE tackle:: DESTINATION ${config_dir}
  COMPONENT development)
configure_package_config_file(cmake/tackle-config.cmake.in
  ${PROJECT_BINARY_DIR}/tackle-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tackle-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/tackle-config.cmake ${PROJECT_BINARY_DIR}/tackle-config-version.cmake
  DESTINATION ${config_dir} COMPONENT development)

file(RELATIVE_PATH prefix_from_pc
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(tackle.pc.in tackle.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tackle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)

install(DIRECTORY include/tackle ${PROJECT_BINARY_DIR}/include/tackle
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")

# Pages, examples and licence, in the folders that the pages' links expect.
file(GLOB pages CONFIGURE_DEPENDS docs/*.md)
file(GLOB chinese_readme CONFIGURE_DEPENDS README.zh-CN.md)
file(GLOB chinese_pages CONFIGURE_DEPENDS docs/zh/*.md)
file(GLOB examples CONFIGURE_DEPENDS examples/*.c examples/*.sh)
file(GLOB naive_examples CONFIGURE_DEPENDS examples/naive/*.c examples/naive/*.h)
install(FILES README.md ${chinese_readme} CONTRIBUTING.md CHANGELOG.md SECURITY.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT command)
install(FILES ${chinese_pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs/zh COMPONENT command)
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)
file(GLOB metrics_examples CONFIGURE_DEPENDS examples/metrics/*)
install(FILES ${metrics_examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/metrics
  COMPONENT command)
foreach(clients http node)
  file(GLOB files CONFIGURE_DEPENDS clients/${clients}/*)
  install(FILES ${files} DESTINATION ${CMAKE_INSTALL_DOCDIR}/clients/${clients} COMPONENT command)
endforeach()
install(FILES ${naive_examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/naive
  COMPONENT command)
install(FILES docs/man/libtackle.3 docs/man/tackle.3
  DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

# Python finds packages of Debian here. Without a package, pip installs the wheel.
if(TARGET python)
  install(DIRECTORY ${python_dir}/tackle DESTINATION lib/python3/dist-packages COMPONENT python
    EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
endif()

if(TARGET tackle_cli)
  install(TARGETS tackle_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)

  # The manual: a page for the command and one for each component, made from its own tables.
  set(man_dir ${PROJECT_BINARY_DIR}/man)
  add_custom_command(
    OUTPUT ${man_dir}/tackle.1
    COMMAND ${PROJECT_SOURCE_DIR}/tools/manual $<TARGET_FILE:tackle_cli>
            ${PROJECT_SOURCE_DIR}/docs/man/tackle.1.in ${man_dir}
    DEPENDS tackle_cli tools/manual docs/man/tackle.1.in
    COMMENT "Writing the manual")
  add_custom_target(manual ALL DEPENDS ${man_dir}/tackle.1)
  install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
endif()
if(TARGET tackle_serve)
  install(TARGETS tackle_serve tackle_post RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tackle
    COMPONENT command)
  configure_file(serve/systemd/tackle-serve.service.in tackle-serve.service @ONLY)
  install(FILES serve/systemd/tackle-serve.socket ${PROJECT_BINARY_DIR}/tackle-serve.service
    DESTINATION lib/systemd/system COMPONENT command)
endif()
install(FILES cli/completion/tackle.bash RENAME tackle COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
# Debian's zsh looks for completions of packages here, and for those of /usr/local there.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder vendor-completions)
else()
  set(zsh_folder site-functions)
endif()
install(FILES cli/completion/_tackle COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder})
install(FILES cli/completion/tackle.fish COMPONENT command
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# ---- Debian packages: cpack -G DEB ------------------------------------------------------------

set(CPACK_PACKAGE_NAME tackle)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
# The maintainer is whoever makes the packages: DEBFULLNAME and DEBEMAIL, as for other tools.
set(maintainer_name "$ENV{DEBFULLNAME}")
set(maintainer_mail "$ENV{DEBEMAIL}")
if(NOT maintainer_name OR NOT maintainer_mail)
  set(maintainer_name "the tackle developers")
  set(maintainer_mail "tackle@example.org")
endif()
set(TACKLE_MAINTAINER "${maintainer_name} <${maintainer_mail}>" CACHE STRING
  "Maintainer of the packages: Name <mail>")
set(CPACK_PACKAGE_CONTACT "${TACKLE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "application components on Redis and Valkey")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL command library development)
if(TARGET python)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(package_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
set(so_version ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tackle)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
# The command has libtackle inside, and loads libtackle-text.so when there is text to fold.
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libtackle${so_version} (= ${package_version})")
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "redis-server | valkey-server, libedit2")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command tackle, its manual and completions.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtackle${so_version})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  "${PROJECT_BINARY_DIR}/triggers" "${PROJECT_BINARY_DIR}/shlibs")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library libtackle.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtackle-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtackle${so_version} (= ${package_version}),\
 libhiredis-dev, libssl-dev, libxxhash-dev, libjansson-dev, zlib1g-dev, libcsv-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers, static library and pages of libtackle.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tackle)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "python3 (>= 3.9), libtackle${so_version} (= ${package_version})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  "${PROJECT_BINARY_DIR}/python-scripts/postinst" "${PROJECT_BINARY_DIR}/python-scripts/prerm")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "The package tackle for Python 3.")
# Byte code is made where the package is installed, for the interpreters that are there.
file(WRITE ${PROJECT_BINARY_DIR}/python-scripts/postinst "\
#!/bin/sh
set -e
if [ \"$1\" = configure ] && command -v py3compile >/dev/null 2>&1; then
    py3compile -p python3-tackle
fi
")
file(WRITE ${PROJECT_BINARY_DIR}/python-scripts/prerm "\
#!/bin/sh
set -e
if command -v py3clean >/dev/null 2>&1; then
    py3clean -p python3-tackle
fi
")
file(CHMOD ${PROJECT_BINARY_DIR}/python-scripts/postinst ${PROJECT_BINARY_DIR}/python-scripts/prerm
  PERMISSIONS ${everybody_runs})
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")

# Packages that programs depend on when they link with the library.
file(WRITE ${PROJECT_BINARY_DIR}/shlibs "\
libtackle ${so_version} libtackle${so_version} (>= ${PROJECT_VERSION})
libtackle-text ${PROJECT_VERSION} libtackle${so_version} (= ${package_version})
")

file(CHMOD ${PROJECT_BINARY_DIR}/triggers ${PROJECT_BINARY_DIR}/shlibs
  PERMISSIONS ${everybody_reads})

# What Debian wants in its own form is made when the packages are: see there.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/Debian.cmake)
set(CPACK_TACKLE_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_TACKLE_BINARY ${PROJECT_BINARY_DIR})
set(CPACK_TACKLE_VERSION ${package_version})
include(CPack)
