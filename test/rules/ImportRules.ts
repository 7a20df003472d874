/** Who may import whom: the table and the room order of ARCHITECTURE.md#rules as data, and the functions that judge one import. */
import { posix } from "node:path"

interface PackageRule {
  /** Modules from outside the package, as patterns of their whole name. */
  readonly may: ReadonlyArray<RegExp>
  readonly never: ReadonlyArray<RegExp>
  readonly says: string
}

const effectRoot = /^effect\/[A-Z]\w*$/
const core =
  /^@colloquy\/core(\/(adapters|wings|prepare|promises|retrieval|documents|memory|summaries|answers|helpers|outputs|media|web-search|voice|realtime|inspection|retention|schedules|webhooks|evals))?$/
const node = /^node:/

export const packageRules: Readonly<Record<string, PackageRule>> = {
  core: {
    may: [effectRoot],
    never: [],
    says: "core may import root modules of effect by path (`effect/Stream`) and nothing else"
  },
  adapters: {
    may: [effectRoot, core, node, /^effect\/(http|sql|socket|ai|persistence|encoding)(\/\w+)?$/],
    never: [
      /^@colloquy\/(http|ws)/,
      /^effect\/http\/Http(Server|Router|Middleware|Effect|Platform)/,
      /^effect\/http-api/
    ],
    says: "adapters may import core, the clients of effect/http, effect/sql, effect/socket and declared vendor libraries; never http or ws"
  },
  testing: {
    may: [effectRoot, core, /^@colloquy\/adapters\/in-memory$/, node, /^@effect\/vitest$/, /^effect\/testing\/\w+$/],
    never: [/^@colloquy\/(http|ws)/],
    says: "testing may import core, the in-memory stores of adapters, @effect/vitest and effect/testing; never http or ws"
  },
  http: {
    may: [effectRoot, core, node, /^effect\/(http|http-api|encoding)(\/\w+)?$/],
    never: [/^@colloquy\/(adapters|ws)/],
    says: "http may import core, effect/http and effect/http-api; never adapters or ws"
  },
  ws: {
    may: [effectRoot, core, node, /^effect\/(socket|http)(\/\w+)?$/],
    never: [/^@colloquy\/(adapters|http)/],
    says: "ws may import core, effect/socket and effect/http; never adapters or http"
  },
  studio: {
    may: [/^@colloquy\/(http\/node|ws\/client)$/, node],
    never: [],
    says: "studio is a client of the API: it may import @colloquy/http/node, @colloquy/ws/client, of @colloquy/http types in its page, and declared libraries"
  },
  server: {
    may: [/^@colloquy\/(core|adapters|http|ws|studio)(\/[\w-]+)?$/, /^effect\/[\w/-]+$/, node],
    never: [/^colloquy$/],
    says: "server may import every package but colloquy"
  },
  colloquy: {
    may: [effectRoot, core, /^@colloquy\/(adapters|http|ws)(\/[\w-]+)?$/, node],
    never: [],
    says: "colloquy may import core, adapters, http, ws and root modules of effect"
  }
}

/** A room of core may import itself and the rooms before it. */
export const rooms = [
  "primitives",
  "access",
  "metering",
  "tools",
  "models",
  "catalog",
  "threads",
  "runs",
  "assistants",
  "prompts",
  "turns",
  "owners",
  "promises"
]

/** A wing may import every room, itself, and the wings named here. No room imports a wing. */
export const wings: Readonly<Record<string, ReadonlyArray<string>>> = {
  retrieval: [],
  documents: ["retrieval"],
  memory: ["retrieval"],
  summaries: [],
  helpers: [],
  answers: [],
  outputs: [],
  media: ["documents", "retrieval"],
  "web-search": [],
  voice: ["documents"],
  realtime: [],
  inspection: [],
  retention: [],
  schedules: [],
  webhooks: [],
  evals: ["answers", "documents", "inspection"]
}

/** A folder of http may import itself and the folders before it. The files beside the folders are not in the order. */
export const foldersOfHttp = [
  "wire",
  "links",
  "bodies",
  "wings",
  "endpoints",
  "encoding",
  "streams",
  "guards",
  "handlers",
  "openai",
  "ag-ui",
  "mcp",
  "tool-access",
  "docs-page",
  "client",
  "ai-sdk",
  "node"
]

/** What serves every wing takes what they show from one entry, so that a process without a wing does not load it. */
const servesAllWings = [
  /^packages\/http\/src\//,
  /^packages\/adapters\/src\/(in-memory|pglite|postgres)\//,
  /^packages\/adapters\/src\/Stores\.ts$/
]
const surface = "packages/core/src/wings.ts"

const isWing = (name: string) => Object.keys(wings).some((wing) => name === `@colloquy/core/${wing}`)

/** What is made for tests is imported by tests, and by the entry of `colloquy` that hands it to hosts without Effect. */
const isForTests = (name: string) => /^@colloquy\/testing(\/|$)/.test(name)
const handsOnTests = "packages/colloquy/src/Testing.ts"

const matches = (patterns: ReadonlyArray<RegExp>, name: string) => patterns.some((pattern) => pattern.test(name))

const packageName = (file: string) => file.split("/")[1] ?? ""

