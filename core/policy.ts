import type { JsonValue } from './json';

// Aliases, not interfaces: only an alias is assignable to JsonObject, and entries are digested as they are.

/** How a material value is typed on the card and compared by conditions. */
export type MaterialKind = 'text' | 'number' | 'amount' | 'boolean' | 'sql' | 'json' | 'timestamp';

/** Strictest first: `arguments` binds every argument, `material` the material fields, `tool` none. */
export type BindMode = 'arguments' | 'material' | 'tool';

/**
 * How long an allowed request holds. `once` is this one operation. Otherwise a window: `uses` (null = no limit),
 * `durationMs` (null = no limit of its own; never both null), and sums of material amounts by field name.
 */
export type Validity =
  | { readonly kind: 'once' }
  | {
      readonly kind: 'window';
      readonly uses: number | null;
      readonly durationMs: number | null;
      readonly total: Readonly<Record<string, number>>;
    };

/**
 * What a rule asks of the sign-in of whoever allows: how long ago it may be, and by which authentication context class
 * (the claim `acr`); null: by any.
 */
export type SignInNeed = { readonly withinMs: number; readonly acr: readonly string[] | null };

/** A person who may review. `subjects` are the requester names that are this human (default `<name>` and `user:<name>`). */
export type Person = {
  readonly name: string;
  readonly groups: readonly string[];
  /** Public Ed25519 keys, `ed25519:<base64url of 32 bytes>`; empty where the person signs in elsewhere. */
  readonly keys: readonly string[];
  readonly subjects: readonly string[];
};

export type Transport =
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | null;
    };

/** One material field: read from the call's arguments, or (fresh, never bound) from the tool's `state` read. */
export type MaterialSpec = {
  readonly name: string;
  readonly from: 'arguments' | 'state';
  readonly at: string;
  readonly as: MaterialKind;
};

/** Where an argument of a helper tool (version, preview, outcome, state) comes from. */
export type ArgumentSource =
  | { readonly kind: 'operationId' }
  | { readonly kind: 'pointer'; readonly at: string }
  | { readonly kind: 'literal'; readonly value: JsonValue };

export type ToolRead = {
  readonly tool: string;
  /** null: the call's own arguments are passed whole. */
  readonly arguments: Readonly<Record<string, ArgumentSource>> | null;
};

/** How the outcome of an operation is looked up by its id. */
export type OutcomeContract = {
  readonly source:
    | { readonly kind: 'tool'; readonly read: ToolRead }
    | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
    | { readonly kind: 'sql'; readonly database: string; readonly query: string };
  /** Pointer into the answer and the value that proves the effect. */
  readonly executed: { readonly at: string; readonly equals: JsonValue };
  /** True: an answer that does not show the effect proves its absence. */
  readonly authoritative: boolean;
  readonly settleAfterMs: number;
  /** How long to go on asking an unreachable look-up before the outcome is called unknown. */
  readonly budgetMs: number;
};

export type ToolEntry = {
  readonly name: string;
  readonly enabled: boolean;
  /** Arguments filled by Holdpoint, hidden from the model and refused if the model sets them. */
  readonly fill: Readonly<Record<string, { readonly kind: 'operationId' }>>;
  readonly material: readonly MaterialSpec[];
  readonly version: (ToolRead & { readonly read: string }) | null;
  readonly preview: (ToolRead & { readonly show: 'diff' | 'text' | 'json' }) | null;
  readonly state: ToolRead | null;
  readonly outcome: OutcomeContract | null;
  /** True: the tool itself ignores a second call with the same operation id, so it may be sent again after proven absence. */
  readonly idempotent: boolean;
  readonly classification: string | null;
  readonly reversible: 'yes' | 'with-effort' | 'no' | null;
  readonly expected: string | null;
  /** RFC 6901 pointers into the arguments. */
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
  /** What the operator says of the tool, whatever its own hints say; null: the hints count as far as they are trusted. */
  readonly destructive: boolean | null;
};

export type ServerEntry = {
  readonly name: string;
  readonly transport: Transport;
  readonly hints: 'trusted' | 'untrusted';
  readonly session: 'client' | 'independent';
  readonly enabled: boolean;
  readonly tools: Readonly<Record<string, ToolEntry>>;
  /** Digest of the transport: the server's identity in every binding. */
  readonly identity: string;
};

export type Condition =
  | { readonly op: 'is' | 'isNot'; readonly value: string | number | boolean }
  | { readonly op: 'oneOf' | 'noneOf'; readonly values: readonly (string | number | boolean)[] }
  | { readonly op: 'atLeast' | 'atMost' | 'above' | 'below'; readonly value: number };

/** Material field name -> condition; all must hold. */
export type Conditions = Readonly<Record<string, Condition>>;

export type AccessEntry = {
  readonly subjects: readonly string[];
  readonly agents: readonly string[];
  readonly server: string;
  readonly tools: readonly string[];
  readonly when: Conditions;
};

export type RuleScope =
  | { readonly kind: 'tools'; readonly tools: readonly string[] }
  | { readonly kind: 'destructive' }
  | { readonly kind: 'all' };

export type Approvers = {
  readonly groups: readonly string[];
  readonly people: readonly string[];
  readonly quorum: number;
};

export type EscalationLevel = {
  readonly afterMs: number;
  readonly to: { readonly groups: readonly string[]; readonly people: readonly string[] };
};

export type DeadlineSpec = {
  readonly afterMs: number;
  readonly then: 'expire' | 'keepWaiting';
  /** Reminder interval; only with keepWaiting. */
  readonly remindEveryMs: number | null;
};

export type Rule = {
  readonly id: string;
  /** Digest of the rule and of the entries it uses (server identity, access, people): a comment voids nothing. */
  readonly version: string;
  readonly server: string;
  readonly scope: RuleScope;
  readonly when: Conditions;
  readonly approvers: Approvers;
  readonly selfApproval: boolean;
  readonly bind: BindMode;
  readonly validity: Validity;
  readonly escalate: readonly EscalationLevel[];
  readonly deadline: DeadlineSpec;
  /**
   * An emergency rule asks about nothing by itself: whoever it names may allow under it what another rule asks about, and
   * those who were skipped review that by the time given here.
   */
  readonly emergency: false | { readonly reviewWithinMs: number };
  /** Left out where an allow needs no particular sign-in. */
  readonly signIn?: SignInNeed;
};

/** The reviewers' console: whose word counts as a signature, and who operates it. */
export type ConsoleEntry = {
  /** Public Ed25519 keys by which the console signs decisions of people whom it signed in. */
  readonly keys: readonly string[];
  /** Who sees every turn, settles unknown outcomes and revokes grants there. */
  readonly operators: { readonly groups: readonly string[]; readonly people: readonly string[] };
  /** Of what people decide, how much is reviewed a second time: 0 to 1; left out: a twentieth. */
  readonly secondReviewShare?: number;
};

/** A compiled policy. Which signatures count is `trust`; null leaves it to the worker (whose own default is signatures). */
export type Policy = {
  readonly v: 1;
  readonly trust: 'signatures' | 'namespace' | null;
  readonly people: Readonly<Record<string, Person>>;
  /** Left out where the policy says nothing of a console: none then speaks for anybody. */
  readonly console?: ConsoleEntry;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly access: readonly AccessEntry[];
  readonly rules: readonly Rule[];
};
