# Compiler settings that every target of Berth is built with: one interface target, linked
# privately, so that nothing leaks into a project that embeds the library.
include(GNUInstallDirs)

add_library(berth_settings INTERFACE)
# No contraction: a fused multiply-add where the source says two operations would make results
# depend on the compiler.
set(berth_options -Wall -Wextra -Wno-missing-field-initializers -ffp-contract=off)
if(BERTH_WERROR)
  list(APPEND berth_options -Werror)
endif()
target_compile_options(
  berth_settings INTERFACE "$<$<NOT:$<COMPILE_LANGUAGE:CUDA>>:${berth_options}>"
                           "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--expt-relaxed-constexpr>"
                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(berth_settings INTERFACE -Wthread-safety)
endif()
if(BERTH_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(BERTH_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(BERTH_SANITIZE)
  message(FATAL_ERROR "BERTH_SANITIZE is '${BERTH_SANITIZE}': expected address or thread")
endif()

if(BERTH_FUZZ)
  # The libraries under a fuzz target report their coverage to it.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# berth_library(NAME DEPS... SOURCES... [TESTING]): one folder's static library. DEPS are public, so
# the dependency direction of docs/architecture.md is what the linker sees. TESTING: for tests, not
# installed.
function(berth_library name)
  cmake_parse_arguments(ARG "TESTING" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(berth_${name} STATIC ${ARG_SOURCES})
  add_library(Berth::${name} ALIAS berth_${name})
  target_include_directories(
    berth_${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
                         "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include>"
                         "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_compile_features(berth_${name} PUBLIC cxx_std_20)
  target_link_libraries(berth_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS}
                                             "$<BUILD_INTERFACE:berth_settings>")
  set_target_properties(berth_${name} PROPERTIES EXPORT_NAME ${name})
  if(NOT ARG_TESTING)
    set_property(GLOBAL APPEND PROPERTY BERTH_INSTALLED_TARGETS berth_${name})
  endif()
endfunction()

# berth_test(NAME SOURCES... DEPS... [LABELS...]): one GoogleTest program, one ctest entry.
function(berth_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main berth_settings)
  target_compile_definitions(
    ${name} PRIVATE BERTH_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
                    BERTH_SHARED_DATA="${BERTH_SHARED_DATA}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
