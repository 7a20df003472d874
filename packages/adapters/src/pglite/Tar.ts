/** Reads the tar archive of the empty database, which `npm run empty-database` writes. */

export interface TarEntry {
  /** The path within the database's folder. */
  readonly path: string
  readonly isFolder: boolean
  /** A view into the archive. */
  readonly content: Buffer
}

const blockLength = 512
const folderType = "5"

/** Reads the name, the size in octal digits and the type of each entry. The other fields are not needed. */
export const readTar = (archive: Buffer): ReadonlyArray<TarEntry> => {
  const entries: Array<TarEntry> = []
  let start = 0
  while (archive.readUInt8(start) !== 0) {
    const content = start + blockLength
    const end = content + Number.parseInt(archive.toString("latin1", start + 124, start + 135), 8)
    entries.push({
      path: archive.toString("latin1", start, archive.indexOf(0, start)),
      isFolder: archive.toString("latin1", start + 156, start + 157) === folderType,
      content: archive.subarray(content, end)
    })
    start = content + roundUp(end - content)
  }
  return entries
}

const roundUp = (length: number): number => Math.ceil(length / blockLength) * blockLength
