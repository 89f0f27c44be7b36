import { html } from 'hono/html';
import type { MaterialField } from '../../core/evaluation';
import { canonicalJson, type JsonValue } from '../../core/json';
import { amountOf } from '../../core/material';
import type { ApprovalRequest } from '../../core/request';
import { unreachable } from '../../core/unreachable';
import { given, givenBlock, givenJson, givenValue, named } from './given';
import type { Html } from './layout';
import { relative, when } from './words';

type Material = Pick<ApprovalRequest, 'material' | 'arguments'>;

/** Everything that is bound: material fields first, then every other argument, then the whole as it is digested. */
export function argumentsView({ material, arguments: args }: Material, nowMs: number): Html {
  const others = otherArguments({ material, arguments: args });
  return html`<dl class="grid">
      ${material.map((field) => fieldView(field, nowMs))}
      ${others.map(
        ([name, value]) =>
          html`<div>
            <dt>${given(name)} <span class="kind">other argument</span></dt>
            <dd>${givenValue(value)}</dd>
          </div>`,
      )}
    </dl>
    ${material.length + others.length === 0 ? html`<p>The call has no arguments.</p>` : null}
    <details>
      <summary>All arguments, as they are digested</summary>
      ${givenBlock(canonicalJson(args))}
    </details>`;
}

/** What the material fields do not show whole: a field that points deeper leaves its top-level argument here. */
function otherArguments({ material, arguments: args }: Material): readonly [string, JsonValue][] {
  const shown = new Set(material.flatMap(({ found, from, at }) => (found && from === 'arguments' ? [at] : [])));
  return Object.entries(args).filter(([name]) => !shown.has(pointerTo(name)));
}

/** RFC 6901. */
function pointerTo(name: string): string {
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function fieldView(field: MaterialField, nowMs: number): Html {
  const kind = `${field.as}${field.from === 'state' ? ', read from the state' : ''}`;
  return html`<div class="material">
    <dt>${named(field.name)} <span class="kind">${kind}</span></dt>
    <dd>${field.found ? foundView(field, nowMs) : missingView(field)}</dd>
  </div>`;
}

function missingView({ at, as, from }: MaterialField): Html {
  const place = from === 'state' ? 'in the state as it was read' : 'in the arguments';
  return html`<strong class="missing"
    >Missing: there is nothing at ${given(at)} ${place}, or it is not of the type ${as}.</strong
  >`;
}

function foundView({ as, value }: MaterialField, nowMs: number): Html {
  switch (as) {
    case 'sql':
      return typeof value === 'string' ? givenBlock(value) : givenJson(value);
    case 'json':
      return givenJson(value);
    case 'number':
    case 'amount':
      return html`${givenValue(value)}${inGroups(value)}`;
    case 'timestamp':
      return html`${givenValue(value)}${inWords(value, nowMs)}`;
    case 'text':
    case 'boolean':
      return givenValue(value);
    default:
      return unreachable(as);
  }
}

/** `1250000` is easily read as ten times more or less. */
function inGroups(value: JsonValue): Html | null {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const [, sign = '', whole = '', rest = ''] = /^(-?)(\d{5,})(\.\d+)?$/.exec(text) ?? [];
  if (whole === '' || amountOf(value) === null) return null;
  return html` <span class="reading">that is ${sign}${whole.replace(/\B(?=(\d{3})+$)/g, '\u202f')}${rest}</span>`;
}

function inWords(value: JsonValue, nowMs: number): Html | null {
  const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(atMs)) return null;
  return html` <span class="reading">${when(atMs)}, ${relative(atMs, nowMs)}</span>`;
}
