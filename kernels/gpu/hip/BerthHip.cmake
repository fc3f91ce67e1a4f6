# Finds what compiles kernels for Radeon cards and says how. Included at the root, because a
# language is enabled there or nowhere.
#
# After it: BERTH_HAVE_HIP; berth_hip_kernels and berth_hip_assembly, which compile .cu files for
# cards; Berth::hip_runtime, the run time's headers and
# library for what is compiled by the ordinary compiler.
#
# Two ways to compile. Where CMake's HIP language works (ROCm 5.5 and newer), that. Distributions
# ship older toolkits whose parts lie where CMake does not look for them: there, commands that call
# hipcc, with a folder of device libraries completed here (BerthHipDeviceLibraries.cmake).
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/BerthHipDeviceLibraries.cmake")

set(BERTH_HIP_ARCHITECTURES
    "gfx1100"
    CACHE STRING "Radeon cards to compile for: gfx1030;gfx1100, or all that the compiler knows")
set(BERTH_HAVE_HIP OFF)
set(BERTH_HIP_LANGUAGE OFF)

# Cards whose waves have 32 lanes, which is what the kernels are written for.
set(berth_hip_known
    gfx1010 gfx1011 gfx1012 gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx1100
    gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx1200 gfx1201)

# Sets BERTH_HIPCC, BERTH_HIP_INCLUDE, BERTH_HIP_LIBRARY, berth_hip_version; `missing` to what is
# missing, if anything.
macro(berth_find_hip_toolkit missing)
  set(${missing} "")
  find_program(BERTH_HIPCC hipcc HINTS ENV ROCM_PATH ENV HIP_PATH PATHS /opt/rocm PATH_SUFFIXES bin)
  if(BERTH_HIPCC)
    get_filename_component(berth_hip_root "${BERTH_HIPCC}" REALPATH)
    get_filename_component(berth_hip_root "${berth_hip_root}/../.." ABSOLUTE)
    find_path(BERTH_HIP_INCLUDE hip/hip_version.h HINTS "${berth_hip_root}/include")
    find_library(BERTH_HIP_LIBRARY amdhip64 HINTS "${berth_hip_root}/lib" "${berth_hip_root}/lib64")
    if(NOT BERTH_HIP_INCLUDE OR NOT BERTH_HIP_LIBRARY)
      set(${missing} "hipcc is there, but not the run time's headers and library (amdhip64)")
    else()
      file(STRINGS "${BERTH_HIP_INCLUDE}/hip/hip_version.h" berth_hip_lines
           REGEX "define HIP_VERSION_(MAJOR|MINOR) ")
      string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" berth_hip_version
                           "${berth_hip_lines}")
    endif()
  else()
    set(${missing} "no hipcc found (set ROCM_PATH where it is not in PATH)")
  endif()
  mark_as_advanced(BERTH_HIPCC BERTH_HIP_INCLUDE BERTH_HIP_LIBRARY)
endmacro()

