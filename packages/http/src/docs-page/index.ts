/**
 * The page at `/docs`, for hosts that want it: `webHandler({ kernel, docs: docsPage })`. It holds a whole reader of API descriptions (close to
 * a megabyte), so it is a sub-path of its own: a bundler that cannot split code would put it into every application otherwise.
 */
export { docsPage, docsPageWith, type DocsLink } from "./DocsPage.ts"
