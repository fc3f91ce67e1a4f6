# The outside libraries, each from the distribution's packages and each used in one place.
# What is missing and optional switches itself off and says so.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(tomlplusplus 3.0 REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)

# oneTBB is not built for ThreadSanitizer: that preset takes the std::thread pool.
if(BERTH_SANITIZE STREQUAL "thread")
  set(BERTH_HAVE_TBB OFF)
  message(STATUS "Berth: worker pool on std::thread (ThreadSanitizer build)")
else()
  find_package(TBB REQUIRED)
  set(BERTH_HAVE_TBB ON)
endif()

# liburing 2.3 (Debian 12) is the oldest that has what the ring file uses.
pkg_check_modules(liburing IMPORTED_TARGET liburing>=2.3)
if(liburing_FOUND)
  set(BERTH_HAVE_URING ON)
else()
  set(BERTH_HAVE_URING OFF)
  message(STATUS "Berth: liburing 2.3 or newer not found: reads use the pread pool")
endif()

if(BERTH_BUILD_TOOLS)
  find_package(CLI11 2.1 REQUIRED)
endif()
if(BERTH_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(BERTH_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()

# The gpu backend arrives with kernels/gpu. Until then a required card is refused plainly instead
# of building something that would not use it.
foreach(vendor CUDA HIP)
  if("${BERTH_${vendor}}" STREQUAL "ON")
    message(FATAL_ERROR "Berth: BERTH_${vendor}=ON, but this version has only the host backend")
  elseif("${BERTH_${vendor}}" STREQUAL "AUTO")
    message(STATUS "Berth: ${vendor} cards: off (this version has only the host backend)")
  endif()
endforeach()
