/**
 * Gives a copied database its own identity: the random values that initdb creates for every database. They are the system identifier, by which
 * PostgreSQL recognises whether a write-ahead log belongs to a database, and a secret for refusing unknown users.
 */
import { randomFillSync } from "node:crypto"
import type { TarEntry } from "./Tar.ts"

/** The positions of these values in `ControlFileData` and in the first page of a log file, for the version of PostgreSQL in PGlite. */
const controlFile = { path: "global/pg_control", identifier: 0, secret: 257, checksum: 292 }
const firstLog = { path: "pg_wal/000000010000000000000001", identifier: 24 }

/** Changes the contents of the entries in place. */
export const renewIdentity = (database: ReadonlyArray<TarEntry>): void => {
  const control = fileContent(database, controlFile.path)
  randomFillSync(control, controlFile.identifier, 8)
  // PostgreSQL shows the identifier as a signed number, so the highest bit is cleared to keep it positive.
  control.writeUInt8(control.readUInt8(controlFile.identifier + 7) & 0x7f, controlFile.identifier + 7)
  randomFillSync(control, controlFile.secret, 32)
  control.writeUInt32LE(crc32c(control.subarray(0, controlFile.checksum)), controlFile.checksum)
  control.copy(
    fileContent(database, firstLog.path),
    firstLog.identifier,
    controlFile.identifier,
    controlFile.identifier + 8
  )
}

const fileContent = (database: ReadonlyArray<TarEntry>, path: string): Buffer => {
  const found = database.find((entry) => entry.path === path)
  if (found === undefined) throw new Error(`The database has no file ${path}`)
  return found.content
}

/** The checksum that PostgreSQL uses. `node:zlib` has only a CRC-32 with another polynomial. */
const crc32c = (bytes: Buffer): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}
