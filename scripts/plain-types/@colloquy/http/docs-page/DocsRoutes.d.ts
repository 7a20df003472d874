/** `docsPage` of `@colloquy/http/docs-page`. */
export type DocsPage = (api: never) => unknown
