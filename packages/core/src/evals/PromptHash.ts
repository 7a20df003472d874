/** Equal for equal instructions: a score tells under which instructions its answer was given, without their text. Empty ones are none. */
export const promptHash = async (instructions: string | null): Promise<string | null> => {
  if (instructions === null || instructions.trim() === "") return null
  const digest = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(instructions))
  return Array.from(new Uint8Array(digest).subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
