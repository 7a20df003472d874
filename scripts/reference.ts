/**
 * `npm run reference`: the pages of `docs/reference/`, one for each sub-path, with every public name, its sentence and its type, and one of all
 * options. They are made of the sources whenever the packages are packed, and are in no commit. A public name without a sentence is refused.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Example, readExamples } from "./Examples.ts"
import { type PublicEntry, type PublicMember, type PublicName, readPublicNames } from "./PublicNames.ts"
import { packages, root } from "./Workspace.ts"

const home = join(root, "docs/reference")

/** `@colloquy/core/answers` is `core.answers`. */
const pageName = (entry: string): string => entry.replace(/^@colloquy\//u, "").replaceAll("/", ".")

/** Comments are prose with code in backticks; a link of a comment becomes its words. */
const prose = (text: string): string =>
  text
    .replaceAll(/\{@link ([^}]*)\}/gu, "`$1`")
    .replaceAll(/(?<!\n)\n(?![\n*-]|```)/gu, " ")
    .trim()

const firstSentence = (text: string): string =>
  /^[\s\S]*?\.(?=\s|$)/u.exec(prose(text))?.[0].replaceAll("\n", " ") ?? ""

const block = (code: string): string => `\`\`\`ts\n${code}\n\`\`\``

/** A program shows how a value is used; for a type its page is named. */
const exampleText = ({ code, page, title }: Example, declaration: string): ReadonlyArray<string> =>
  /^(?:const|(?:export )?(?:const|function|class|declare))\b/u.test(declaration)
    ? [`From [${title}](../${page}):`, block(code)]
    : [`Used in [${title}](../${page}).`]

type ExampleOf = (name: PublicName) => Example | undefined

const nameText = (named: PublicName, findExample: ExampleOf): string => {
  const example = findExample(named)
  return [
    `## ${named.name}`,
    prose(named.text),
    ...(named.code === "" ? [] : [block(named.code)]),
    ...(example === undefined ? [] : exampleText(example, named.code))
  ]
    .filter((part) => part !== "")
    .join("\n\n")
}

const entryPage = ({ name, names, text }: PublicEntry, findExample: ExampleOf): string =>
  [
    `# ${name}`,
    prose(text),
    `All sub-paths: [Every public name](../reference.md).`,
    ...names.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((each) => nameText(each, findExample))
  ].join("\n\n")

const cell = (text: string): string => text.replaceAll(/\s*\n\s*/gu, " ").replaceAll("|", "\\|")

type Values = Readonly<Record<string, unknown>>

/** The settings that `defaultMemorySettings` and the like have, by the name of their type. */
const readDefaults = async (entries: ReadonlyArray<PublicEntry>): Promise<ReadonlyMap<string, Values>> => {
  const sources = new Map(packages.flatMap((each) => each.entries).map(({ name, source }) => [name, source]))
  const found = new Map<string, Values>()
  for (const { name: entry, names } of entries) {
    for (const { code, name } of names) {
      const type = /^const default\w*Settings: (\w+)$/u.exec(code)?.[1]
      if (type === undefined || found.has(type)) continue
      const loaded: Readonly<Record<string, Values>> = await import(sources.get(entry) ?? entry)
      found.set(type, loaded[name] ?? {})
    }
  }
  return found
}

const units: ReadonlyArray<readonly [RegExp, string]> = [
  [/tokens/iu, "tokens"],
  [/bytes|size$/iu, "bytes"],
  [/characters|chars/iu, "characters"],
  [/seconds/iu, "seconds"],
  [/usd/iu, "dollars"]
]

const shownValue = (name: string, value: unknown): string => {
  if (value === null) return "`null`"
  if (typeof value === "function") return "a function"
  const unit = typeof value === "number" ? units.find(([form]) => form.test(name))?.[1] : undefined
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return `\`${text}\`${unit === undefined ? "" : ` ${unit}`}`
}

const usual = ({ isOptional, name, text }: PublicMember, values: Values | undefined): string => {
  if (values !== undefined && name in values) return shownValue(name, values[name])
  const told = /Default: ((?:[^.`]|`[^`]*`|\.(?=\S))*)/u.exec(text)?.[1]
  if (told !== undefined) return told
  return isOptional ? "not set" : "must be given"
}

const optionsTable = ({ members, name, text }: PublicName, entry: string, values: Values | undefined): string =>
  [
    `## ${name}`,
    `Of \`${entry}\`. ${prose(text)}`.trim(),
    [
      "| option | default | type | what it is |",
      "|---|---|---|---|",
      ...members.map(
        (each) =>
          `| \`${each.name}\` | ${cell(usual(each, values))} | \`${cell(each.type)}\` | ${cell(prose(each.text))} |`
      )
    ].join("\n")
  ].join("\n\n")

const optionsPage = (entries: ReadonlyArray<PublicEntry>, defaults: ReadonlyMap<string, Values>): string => {
  const seen = new Set<string>()
  const tables = entries
    .toSorted((a, b) => Number(b.name.startsWith("colloquy")) - Number(a.name.startsWith("colloquy")))
    .flatMap(({ name: entry, names }) =>
      names.flatMap((each) => {
        const isSettings = /(?:Options|Settings|SettingsPort)$/u.test(each.name) && each.members.length > 0
        const id = `${each.file} ${each.name}`
        if (!isSettings || seen.has(id)) return []
        seen.add(id)
        return [optionsTable(each, entry, defaults.get(each.name))]
      })
    )
  return [
    "# Every option of the library",
    'The options of `Colloquy.open`, of its rooms, and the settings of the layers, each with its default. A time is a number of milliseconds or a text such as `"3 seconds"`. The server\'s own variables are in [another table](../settings.md).',
    ...tables
  ].join("\n\n")
}

const indexText = (entries: ReadonlyArray<PublicEntry>): string =>
  [
    "## Options",
    "[Every option of the library](reference/options.md), with its default.",
    ...packages.map(({ manifest: { name } }) =>
      [
        `## ${name}`,
        [
          "| sub-path | names | what it has |",
          "|---|---|---|",
          ...entries
            .filter((entry) => entry.name === name || entry.name.startsWith(`${name}/`))
            .map(
              (entry) =>
                `| [${entry.name}](reference/${pageName(entry.name)}.md) | ${entry.names.length} | ${cell(firstSentence(entry.text))} |`
            )
        ].join("\n")
      ].join("\n\n")
    )
  ].join("\n\n")

/** Public names of which nothing is told. */
const silent = (entries: ReadonlyArray<PublicEntry>): ReadonlyArray<string> => [
  ...new Set(
    entries.flatMap(({ names }) =>
      names
        .filter(({ text }) => text === "")
        .map(({ file, name }) => `${file}: ${name} has no sentence. Write a comment above it.`)
    )
  )
]

const entries = readPublicNames()
const found = silent(entries)
if (found.length > 0) {
  console.error(found.toSorted().join("\n"))
  process.exitCode = 1
}
rmSync(home, { recursive: true, force: true })
mkdirSync(home, { recursive: true })
const examples = readExamples()
/** A name that several sub-paths have needs one example for all. */
const sharedExample: ExampleOf = ({ file, name }) =>
  entries
    .filter(({ names }) => names.some((each) => each.file === file && each.name === name))
    .map((entry) => examples(entry.name, name))
    .find((example) => example !== undefined)
for (const each of entries)
  writeFileSync(join(home, `${pageName(each.name)}.md`), `${entryPage(each, sharedExample)}\n`)
writeFileSync(join(home, "options.md"), `${optionsPage(entries, await readDefaults(entries))}\n`)
writeFileSync(join(home, "index.md"), `${indexText(entries)}\n`)
