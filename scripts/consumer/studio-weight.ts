// Weighs the studio as its package is published: what a first visit loads, and what each room adds, compressed. It fails where that is too much.
import { studio } from "@colloquy/studio"

const page = studio({ api: "/ai", basePath: "/admin/studio" })

interface Sent {
  readonly text: string
  readonly size: number
  readonly caching: string
}

const get = async (path: string): Promise<Sent> => {
  const address = new URL(path, "http://host/admin/studio/")
  const ask = (encoding: string) => page.handler(new Request(address, { headers: { "accept-encoding": encoding } }))
  const [zipped, plain] = await Promise.all([ask("gzip"), ask("identity")])
  // A typeface is compressed by its form.
  if (zipped.status !== 200 || (zipped.headers.get("content-encoding") !== "gzip" && !path.endsWith(".woff2")))
    throw new Error(`${path} was answered with ${zipped.status}, uncompressed`)
  return {
    text: await plain.text(),
    size: (await zipped.arrayBuffer()).byteLength,
    caching: zipped.headers.get("cache-control") ?? ""
  }
}

const found = (text: string, form: RegExp): ReadonlyArray<string> =>
  [...text.matchAll(form)].map(([, name = ""]) => name)

/** The sizes of files and of all that they import at once. */
const load = async (begin: ReadonlyArray<string>): Promise<ReadonlyMap<string, number>> => {
  const sizes = new Map<string, number>()
  const wanted = new Set(begin)
  for (const path of wanted) {
    const { caching, size, text } = await get(path)
    sizes.set(path, size)
    if (!path.endsWith(".js")) continue
    if (!caching.includes("immutable")) throw new Error(`${path} has no hash that a browser may rely on`)
    for (const name of found(text, /from"\.\/([\w.-]+\.js)"/g)) wanted.add(`studio/${name}`)
  }
  return sizes
}

const sum = (sizes: Iterable<number>): number => [...sizes].reduce((all, each) => all + each, 0)

const check = (what: string, size: number, limit: number) => {
  console.log(`${what}: ${(size / 1000).toFixed(1)} kB`)
  if (size > limit) throw new Error(`${what} weighs ${size} bytes; at most ${limit} were expected`)
}

const index = await get("./")
const first = await load(found(index.text, / (?:href|src)="(studio\/[^"]+)"/g))
const letters = sum([...first].flatMap(([path, size]) => (path.endsWith(".woff2") ? [size] : [])))
check("The studio's typeface", letters, 30_000)
check(`The studio's first view, of ${first.size + 1} files`, index.size + sum(first.values()) - letters, 60_000)

const main = (await Promise.all([...first.keys()].filter((path) => path.endsWith(".js")).map(get))).map(
  ({ text }) => text
)
const rooms = found(main.join(""), /import\(`\.\/(\w+Room-[\w-]+\.js)`\)/g)
if (rooms.length < 5) throw new Error(`Only these rooms are files of their own: ${rooms.join(", ")}`)
for (const room of rooms) {
  const word = room.slice(0, room.indexOf("Room-"))
  const styles = await get(`studio/css/${word.toLowerCase()}.css`).catch(() => null)
  const added = [...(await load([`studio/${room}`]))].filter(([path]) => !first.has(path))
  check(`The room ${word}`, sum(added.map(([, size]) => size)) + (styles?.size ?? 0), 40_000)
}
