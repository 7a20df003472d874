export const GET = () => new Response("Hello from Next")