# "all" becomes a list; an architecture that the compiler does not know is an error. Asks the clang
# that hipcc calls.
function(berth_hip_architectures compiler result)
  set(wanted "${BERTH_HIP_ARCHITECTURES}")
  if(wanted STREQUAL "all")
    set(wanted "${berth_hip_known}")
  endif()
  set(usable "")
  foreach(architecture IN LISTS wanted)
    execute_process(
      COMMAND "${compiler}" --target=amdgcn-amd-amdhsa "-mcpu=${architecture}" -nogpulib -x c -c
              /dev/null -o /dev/null
      RESULT_VARIABLE failed
      OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      list(APPEND usable "${architecture}")
    elseif(NOT BERTH_HIP_ARCHITECTURES STREQUAL "all")
      message(FATAL_ERROR "Berth: BERTH_HIP_ARCHITECTURES has '${architecture}', which this "
                          "compiler (${compiler}) does not know; it may be 'all'")
    endif()
  endforeach()
  set(${result} "${usable}" PARENT_SCOPE)
endfunction()

if(NOT BERTH_HIP MATCHES "^(ON|OFF|AUTO)$")
  message(FATAL_ERROR "Berth: BERTH_HIP is '${BERTH_HIP}': expected ON, OFF or AUTO")
elseif(BERTH_HIP STREQUAL "OFF")
  message(STATUS "Berth: HIP cards: off")
elseif(BERTH_HIP STREQUAL "AUTO" AND (BERTH_SANITIZE OR BERTH_FUZZ))
  message(STATUS "Berth: HIP cards: off (a build under a sanitizer runs without a card)")
else()
  berth_find_hip_toolkit(berth_hip_missing)
  if(NOT berth_hip_missing AND (CMAKE_HIP_COMPILER OR berth_hip_version VERSION_GREATER_EQUAL 5.5))
    include(CheckLanguage)
    check_language(HIP)
    if(CMAKE_HIP_COMPILER)
      set(BERTH_HIP_LANGUAGE ON)
    endif()
  endif()
  if(berth_hip_missing)
    if(BERTH_HIP STREQUAL "ON")
      message(FATAL_ERROR "Berth: BERTH_HIP=ON, but ${berth_hip_missing}")
    endif()
    message(STATUS "Berth: HIP cards: off (${berth_hip_missing})")
  else()
    set(BERTH_HAVE_HIP ON)
  endif()
endif()

if(BERTH_HAVE_HIP)
  if(BERTH_HIP_LANGUAGE)
    berth_hip_architectures("${CMAKE_HIP_COMPILER}" berth_hip_list)
    set(CMAKE_HIP_ARCHITECTURES "${berth_hip_list}")
    enable_language(HIP)
    set(CMAKE_HIP_STANDARD 20)
    set(CMAKE_HIP_STANDARD_REQUIRED ON)
    set(CMAKE_HIP_EXTENSIONS OFF)
    set(berth_hip_way "CMake's HIP language")
  else()
    berth_hip_clang("${BERTH_HIPCC}" berth_hip_clang)
    berth_hip_architectures("${berth_hip_clang}" berth_hip_list)
    berth_hip_device_libraries("${berth_hip_clang}" "${berth_hip_list}" berth_hip_device_options)
    set(berth_hip_way "hipcc")
  endif()
  string(REPLACE ";" " " berth_hip_names "${berth_hip_list}")
  message(STATUS "Berth: HIP cards: ${berth_hip_names} (HIP ${berth_hip_version}, "
                 "${berth_hip_way})")

  add_library(berth_hip_runtime INTERFACE)
  add_library(Berth::hip_runtime ALIAS berth_hip_runtime)
  set_target_properties(berth_hip_runtime PROPERTIES EXPORT_NAME hip_runtime)
  target_compile_definitions(berth_hip_runtime INTERFACE __HIP_PLATFORM_AMD__=1)
  if(NOT BERTH_HIP_INCLUDE STREQUAL "/usr/include")
    target_include_directories(berth_hip_runtime SYSTEM
                               INTERFACE "$<BUILD_INTERFACE:${BERTH_HIP_INCLUDE}>")
  endif()
  target_link_libraries(berth_hip_runtime INTERFACE "${BERTH_HIP_LIBRARY}")
  set_property(GLOBAL APPEND PROPERTY BERTH_INSTALLED_TARGETS berth_hip_runtime)
endif()

# What makes floats mean the same as on the host: nothing contracted, divisions rounded correctly.
set(berth_hip_options
    $<IF:$<CONFIG:Debug>,-O1,-O3> $<$<NOT:$<CONFIG:Debug>>:-DNDEBUG> -ffp-contract=off
    -fhip-fp32-correctly-rounded-divide-sqrt -fPIC -Wall -Wextra -Wno-missing-field-initializers
    -Wno-unused-command-line-argument)
if(BERTH_WERROR)
  list(APPEND berth_hip_options -Werror)
endif()
# What hipcc is told besides, where CMake does not call the compiler.
set(berth_hipcc_options
    -x hip -std=c++20 "-I${PROJECT_SOURCE_DIR}" "-I${PROJECT_SOURCE_DIR}/runtime/include"
    ${berth_hip_options} ${berth_hip_device_options})

# Adds the command that makes `output` of `source` with hipcc and `options`.
function(berth_hipcc_command output source options)
  get_filename_component(name "${output}" NAME)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${BERTH_HIPCC}" ${berth_hipcc_options} ${options} -MD -MF "${output}.d" -MT "${output}"
            "${source}" -o "${output}"
    DEPENDS "${source}"
    DEPFILE "${output}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "Building HIP ${name}"
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# berth_hip_kernels(TARGET SOURCES... [DEFINITIONS...]): compiles kernels into a target; absolute
# paths.
function(berth_hip_kernels target)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEFINITIONS" ${ARGN})
  if(BERTH_HIP_LANGUAGE)
    set_source_files_properties(
      ${ARG_SOURCES} PROPERTIES LANGUAGE HIP COMPILE_OPTIONS "${berth_hip_options}"
                                COMPILE_DEFINITIONS "${ARG_DEFINITIONS}")
    target_sources(${target} PRIVATE ${ARG_SOURCES})
    return()
  endif()
  list(TRANSFORM ARG_DEFINITIONS PREPEND "-D")
  list(TRANSFORM berth_hip_list PREPEND "--offload-arch=" OUTPUT_VARIABLE cards)
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(name "${source}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
    berth_hipcc_command("${object}" "${source}" "-c;${ARG_DEFINITIONS};${cards}")
    target_sources(${target} PRIVATE "${object}")
    set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  endforeach()
endfunction()

# berth_hip_assembly(TARGET FOLDER CARD SOURCES... [DEFINITIONS...]): a target that writes the
# assembly of kernels for one card to FOLDER. Not -save-temps of what is compiled anyway: clang 15
# writes assembly for gfx1100 that it then refuses to read, for an operand that does not matter.
function(berth_hip_assembly target folder card)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEFINITIONS" ${ARGN})
  list(TRANSFORM ARG_DEFINITIONS PREPEND "-D")
  set(outputs "")
  file(MAKE_DIRECTORY "${folder}")
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(name "${source}" NAME_WE)
    set(output "${folder}/${name}.s")
    berth_hipcc_command("${output}" "${source}"
                        "-S;--cuda-device-only;${ARG_DEFINITIONS};--offload-arch=${card}")
    list(APPEND outputs "${output}")
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${outputs})
endfunction()
