export * as TesseractReader from "./TesseractReader.ts"
