import { showJson, showMarkdown } from '../core/display';
import { describeStep } from '../core/judge-decision';
import type { ApprovalRequest } from '../core/request';
import { pendingRequests, type Turn } from './turn-state';

/** What the Temporal UI shows of a turn: its open requests with deadlines, then its calls. Untrusted text is inert. */
export function detailsOf(turn: Turn): string {
  const open = pendingRequests(turn);
  const head =
    open.length === 0 ? '**No request is open.**' : `**${open.length} approval request(s) wait for people.**`;
  const calls = turn.calls.map(({ proposed, state }) => {
    const word = state.status === 'ended' ? state.end.outcome : state.status;
    return `- ${showMarkdown(proposed.id)}: ${showMarkdown(`${proposed.server} / ${proposed.tool}`)}: **${word}**`;
  });
  return [head, '', ...open.flatMap(requestLines), ...calls].join('\n').slice(0, 19_000);
}

function requestLines(request: ApprovalRequest): readonly string[] {
  const material = request.material.map(
    (field) => `  - ${showMarkdown(field.name)}: ${field.found ? showMarkdown(showJson(field.value)) : '(missing)'}`,
  );
  return [
    `- **${request.shortId}** revision ${request.revision}: ${showMarkdown(`${request.server} / ${request.tool}`)}`,
    `  - asked by ${showMarkdown(request.requester.subject)} through ${showMarkdown(request.requester.agent)}`,
    `  - waits for ${showMarkdown(request.ask.steps.map(describeStep).join(', then '))}`,
    `  - deadline ${new Date(request.deadlineAtMs).toISOString()}, then ${request.ask.deadline.then === 'expire' ? 'expired, not executed' : 'reminders'}`,
    ...material,
    '',
  ];
}
