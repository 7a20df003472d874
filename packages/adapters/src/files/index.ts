export * as FileExtractor from "./FileExtractor.ts"
