/**
 * Documents of the server: the store of their bytes, the readers of their text, the converter of pictures, the time that a message waits
 * for its files, and the key that signs addresses of files.
 */
import { FolderBlobs } from "@colloquy/adapters/blobs"
import { FileExtractor } from "@colloquy/adapters/files"
import { Postgres } from "@colloquy/adapters/postgres"
import { S3Blobs } from "@colloquy/adapters/s3"
import { SharpPictures } from "@colloquy/adapters/sharp"
import { TesseractReader } from "@colloquy/adapters/tesseract"
import { type BlobStore, defaultDocumentSummaries, Documents } from "@colloquy/core/documents"
import type { StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { randomBytes } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Settings } from "./Settings.ts"
import { inMemory } from "./Stores.ts"

/** The store of bytes that replaces the database's own. */
export const blobsLayer = ({ blobs }: Settings): Layer.Layer<BlobStore, StoreUnavailable> | Layer.Layer<never> => {
  if (blobs === null) return Layer.empty
  return blobs._tag === "S3" ? S3Blobs.layer(blobs.options) : FolderBlobs.layer({ folder: blobs.folder })
}

/** The layers of documents, which are provided over the kernel. */
export const documentsLayer = ({ attachmentWait, reranksDocuments, summarizesDocuments }: Settings) => {
  const summaries = summarizesDocuments ? defaultDocumentSummaries : null
  return Layer.provide(Documents.layer({ attachmentWait, summaries, reranked: reranksDocuments ? candidates : 0 }), [
    Layer.provide(FileExtractor.layer(), TesseractReader.layer()),
    SharpPictures.layer
  ])
}

/** How many hits of a search are reranked. */
const candidates = 50

/**
 * The signing key: the operator's own, or one that is made at the first start and stored. A database server stores it, so that all
 * processes share it; without one, the data folder does. Without a folder no key is stored, and addresses are valid until the process ends.
 */
export const readSigningKey = async ({
  dataDir,
  databaseUrl,
  signingKey
}: Settings): Promise<Redacted.Redacted | ReadonlyArray<Redacted.Redacted> | null> => {
  if (signingKey !== null) return signingKey
  if (databaseUrl !== null) return Effect.runPromise(Postgres.signingKey({ url: databaseUrl }))
  if (dataDir === inMemory) return null
  const file = join(dataDir, "signing-key")
  const made = randomBytes(32).toString("base64url")
  try {
    await writeFile(file, made, { flag: "wx", mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  }
  const kept = await readFile(file, "utf8")
  if (kept !== "") return Redacted.make(kept)
  // A full disk left the file empty. With an empty key, everybody could sign addresses.
  await writeFile(file, made)
  return Redacted.make(made)
}
