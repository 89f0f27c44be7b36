/** What people are told of. */
export const NOTICE_EVENTS = ['opened', 'escalated', 'reminder', 'closed', 'outcome', 'unknown', 'emergency'] as const;

export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** Events by which people are asked. */
export const ASKING: readonly NoticeEvent[] = ['opened', 'escalated', 'reminder'];

/** Events that may wait for `after`. */
export const STAGGERED: readonly NoticeEvent[] = ['opened', 'escalated', 'unknown'];

/** Which notices go to which channels. */
export interface Route {
  /** Where it stands in the settings. */
  readonly place: string;
  /** Rules that ask, servers, escalation levels; null: whatever it is. */
  readonly rules: readonly string[] | null;
  readonly servers: readonly string[] | null;
  readonly levels: readonly number[] | null;
  readonly events: readonly NoticeEvent[];
  readonly channels: readonly string[];
  /** How long what is told of has to go on waiting before it is told of. */
  readonly afterMs: number;
}

/** What a route looks at. `undefined`: not known here, so it is no reason against the route. */
export interface Routed {
  readonly event: NoticeEvent;
  readonly server: string | undefined;
  /** Null: no rule asked. */
  readonly rule: string | null | undefined;
  readonly level: number | null | undefined;
}

/** Whether a route leads a notice to its channels. */
export function leads(route: Route, { event, server, rule, level }: Routed): boolean {
  const takes = <T>(wanted: readonly T[] | null, value: T | null | undefined): boolean =>
    wanted === null || value === undefined || (value !== null && wanted.includes(value));
  return tells(route, event) && takes(route.servers, server) && takes(route.rules, rule) && takes(route.levels, level);
}

/** Who is asked by a route is also told by it that an emergency skipped them. */
function tells({ events }: Route, event: NoticeEvent): boolean {
  return events.includes(event) || (event === 'emergency' && events.includes('opened'));
}

/** Whether one of the routes tells of an emergency; the same ones tell again before its review is due. */
export function leadsEmergency(
  routes: readonly Route[],
  { server, rule }: { readonly server: string; readonly rule: string | null },
): boolean {
  return waitMs(routes, { event: 'emergency', server, rule, level: undefined }) !== null;
}

/** How long a notice waits on the way to a channel, by the quickest of its routes; null where none leads there. */
export function waitMs(routes: readonly Route[], routed: Routed): number | null {
  const ways = routes.filter((route) => leads(route, routed));
  if (ways.length === 0) return null;
  return STAGGERED.includes(routed.event) ? Math.min(...ways.map(({ afterMs }) => afterMs)) : 0;
}
