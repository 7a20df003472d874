/** Collects the garbage of this process at once, in a process that was started without `--expose-gc` too. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")

/** All of it, or that of young objects only. */
export const collectGarbage: (options?: { readonly type: "minor" }) => void = runInNewContext("gc")
