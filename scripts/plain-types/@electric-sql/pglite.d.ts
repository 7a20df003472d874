export interface PGliteOptions {
  /** By the names that they have for the program: `{ vector }` of `@electric-sql/pglite-pgvector`. */
  readonly extensions?: { readonly [name: string]: unknown }
}
