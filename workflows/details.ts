import { showJson, showMarkdown } from '../core/display';
import { describeStep } from '../core/judge-decision';
import type { ApprovalRequest } from '../core/request';
import { pendingRequests, type Turn } from './turn-state';

/** The Temporal UI takes 20,000 bytes; what does not fit is on the card. */
const LONGEST = 16_000;

/** What the Temporal UI shows of a turn: its open requests with deadlines, then its calls. Untrusted text is inert. */
export function detailsOf(turn: Turn): string {
  const open = pendingRequests(turn);
  const head = open.length === 0 ? ['**No request is open.**'] : open.flatMap(requestLines);
  const calls = turn.calls.map(({ proposed, state }) => {
    const word = state.status === 'ended' ? state.end.outcome : state.status;
    return `- ${showMarkdown(`${proposed.id}: ${proposed.server} / ${proposed.tool}`)} **${word}**`;
  });
  const text = [...head, '', '**Calls**', '', ...calls].join('\n');
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}\n\n… the rest is on the card: holdpoint show`;
}

function requestLines(request: ApprovalRequest): readonly string[] {
  const { requester, ask, material } = request;
  const through = [...requester.chain, requester.agent].map((name) => showMarkdown(name)).join(', ');
  const then = ask.deadline.then === 'expire' ? 'then it expires, not executed' : 'with reminders until then';
  return [
    `**${request.shortId}** waits for approval (revision ${request.revision}): ${showMarkdown(`${request.server} / ${request.tool}`)}`,
    '',
    `- asked by ${showMarkdown(requester.subject)} through ${through}`,
    `- waits for ${showMarkdown(ask.steps.map(describeStep).join(', then '))}`,
    `- until ${new Date(request.deadlineAtMs).toISOString()}, ${then}`,
    ...material.map(
      ({ name, found, value }) => `- ${showMarkdown(name)} ${found ? showMarkdown(showJson(value)) : '(missing)'}`,
    ),
    '',
  ];
}