const roomName = (file: string) => {
  const [, , , room, ...rest] = file.split("/")
  return rest.length === 0 ? null : (room ?? null)
}

/** `@scope/name/sub` -> `@scope/name`, `name/sub` -> `name`. */
const libraryName = (name: string) =>
  name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/")

/** The page of the studio names the records of the API by their types, which its browser never sees. */
const typesOfPage = { folder: "packages/studio/src/page/", name: "@colloquy/http" }

const externalFault = (file: string, name: string, declared: ReadonlyArray<string>): string | null => {
  const home = packageName(file)
  if (name === "effect") return "effect is imported by path (`effect/Stream`), never as a whole"
  const rule = packageRules[home]
  if (rule === undefined) return `${home} is not in the table of packages`
  if (isWing(name) && servesAllWings.some((files) => files.test(file)))
    return "what serves all wings imports `@colloquy/core/wings`, so that a process without the wing does not load it"
  if (matches(rule.never, name)) return rule.says
  if (isForTests(name)) return file === handsOnTests ? null : "only tests import @colloquy/testing"
  if (matches(rule.may, name)) return null
  if (name === typesOfPage.name && file.startsWith(typesOfPage.folder)) return null
  if (home === "core") return rule.says
  const library = libraryName(name)
  const isVendor = library !== "effect" && !library.startsWith("@colloquy/")
  return isVendor && declared.includes(library) ? null : rule.says
}

const isPlace = (name: string) => rooms.includes(name) || name in wings

const roomFault = (file: string, target: string): string | null => {
  const [from, to] = [roomName(file), roomName(target)]
  if (file === surface) return null
  if (from === null) {
    return to !== null && to in wings ? `a wing has its own sub-path; the main entry never imports ${to}` : null
  }
  if (!isPlace(from)) return `${from} is not in the list of rooms`
  if (to === null) return "a room imports rooms, never Kernel.ts or index.ts"
  if (!isPlace(to)) return `${to} is not in the list of rooms`
  const uses = wings[from]
  if (uses !== undefined) {
    return rooms.includes(to) || to === from || uses.includes(to)
      ? null
      : `the wing ${from} imports rooms and ${uses.join(", ") || "no other wing"}, never ${to}`
  }
  if (to in wings) return `no room imports a wing, and ${to} is one`
  return rooms.indexOf(to) <= rooms.indexOf(from) ? null : `a room may import rooms above it; ${to} is below ${from}`
}

const httpFault = (file: string, target: string): string | null => {
  const [from, to] = [roomName(file), roomName(target)]
  if (from === null || to === null || from === to) return null
  const [place, wanted] = [foldersOfHttp.indexOf(from), foldersOfHttp.indexOf(to)]
  if (place === -1) return `${from} is not in the list of http's folders`
  return wanted !== -1 && wanted < place
    ? null
    : `a folder of http imports those before it; ${to} is not before ${from}`
}

/** Circles of files, each as the paths of its files: two files are in one when each reaches the other by imports. */
export const circlesIn = (
  imports: ReadonlyMap<string, ReadonlyArray<string>>
): ReadonlyArray<ReadonlyArray<string>> => {
  const reached = new Map<string, ReadonlySet<string>>()
  const reach = (file: string): ReadonlySet<string> => {
    const known = reached.get(file)
    if (known !== undefined) return known
    const seen = new Set<string>()
    const waiting = [...(imports.get(file) ?? [])]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (seen.has(next)) continue
      seen.add(next)
      waiting.push(...(imports.get(next) ?? []))
    }
    reached.set(file, seen)
    return seen
  }
  const circles = [...imports.keys()]
    .filter((file) => reach(file).has(file))
    .map((file) => [file, ...[...reach(file)].filter((other) => other !== file && reach(other).has(file))].toSorted())
  return [...new Map(circles.map((circle) => [circle.join(" "), circle])).values()]
}

/** Pairs of folders that import each other. `imports` has the paths of the files that each file imports. */
export const mutualFolders = (
  imports: ReadonlyMap<string, ReadonlyArray<string>>
): ReadonlyArray<readonly [string, string]> => {
  const used = new Map<string, Set<string>>()
  for (const [file, names] of imports) {
    const folder = posix.dirname(file)
    const known = used.get(folder) ?? new Set()
    for (const name of names) known.add(posix.dirname(name))
    used.set(folder, known)
  }
  return [...used].flatMap(([folder, others]) =>
    [...others]
      .filter((other) => folder < other && used.get(other)?.has(folder) === true)
      .map((other) => [folder, other] as const)
  )
}

const internalFault = (file: string, name: string): string | null => {
  const target = posix.join(posix.dirname(file), name)
  if (!target.startsWith(`packages/${packageName(file)}/src/`))
    return "another package is imported by its name, never by a path"
  const home = packageName(file)
  if (home === "core") return roomFault(file, target)
  return home === "http" ? httpFault(file, target) : null
}

/** A sentence about one import that breaks a rule, or null. `declared` are the libraries in the package's own package.json. */
export const judgeImport = (file: string, name: string, declared: ReadonlyArray<string> = []): string | null => {
  const fault = name.startsWith(".") ? internalFault(file, name) : externalFault(file, name, declared)
  return fault === null ? null : `${file} imports "${name}": ${fault} (see ARCHITECTURE.md#rules).`
}
