import type { Decision, SignInFact, Verdict } from '../core/decision';
import type { Ask } from '../core/evaluation';
import type { Policy, SignInNeed } from '../core/policy';
import type { ApprovalRequest } from '../core/request';
import type { Finding } from '../core/retrospective';
import type { Fact, DecisionRecord, OperationRecord, RequestFilter, RequestRecord } from '../ledger/queries';
import type { GrantRecord } from '../ledger/grant-queries';
import type { Revoked } from '../ledger/commands/grants';
import type { SecondReviewed, SecondReviewGiven } from '../ledger/commands/give-second-review';
import type { Reported } from '../ledger/commands/report-reversal';
import type { RetrospectiveReviewed } from '../ledger/commands/retrospectives';
import type { RetrospectiveRecord } from '../ledger/retrospective-queries';
import type { SampledDecision } from '../ledger/second-reviews';
import type { Settled } from '../ledger/commands/outcomes';
import type { Reports, ReportWindow } from './reports/report';

/** Somebody who is signed in, as the active policy knows them at this request: never read from a cookie. */
export interface Viewer {
  /** Their name in `people`. */
  readonly name: string;
  readonly groups: readonly string[];
  /** In `console.operators` of the policy: sees every turn, settles and revokes. */
  readonly isOperator: boolean;
  /** One sign-in, or one API token; never a secret. */
  readonly sessionId: string;
  readonly signedInAtMs: number;
  /** When they proved who they are; left out where nobody said so, as with every API token. */
  readonly signIn?: SignInFact;
  /** `namespace`: unsigned decisions count here, in anybody's name; every page says so. */
  readonly trust?: 'signatures' | 'namespace';
}

/** How an incoming HTTP request identifies somebody; the API takes tokens only, the pages sessions only. */
export interface Identified {
  readonly person: string;
  readonly sessionId: string;
  readonly signedInAtMs: number;
  readonly signIn?: SignInFact;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

export interface QueueQuery extends Pick<RequestFilter, 'state' | 'server' | 'tool' | 'subject'> {
  /** Only those that ask the viewer now; otherwise all that the viewer may see. */
  readonly mine?: boolean;
  readonly cursor?: string | undefined;
  /** 50 by default, 200 at most. */
  readonly limit?: number | undefined;
}

/** Whether an answer of this viewer could count now, by the same rules as the ledger's own judgement. */
export type MayAnswer = { readonly ok: true } | { readonly ok: false; readonly code: string; readonly detail: string };

/** One approval request with everything its page shows. */
export interface RequestView extends RequestRecord {
  /** The newest revision of this operation, this one included. */
  readonly latestRevision: number;
  /** Decisions that count, of every revision. */
  readonly decisions: readonly DecisionRecord[];
  /** Null where the operation was never sent. */
  readonly operation: OperationRecord | null;
  /** Who may allow now, by the people as they are; and how many did of how many needed. Null where it is closed. */
  readonly people: { readonly able: readonly string[]; readonly allows: number; readonly needed: number } | null;
  readonly mayAllow: MayAnswer;
  readonly mayDeny: MayAnswer;
  /** Emergency rules that name the viewer among their people. */
  readonly emergencies: readonly EmergencyOffer[];
  /** Null where no policy is active. */
  readonly policy: Policy | null;
  readonly nowMs: number;
}

/** An emergency rule that fits a request, and what it asks in place of the ordinary one. */
export interface EmergencyOffer {
  readonly rule: string;
  readonly ask: Ask;
  /** Whom it skips, by the people as they are now; they are told at once. */
  readonly skipped: readonly string[];
  /** Who would have to review it, were the viewer the last to allow. */
  readonly reviewers: readonly string[];
  readonly reviewWithinMs: number;
  readonly overdue: OverdueReview | null;
  readonly may: MayAnswer;
}

/** The review that has to be closed before any next emergency. */
export interface OverdueReview {
  readonly grantId: string;
  readonly dueAtMs: number;
  /** Whether the viewer finds it among the emergencies. */
  readonly isTheirs: boolean;
}

/** A decision as a person gives it; the console adds who they are and signs it. */
export interface GivenDecision extends Pick<
  Decision,
  'decisionId' | 'operationId' | 'revision' | 'digest' | 'answer' | 'reason' | 'minutes' | 'emergency'
> {
  /** Set by whoever carries a name in: where it is not the viewer's, nothing is decided. */
  readonly reviewer?: string;
}

export type Decided =
  /** `signIn`: what the rules ask of the sign-in, where that is what was missing. */
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly signIn?: SignInNeed }
  /** There is no such request; the same for everybody. */
  | { readonly kind: 'notFound' }
  /** Refused before it was sent, and nothing was recorded. */
  | {
      readonly kind: 'refused';
      readonly code: 'NOT_SHOWN' | 'OTHER_REVIEWER' | 'REASON_MISSING';
      readonly detail: string;
    };

