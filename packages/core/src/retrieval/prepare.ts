/**
 * What a process that reads files needs of core: text into chunks with their terms, and nothing else. It loads no Effect, because such a process is
 * started for every file.
 */
export { estimateTokens } from "../models/EstimateTokens.ts"
export { prepareText, type PreparedText, tooManyChunks } from "./Indexing.ts"
