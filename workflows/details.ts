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
  return fitting([...head, '', '**Calls**', '', ...calls]).join('\n');
}

/** Whole lines only: one that is cut inside a code span would let its text out. */
function fitting(lines: readonly string[]): readonly string[] {
  let left = LONGEST;
  const kept = lines.filter((line) => (left -= line.length) >= 0);
  return kept.length === lines.length
    ? lines
    : [...kept, '', '**Not everything fits here: `holdpoint show` has it all.**'];
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
