/**
 * The rights of a reader's process, by Node's permission model. It may read the code that it runs and the tables that it is given, and
 * nothing else. It starts no program, and has no network where the permission model covers networks (Node 25 and newer). The model is a
 * second protection: a file cannot make a library open other files. Native code is limited by the rights of the system's user, if the host
 * names one.
 */
import { existsSync, realpathSync } from "node:fs"
import { findPackageJSON } from "node:module"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** A user of the system without rights, as numbers. The host must be allowed to start processes of another user. */
export interface ReaderUser {
  readonly uid: number
  readonly gid: number
}

export interface ReaderRights {
  /** The script of the process. */
  readonly script: string
  /** Flags of Node. */
  readonly flags: ReadonlyArray<string>
  /** Whether it may start threads besides the one that watches it. */
  readonly threads: boolean
  readonly user: ReaderUser | null
}

export interface ReaderNeeds {
  readonly script: URL
  /** Further folders that the process may read. */
  readonly folders?: ReadonlyArray<string>
  /** Whether it may load native code. */
  readonly addons?: boolean
  readonly threads?: boolean
  readonly user?: ReaderUser | undefined
}

const endsFirst = "/proc/self/oom_score_adj"

export const readerRights = ({ addons, folders = [], script, threads, user }: ReaderNeeds): ReaderRights => {
  const path = realpathSync(fileURLToPath(script))
  const readable = new Set([...codeFolders(path), ...folders.map((folder) => realpathSync(folder))])
  return {
    script: path,
    flags: [
      "--permission",
      // The thread that watches it.
      "--allow-worker",
      ...(addons === true ? ["--allow-addons"] : []),
      ...[...readable].map((folder) => `--allow-fs-read=${folder}`),
      // The file in which Linux is told to end this process first when memory runs out.
      ...(process.platform === "linux" ? [`--allow-fs-read=${endsFirst}`, `--allow-fs-write=${endsFirst}`] : [])
    ],
    threads: threads === true,
    user: user ?? null
  }
}

/** The folder of the script and of the code beside this file, the packages that are installed for them, and core where it is linked. */
const codeFolders = (script: string): ReadonlyArray<string> => {
  const own = [dirname(script), realpathSync(dirname(fileURLToPath(import.meta.url)))]
  return [...own, ...own.flatMap(installedAbove), ...linkedCore()]
}

const installedAbove = (folder: string): ReadonlyArray<string> => {
  const installed = join(folder, "node_modules")
  const above = dirname(folder)
  return [...(existsSync(installed) ? [installed] : []), ...(above === folder ? [] : installedAbove(above))]
}

const linkedCore = (): ReadonlyArray<string> => {
  try {
    const found = findPackageJSON("@colloquy/core", import.meta.url)
    return found === undefined ? [] : [realpathSync(dirname(found))]
  } catch {
    return []
  }
}
