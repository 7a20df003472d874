/**
 * The guide of `docs/` as pages at `/docs/guide`, with a search that needs no script. A page is read and rendered at its first request, and
 * the index of the search is made at the first search, so that they need no memory before. The source of a page is at its address with
 * `.md` appended, for programs.
 */
import { readFileSync } from "node:fs"
import { filesIn, findFiles, type GuideFiles, isFolder, isReference, linkTarget, read } from "./GuideFiles.ts"
import { type Frame, layout, lostPage, type PageLink, searchResults, withHeadings } from "./GuideLayout.ts"
import { codeBlock, escaped, toHtml } from "./GuideMarkdown.ts"
import { makeSearch } from "./GuideSearch.ts"

/** The content of the response for a path below `/docs/guide`. */
export interface GuideContent {
  readonly type: string
  readonly text: string
}

/** The relative paths from a page to the folder of all pages, and to the description of the API. */
interface Way {
  readonly up: string
  readonly api: string
}

const html = "text/html; charset=utf-8"
const markdown = "text/markdown; charset=utf-8"

/** Files of the pages themselves. */
const served: ReadonlyMap<string, string> = new Map([
  ["guide.css", "text/css; charset=utf-8"],
  ["guide.js", "text/javascript; charset=utf-8"]
])

const pageTitle = (text: string, path: string): string => /^# (.*)$/mu.exec(text)?.[1]?.replaceAll("`", "") ?? path

interface Chapter {
  readonly path: string
  readonly title: string
  /** The question that the page answers, as the table has it. */
  readonly about: string
}

interface Part {
  readonly title: string
  readonly chapters: ReadonlyArray<Chapter>
}

/** The parts of `docs/README.md`: its headings, and the pages in the order of the table below each of them. */
const makeBook = (files: GuideFiles): ReadonlyArray<Part> => {
  const start = files.pages[0]
  if (start === undefined) return []
  const parts = read(start)
    .split(/^## /mu)
    .slice(1)
    .map((text) => ({
      title: text.slice(0, text.indexOf("\n")),
      chapters: [...text.matchAll(/^\| \[([^\]]*)\]\(([^)]*)\) \| (.*) \|$/gmu)].flatMap(
        ([, words = "", link = "", about = ""]) => {
          const path = linkTarget(start, link)?.path
          return path === undefined || files.findAddress(path) === undefined
            ? []
            : { path, title: words.replaceAll("`", ""), about }
        }
      )
    }))
  const first = { path: start, title: "The guide", about: "" }
  return [{ title: "", chapters: [first] }, ...parts.filter(({ chapters }) => chapters.length > 0)]
}

