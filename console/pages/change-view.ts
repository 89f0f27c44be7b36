import { html } from 'hono/html';
import { showText } from '../../core/display';
import { atPointer, type JsonValue } from '../../core/json';
import type { ApprovalRequest } from '../../core/request';
import { given, givenBlock, givenJson, givenValue, named, warning } from './given';
import type { Html } from './layout';

/** What the call would change, as the tool server says it: the preview, the version of the target, its state now. */
export function changeView(request: ApprovalRequest): Html | null {
  const { preview, state, resourceVersion, expected } = request;
  if (preview === null && state === null && resourceVersion === null && expected === null) return null;
  return html`<section aria-labelledby="change">
    <h2 id="change">What would change</h2>
    ${preview === null ? null : (unknownChange(request) ?? previewView(preview))} ${expectedView(request)}
    ${versionView(request)} ${state === null ? null : stateView(state)}
  </section>`;
}

/** Why there is no preview although the policy asks for one; null where there is one. */
export function unavailablePreview({ preview }: Pick<ApprovalRequest, 'preview'>): string | null {
  const why = preview === null ? null : atPointer(preview.value, '/unavailable');
  return why?.found === true && typeof why.value === 'string' ? why.value : null;
}

function previewView({ show, value }: NonNullable<ApprovalRequest['preview']>): Html {
  const text = textOf(value);
  const intro = html`<p class="label">${show === 'diff' ? 'Difference' : 'Preview'}, as the tool server gives it</p>`;
  if (text === null) return html`${intro}${givenJson(structuredOf(value))}`;
  return html`${intro}${show === 'diff' ? diff(text) : givenBlock(text)}`;
}

function unknownChange(request: ApprovalRequest): Html | null {
  const why = unavailablePreview(request);
  return why === null
    ? null
    : html`<p class="banner"><strong>What it would change is not known:</strong> ${given(why)}</p>`;
}

/** Lines keep their own + and -, so that the difference can be read without its colours. */
function diff(text: string): Html {
  const lines = text.replace(/\n$/, '').split('\n');
  return html`<div class="given diff" dir="ltr">
      ${lines.map((line) => html`<div class="${lineClass(line)}">${showText(line)}</div>`)}
    </div>
    ${warning([text])}`;
}

function lineClass(line: string): string {
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith('@@') ? 'place' : 'same';
}

function expectedView({ expected }: ApprovalRequest): Html | null {
  return expected === null ? null : html`<p><span class="label">Expected result</span> ${named(expected)}</p>`;
}

function versionView({ resourceVersion, previousResourceVersion }: ApprovalRequest): Html | null {
  if (resourceVersion === null) return null;
  const before =
    previousResourceVersion === null
      ? null
      : html` <strong class="caution">was ${givenValue(previousResourceVersion)} when it was approved</strong>`;
  return html`<p><span class="label">Version of the target</span> ${givenValue(resourceVersion)}${before}</p>`;
}

const SHORT_STATE_LINES = 4;

/** Folded where it is long: it is what is there before the call, not what the call does. */
function stateView(state: JsonValue): Html {
  const text = textOf(state);
  const structured = atPointer(state, '/structuredContent');
  const whole = structured.found || text === null ? givenJson(structuredOf(state)) : givenBlock(text);
  const lines = JSON.stringify(structured.found ? structured.value : state).length / 60;
  return html`<details ${lines <= SHORT_STATE_LINES ? html`open` : null}>
    <summary>State of the target when this was asked</summary>
    ${whole}
  </details>`;
}

function structuredOf(value: JsonValue): JsonValue {
  const structured = atPointer(value, '/structuredContent');
  return structured.found ? structured.value : value;
}

/** The texts of a tool's result; null where it has none. */
function textOf(value: JsonValue): string | null {
  if (typeof value === 'string') return value;
  const content = atPointer(value, '/content');
  const blocks: readonly JsonValue[] = content.found && Array.isArray(content.value) ? content.value : [];
  const texts = blocks.flatMap((entry) => {
    const text = atPointer(entry, '/text');
    return text.found && typeof text.value === 'string' ? [text.value] : [];
  });
  return texts.length === 0 ? null : texts.join('\n');
}

/** What a gateway knows of the call: facts of the caller, none of them an approval. */
export function contextView({ context = {} }: ApprovalRequest): Html | null {
  const { session, checkpoint } = context;
  if (session === undefined && checkpoint === undefined) return null;
  return html`<section aria-labelledby="context">
    <h2 id="context">Around the call</h2>
    ${
      session === undefined
        ? null
        : html`<p class="label">Runs on the session</p>
            ${givenJson(session)}`
    }
    ${
      checkpoint === undefined
        ? null
        : html`<p class="label">A checkpoint that the caller says it has taken: a fact of the caller, no approval</p>
            ${givenJson(checkpoint)}`
    }
  </section>`;
}

/** The agent's own words, last and marked as nothing but that. */
export function noteView({ note }: ApprovalRequest): Html | null {
  if (note === null) return null;
  return html`<section class="note" aria-labelledby="note">
    <h2 id="note">The agent's own words, unverified</h2>
    <p class="hint">Nobody checked them. They are no fact and no approval, whatever they say.</p>
    ${givenBlock(note)}
  </section>`;
}

/** The title that its server gives a tool, in words that show whose it is. */
export function titleView({ toolTitle }: ApprovalRequest): Html | null {
  return toolTitle === null ? null : html`<p class="hint">Its server calls it ${given(toolTitle)}</p>`;
}
