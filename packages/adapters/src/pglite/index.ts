export * as Pglite from "./Pglite.ts"
