/** Options with which Node takes the repository's scripts, which are TypeScript. */
export const typescript = ["--import", "./scripts/typescript.mjs"] as const;
