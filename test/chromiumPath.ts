/**
 * Where Chromium is on this machine; undefined: nowhere. Its headless shell comes first: the same engine without windows, menus and extensions
 * around it, for two thirds of the CPU time.
 */
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const folders = (process.env["PATH"] ?? "").split(delimiter)
const onPath = ["chromium-headless-shell", "chromium"].flatMap((name) => folders.map((folder) => join(folder, name)))

export const chromiumPath: string | undefined = [process.env["TEST_CHROMIUM"] ?? "", ...onPath].find(
  (each) => each !== "" && isProgram(each)
)
