/** Calls a tool by a client and writes what the client made of the answer, as one line of JSON. */
export async function told(client, call) {
  const { HOLDPOINT_URL: url, HOLDPOINT_TOKEN: token, HOLDPOINT_TOOL: tool, HOLDPOINT_ARGUMENTS: text } = process.env;
  const line = await call({ url, token, tool, given: JSON.parse(text) }).then(
    (answer) => ({ client, answer, thrown: null }),
    (error) => ({ client, answer: null, thrown: String(error?.message ?? error) }),
  );
  console.log(`told ${JSON.stringify(line)}`);
}
