/**
 * The addresses of the studio are relative to its path with a slash, which Next would take away. Types are checked with those of the whole
 * repository, by `npm run typecheck`.
 */
export default { skipTrailingSlashRedirect: true, typescript: { ignoreBuildErrors: true } }
