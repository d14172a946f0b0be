# Tests, examples and benchmarks, one program per file:
#   tests/support/*.c   shared fixtures, a static library
#   tests/clock/        shifts the clock of a server
#   tests/*_test.c      cmocka programs that see the internals
#   tests/cli/*_test.c  cmocka programs that see the command's internals
#   tests/cli/*.sh      the command as a user runs it; $TACKLE names it
#   tests/serve/        the HTTP server: *_test.c see its internals, *.sh call it
#   tests/tools/*.sh    what the build itself is made of
#   tests/clients/*.sh  clients/, where the language of the client is installed
#   tests/install/      what is installed, as a user finds it
#   examples/*.c        public interface only; also run as tests; examples/naive/*.c: classic
#                       techniques that fail, beside tackle
#   bench/*.c           one program
#
# A test says in its own source what it needs:
#   ctest: label threads      (run under ThreadSanitizer by `make tsan`)
#   ctest: cost 30            (takes about so many seconds: the long ones begin first)
# A test that hangs ends after 15 minutes: a slow machine is no failure.

find_program(bash_program bash REQUIRED)
pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)

# Applies the "ctest:" marks of a source file to a test.
function(tackle_test_marks test source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  set_tests_properties(${test} PROPERTIES TIMEOUT 900)
  # No test reads a configuration file of the developer or the machine.
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT TACKLE_CONFIG=/dev/null)
  file(STRINGS ${source} marks REGEX "ctest: (label|cost) ")
  foreach(mark ${marks})
    if(mark MATCHES "ctest: label ([a-z_]+)")
      set_property(TEST ${test} APPEND PROPERTY LABELS ${CMAKE_MATCH_1})
    elseif(mark MATCHES "ctest: cost ([0-9]+)")
      set_tests_properties(${test} PROPERTIES COST ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

function(tackle_shell_test test source)
  add_test(NAME ${test} COMMAND ${bash_program} ${source})
  set(environment
    TACKLE=${PROJECT_BINARY_DIR}/tackle
    TACKLE_SOURCE=${PROJECT_SOURCE_DIR}
    TACKLE_BUILD=${PROJECT_BINARY_DIR}
    TACKLE_SANITIZE=${TACKLE_SANITIZE})
  set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77)
  tackle_test_marks(${test} ${source})
endfunction()

# ---- C tests ----------------------------------------------------------------------------------