const makeGuide = () => {
  const files = findFiles()
  const book = makeBook(files)
  const titles = new Map(files.pages.map((path) => [path, pageTitle(read(path), path)]))
  const abouts = new Map(book.flatMap(({ chapters }) => chapters.map(({ about, path }) => [path, about])))
  let index: ReturnType<typeof makeSearch> | undefined
  /** Made at the first search, because reading all pages takes as long as hundreds of answers. */
  const search = async (query: string) => {
    index ??= makeSearch(
      files.pages.map((path) => {
        // The search covers the sentence of a public name, but not its type.
        const text = isReference(path) ? read(path).replaceAll(/^```[\s\S]*?^```/gmu, "") : read(path)
        return { path, about: abouts.get(path) ?? "", text }
      })
    )
    return (await index)(query)
  }

  const makeFrame = ({ api, up }: Way, title: string, path: string | null, query = ""): Frame => {
    const pageHref = (page: string) => up + (files.findAddress(page) ?? "")
    const contents = book.map(({ chapters, title: name }) => ({
      title: name,
      pages: chapters.map((chapter): PageLink => ({ title: chapter.title, href: pageHref(chapter.path) }))
    }))
    return { up, api, title, query, contents, current: path === null ? null : pageHref(path) }
  }

  const found = async (query: string, way: Way): Promise<GuideContent> => {
    const results = searchResults(
      query,
      await search(query),
      ({ anchor, page }) => way.up + (files.findAddress(page) ?? "") + anchor
    )
    return { type: html, text: layout(makeFrame(way, "Search", null, query), results) }
  }

  const renderPage = (path: string, way: Way): GuideContent => {
    const title = titles.get(path) ?? path
    const content = titles.has(path) ? pageContent(path, way.up) : fileContent(path, way.up)
    return { type: html, text: layout(makeFrame(way, title, path), content) }
  }

  const pageContent = (path: string, up: string): string => {
    const content = toHtml(read(path), (link) => {
      const target = linkTarget(path, link)
      if (target === null) return /^https?:/u.test(link) ? link : null
      const address = files.findAddress(target.path)
      return address === undefined ? null : up + address + target.anchor
    })
    return withHeadings(content)
  }

  /** An example, or a folder of examples. */
  const fileContent = (path: string, up: string): string => {
    const heading = `<h1>${escaped(path)}</h1>`
    if (!isFolder(path)) return heading + codeBlock(read(path), /\.(\w+)$/u.exec(path)?.[1])
    const items = filesIn(path).map((file) => {
      const name = titles.get(file) ?? file.slice(path.length + 1)
      return `<li><a href="${escaped(up + (files.findAddress(file) ?? ""))}">${escaped(name)}</a></li>`
    })
    return `${heading}<ul>${items.join("\n")}</ul>`
  }

  const pages = new Map<string, GuideContent | null>()

  const made = (address: string, way: Way): GuideContent | null => {
    const type = served.get(address)
    if (type !== undefined) {
      return { type, text: readFileSync(new URL(`../../src/guide/${address}`, import.meta.url), "utf8") }
    }
    const source = address.endsWith(".md") ? files.byAddress.get(address.replace(/\.md$/u, "")) : undefined
    if (source !== undefined && titles.has(source)) return { type: markdown, text: read(source) }
    const path = files.byAddress.get(address)
    return path === undefined ? null : renderPage(path, way)
  }

  /** Only addresses of existing pages are cached. */
  const answer = async (address: string, way: Way, query: string | null): Promise<GuideContent | null> => {
    if (query !== null && query.trim() !== "" && files.pages.length > 0) return found(query.trim(), way)
    const key = `${way.api} ${address}`
    const known = pages.get(key)
    if (known !== undefined) return known
    const page = made(address, way)
    if (page !== null) pages.set(key, page)
    return page
  }

  /** `llms.txt`, with the addresses of the pages on this server. */
  const list = (): GuideContent | null => {
    if (files.pages.length === 0) return null
    const text = read("llms.txt").replaceAll(/\]\(([^)]*)\)/gu, (whole, link: string) => {
      const address = files.findAddress(link)
      return address === undefined ? whole : `](docs/guide/${address}.md)`
    })
    return { type: "text/plain; charset=utf-8", text }
  }

  /** A page for a reader who followed a wrong address: the search with the words of that address. */
  const lost = async (address: string, way: Way): Promise<GuideContent | null> => {
    if (files.pages.length === 0) return null
    const query = address
      .replaceAll(/\.md$|[^\p{L}\p{N}]+/gu, " ")
      .trim()
      .slice(0, 100)
    const hits = (await search(query)).slice(0, 5)
    const content = lostPage(hits, ({ anchor, page }) => way.up + (files.findAddress(page) ?? "") + anchor)
    return { type: html, text: layout(makeFrame(way, "There is no such page", null, query), content) }
  }

  return { answer, list, lost }
}

let guide: ReturnType<typeof makeGuide> | undefined

interface GuideRequest {
  /** The path below `/docs/guide`. */
  readonly path: string
  /** The relative address of the API's description, seen from the folder of `docs`. */
  readonly api: string
  readonly query: string | null
}

/** Links are relative, so that a proxy may add a path of its own before them. Null: there is no guide. */
export const guideContent = async ({
  api,
  path,
  query
}: GuideRequest): Promise<(GuideContent & { readonly status: number }) | null> => {
  guide ??= makeGuide()
  const depth = path.split("/").length - 2
  const up = path === "" ? "guide/" : "../".repeat(depth) || "./"
  const way = { up, api: `${up}../../${api}` }
  const address = decoded(path).replaceAll(/^\/|\/$/gu, "")
  const found = await guide.answer(address, way, query)
  if (found !== null) return { ...found, status: 200 }
  const lost = await guide.lost(address, way)
  return lost === null ? null : { ...lost, status: 404 }
}

export const guideList = (): GuideContent | null => (guide ??= makeGuide()).list()

/** A path that cannot be decoded names no page. */
const decoded = (rest: string): string => {
  try {
    return decodeURIComponent(rest)
  } catch {
    return rest
  }
}
