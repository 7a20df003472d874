/** The oldest Node.js that the server runs on. This file and what the command loads first must be readable for older ones. */

const oldest = [22, 19] as const

/** Null: this version is new enough. */
export const nodeProblem = (version: string): string | null => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  const isEnough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
  return isEnough ? null : `Node.js ${oldest.join(".")} or newer is needed; this is ${version}.`
}