file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.c)
file(GLOB test_sources CONFIGURE_DEPENDS tests/*_test.c)

# Shifts the clock of a server (support/timed.h), which is not built with our sanitizers.
add_library(test_clock MODULE tests/clock/shift.c)
target_compile_options(test_clock PRIVATE -fno-sanitize=all)
target_link_options(test_clock PRIVATE -fno-sanitize=all)

add_library(test_support INTERFACE)
target_include_directories(test_support INTERFACE
  tests src ${PROJECT_BINARY_DIR}/generated)
target_compile_definitions(test_support INTERFACE
  TACKLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TACKLE_BINARY_DIR="${PROJECT_BINARY_DIR}"
  TACKLE_TEST_CLOCK_LIBRARY="$<TARGET_FILE:test_clock>")
add_dependencies(test_support test_clock)
target_link_libraries(test_support INTERFACE
  tackle_static PkgConfig::cmocka PkgConfig::jansson m)
if(support_sources)
  add_library(test_fixtures STATIC ${support_sources})
  target_link_libraries(test_fixtures PUBLIC test_support)
else()
  add_library(test_fixtures ALIAS test_support)
endif()

foreach(source ${test_sources})
  get_filename_component(test ${source} NAME_WE)
  add_executable(${test} ${source})
  set_target_properties(${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
  target_link_libraries(${test} PRIVATE test_fixtures)
  string(REGEX REPLACE "_test$" "" name ${test})
  add_test(NAME ${name} COMMAND ${test})
  tackle_test_marks(${name} ${source})
endforeach()

# The command's insides.
file(GLOB cli_test_sources CONFIGURE_DEPENDS tests/cli/*_test.c)
foreach(source ${cli_test_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name cli_${name})
  add_executable(${name}_test ${source})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
  target_include_directories(${name}_test PRIVATE cli)
  target_link_libraries(${name}_test PRIVATE test_fixtures tackle_cli_objects)
  add_test(NAME ${name} COMMAND ${name}_test)
  tackle_test_marks(${name} ${source})
endforeach()

# The HTTP server's insides.
file(GLOB serve_test_sources CONFIGURE_DEPENDS tests/serve/*_test.c)
foreach(source ${serve_test_sources})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_test$" "" name serve_${name})
  add_executable(${name}_test ${source})
  set_target_properties(${name}_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
  target_link_libraries(${name}_test PRIVATE test_fixtures tackle_serve_objects tackle_cli_objects)
  add_test(NAME ${name} COMMAND ${name}_test)
  tackle_test_marks(${name} ${source})
endforeach()

# ---- Shell tests ------------------------------------------------------------------------------

file(GLOB tool_tests CONFIGURE_DEPENDS tests/tools/*.sh)
foreach(source ${tool_tests})
  get_filename_component(test ${source} NAME_WE)
  tackle_shell_test(tools_${test} ${source})
endforeach()

# Users' programs are built without our sanitizers, so only a plain library is tried.
if(NOT TACKLE_SANITIZE)
  tackle_shell_test(install ${PROJECT_SOURCE_DIR}/tests/install/install_test.sh)
  tackle_shell_test(deb ${PROJECT_SOURCE_DIR}/tests/install/deb_test.sh)
  # Both write the list of installed files into the build folder.
  set_tests_properties(install deb PROPERTIES RESOURCE_LOCK install)
endif()

file(GLOB cli_tests CONFIGURE_DEPENDS tests/cli/*.sh)
foreach(source ${cli_tests})
  get_filename_component(test ${source} NAME_WE)
  tackle_shell_test(cli_${test} ${source})
endforeach()

# ---- Python: one run of pytest, which a test of bindings/python/tests begins -------------------

if(TARGET python)
  tackle_shell_test(python ${PROJECT_SOURCE_DIR}/bindings/python/tests/run.sh)
endif()
file(GLOB serve_tests CONFIGURE_DEPENDS tests/serve/*.sh)
foreach(source ${serve_tests})
  get_filename_component(test ${source} NAME_WE)
  tackle_shell_test(serve_${test} ${source})
endforeach()

# ---- Clients in other languages; those of clients/http have their test in tests/serve ------------

file(GLOB client_tests CONFIGURE_DEPENDS tests/clients/*.sh)
foreach(source ${client_tests})
  get_filename_component(test ${source} NAME_WE)
  tackle_shell_test(clients_${test} ${source})
endforeach()

# ---- Examples ---------------------------------------------------------------------------------

file(GLOB example_sources CONFIGURE_DEPENDS examples/*.c examples/naive/*.c)
foreach(source ${example_sources})
  get_filename_component(example ${source} NAME_WE)
  set(folder examples)
  if(source MATCHES "/naive/")
    string(PREPEND example naive_)
    string(APPEND folder /naive)
  endif()
  # Adapters for other libraries: left out, with the reason, where these are missing.
  set(other)
  if(example STREQUAL "loop_uv")
    set(other uv)
  elseif(example STREQUAL "loop_ev")
    set(other ev)
  endif()
  if(other)
    find_library(${other}_library ${other})
    find_path(${other}_headers ${other}.h)
    if(NOT ${other}_library OR NOT ${other}_headers)
      add_test(NAME example_${example} COMMAND ${CMAKE_COMMAND} -E echo "skipped: no lib${other}")
      set_tests_properties(example_${example} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
      continue()
    endif()
    set(other ${${other}_library})
  endif()
  # WATCH needs a connection of its own, which hiredis has.
  if(example STREQUAL "naive_optimistic_retry")
    set(other PkgConfig::hiredis)
  endif()
  add_executable(example_${example} ${source})
  set_target_properties(example_${example} PROPERTIES
    OUTPUT_NAME ${example} RUNTIME_OUTPUT_DIRECTORY ${folder})
  target_link_libraries(example_${example} PRIVATE tackle Threads::Threads ${other})
  add_test(NAME example_${example} COMMAND example_${example})
  set_tests_properties(example_${example} PROPERTIES ENVIRONMENT "TACKLE_URL=embedded:")
  tackle_test_marks(example_${example} ${source})
endforeach()

# ---- Benchmarks -------------------------------------------------------------------------------

file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
if(bench_sources)
  add_executable(tackle_bench ${bench_sources})
  target_include_directories(tackle_bench PRIVATE src bench)
  target_compile_definitions(tackle_bench PRIVATE TACKLE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(tackle_bench PRIVATE
    tackle_static PkgConfig::hiredis PkgConfig::jansson m)
endif()
