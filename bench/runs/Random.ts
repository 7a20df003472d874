/** Numbers that look random and are the same in every run. */
export const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  const mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** Few words are frequent and many are rare, as in any language. */
export const zipfianWord = (next: () => number): string => `word${Math.floor(20_000 ** next())}`
