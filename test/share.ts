/** Tests with very many cases take a share of them, or all with DXTENSOR_TESTS=all, as in CI's suite all-cases. */
export const isWhole = process.env.DXTENSOR_TESTS === "all";

/** Every nth of the cases, beginning at one of the first. */
export const share = <T>(cases: readonly T[], every: number, first = 0): readonly T[] =>
  isWhole ? cases : cases.filter((_, i) => i % every === first % every);
