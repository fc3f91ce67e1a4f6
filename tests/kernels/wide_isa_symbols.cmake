# The files that are compiled for more than the least processor must define no function that other
# files may define, too (an inline one, an instance of a template): the linker keeps one of them,
# and if it were theirs, it would run where it cannot.
#   cmake -DNM=nm -DLIBRARY=libberth_exact.a -P wide_isa_symbols.cmake
execute_process(COMMAND ${NM} -C ${LIBRARY} OUTPUT_VARIABLE symbols RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} cannot read ${LIBRARY}")
endif()
string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" lines "${symbols}")
set(member "")
set(wide 0)
foreach(line IN LISTS lines)
  if(line MATCHES "^(.*)\\.o:$")
    set(member "${CMAKE_MATCH_1}")
    if(member MATCHES "^avx")
      math(EXPR wide "${wide} + 1")
    endif()
  elseif(member MATCHES "^avx" AND line MATCHES " [Ww] (.*)$")
    set(name "${CMAKE_MATCH_1}")
    # Weak references (a sanitizer's) have no address, and weak data are the same everywhere.
    if(line MATCHES "^[0-9a-f]+ W ")
      message(SEND_ERROR "${member} defines ${name} for everybody")
    endif()
  endif()
endforeach()
if(wide EQUAL 0)
  message(FATAL_ERROR "no file of ${LIBRARY} is compiled for AVX")
endif()