export interface OperationsQuery {
  readonly state?: OperationRecord['state'];
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** One operation as a story: what was asked, decided, re-checked, sent and committed. */
export interface OperationView {
  readonly operationId: string;
  /** Null where it was never sent. */
  readonly operation: OperationRecord | null;
  /** Every revision of its approval request; none where nobody was asked. */
  readonly revisions: readonly RequestRecord[];
  readonly decisions: readonly DecisionRecord[];
  readonly facts: readonly Fact[];
  readonly nowMs: number;
}

export interface GrantsView {
  readonly grants: readonly GrantRecord[];
  readonly policy: Policy | null;
  readonly nowMs: number;
}

export interface RetrospectivesView {
  readonly emergencies: readonly (RetrospectiveRecord & {
    /** Whether the viewer may close the review. */
    readonly mayReview: boolean;
    /** Whether the viewer may read the request and the operation: who allowed it may be in the group no more. */
    readonly mayRead: boolean;
  })[];
  readonly nowMs: number;
}

/** A decided request of the sample, without what was decided; and with it, once the viewer has said theirs. */
export interface SecondReviewsView {
  readonly open: readonly ApprovalRequest[];
  /** `mayRead`: whether the viewer may read the request itself, now. */
  readonly done: readonly (SampledDecision & { readonly mayRead: boolean })[];
  readonly nowMs: number;
}

/**
 * What pages and API do alike. Each method takes who asks and tells only what that person may see: what they asked for
 * or may review, everything for an operator; null is "there is no such thing for you", whether or not there is one.
 */
export interface Reviews {
  queue(viewer: Viewer, query: QueueQuery): Promise<Page<RequestRecord> & { readonly nowMs: number }>;
  /** @param id short id, operation id, or the beginning of one; `revision`: the newest by default. */
  request(viewer: Viewer, id: string, revision?: number): Promise<RequestView | null>;
  /** Whether something that happened to an operation concerns the viewer. */
  concerns(viewer: Viewer, operationId: string): Promise<boolean>;
  decide(viewer: Viewer, given: GivenDecision): Promise<Decided>;
  operations(viewer: Viewer, query: OperationsQuery): Promise<Page<OperationRecord>>;
  operation(viewer: Viewer, id: string): Promise<OperationView | null>;
  /** Operators only; null for everybody else. */
  settle(
    viewer: Viewer,
    settlement: { readonly operationId: string; readonly outcome: 'executed' | 'failed'; readonly reason: string },
  ): Promise<Settled | null>;
  /** Operators only; null for everybody else. */
  reportReversal(
    viewer: Viewer,
    reversal: { readonly operationId: string; readonly reason: string },
  ): Promise<Reported | null>;
  /** The lines of `holdpoint audit export`. Operators only; null for everybody else. */
  auditExport(viewer: Viewer): AsyncIterable<string> | null;
  grants(viewer: Viewer, query: { readonly all: boolean }): Promise<GrantsView>;
  /** Operators only; null for everybody else. */
  revokeGrant(
    viewer: Viewer,
    revocation: { readonly grantId: string; readonly reason: string },
  ): Promise<Revoked | null>;
  retrospectives(viewer: Viewer, query: { readonly all: boolean }): Promise<RetrospectivesView>;
  /** Null where there is no such emergency for the viewer. */
  closeRetrospective(
    viewer: Viewer,
    review: { readonly grantId: string; readonly finding: Finding; readonly note: string },
  ): Promise<RetrospectiveReviewed | null>;
  secondReviews(viewer: Viewer): Promise<SecondReviewsView>;
  giveSecondReview(viewer: Viewer, given: Omit<SecondReviewGiven, 'by' | 'verified'>): Promise<SecondReviewed>;
  /** Operators only; null for everybody else. */
  reports(viewer: Viewer, window: ReportWindow): Promise<Reports | null>;
}

/** Something changed in the ledger; what it was is read again by whoever is told. */
export interface LiveChange {
  /** The audit record's number: a client that comes back names the last one it saw. */
  readonly seq: number;
  readonly kind: string;
  readonly operationId: string | null;
}

export interface LiveFeed {
  /** Tells of every change from now on; answers how to stop. */
  subscribe(listener: (change: LiveChange) => void): () => void;
  close(): Promise<void>;
}

/** What the guard hands to every handler behind it. */
export interface Env {
  readonly Variables: {
    readonly viewer: Viewer;
    /** Of this session; every form carries it. Empty where a token came in: the API takes no cookies. */
    readonly csrf: string;
  };
}
