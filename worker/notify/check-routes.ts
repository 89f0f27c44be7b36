import { nearestName } from '../../core/nearest-name';
import type { ChannelSettings } from './channel-settings';
import { STAGGERED, type Route } from './route';

interface Channels {
  /** Those that could be read. */
  readonly channels: Readonly<Record<string, ChannelSettings>>;
  /** All of them. */
  readonly names: readonly string[];
}

/** What is wrong with routes and channels together, one sentence each. */
export function checkRoutes(routes: readonly Route[], { channels, names }: Channels): readonly string[] {
  return routes.flatMap((route) => routeProblems(route, { channels, names }));
}

/** Channels that nothing would ever go to, one sentence each. */
export function idleChannels(routes: readonly Route[], names: readonly string[]): readonly string[] {
  const routed = new Set(routes.flatMap((route) => route.channels));
  return names.filter((name) => !routed.has(name)).map((name) => `channels.${name}: no route leads to it`);
}

function routeProblems(route: Route, { channels, names }: Channels): readonly string[] {
  const { place, events, afterMs } = route;
  const idle = afterMs > 0 && !events.some((event) => STAGGERED.includes(event));
  const delayed = idle
    ? [`${place}: after delays ${STAGGERED.join(', ')} only, and none of them is among its events`]
    : [];
  return [
    ...delayed,
    ...route.channels.flatMap((name) => wayProblems(route, { name, names, channel: channels[name] })),
  ];
}

interface Way {
  readonly name: string;
  readonly names: readonly string[];
  readonly channel: ChannelSettings | undefined;
}

function wayProblems({ place, events }: Route, { name, names, channel }: Way): readonly string[] {
  if (!names.includes(name)) {
    const nearest = nearestName(name, names);
    const hint = nearest === null ? '' : ` (did you mean ${JSON.stringify(nearest)}?)`;
    return [`${place}: there is no channel ${JSON.stringify(name)}${hint}`];
  }
  if (channel?.kind === 'pagerduty' && events.includes('outcome')) {
    return [`${place}: outcome is for the requester, so it does not go to ${name}, which is PagerDuty`];
  }
  if (channel?.kind === 'email' && channel.to.length === 0 && events.some((event) => event !== 'outcome')) {
    return [`${place}: ${name} has no "to", so nothing but outcome can go there, to the requester`];
  }
  return [];
}
