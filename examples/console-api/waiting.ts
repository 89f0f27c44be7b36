import { requestPage } from '../../console/api/request-schema';

/** One line for each approval request that waits for the token's person. */
export async function waitingLines(apiUrl: string, token: string): Promise<readonly string[]> {
  const lines: string[] = [];
  let cursor = '';
  do {
    const query = new URLSearchParams({ mine: 'true', ...(cursor !== '' && { cursor }) });
    const response = await fetch(`${apiUrl}/requests?${query.toString()}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const text = await response.text();
    // A problem (RFC 9457), in ASCII: what is wrong, and what to do.
    if (!response.ok) throw new Error(text);
    // By the schema that the API's document is made of; a program elsewhere makes its types from the document.
    const { items, next, nowMs } = requestPage.parse(JSON.parse(text));
    for (const { request } of items) {
      const who = ascii(request.requester.subject);
      const minutes = Math.max(Math.floor((request.deadlineAtMs - nowMs) / 60_000), 0);
      lines.push(
        `${request.shortId}  ${ascii(request.server)}/${ascii(request.tool)}  for ${who}, ${minutes} min left`,
      );
    }
    cursor = next ?? '';
  } while (cursor !== '');
  return lines;
}

/** A text from outside as a terminal may have it: nothing in it moves the cursor or hides. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** `HOLDPOINT_CONSOLE_URL=… TOKEN=$(holdpoint console token dana) node dist/examples/console-api/waiting.js` */
async function main({ HOLDPOINT_CONSOLE_URL: url = '', TOKEN: token = '' } = process.env): Promise<void> {
  for (const line of await waitingLines(`${url}/api/v1`, token)) console.log(line);
}

if (require.main === module) void main();
