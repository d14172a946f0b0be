# The form that Debian wants, given to the files of each package before it is packed, whatever
# prefix the build has: compressed manual, changelog.Debian.gz, a copyright that programs can read,
# completions where zsh of Debian looks. cpack -G DEB runs it.

find_program(gzip_program gzip REQUIRED)
set(written ${CPACK_TACKLE_BINARY}/debian)
file(MAKE_DIRECTORY ${written})

file(WRITE ${written}/changelog.Debian "\
tackle (${CPACK_TACKLE_VERSION}) unstable; urgency=medium

  * Everything that is new: /usr/share/doc/tackle/CHANGELOG.md

 -- ${CPACK_PACKAGE_CONTACT}  Wed, 18 Nov 2026 00:00:00 +0000
")
execute_process(COMMAND ${gzip_program} -9nf ${written}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)

# The licence behind its title and the line of the copyright; empty lines are written " .".
file(READ ${CPACK_TACKLE_SOURCE}/LICENSE licence)
string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)\n+(.*)" matched "${licence}")
set(holders "${CMAKE_MATCH_1}")
string(STRIP "${CMAKE_MATCH_2}" licence)
string(REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REPLACE "\n" "\n " licence "${licence}")
file(WRITE ${written}/copyright "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tackle

Files: *
Copyright: ${holders}
License: Expat
 ${licence}
")

foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr)
  set(docs ${root}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${docs})
  file(COPY ${written}/copyright ${written}/changelog.Debian.gz DESTINATION ${docs})
  file(GLOB pages ${root}/share/man/man*/*.[1-9])
  if(pages)
    execute_process(COMMAND ${gzip_program} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(EXISTS ${root}/share/zsh/site-functions)
    file(RENAME ${root}/share/zsh/site-functions ${root}/share/zsh/vendor-completions)
  endif()
  # Whatever the umask is, all users may read what root installs.
  execute_process(COMMAND chmod -R u=rwX,go=rX ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
