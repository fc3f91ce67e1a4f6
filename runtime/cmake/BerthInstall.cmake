# What `cmake --install` puts in place: the public headers, the static libraries, and a package that
# find_package(Berth) finds. Included last, when every berth_library is known.
include(CMakePackageConfigHelpers)

get_property(installed_targets GLOBAL PROPERTY BERTH_INSTALLED_TARGETS)

# Berth::berth: all of it; the linker takes what is used.
add_library(berth INTERFACE)
add_library(Berth::berth ALIAS berth)
target_link_libraries(berth INTERFACE ${installed_targets})

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Berth")
install(
  TARGETS berth ${installed_targets}
  EXPORT BerthTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/include/berth"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING
  PATTERN "*.h")
install(
  EXPORT BerthTargets
  NAMESPACE Berth::
  DESTINATION "${package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/runtime/cmake/BerthConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/BerthConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/BerthConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/BerthConfig.cmake"
              "${PROJECT_BINARY_DIR}/BerthConfigVersion.cmake" DESTINATION "${package_dir}")
