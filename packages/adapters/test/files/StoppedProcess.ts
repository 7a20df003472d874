/** A reader that gets the signal of its host's end before it has begun. */
process.kill(process.pid, "SIGTERM")
