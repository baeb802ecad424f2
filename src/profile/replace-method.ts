/** Gives an object another method for one of its own; the result restores that. */
export function replace<T extends object, K extends keyof T>(object: T, name: K, make: (before: T[K]) => T[K]): () => void {
  const before = Object.getOwnPropertyDescriptor(object, name)!;
  Object.defineProperty(object, name, { ...before, value: make(before.value as T[K]) });
  return () => void Object.defineProperty(object, name, before);
}
