/** Platforms that a package with the native binary is published for: @dxtensor/linux-x64, … */
export const published: readonly string[] = ["linux-x64", "linux-arm64", "win32-x64", "win32-arm64"];
