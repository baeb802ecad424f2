/**
 * Imports a module of the program by its address. A file of its own in the published package: a script that runs from cached bytecode cannot import
 * modules.
 */
export const importModule = async (address: string): Promise<unknown> => import(/* @vite-ignore */ /* webpackIgnore: true */ address);
