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
const nodeBinary = at(nodeEntry, "bin", process.platform === "win32" ? "node.exe" : "node")

const stop = (sentence) => {
  console.error(`Set-up failed: ${sentence}`)
  process.exit(1)
}

/** A file that the package `node` writes when it is installed, so that later runs need not start the binary to ask it. */
const nodeIsInstalled = () => {
  if (!existsSync(nodeBinary)) return false
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
  return { ok: result.status === 0, text: [result.error?.message, result.stdout, result.stderr].filter(Boolean).join("\n") }
}

const npm = (...parameters) => {
  const script = process.env.npm_execpath
  return script !== undefined && /\.c?js$/.test(script)
    ? run(process.execPath, [script, ...parameters], root)
    : run("npm", parameters, root)
}

const install = () => {
  console.log("Installing the packages of package-lock.json (once, about a minute)…")
  const { ok, text } = npm("ci", "--loglevel=error", "--no-audit", "--no-fund")
  if (ok) return
  console.error(text.trim())
  stop(
    text.includes("EUSAGE")
      ? "package.json and package-lock.json disagree; run `npm install` and commit package-lock.json."
      : "npm could not install the packages (its message is above). Check that the npm registry can be reached (`npm ping`) and that the disk is not full, then run `npm ci`."
  )
}

/** npm may be set to run no install scripts; the one of the package `node` fetches its binary. */
const fetchNode = () => {
  const { ok, text } = run(process.execPath, ["installArchSpecificPackage"], at(nodeEntry))
  if (ok && nodeIsInstalled()) return
  if (atLeast(process.version, engines.node)) return
  console.error(text.trim())
  stop(
    `Node ${locked[nodeEntry].version} could not be installed for ${process.platform}-${process.arch}. Install a Node that is ${engines.node} yourself and try again.`
  )
}

if (!atLeast(process.version, "18.0.0")) stop(`this is Node ${process.version}; use Node 18 or newer to start.`)
if (!packagesAreInstalled()) install()
if (!nodeIsInstalled() && !atLeast(process.version, engines.node)) fetchNode()
