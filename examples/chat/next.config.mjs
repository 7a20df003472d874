/**
 * Types are checked with those of the whole repository, by `npm run typecheck`. The badge of Next's development server would cover the button
 * for files on a phone.
 */
export default { devIndicators: false, typescript: { ignoreBuildErrors: true } }
