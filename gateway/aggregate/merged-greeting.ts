import type { JsonObject } from '../../core/json';
import { SESSION_REVISIONS } from '../stdio/http-rules';
import { objectOr } from '../wire/server-message';
import { prefixOf } from './shown-name';

/** What one server answered to `initialize`. */
export interface ServerGreeting {
  readonly server: string;
  readonly result: JsonObject;
}

/** Whatever a server brings that comes in later. */
const LISTS = ['tools', 'prompts', 'resources'] as const;

/**
 * What `/mcp` answers to `initialize` for all servers: whatever one of them can, in the lowest revision of theirs, and
 * the instructions of each under its name.
 * @param anyLater whether a server may still come in: then every list is announced, since a client need not ask for one
 * that was not.
 */
export function mergedGreeting(greetings: readonly ServerGreeting[], anyLater: boolean): JsonObject {
  const said = new Set(greetings.map(({ result }) => result['protocolVersion']));
  const instructions = greetings.flatMap(instructionsOf);
  return {
    // One that nobody knows would make clients refuse all servers because of one.
    protocolVersion: SESSION_REVISIONS.find((known) => said.has(known)) ?? SESSION_REVISIONS[0],
    capabilities: capabilitiesOf(greetings, anyLater),
    serverInfo: { name: 'holdpoint', version: '1' },
    ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
  };
}

function capabilitiesOf(greetings: readonly ServerGreeting[], anyLater: boolean): JsonObject {
  const merged: Record<string, JsonObject> = {};
  for (const { result } of greetings) {
    for (const [name, said] of Object.entries(objectOr(result['capabilities']))) {
      merged[name] = { ...merged[name], ...objectOr(said) };
    }
  }
  const lists = LISTS.filter((name) => anyLater || name === 'tools' || merged[name] !== undefined);
  // Servers come and go, so every list here may change, whatever theirs do.
  return { ...merged, ...Object.fromEntries(lists.map((name) => [name, { ...merged[name], listChanged: true }])) };
}

function instructionsOf({ server, result: { instructions } }: ServerGreeting): readonly string[] {
  if (typeof instructions !== 'string' || instructions.trim() === '') return [];
  return [`# ${server} (its tools are named ${prefixOf(server)}… here)\n${instructions}`];
}
