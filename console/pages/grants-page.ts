import { html } from 'hono/html';
import { UNLIMITED_USES } from '../../core/grant';
import type { GrantRecord } from '../../ledger/grant-queries';
import type { GrantsView, Viewer } from '../ports';
import { given, givenLine, named } from './given';
import type { Html } from './layout';
import { absolute, moment } from './time';
import { validityText } from './words';

export interface GrantsPage {
  readonly view: GrantsView;
  readonly all: boolean;
  readonly viewer: Viewer;
  readonly csrf: string;
  readonly said: Html | null;
}

/** What was allowed and may still be used; or all of it, with what became of it. */
export function grantsPage({ view, all, viewer, csrf, said }: GrantsPage): Html {
  const { grants, nowMs } = view;
  return html`<header class="lead">
      <h1>${all ? 'All grants' : 'Grants that still permit something'}</h1>
      <nav class="filters" aria-label="Which grants">
        <ul>
          <li><a href="/grants" ${all ? null : html`aria-current="page"`}>Still usable</a></li>
          <li><a href="/grants?all=1" ${all ? html`aria-current="page"` : null}>The latest 200</a></li>
        </ul>
      </nav>
    </header>
    ${said}
    <div id="list">
      ${grants.length === 0 ? emptyView(all) : null}
      <ul class="requests">
        ${grants.map((grant) => grantView(grant, { viewer, csrf, nowMs }))}
      </ul>
    </div>`;
}

function emptyView(all: boolean): Html {
  if (all) return html`<p class="empty">No grant that you may see is on record.</p>`;
  return html`<p class="empty">No grant that you may see permits anything now: each call of a protected tool asks.</p>`;
}

interface GrantContext {
  readonly viewer: Viewer;
  readonly csrf: string;
  readonly nowMs: number;
}

function grantView(grant: GrantRecord, { viewer, csrf, nowMs }: GrantContext): Html {
  const { grantId, operationId, server, tool, requester, deciders, verified, ask } = grant;
  const isLive = grant.revokedAtMs === null && grant.expiresAtMs > nowMs && grant.uses < grant.maxUses;
  return html`<li class="row grant" id="g-${grantId}">
    <h2>
      ${named(server)} / ${named(tool)}
      <span class="state ${isLive ? 'allowed' : 'ended'}">${endText(grant, nowMs)}</span>
    </h2>
    <dl class="grid small">
      <div>
        <dt>Permits</dt>
        <dd>
          ${named(validityText(ask.validity, ask.bind))}, for ${given(requester.subject)} by ${given(requester.agent)}
        </dd>
      </div>
      <div>
        <dt>Used</dt>
        <dd>${usesText(grant)}${totalsView(grant)}</dd>
      </div>
      <div>
        <dt>Ends</dt>
        <dd>${moment(grant.expiresAtMs, nowMs)}</dd>
      </div>
      <div>
        <dt>Allowed</dt>
        <dd>
          ${absolute(grant.grantedAtMs)} by
          ${named(deciders.join(', '))}${
            verified ? null : html`, <strong class="caution">UNVERIFIED: not signed</strong>`
          }; <a href="/requests/${operationId}?revision=${grant.revision}">the request</a>
        </dd>
      </div>
      <div>
        <dt>Grant</dt>
        <dd><code>${grantId}</code></dd>
      </div>
      ${revokedView(grant)}
    </dl>
    ${isLive && viewer.isOperator ? revokeForm(grantId, csrf) : null}
  </li>`;
}

function endText({ revokedAtMs, expiresAtMs, uses, maxUses }: GrantRecord, nowMs: number): string {
  if (revokedAtMs !== null) return 'revoked';
  if (uses >= maxUses) return 'used up';
  return expiresAtMs > nowMs ? 'live' : 'ended';
}

function usesText({ uses, maxUses }: GrantRecord): string {
  return maxUses >= UNLIMITED_USES ? `${uses} times, without a limit` : `${uses} of ${maxUses}`;
}

function totalsView({ totals }: GrantRecord): Html | null {
  return Object.keys(totals).length === 0 ? null : html`, sums ${givenLine(totals)}`;
}

function revokedView({ revokedAtMs, revokedBy, revokedReason }: GrantRecord): Html | null {
  if (revokedAtMs === null) return null;
  return html`<div>
    <dt>Revoked</dt>
    <dd>
      ${absolute(revokedAtMs)}${revokedBy === null ? null : html` by ${named(revokedBy)}`}${
        revokedReason === null ? null : html`: ${given(revokedReason)}`
      }
    </dd>
  </div>`;
}

function revokeForm(grantId: string, csrf: string): Html {
  return html`<details class="revoke">
    <summary>Revoke this grant</summary>
    <form method="post" action="/grants/${grantId}/revocation">
      <input type="hidden" name="csrf" value="${csrf}" />
      <p>
        <label for="reason-${grantId}">Why, for the record</label>
        <input type="text" id="reason-${grantId}" name="reason" maxlength="4000" required autocomplete="off" />
      </p>
      <button class="deny" type="submit">Revoke</button>
    </form>
  </details>`;
}
