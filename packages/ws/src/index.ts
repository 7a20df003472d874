/** The realtime socket is not written yet; this package keeps its place in the layout. `README.md` of the project says what works. */
export {}
