/**
 * The guide of `docs/` as pages at `/docs/guide`, with a search that needs no script. Everything is read from the repository at the first
 * request, so that it needs no memory before. The source of a page is at its address with `.md` appended, for programs.
 */
import { readFileSync } from "node:fs"
import { filesOf, findFiles, type GuideFiles, isFolder, linkTarget, read } from "./GuideFiles.ts"
import { type Frame, layout, type PageLink, searchResults } from "./GuideLayout.ts"
import { codeBlock, escaped, toHtml } from "./GuideMarkdown.ts"
import { makeSearch, splitSections } from "./GuideSearch.ts"

/** The response for a path below `/docs/guide`. Null: there is no such page. */
export interface GuideAnswer {
  readonly type: string
  readonly text: string
}

/** From a page to the folder of all pages, and to the description of the API. */
interface Way {
  readonly up: string
  readonly api: string
}

const html = "text/html; charset=utf-8"
const markdown = "text/markdown; charset=utf-8"

const pageTitle = (text: string, path: string): string => /^# (.*)$/mu.exec(text)?.[1]?.replaceAll("`", "") ?? path

interface Chapter {
  readonly path: string
  readonly title: string
}

/** The pages in the order of the table in `docs/README.md`. */
const makeBook = (files: GuideFiles): ReadonlyArray<Chapter> => {
  const start = files.pages[0]
  if (start === undefined) return []
  const named = [...read(start).matchAll(/^\| \[([^\]]*)\]\(([^)]*)\)/gmu)].flatMap(([, words = "", link = ""]) => {
    const path = linkTarget(start, link)?.path
    return path === undefined ? [] : { path, title: words.replaceAll("`", "") }
  })
  return [{ path: start, title: "The guide" }, ...named.filter(({ path }) => files.addressOf(path) !== undefined)]
}

const makeGuide = () => {
  const files = findFiles()
  const book = makeBook(files)
  const titles = new Map(files.pages.map((path) => [path, pageTitle(read(path), path)]))
  const search = makeSearch(files.pages.flatMap((path) => splitSections(path, read(path))))

  const makeFrame = ({ api, up }: Way, title: string, path: string | null, query = ""): Frame => {
    const pageHref = (page: string) => up + (files.addressOf(page) ?? "")
    const contents = book.map((chapter): PageLink => ({ title: chapter.title, href: pageHref(chapter.path) }))
    return { up, api, title, query, contents, current: path === null ? null : pageHref(path) }
  }

  const found = (query: string, way: Way): GuideAnswer => {
    const results = searchResults(
      query,
      search(query),
      ({ anchor, page }) => way.up + (files.addressOf(page) ?? "") + anchor
    )
    return { type: html, text: layout(makeFrame(way, "Search", null, query), results) }
  }

  const renderPage = (path: string, way: Way): GuideAnswer => {
    const title = titles.get(path) ?? path
    const content = titles.has(path) ? pageContent(path, way.up) : fileContent(path, way.up)
    return { type: html, text: layout(makeFrame(way, title, path), content) }
  }

  const pageContent = (path: string, up: string): string =>
    toHtml(read(path), (link) => {
      const target = linkTarget(path, link)
      if (target === null) return /^https?:/u.test(link) ? link : null
      const address = files.addressOf(target.path)
      return address === undefined ? null : up + address + target.anchor
    })

  /** An example, or a folder of examples. */
  const fileContent = (path: string, up: string): string => {
    const heading = `<h1>${escaped(path)}</h1>`
    if (!isFolder(path)) return heading + codeBlock(read(path), /\.(\w+)$/u.exec(path)?.[1])
    const items = filesOf(path).map((file) => {
      const name = titles.get(file) ?? file.slice(path.length + 1)
      return `<li><a href="${escaped(up + (files.addressOf(file) ?? ""))}">${escaped(name)}</a></li>`
    })
    return `${heading}<ul>${items.join("\n")}</ul>`
  }

  const pages = new Map<string, GuideAnswer | null>()

  const made = (address: string, way: Way): GuideAnswer | null => {
    if (address === "guide.css") {
      return {
        type: "text/css; charset=utf-8",
        text: readFileSync(new URL("../../src/guide/guide.css", import.meta.url), "utf8")
      }
    }
    const source = address.endsWith(".md") ? files.byAddress.get(address.replace(/\.md$/u, "")) : undefined
    if (source !== undefined && titles.has(source)) return { type: markdown, text: read(source) }
    const path = files.byAddress.get(address)
    return path === undefined ? null : renderPage(path, way)
  }

  /** Only addresses of existing pages are cached. */
  const answer = (address: string, way: Way, query: string | null): GuideAnswer | null => {
    if (query !== null && query.trim() !== "" && files.pages.length > 0) return found(query.trim(), way)
    const key = `${way.api} ${address}`
    const known = pages.get(key)
    if (known !== undefined) return known
    const page = made(address, way)
    if (page !== null) pages.set(key, page)
    return page
  }

  /** `llms.txt`, with the addresses of the pages on this server. */
  const list = (): GuideAnswer | null => {
    if (files.pages.length === 0) return null
    const text = read("llms.txt").replaceAll(/\]\(([^)]*)\)/gu, (whole, link: string) => {
      const address = files.addressOf(link)
      return address === undefined ? whole : `](docs/guide/${address}.md)`
    })
    return { type: "text/plain; charset=utf-8", text }
  }

  return { answer, list }
}

let guide: ReturnType<typeof makeGuide> | undefined

interface GuideRequest {
  /** The path below `/docs/guide`. */
  readonly path: string
  /** The relative address of the API's description, seen from the folder of `docs`. */
  readonly api: string
  readonly query: string | null
}

/** Links are relative, so that a proxy may add a path of its own before them. */
export const guideAnswer = ({ api, path, query }: GuideRequest): GuideAnswer | null => {
  guide ??= makeGuide()
  const depth = path.split("/").length - 2
  const up = path === "" ? "guide/" : "../".repeat(depth) || "./"
  return guide.answer(decoded(path).replaceAll(/^\/|\/$/gu, ""), { up, api: `${up}../../${api}` }, query)
}

export const guideList = (): GuideAnswer | null => (guide ??= makeGuide()).list()

/** A path that cannot be decoded names no page. */
const decoded = (rest: string): string => {
  try {
    return decodeURIComponent(rest)
  } catch {
    return rest
  }
}
