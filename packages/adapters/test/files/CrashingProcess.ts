/** A reader that ends as native code does when it has a fault. */
process.kill(process.pid, "SIGSEGV")
