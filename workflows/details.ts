import { showJsonMarkdown, showMarkdown } from '../core/display';
import { describeStep } from '../core/judge-decision';
import type { JsonValue } from '../core/json';
import type { ApprovalRequest } from '../core/request';
import { signInNeedText } from '../core/sign-in';
import { pendingRequests, type Turn, type TurnCall } from './turn-state';

/** The Temporal UI takes 20,000 bytes; what does not fit is on the card. */
const LONGEST = 16_000;

/** A value whose JSON is longer is not made ready to be shown: it could be thousands of escapes. */
const LONGEST_VALUE = 1_000;
const MORE = '**Not everything fits here: `holdpoint show` has it all.**';

/** The details of a turn, made anew only after something happened in it: each of its calls asks for them. */
export function createDetails(turn: Turn): () => string {
  let made = { events: -1, text: '' };
  return () => {
    if (made.events !== turn.events.length) made = { events: turn.events.length, text: detailsOf(turn) };
    return made.text;
  };
}

/** What the Temporal UI shows of a turn: its open requests with deadlines, then its calls. Untrusted text is inert. */
export function detailsOf(turn: Turn): string {
  const text = new Details();
  const open = pendingRequests(turn);
  if (open.length === 0) text.add(['**No request is open.**']);
  for (const request of open) text.add(requestLines(request));
  text.add(['', '**Calls**', '']);
  for (const call of turn.calls) text.add([callLine(call)]);
  return text.toString();
}

/** Whole lines only: one that is cut inside a code span would let its text out. */
class Details {
  private readonly lines: string[] = [];
  private left = LONGEST;
  private whole = true;

  /** Takes lines up to the first that does not fit; those after it are not even made. */
  add(lines: Iterable<string>): void {
    for (const line of lines) {
      this.left -= line.length + 1;
      if (this.left < 0) {
        this.left += line.length + 1;
        this.whole = false;
        return;
      }
      this.lines.push(line);
    }
  }

  toString(): string {
    return [...this.lines, ...(this.whole ? [] : ['', MORE])].join('\n');
  }
}

function* requestLines(request: ApprovalRequest): Generator<string> {
  const { requester, ask, material } = request;
  const through = [...requester.chain, requester.agent].map((name) => showMarkdown(name)).join(', ');
  const then = ask.deadline.then === 'expire' ? 'then it expires, not executed' : 'with reminders until then';
  yield `**${request.shortId}** waits for approval (revision ${request.revision}): ${showMarkdown(`${request.server} / ${request.tool}`)}`;
  yield '';
  yield `- asked by ${showMarkdown(requester.subject)} through ${through}`;
  yield `- waits for ${showMarkdown(ask.steps.map(describeStep).join(', then '))}`;
  if (ask.signIn !== undefined) yield `- ${showMarkdown(signInNeedText(ask.signIn))}`;
  yield `- until ${new Date(request.deadlineAtMs).toISOString()}, ${then}`;
  for (const { name, found, value } of material) yield `- ${showMarkdown(name)} ${found ? shown(value) : '(missing)'}`;
  yield '';
}

function shown(value: JsonValue): string {
  const { length } = JSON.stringify(value);
  return length > LONGEST_VALUE ? `(${length} characters: \`holdpoint show\` has them)` : showJsonMarkdown(value);
}

function callLine({ proposed, state }: TurnCall): string {
  const word = state.status === 'ended' ? state.end.outcome : state.status;
  return `- ${showMarkdown(`${proposed.id}: ${proposed.server} / ${proposed.tool}`)} **${word}**`;
}
