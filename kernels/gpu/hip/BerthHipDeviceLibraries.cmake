# Device libraries for hipcc of distributions. Debian 12's compiler knows gfx1100, but its device
# libraries are of a time before that card: they lack one file, which holds one constant, the
# version of the instruction set. All else in them is the same for every card.

# What clang links into HIP code, besides oclc_isa_version_*; not every toolkit has all of them.
set(berth_hip_bitcode hip ockl ocml opencl oclc_abi_version_400 oclc_abi_version_500)
foreach(choice daz_opt unsafe_math finite_only correctly_rounded_sqrt wavefrontsize64)
  list(APPEND berth_hip_bitcode oclc_${choice}_on oclc_${choice}_off)
endforeach()

# The clang that hipcc calls.
function(berth_hip_clang hipcc result)
  # "-###" prints commands, quoted, without running them; the first word of the first is clang.
  execute_process(
    COMMAND "${hipcc}" "-###" --offload-arch=gfx1030 -nogpulib -x hip -c /dev/null -o /dev/null
    OUTPUT_VARIABLE printed
    ERROR_VARIABLE printed)
  if(NOT printed MATCHES "\n *\"([^\"]*clang[^\"]*)\" ")
    message(FATAL_ERROR "Berth: cannot tell which clang ${hipcc} calls; it printed:\n${printed}")
  endif()
  set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Sets `result` to the options that make `clang` find device libraries for every card listed: none
# where it has them all, else the path of a folder of links to those installed, made complete.
function(berth_hip_device_libraries clang cards result)
  get_filename_component(bin "${clang}" DIRECTORY)
  execute_process(COMMAND "${clang}" -print-resource-dir OUTPUT_VARIABLE resources
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  find_path(
    BERTH_HIP_BITCODE ockl.bc
    HINTS ENV HIP_DEVICE_LIB_PATH "${resources}/lib/amdgcn/bitcode"
          "${berth_hip_root}/amdgcn/bitcode"
    PATHS "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode" /usr/lib/amdgcn/bitcode
          /opt/rocm/amdgcn/bitcode)
  mark_as_advanced(BERTH_HIP_BITCODE)
  if(NOT BERTH_HIP_BITCODE)
    message(FATAL_ERROR "Berth: no device libraries (ockl.bc) for ${clang}: install "
                        "rocm-device-libs or set BERTH_HIP_BITCODE")
  endif()
  set(lacking "")
  foreach(card IN LISTS cards)
    string(REPLACE "gfx" "" digits "${card}")
    if(NOT EXISTS "${BERTH_HIP_BITCODE}/oclc_isa_version_${digits}.bc")
      list(APPEND lacking "${digits}")
    endif()
  endforeach()
  if(NOT lacking)
    set(${result} "" PARENT_SCOPE)
    return()
  endif()

  set(folder "${CMAKE_BINARY_DIR}/hip_device_libraries")
  file(MAKE_DIRECTORY "${folder}")
  set(names ${berth_hip_bitcode})
  foreach(card IN LISTS cards)
    string(REPLACE "gfx" "oclc_isa_version_" name "${card}")
    list(APPEND names "${name}")
  endforeach()
  foreach(name IN LISTS names)
    if(EXISTS "${BERTH_HIP_BITCODE}/${name}.bc")
      file(CREATE_LINK "${BERTH_HIP_BITCODE}/${name}.bc" "${folder}/${name}.bc" SYMBOLIC)
    endif()
  endforeach()
  execute_process(COMMAND "${clang}" -print-prog-name=llvm-as OUTPUT_VARIABLE llvm_as
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND "${clang}" -print-prog-name=llvm-dis OUTPUT_VARIABLE llvm_dis
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  foreach(digits IN LISTS lacking)
    berth_hip_isa_version("${digits}" "${llvm_as}" "${llvm_dis}" "${folder}")
  endforeach()
  set(${result} "--rocm-device-lib-path=${folder}" PARENT_SCOPE)
endfunction()

# Assembles oclc_isa_version_<digits>.bc. The data layout is read off a file that is installed: it
# is the compiler's own and changes with it.
function(berth_hip_isa_version digits llvm_as llvm_dis folder)
  execute_process(
    COMMAND "${llvm_dis}" "${BERTH_HIP_BITCODE}/oclc_isa_version_1030.bc" -o -
    OUTPUT_VARIABLE model
    RESULT_VARIABLE failed)
  if(failed OR NOT model MATCHES "target datalayout = \"([^\"]*)\"")
    message(FATAL_ERROR "Berth: cannot read ${BERTH_HIP_BITCODE}/oclc_isa_version_1030.bc")
  endif()
  set(layout "${CMAKE_MATCH_1}")
  # gfx1100 is 11 0 0: major * 1000 + minor * 100 + stepping, the last two digits being hexadecimal.
  string(REGEX MATCH "^([0-9]+)([0-9a-f])([0-9a-f])$" whole "${digits}")
  math(EXPR version "${CMAKE_MATCH_1} * 1000 + 0x${CMAKE_MATCH_2} * 100 + 0x${CMAKE_MATCH_3}")
  set(source "${folder}/oclc_isa_version_${digits}.ll")
  file(WRITE "${source}" "target datalayout = \"${layout}\"\n"
                         "target triple = \"amdgcn-amd-amdhsa\"\n"
                         "@__oclc_ISA_version = linkonce_odr protected local_unnamed_addr "
                         "addrspace(4) constant i32 ${version}, align 4\n")
  execute_process(COMMAND "${llvm_as}" "${source}" -o "${folder}/oclc_isa_version_${digits}.bc"
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "Berth: ${llvm_as} failed on ${source}")
  endif()
  message(STATUS "Berth: made the device library that says gfx${digits} is version ${version}")
endfunction()
