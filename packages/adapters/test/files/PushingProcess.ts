/** A reader whose one array grows until V8 gives up. */
const all: Array<number> = []
for (;;) all.push(all.length)
