# The Python package, in python/ of the build folder: bindings/python/tackle, and the modules that
# tools/headers.py makes from the public headers and tools/aio.py from the package; and the same as a
# wheel. Nothing is compiled.

# The distribution's own interpreter has the distribution's modules (pytest, mypy).
find_program(python_program python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(python_program python3)
if(NOT python_program)
  message(STATUS "no python3: the Python package is left out")
  return()
endif()

set(python_dir ${PROJECT_BINARY_DIR}/python)
set(python_wheel ${PROJECT_BINARY_DIR}/tackle-${PROJECT_VERSION}-py3-none-any.whl)
file(GLOB python_sources CONFIGURE_DEPENDS bindings/python/tackle/*.py bindings/python/tackle/py.typed)
file(GLOB python_aio_sources CONFIGURE_DEPENDS bindings/python/tackle/aio/*.py)
file(GLOB python_headers CONFIGURE_DEPENDS include/tackle/*.h)

add_custom_command(
  OUTPUT ${python_wheel}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${python_dir}/tackle
  COMMAND ${CMAKE_COMMAND} -E make_directory ${python_dir}/tackle/aio
  COMMAND ${CMAKE_COMMAND} -E copy ${python_sources} ${python_dir}/tackle
  COMMAND ${CMAKE_COMMAND} -E copy ${python_aio_sources} ${python_dir}/tackle/aio
  COMMAND ${python_program} ${PROJECT_SOURCE_DIR}/bindings/python/tools/headers.py
          ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${python_dir}/tackle
  COMMAND ${python_program} ${PROJECT_SOURCE_DIR}/bindings/python/tools/aio.py ${python_dir}/tackle
  COMMAND ${python_program} ${PROJECT_SOURCE_DIR}/bindings/python/tools/wheel.py
          ${python_dir}/tackle ${PROJECT_VERSION} ${PROJECT_SOURCE_DIR}/LICENSE ${python_wheel}
  DEPENDS ${python_sources} ${python_aio_sources} ${python_headers} ${PROJECT_BINARY_DIR}/include/tackle/version.h
          bindings/python/tools/headers.py bindings/python/tools/aio.py bindings/python/tools/wheel.py
  COMMENT "Making the Python package")
add_custom_target(python ALL DEPENDS ${python_wheel})
