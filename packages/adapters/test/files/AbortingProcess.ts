/** A reader that ends as V8 does when it cannot go on. */
process.abort()
