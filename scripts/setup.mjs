// Makes the installed packages those of package-lock.json; says nothing and changes nothing when they already are.
// Plain JavaScript without dependencies, because it runs before anything is installed, on any Node from 18 on.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const at = (...names) => join(root, ...names)
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"))
const atLeast = (version, wanted) => {
  const [have, want] = [version, wanted].map((text) => text.replace(/^\D*/, "").split(".").map(Number))
  const index = want.findIndex((part, position) => part !== have[position])
  return index === -1 || have[index] > want[index]
}

const { engines } = readJson(at("package.json"))
const locked = readJson(at("package-lock.json")).packages
const nodeEntry = "node_modules/node"
const nodeCommand = at("node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node")

const stop = (sentence) => {
  console.error(`Set-up failed: ${sentence}`)
  process.exit(1)
}

/** The command is there (through its link) and belongs to the locked version; starting it to ask would cost every later run. */
const nodeIsInstalled = () => {
  if (!existsSync(nodeCommand)) return false
  const manifest = at(nodeEntry, "package.json")
  return existsSync(manifest) && readJson(manifest).version === locked[nodeEntry].version
}

const packagesAreInstalled = () => {
  const hidden = at("node_modules", ".package-lock.json")
  if (!existsSync(hidden)) return false
  const installed = readJson(hidden).packages
  return Object.entries(locked).every(([path, entry]) => {
    if (!path.startsWith("node_modules/")) return true
    if (entry.link) return existsSync(at(path))
    const found = installed[path]
    return found === undefined ? entry.optional === true || entry.devOptional === true : found.version === entry.version
  })
}

const run = (command, parameters, cwd) => {
  const result = spawnSync(command, parameters, { cwd, encoding: "utf8", shell: process.platform === "win32" })
  return {
    ok: result.status === 0,
    text: [result.error?.message, result.stdout, result.stderr].filter(Boolean).join("\n")
  }
}

const npm = (...parameters) => {
  const script = process.env.npm_execpath
  return script !== undefined && /\.c?js$/.test(script)
    ? run(process.execPath, [script, ...parameters], root)
    : run("npm", parameters, root)
}

const advice = (text) =>
  text.includes("EUSAGE")
    ? "package.json and package-lock.json disagree; run `npm install` and commit package-lock.json."
    : "npm could not install the packages (its message is above). Check that the npm registry can be reached (`npm ping`) and that the disk is not full, then run `npm ci`."

/** npm 12 refuses a lock file without the optional packages of other platforms: those lines name no version. */
const onlyOtherPlatformsMiss = (text) => {
  const complaints = text.match(/(Missing|Invalid): .*/g) ?? []
  return complaints.length > 0 && complaints.every((line) => /^Missing: \S+@ from lock file/.test(line))
}

const install = () => {
  console.log("Installing the packages of package-lock.json (once, about a minute)…")
  const quiet = ["--loglevel=error", "--no-audit", "--no-fund"]
  const strict = npm("ci", ...quiet)
  const result = !strict.ok && onlyOtherPlatformsMiss(strict.text) ? npm("install", "--no-save", ...quiet) : strict
  if (result.ok) return
  console.error(result.text.trim())
  stop(advice(result.text))
}

/** npm may be set to run no install scripts; the one of the package `node` fetches its binary. */
const fetchNode = () => {
  const { text } = run(process.execPath, ["installArchSpecificPackage"], at(nodeEntry))
  npm("rebuild", "node", "--ignore-scripts") // links the command, which npm left out while its binary was missing
  if (nodeIsInstalled()) return
  if (atLeast(process.version, engines.node)) return
  console.error(text.trim())
  stop(
    `Node ${locked[nodeEntry].version} could not be installed for ${process.platform}-${process.arch}. Install a Node that is ${engines.node} yourself and try again.`
  )
}

if (!atLeast(process.version, "18.0.0")) stop(`this is Node ${process.version}; use Node 18 or newer to start.`)
if (!packagesAreInstalled()) install()
if (!nodeIsInstalled() && !atLeast(process.version, engines.node)) fetchNode()
