/** The tables of `docs/errors.md`, read from the declarations of the errors, from the table of HTTP statuses and from the codes in the sources. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "..")
const read = (path: string) => readFileSync(join(root, path), "utf8")

const sourcesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)

export interface DeclaredError {
  readonly name: string
  /** Its comment, without marks. Empty: it has none. */
  readonly comment: string
  /** The sentences of its message. A value in a sentence is `…`. Empty: the message is handed over. */
  readonly says: ReadonlyArray<string>
}

const declaration =
  /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export class (\w+) extends Schema\.TaggedError<\w+>\(\)\(\s*"(\w+)"([\s\S]*?)\n\}\n/gu

const withoutValues = (text: string): string => {
  const open = text.indexOf("${")
  if (open < 0) return text
  let depth = 0
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === "{") depth += 1
    if (text[at] === "}") depth -= 1
    if (depth === 0) return `${text.slice(0, open)}…${withoutValues(text.slice(at + 1))}`
  }
  return text
}

const sentencesIn = (body: string): ReadonlyArray<string> => {
  const [, message = ""] = /override get message\(\)[^{]*\{([\s\S]*?)\n {2}\}/u.exec(body) ?? []
  return [...message.matchAll(/`((?:[^`$]|\$\{[^`}]*\}|\$)*)`|"([^"]*)"/gu)]
    .map(([, template = "", plain = ""]) => withoutValues(template === "" ? plain : template).trim())
    .filter((sentence) => /^[A-Z"`…].* .*[.…]$/u.test(sentence))
}

const declared = (path: string): ReadonlyArray<DeclaredError> =>
  [...read(path).matchAll(declaration)].map(([, comment = "", name = "", , body = ""]) => ({
    name,
    comment: comment.replaceAll(/\s*\n? ?\* ?/gu, " ").trim(),
    says: sentencesIn(body)
  }))

const publicNames = new Set(
  readdirSync(join(root, "test/public-names")).flatMap((file) => read(`test/public-names/${file}`).split("\n"))
)

/** The errors with which a call of the library can fail, by name. */
export const declaredErrors: ReadonlyArray<DeclaredError> = ["core", "adapters", "ws"]
  .flatMap((name) => sourcesIn(`packages/${name}/src`))
  .flatMap(declared)
  .filter(({ name }) => publicNames.has(name))
  .toSorted((a, b) => (a.name < b.name ? -1 : 1))

const statuses = new Map(
  [
    ...read("packages/http/src/wire/Errors.ts").matchAll(
      /export class (\w+) (?:(?!export class)[\s\S])*?httpApiStatus: (\d+)/gu
    )
  ].map(([, name = "", status = ""]) => [name, Number(status)])
)

/** The functions of the table that other lines of it name. */
const shared: Readonly<Record<string, string>> = {
  notFound: "404",
  unavailable: "503",
  invalid: "422",
  overLimit: "402, 429",
  accessStatus: "400, 403, 502",
  refused: "400, 404, 413, 415, 422, 502, 503, 504"
}

/** What the HTTP API answers to an error of the library, by the table of `ErrorStatus.ts`. */
export const statusByError: ReadonlyMap<string, string> = new Map(
  [
    ...(
      /const table = \{([\s\S]*?)\n\} satisfies/u.exec(read("packages/http/src/wire/ErrorStatus.ts"))?.[1] ?? ""
    ).matchAll(/^ {2}(\w+): ([\s\S]*?)(?=^ {2}\w+: |$(?![\s\S]))/gmu)
  ].map(([, name = "", line = ""]) => {
    const made = [...line.matchAll(/new (\w+)\(/gu)].flatMap(([, type = ""]) => statuses.get(type) ?? [])
    const named = Object.entries(shared).flatMap(([word, status]) =>
      new RegExp(`\\b${word}\\b`, "u").test(line) ? status : []
    )
    return [name, [...new Set([...made.map(String), ...named])].toSorted().join(", ")]
  })
)

/** Every `code` that the sources of turns give to a failed run, with what they say of `retryable`. */
export const faultCodes: ReadonlyMap<string, string> = new Map(
  ["turns", "outputs"]
    .flatMap((folder) => sourcesIn(`packages/core/src/${folder}`))
    .flatMap((path) =>
      [...read(path).matchAll(/\bcode: "([a-z_]+)",(?:(?!\bcode: )[\s\S])*?\bretryable: (\w+)/gu)].map(
        ([, code = "", retryable = ""]) => [code, retryable] as const
      )
    )
)

/** What each status of the wire means, by the descriptions in its declarations. */
export const wireStatuses: ReadonlyArray<{ readonly status: number; readonly name: string; readonly when: string }> = [
  ...read("packages/http/src/wire/Errors.ts").matchAll(
    /export class (\w+) (?:(?!export class)[\s\S])*?httpApiStatus: (\d+),\s*description:\s*"([^"]*)"/gu
  )
].map(([, name = "", status = "", when = ""]) => ({ name, status: Number(status), when }))
