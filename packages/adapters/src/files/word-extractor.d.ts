/** Types for the used part of the library, which has none. */
declare module "word-extractor" {
  interface WordDocument {
    getBody(): string
    getTextboxes(): string
    getFootnotes(): string
    getEndnotes(): string
    getAnnotations(): string
  }
  export default class WordExtractor {
    extract(file: Uint8Array): Promise<WordDocument>
  }
}
