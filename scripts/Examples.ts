/** The programs of the guide, as examples of the public names that they import. The tests of snippets check their types and run them. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./Workspace.ts"

export interface Example {
  /** The page of the guide: `express.md`, with its title. */
  readonly page: string
  readonly title: string
  readonly code: string
}

interface Program extends Example {
  /** What it imports: `colloquy/testing say`. */
  readonly imports: ReadonlySet<string>
}

/** A page of more lines is no example of one name. */
const longest = 70

/** `import { say } from "colloquy/testing"`, and `OpenAi.provider` after `import * as OpenAi from "@colloquy/adapters/openai"`. */
const importsIn = (code: string): ReadonlySet<string> => {
  const named = [...code.matchAll(/^import (?:type )?\{([^}]*)\} from "([^"]+)"/gmu)].flatMap(
    ([, names = "", entry = ""]) =>
      names.split(",").map(
        (name) =>
          `${entry} ${name
            .trim()
            .replace(/^type /u, "")
            .replace(/ as .*$/u, "")}`
      )
  )
  const whole = [...code.matchAll(/^import \* as (\w+) from "([^"]+)"/gmu)].flatMap(([, alias = "", entry = ""]) =>
    [...code.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, "gu"))].map(([, name = ""]) => `${entry} ${name}`)
  )
  return new Set([...named, ...whole])
}

const programsIn = (page: string): ReadonlyArray<Program> => {
  const text = readFileSync(join(root, "docs", page), "utf8")
  const title = /^# (.*)$/mu.exec(text)?.[1] ?? page
  return [...text.matchAll(/^```tsx?\n([\s\S]*?)^```/gmu)]
    .map(([, code = ""]) => ({ page, title, code: code.trim(), imports: importsIn(code) }))
    .filter(({ code }) => code.split("\n").length <= longest)
}

const uses = ({ code, imports }: Program, entry: string, name: string): boolean =>
  imports.has(`${entry} ${name.split(".")[0]}`) && (!name.includes(".") || code.includes(name))

/** Finds the shortest program of the guide that uses a name of an entry. A name of a namespace is `Kernel.layer`. */
export const readExamples = (): ((entry: string, name: string) => Example | undefined) => {
  const programs = readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .flatMap(programsIn)
    .toSorted((a, b) => a.code.length - b.code.length)
  return (entry, name) => programs.find((program) => uses(program, entry, name))
}
