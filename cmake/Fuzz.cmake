# Fuzzers: tests/fuzz/*_fuzz.c, one libFuzzer program each, with the library under
# AddressSanitizer and UBSan. `make fuzz` builds and runs them.

set(fuzz_flags -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
target_compile_options(tackle_objects PRIVATE ${fuzz_flags})

add_custom_target(fuzzers)
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
foreach(source ${fuzz_sources})
  get_filename_component(fuzzer ${source} NAME_WE)
  add_executable(${fuzzer} EXCLUDE_FROM_ALL ${source})
  set_target_properties(${fuzzer} PROPERTIES RUNTIME_OUTPUT_DIRECTORY fuzz)
  target_include_directories(${fuzzer} PRIVATE src)
  target_compile_options(${fuzzer} PRIVATE ${fuzz_flags})
  target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${fuzzer} PRIVATE tackle_static)
  add_dependencies(fuzzers ${fuzzer})
endforeach()

# All verbs of the command, in the process of the fuzzer.
target_compile_options(tackle_cli_objects PRIVATE ${fuzz_flags})
target_include_directories(verbs_fuzz PRIVATE cli)
target_link_libraries(verbs_fuzz PRIVATE tackle_cli_objects)

# Requests of the HTTP server.
target_compile_options(tackle_serve_objects PRIVATE ${fuzz_flags})
target_include_directories(request_fuzz PRIVATE serve)
target_link_libraries(request_fuzz PRIVATE tackle_serve_objects tackle_cli_objects)
