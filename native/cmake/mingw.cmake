# Windows x64 libraries made on Linux: cmake -DCMAKE_TOOLCHAIN_FILE=native/cmake/mingw.cmake, by itself or through cmake-js with
# --CDCMAKE_TOOLCHAIN_FILE. The posix flavour of mingw-w64: the other one of GCC 12 has no std::mutex.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Programs carry the compiler's libraries, as the addon and the software adapter do.
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
