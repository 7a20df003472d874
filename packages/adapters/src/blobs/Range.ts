/** Ranges of blobs. This is a module of its own, because it uses nothing of the platform. */

/** The part of a blob that a range selects: from its first byte (`from`) to the byte after its last one (`to`). */
export const clampRange = (size: number, range?: { readonly offset: number; readonly length: number }) => {
  const from = Math.min(Math.max(0, range?.offset ?? 0), size)
  return { from, to: Math.min(from + Math.max(0, range?.length ?? size), size) }
}
