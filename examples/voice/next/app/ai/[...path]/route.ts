/** Takes every path under `/ai`, and with it upgrades of them, unless the custom server is asked first. */
export const GET = () => new Response("Next has it")
