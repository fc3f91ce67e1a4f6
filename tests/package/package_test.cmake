# Installs BUILD_DIR into a fresh folder under WORK_DIR, then configures, builds and runs CONSUMER
# against it and nothing else.
foreach(name BUILD_DIR WORK_DIR CONSUMER CXX_COMPILER C_COMPILER GENERATOR)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "package_test: -D${name}=... is missing")
  endif()
endforeach()

function(step what)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "package_test: ${what} failed:\n${output}")
  endif()
  message(STATUS "package_test: ${what}: done")
endfunction()

set(prefix "${WORK_DIR}/installed")
file(REMOVE_RECURSE "${WORK_DIR}")
step("install" "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
if(NOT EXISTS "${prefix}/include/berth/status.h")
  message(FATAL_ERROR "package_test: no public headers in ${prefix}/include/berth")
endif()
foreach(folder absl io kernels runtime)
  if(EXISTS "${prefix}/include/${folder}")
    message(FATAL_ERROR "package_test: ${folder} was installed; only include/berth is public")
  endif()
endforeach()
step("configure the consumer"
     "${CMAKE_COMMAND}" -G "${GENERATOR}" -S "${CONSUMER}" -B "${WORK_DIR}/consumer"
     -DCMAKE_PREFIX_PATH=${prefix}
     -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_C_COMPILER=${C_COMPILER}
     -DCMAKE_BUILD_TYPE=Release)
step("build the consumer" "${CMAKE_COMMAND}" --build "${WORK_DIR}/consumer")
set(model "${WORK_DIR}/model.gguf")
step("make a model with the installed command" "${prefix}/bin/berth" make-model "${model}" --layers
     2 --experts 16 --top-k 4 --hidden 256 --ffn 256)
step("run the consumer" "${WORK_DIR}/consumer/consumer" "${model}")
