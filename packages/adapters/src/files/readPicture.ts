/** Recognises the text of one picture with Tesseract. It runs in the process of `tesseractWorker.ts`, whose end also ends Tesseract. */
import { createWorker, OEM } from "tesseract.js"

/** The task that the reader's process gets. */
export interface PictureTask {
  readonly language: string
  /** The folder with the data of the language. */
  readonly folder: string
}

/** A lower confidence usually means that the picture contains no text or is rotated. */
const leastConfidence = 60

export const readPicture = async ({ folder, language }: PictureTask, bytes: Uint8Array): Promise<string> => {
  const worker = await createWorker([language], OEM.LSTM_ONLY, {
    langPath: folder,
    cacheMethod: "none",
    gzip: true,
    // Without this handler, Tesseract throws for a bad picture where the exception cannot be caught.
    errorHandler: () => {}
  })
  const { data } = await worker.recognize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return data.confidence < leastConfidence ? "" : data.text.trim()
}
