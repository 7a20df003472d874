/** Matches every path under `/ai`, and so it would end upgrades of them if the custom server did not handle them first. */
export const GET = () => new Response("Next has it")
