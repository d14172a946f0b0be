# One language standard, one set of warnings, optimised with symbols unless asked otherwise.

if(NOT CMAKE_BUILD_TYPE)
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

if(TACKLE_SANITIZE)
  set(sanitize -fsanitize=${TACKLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()
