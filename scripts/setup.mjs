// Installs the packages of package-lock.json. It prints nothing and changes nothing if they are installed already.
// It is plain JavaScript without dependencies, because it runs before anything is installed, on any Node.js from 18 on.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
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

/** Whether the command `node` of the locked version is installed. It is not started to ask for its version, because that would take time at every run. */
const nodeIsInstalled = () => {
  if (!existsSync(nodeCommand)) return false
  const manifest = at(nodeEntry, "package.json")
  return existsSync(manifest) && readJson(manifest).version === locked[nodeEntry].version
}

const libc = () => {
  if (process.platform !== "linux") return undefined
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "glibc"
}

/** Whether npm installs a package on this platform. Optional packages with native code, and packages that only those need, may be left out. */
const isForHere = ({ optional, os, cpu, libc: libraries }) => {
  if (optional !== true) return true
  if (os === undefined && cpu === undefined) return false
  const fits = (list, value) => list === undefined || list.includes(value)
  return fits(os, process.platform) && fits(cpu, process.arch) && (libraries === undefined || fits(libraries, libc()))
}

/** The packages of the lock file that are not installed, or that are installed in another version. */
const missingPackages = () => {
  const hidden = at("node_modules", ".package-lock.json")
  const installed = existsSync(hidden) ? readJson(hidden).packages : {}
  const isThere = ([path, entry]) =>
    entry.link ? existsSync(at(path)) : installed[path] ? installed[path].version === entry.version : !isForHere(entry)
  return Object.entries(locked)
    .filter(([path]) => path.startsWith("node_modules/"))
    .filter((entry) => !isThere(entry))
    .map(([path]) => path)
}

const bin = at("node_modules", ".bin")

const run = (command, parameters, cwd) => {
  const result = spawnSync(command, parameters, {
    cwd,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    encoding: "utf8",
    shell: process.platform === "win32"
  })
  return {
    ok: result.status === 0,
    text: [result.error?.message, result.stdout, result.stderr].filter(Boolean).join("\n")
  }
}

/** Runs the npm that has started this script, with the locked Node.js as soon as it is installed. */
const npm = (...parameters) => {
  const script = process.env.npm_execpath
  const options = [...parameters, "--loglevel=error", "--no-audit", "--no-fund"]
  return script !== undefined && /\.c?js$/.test(script)
    ? run("node", [script, ...options], root)
    : run("npm", options, root)
}

const advice = (text) =>
  text.includes("EUSAGE")
    ? "package.json and package-lock.json disagree; run `npm install` and commit package-lock.json."
    : "npm could not install the packages (its message is above). Check that the npm registry can be reached (`npm ping`) and that the disk is not full, then run `npm ci`."

/** npm 12 refuses a lock file without the optional packages of other platforms. Its messages about those contain no version. */
const onlyOtherPlatformsMiss = (text) => {
  const complaints = text.match(/(Missing|Invalid): .*/g) ?? []
  return complaints.length > 0 && complaints.every((line) => /^Missing: \S+@ from lock file/.test(line))
}

const orStop = ({ ok, text }) => {
  if (ok) return
  console.error(text.trim())
  stop(advice(text))
}

const install = () => {
  console.log("Installing the packages of package-lock.json (once, about a minute)…")
  const strict = npm("ci")
  orStop(!strict.ok && onlyOtherPlatformsMiss(strict.text) ? npm("install", "--no-save") : strict)
}

/** Runs the install script of the package `node`, which fetches the binary: npm may be configured to run no install scripts. */
const fetchNode = () => {
  const { text } = run("node", ["installArchSpecificPackage"], at(nodeEntry))
  npm("rebuild", "node", "--ignore-scripts") // links the command, which npm left out while its binary was missing
  if (nodeIsInstalled() || atLeast(process.version, engines.node)) return
  console.error(text.trim())
  stop(
    `Node ${locked[nodeEntry].version} could not be installed for ${process.platform}-${process.arch}. Install a Node that is ${engines.node} yourself and try again.`
  )
}

/** Installs again with the locked Node.js: with an older one, npm leaves out optional packages that do not run on it. */
const addWhatWasLeftOut = () => {
  orStop(npm("install", "--no-save"))
  const missing = missingPackages()
  if (missing.length > 0)
    stop(`npm left out ${missing.join(", ")}. Remove node_modules and try again with a newer npm.`)
}

if (!atLeast(process.version, "18.0.0")) stop(`this is Node ${process.version}; use Node 18 or newer to start.`)
const mustInstall = missingPackages().length > 0
if (mustInstall) install()
if (!nodeIsInstalled() && !atLeast(process.version, engines.node)) fetchNode()
if (mustInstall && missingPackages().length > 0) addWhatWasLeftOut()
