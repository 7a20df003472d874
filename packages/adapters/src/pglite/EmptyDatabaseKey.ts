/** Written by `npm run empty-database`. */
export const emptyDatabaseKey = {
  pglite: "0.5.14",
  sha256: "6dbb59c55156124bb559a4dc33d1b57ff93e2344db85f2f81ec1cc3ac27d8d5f"
}
