# Windows arm64 libraries made on Linux: cmake -DCMAKE_TOOLCHAIN_FILE=native/cmake/zig.cmake -DDXTENSOR_ZIG_TOOLS=FOLDER, by itself or through
# cmake-js with --CD. Debian has no such compiler; zig's clang brings mingw-w64's headers and libc++ for it. The folder holds the programs that
# CMake asks for (scripts/lib/zig.ts makes it): c++, ar, ranlib, dlltool, rc.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DXTENSOR_ZIG_TOOLS)
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR ARM64)
set(CMAKE_CXX_COMPILER "${DXTENSOR_ZIG_TOOLS}/c++")
set(CMAKE_RC_COMPILER "${DXTENSOR_ZIG_TOOLS}/rc")
set(CMAKE_AR "${DXTENSOR_ZIG_TOOLS}/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${DXTENSOR_ZIG_TOOLS}/ranlib" CACHE FILEPATH "")
set(DXTENSOR_DLLTOOL "${DXTENSOR_ZIG_TOOLS}/dlltool" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
