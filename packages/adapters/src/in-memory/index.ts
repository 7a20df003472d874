export * as InMemory from "./InMemory.ts"
