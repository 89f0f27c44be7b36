import {
  defineSearchAttributeKey,
  SearchAttributeType,
  type SearchAttributePair,
  type SearchAttributeUpdatePair,
} from '@temporalio/common';
import type { ApprovalRequest } from '../core/request';
import type { TurnInput } from '../core/turn';

/** Keywords, never Text: ids match whole. Lists for what a turn may have several of. */
const STATE = defineSearchAttributeKey('HoldpointState', SearchAttributeType.KEYWORD);
const REQUESTER = defineSearchAttributeKey('HoldpointRequester', SearchAttributeType.KEYWORD);
const SERVERS = defineSearchAttributeKey('HoldpointServer', SearchAttributeType.KEYWORD_LIST);
const TOOLS = defineSearchAttributeKey('HoldpointTool', SearchAttributeType.KEYWORD_LIST);
const APPROVERS = defineSearchAttributeKey('HoldpointApprovers', SearchAttributeType.KEYWORD_LIST);

/** Temporal ends a turn with an attribute of more than 2,048 bytes. A list that would have more leaves its last out. */
const LIST_BYTES = 1_800;

/** What a turn is found by from its start; free of history events there. */
export function startAttributes(turn: TurnInput): SearchAttributePair[] {
  return [
    { key: STATE, value: 'open' },
    { key: REQUESTER, value: turn.requester.subject },
    { key: SERVERS, value: fitting(turn.calls.map((call) => call.server)) },
    { key: TOOLS, value: fitting(turn.calls.map((call) => call.tool)) },
  ];
}

/** What a turn is found by while people are asked: one event, written once. */
export function openingAttributes(requests: readonly ApprovalRequest[]): SearchAttributeUpdatePair[] {
  return [
    { key: STATE, value: 'pending' },
    { key: APPROVERS, value: fitting(requests.flatMap(approversOf)) },
  ];
}

/** A turn that has ended is found as such; one with an unknown outcome is what an operator has to find. */
export function endingAttributes(unknown: boolean): SearchAttributeUpdatePair[] {
  return [{ key: STATE, value: unknown ? 'unknown' : 'ended' }];
}

function approversOf(request: ApprovalRequest): readonly string[] {
  return request.ask.steps.flatMap((step) =>
    step.kind === 'confirm' ? [step.subject] : [...step.approvers.groups, ...step.approvers.people],
  );
}

/** The distinct values, as many as the JSON of the list has room for. */
function fitting(values: readonly string[]): string[] {
  let left = LIST_BYTES - '[]'.length;
  return [...new Set(values)].filter((value) => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(value)},`).length;
    if (bytes > left) return false;
    left -= bytes;
    return true;
  });
}
