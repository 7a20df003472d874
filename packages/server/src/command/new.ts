import { existsSync, readdirSync, statSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join, resolve } from "node:path"
import { StartRefused } from "../StartRefused.ts"
import { applicationFiles, type Host, hosts } from "./Applications.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import { type CommandRun, readWords } from "./Command.ts"

const readArguments = (args: ReadonlyArray<string>) => {
  const { positionals, values } = readWords({
    args: [...args],
    allowPositionals: true,
    options: { host: { type: "string" }, json: { type: "boolean", default: false } }
  })
  const refuse = (problem: string) => new WronglyCalled(problem)
  const [folder = ""] = positionals
  const { host: named = "plain" } = values
  const host = hosts.find((each) => each === named)
  if (folder === "" || positionals.length > 1) throw refuse("Name one folder.")
  if (host === undefined) throw refuse(`There is no host "${named}". Hosts: ${hosts.join(", ")}.`)
  // Who writes "new express" wants the host, and would get the plain one in a folder of that name.
  if (values.host === undefined && hosts.some((each) => each === folder))
    throw refuse(`"${folder}" is a host. Name the folder too: colloquy new my-app --host ${folder}.`)
  return { folder: resolve(folder), host, json: values.json }
}

/** A name that npm takes: lower case letters, digits, `-`, `_` and `.`, beginning with a letter or a digit. */
const packageName = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/gu, "-")
    .replace(/^[._-]+/u, "") || "assistant"

const told = (folder: string, host: Host): string =>
  [
    `${folder} has an application for ${host === "plain" ? "Node's own server" : host}, with a test.`,
    "",
    `  cd ${folder}`,
    "  npm install",
    "  npm test",
    host === "next" ? "  npm run dev" : "  npm start",
    "",
    "The packages are not on a registry yet: README.md there says how npm installs them from files."
  ].join("\n")

/** Writes into a new or an empty folder, and never over a file. */
export const newApplication: CommandRun = async (args, { print }) => {
  const { folder, host, json } = readArguments(args)
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0)) {
    throw new StartRefused({ message: `${folder} is not an empty folder. Name a folder that does not exist.` })
  }
  const { version }: { readonly version: string } = createRequire(import.meta.url)("@colloquy/server/package.json")
  const files = applicationFiles(packageName(folder), host, version)
  for (const [path, text] of files) {
    try {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text, { flag: "wx" })
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error"
      throw new StartRefused({ message: `${join(folder, path)} cannot be written (${code}). Name another folder.` })
    }
  }
  print(json ? JSON.stringify({ folder, host, files: [...files.keys()] }, null, 2) : told(folder, host))
  return 0
}
