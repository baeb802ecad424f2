# Linux libraries for older systems than this one: cmake -DCMAKE_TOOLCHAIN_FILE=native/cmake/sysroot.cmake -DDXTENSOR_SYSROOT=FOLDER
# -DDXTENSOR_TRIPLET=x86_64-linux-gnu. This machine's GCC compiles; headers, C library, C++ library and the compiler's own parts
# are the sysroot's (GCC 10), so that nothing newer is asked for. scripts/lib/sysroot.ts makes the folder.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DXTENSOR_SYSROOT DXTENSOR_TRIPLET)
set(CMAKE_SYSTEM_NAME Linux)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${DXTENSOR_TRIPLET}")
set(CMAKE_SYSROOT "${DXTENSOR_SYSROOT}")
set(CMAKE_C_COMPILER "${DXTENSOR_TRIPLET}-gcc")
set(CMAKE_CXX_COMPILER "${DXTENSOR_TRIPLET}-g++")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(DXTENSOR_GCC "${DXTENSOR_SYSROOT}/usr/lib/gcc/${DXTENSOR_TRIPLET}/10")
set(DXTENSOR_CXX "${DXTENSOR_SYSROOT}/usr/include/c++/10")
set(DXTENSOR_LIB "${DXTENSOR_SYSROOT}/usr/lib/${DXTENSOR_TRIPLET}")
set(CMAKE_C_FLAGS_INIT "-B${DXTENSOR_GCC} -B${DXTENSOR_LIB}")
set(CMAKE_CXX_FLAGS_INIT "-B${DXTENSOR_GCC} -B${DXTENSOR_LIB} -nostdinc++ -isystem ${DXTENSOR_CXX} -isystem ${DXTENSOR_SYSROOT}/usr/include/${DXTENSOR_TRIPLET}/c++/10 -isystem ${DXTENSOR_CXX}/backward")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${DXTENSOR_GCC} -L${DXTENSOR_LIB}")
endforeach()
# The cross compiler's own libgcc_s asks for its own, newer C library.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -static-libgcc -static-libstdc++")
