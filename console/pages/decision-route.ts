import { randomUUID } from 'node:crypto';
import type { Context, Hono } from 'hono';
import type { Verdict } from '../../core/decision';
import { issuesText } from '../../core/schema-issues';
import type { Log } from '../../ledger/log';
import type { Env, GivenDecision, Reviews } from '../ports';
import { decisionForm, type DecisionForm } from './form-schema';
import { linkWith } from './link-with';
import { showBadForm, showNotFound, showPage } from './show-page';
import { refusedPage, verdictPage } from './verdict-page';

interface Deps {
  readonly reviews: Pick<Reviews, 'decide' | 'request'>;
  readonly log: Log;
}

/** Takes the decisions that the two forms of a request send. */
export function addDecision(app: Hono<Env>, deps: Deps): void {
  app.post('/requests/:id/decision', async (c) => {
    const form = decisionForm.safeParse(await c.req.parseBody());
    if (!form.success) return showBadForm(c, issuesText(form.error, 'the form'));
    if (form.data.answer === 'allow' && form.data.read !== 'yes') return showBadForm(c, UNREAD);
    const operationId = await operationOf(c, deps, c.req.param('id'));
    return operationId === null ? showNotFound(c) : decided(c, deps, givenBy(form.data, operationId));
  });
}

const UNREAD = 'An allow needs the box ticked that says that you have read what will run';

/** An operation id is taken as it is: whether the viewer may decide it is for `decide` to say. */
async function operationOf(c: Context<Env>, { reviews }: Deps, id: string): Promise<string | null> {
  if (/^op_[0-9a-f]{40}$/.test(id)) return id;
  const view = await reviews.request(c.get('viewer'), id);
  return view === null ? null : view.request.operationId;
}

function givenBy(
  { csrf: _csrf, read: _read, reason, minutes, rule, ticket = '', ...form }: DecisionForm,
  operationId: string,
): GivenDecision {
  return {
    ...form,
    operationId,
    ...(reason === undefined ? {} : { reason }),
    ...(minutes === undefined ? {} : { minutes }),
    ...(rule === undefined ? {} : { emergency: { rule, ticket } }),
  };
}

async function decided(c: Context<Env>, { reviews, log }: Deps, given: GivenDecision): Promise<Response> {
  const { operationId, revision } = given;
  const outcome = await reviews.decide(c.get('viewer'), given);
  const code =
    outcome.kind === 'verdict' ? outcome.verdict.code : outcome.kind === 'refused' ? outcome.code : 'notFound';
  log.info({ operationId, revision, code }, 'console.decision');
  if (outcome.kind === 'notFound') return showNotFound(c);
  if (outcome.kind === 'refused') {
    const { status, ...page } = refusedPage(outcome, { given });
    return showPage(c, page, status);
  }
  return answered(c, reviews, { given, verdict: outcome.verdict });
}

async function answered(
  c: Context<Env>,
  reviews: Deps['reviews'],
  { given, verdict }: { readonly given: GivenDecision; readonly verdict: Verdict },
): Promise<Response> {
  const { code } = verdict;
  if (code === 'accepted' || code === 'alreadyDecided') {
    const said = code === 'alreadyDecided' ? 'already' : given.answer === 'allow' ? 'allowed' : 'denied';
    const query = { revision: String(given.revision), said };
    return c.redirect(linkWith(`/requests/${given.operationId}`, query), 303);
  }
  const view = await reviews.request(c.get('viewer'), given.operationId);
  const { status, ...page } = verdictPage(
    { ...verdict, code },
    { given, csrf: c.get('csrf'), nextId: randomUUID(), view },
  );
  return showPage(c, page, status);
}
