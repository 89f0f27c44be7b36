/** How far back a report looks, and into how many equal parts its plots divide that. */
export const WINDOWS = {
  '24h': { lengthMs: 86_400_000, parts: 24 },
  '7d': { lengthMs: 604_800_000, parts: 7 },
  '30d': { lengthMs: 2_592_000_000, parts: 30 },
} as const;

export type ReportWindow = keyof typeof WINDOWS;

export const REPORT_WINDOWS = ['24h', '7d', '30d'] as const satisfies readonly ReportWindow[];

/** What operators read about the rules, and about the reviews: two reports, because they lead to different acts. */
export interface Reports {
  readonly window: ReportWindow;
  readonly fromMs: number;
  readonly toMs: number;
  readonly rules: RulesReport;
  readonly reviews: ReviewsReport;
}

/** What there is to tune: how much each rule asks for each tool, and what becomes of it. */
export interface RulesReport {
  readonly totals: RequestCounts;
  /** By rule and tool, the most asked first. `rule` is null where the runtime itself asked (`confirm`). */
  readonly items: readonly RuleLine[];
  /** Rules of the active policy that opened no request in the window. */
  readonly idle: readonly string[];
  readonly outcomes: readonly ToolLine[];
  readonly parts: readonly RulesPart[];
}

export interface RequestCounts {
  /** Revisions count: a call that is asked about again is two requests. */
  readonly opened: number;
  readonly allowed: number;
  readonly denied: number;
  /** Abandoned: nobody decided in time. */
  readonly expired: number;
  readonly withdrawn: number;
  readonly refused: number;
  readonly escalated: number;
  readonly stale: number;
  /** Asked for what the same requester had asked for within the 24 hours before. */
  readonly repeated: number;
  /** Of these, what had been denied within them. */
  readonly afterDenial: number;
}

export interface RuleLine extends RequestCounts {
  readonly rule: string | null;
  readonly server: string;
  readonly tool: string;
  readonly staleBy: readonly { readonly cause: string; readonly count: number }[];
  readonly signs: readonly RuleSign[];
}

/** What about a rule and a tool is worth a look. */
export type RuleSign = 'alwaysAllowed' | 'oftenAbandoned' | 'oftenRepeated' | 'oftenStale';

/** What became of operations of one tool that were sent in the window or before. */
export interface ToolLine {
  readonly server: string;
  readonly tool: string;
  readonly sent: number;
  readonly executed: number;
  readonly executedWithError: number;
  readonly failed: number;
  readonly unknown: number;
  /** Of the last three, those that people had allowed. */
  readonly failedAfterApproval: number;
}

/** One part of the window, for plots. */
export interface RulesPart {
  readonly fromMs: number;
  readonly opened: number;
  readonly allowed: number;
  readonly denied: number;
  readonly expired: number;
  readonly repeated: number;
  readonly failedAfterApproval: number;
}

/** How long decisions take and how they come in, and never by whom: it ranks no people. */
export interface ReviewsReport {
  readonly allowed: number;
  readonly denied: number;
  /** From the opening of a request to a decision that counts: half were faster, and 95 of 100. Null without any. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  /** `upToMs` is null for what took longer than every other class. */
  readonly classes: readonly { readonly upToMs: number | null; readonly count: number }[];
  /** Groups of which at least three people decided; who is in several counts in each. */
  readonly groups: readonly GroupLine[];
  /** Groups of which fewer did: they count in the totals only. */
  readonly smallGroups: readonly string[];
  readonly channels: readonly { readonly channel: string; readonly count: number }[];
}

export interface GroupLine {
  readonly group: string;
  readonly decisions: number;
  readonly denied: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}
