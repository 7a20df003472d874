/** The words in one picture by Tesseract, in the process of `tesseractWorker.ts`: it is not ended here, the process is. */
import { createWorker, OEM } from "tesseract.js"

/** What the process is told of the picture. */
export interface PictureTask {
  readonly language: string
  /** Where the data of the language is. */
  readonly folder: string
}

/** Words that it is less sure of are mostly none: a picture without text, or one that is turned. */
const leastConfidence = 60

export const readPicture = async ({ folder, language }: PictureTask, bytes: Uint8Array): Promise<string> => {
  const worker = await createWorker([language], OEM.LSTM_ONLY, {
    langPath: folder,
    cacheMethod: "none",
    gzip: true,
    // Without it a bad picture would be thrown where nothing catches it.
    errorHandler: () => {}
  })
  const { data } = await worker.recognize(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return data.confidence < leastConfidence ? "" : data.text.trim()
}
