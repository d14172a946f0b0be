# One language standard, one set of warnings, optimised with symbols unless asked otherwise.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, RelWithDebInfo or Release" FORCE)
endif()
# Without NDEBUG: assertions guard invariants in what people run, too.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_definitions(_GNU_SOURCE)
add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes)
if(TACKLE_WERROR AND NOT TACKLE_SANITIZE) # among what sanitizers insert, gcc sees ghosts
  add_compile_options(-Werror)
endif()

# Hardening of what is installed. Distributions set the same flags themselves.
include(CheckCCompilerFlag)
if(NOT TACKLE_SANITIZE AND NOT TACKLE_FUZZ)
  add_compile_options(-fstack-protector-strong -fno-plt)
  if(NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  check_c_compiler_flag(-fcf-protection has_cf_protection)
  if(has_cf_protection)
    add_compile_options(-fcf-protection)
  endif()
  add_link_options(LINKER:-z,relro LINKER:-z,now)
endif()

if(TACKLE_SANITIZE)
  set(sanitize -fsanitize=${TACKLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
