/** Files that stand in a body of JSON have no name: they get one, by which their type is known. */

const extensions: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "image/jpeg": "jpg",
  "text/markdown": "md",
  "text/plain": "txt"
}

/** `image-1.png`; `index` counts from 0. */
export const inlineName = (mimeType: string, index: number): string => {
  const [kind = "file", subtype = "bin"] = mimeType.split("/")
  return `${kind}-${index + 1}.${extensions[mimeType] ?? subtype}`
}
