import type { AllowCount, CallOutcome, Evidence } from './outcome';
import { quotedText } from './display';
import { atPointer, canonicalJson, type JsonValue } from './json';
import { unreachable } from './unreachable';

/**
 * What the model is told of a call's end. It stands alone: models see text only, so it says in words whether anything
 * ran, what that means and what to do next. Words of a server or a database stay on record for operators: a model would
 * take them for instructions.
 */
export function textForModel(end: CallOutcome, operationId: string): string {
  switch (end.outcome) {
    case 'executed':
      return end.result === null
        ? settledText(operationId)
        : resultText(end.result.kind === 'inline' ? end.result.value : null, operationId);
    case 'failed':
      return `FAILED: nothing was done. ${FAILED_BY[end.evidence]} It was approved where approval was needed; you may propose it again as a new call. (${operationId})`;
    case 'unknown':
      return `OUTCOME UNKNOWN: the call was sent, but whether it took effect cannot be told. Do not repeat it: a person will establish what happened. (${operationId})`;
    case 'denied':
      return deniedText(end.reason, operationId);
    case 'expired':
      return `EXPIRED: not executed. ${expiredText(end.counted)}; silence is no consent. You may propose it again if it is still needed. (${operationId})`;
    case 'withdrawn':
      return `WITHDRAWN: not executed. ${sentence(end.detail)} (${operationId})`;
    case 'refused':
      return `REFUSED: not executed. ${sentence(end.detail)} [${end.code}] (${operationId})`;
    default:
      return unreachable(end);
  }
}

const FAILED_BY: Readonly<Record<Evidence, string>> = {
  answer: 'The tool server said so. [NOT_SENT]',
  notSent: 'The tool server did not take the call up. [NOT_SENT]',
  lookUp: 'A look-up found that it had no effect. [NOT_FOUND]',
  settlement: 'A person established that. [SETTLED]',
};

function expiredText(counted: AllowCount | undefined): string {
  if (counted === undefined) return 'Nobody answered the approval request in time';
  return `Not enough people answered the approval request in time (${counted.allows} of ${counted.needed})`;
}

function deniedText(reason: string | null, operationId: string): string {
  const words = reason === null ? 'No reason was given.' : `The reviewer's words: ${quotedText(reason)}.`;
  return `DENIED: not executed. A reviewer denied this approval request. ${words} This request is closed: do not repeat the call, do not work around it. (${operationId})`;
}

function settledText(operationId: string): string {
  return `EXECUTED: a look-up or a person established that the call took effect; the tool's own answer is not available. Do not repeat it. (${operationId})`;
}

function resultText(value: JsonValue, operationId: string): string {
  if (value === null) return `EXECUTED: the result is too large to show here; read it by operation id ${operationId}.`;
  const content = atPointer(value, '/content');
  const texts = content.found && Array.isArray(content.value) ? content.value.flatMap(textOf) : [];
  if (texts.length > 0) return texts.join('\n');
  const structured = atPointer(value, '/structuredContent');
  return canonicalJson(structured.found ? structured.value : value);
}

function textOf(block: JsonValue): readonly string[] {
  const text = atPointer(block, '/text');
  return text.found && typeof text.value === 'string' ? [text.value] : [];
}

/** A detail as a sentence of its own; a name that it begins with (`user:amira`, `orders-db`) stays as it is written. */
function sentence(detail: string): string {
  if (detail === '') return '';
  const begun = detail.replace(/^[a-z](?=[a-z']* )/, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
