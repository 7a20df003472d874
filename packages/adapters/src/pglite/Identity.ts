/**
 * What initdb draws anew for every database: its identifier, by which Postgres tells the write-ahead log of one database from that of
 * another, and a secret for refusing unknown users. A database that begins as a copy gets its own, as from initdb.
 */
import { randomFillSync } from "node:crypto"
import type { TarEntry } from "./Tar.ts"

/** Where they stand in `ControlFileData` and in the first page of a log file, in the version of Postgres that made the copy. */
const controlFile = { path: "global/pg_control", identifier: 0, secret: 257, checksum: 292 }
const firstLog = { path: "pg_wal/000000010000000000000001", identifier: 24 }

/** Changes the contents in place. */
export const renewIdentity = (database: ReadonlyArray<TarEntry>): void => {
  const control = contentOf(database, controlFile.path)
  randomFillSync(control, controlFile.identifier, 8)
  // Postgres shows it as a number with a sign.
  control.writeUInt8(control.readUInt8(controlFile.identifier + 7) & 0x7f, controlFile.identifier + 7)
  randomFillSync(control, controlFile.secret, 32)
  control.writeUInt32LE(crc32c(control.subarray(0, controlFile.checksum)), controlFile.checksum)
  control.copy(
    contentOf(database, firstLog.path),
    firstLog.identifier,
    controlFile.identifier,
    controlFile.identifier + 8
  )
}

const contentOf = (database: ReadonlyArray<TarEntry>, path: string): Buffer => {
  const found = database.find((entry) => entry.path === path)
  if (found === undefined) throw new Error(`The database has no file ${path}`)
  return found.content
}

/** The checksum of Postgres; that of node:zlib has another polynomial. */
const crc32c = (bytes: Buffer): number => {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0)
  }
  return ~crc >>> 0
}
