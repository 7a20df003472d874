/**
 * The environment of a process that a test starts and that must see no other variable of the tester's machine: where programs are, and where Node
 * keeps what it has compiled, without which it compiles hundreds of files again at each start.
 */
export const bareEnvironment = {
  PATH: process.env["PATH"],
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"]
}
