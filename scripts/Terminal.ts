/** The picture of a terminal: two commands and what they really print, as SVG. Used by `npm run pictures` and by the test that it is true. */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { newFolder } from "./Copy.ts"
import { root } from "./Workspace.ts"

const node = ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning"]

const printed = (parameters: ReadonlyArray<string>): ReadonlyArray<string> => {
  const result = spawnSync(process.execPath, [...node, ...parameters], { cwd: root, encoding: "utf8" })
  if (result.status !== 0) throw new Error(`${parameters.join(" ")} failed:\n${result.stderr}`)
  return result.stdout.trimEnd().split("\n")
}

/** The first program of README.md, and the help of the command. */
export const terminalLines = (readme: string): ReadonlyArray<string> => {
  const [, program = ""] = /^```ts\n([\s\S]*?)^```/mu.exec(readme) ?? []
  using work = newFolder("picture-")
  const file = join(work.folder, "hello.ts")
  writeFileSync(file, program)
  const help = printed([join(root, "packages/server/src/command/colloquy.ts")])
  return ["$ node hello.ts", ...printed([file]), "", "$ npx colloquy", ...help]
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const lineHeight = 20
const letterWidth = 8.45
const margin = 20

export const terminalPicture = (lines: ReadonlyArray<string>): string => {
  const width = Math.ceil(Math.max(...lines.map(({ length }) => length)) * letterWidth) + 2 * margin
  const height = lines.length * lineHeight + 2 * margin
  const texts = lines.map((line, index) => {
    const fill = line.startsWith("$ ") ? "#74c9c1" : "#e9e7e3"
    return `  <text x="${margin}" y="${margin + (index + 0.75) * lineHeight}" fill="${fill}" xml:space="preserve">${escaped(line)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">
  <title>A terminal with the first program of the README and the help of the command colloquy</title>
  <rect width="100%" height="100%" rx="8" fill="#15171a" />
${texts.join("\n")}
</svg>
`
}
