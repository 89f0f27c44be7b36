import type { JsonValue } from './json';
import type { MaterialField } from './evaluation';
import { amountOf } from './material';
import type { Condition, Conditions } from './policy';
import { unreachable } from './unreachable';

/** `unknown`: the field is missing, or holds what the condition cannot be compared with. */
export type ConditionAnswer = 'yes' | 'no' | 'unknown';

/**
 * Whether all conditions hold. One that certainly fails decides; otherwise one missing value makes the whole unknown. A
 * rule then asks, an access entry then does not let in. No conditions: yes.
 */
export function conditionsHold(conditions: Conditions, material: readonly MaterialField[]): ConditionAnswer {
  const answers = Object.entries(conditions).map(([name, condition]) => {
    const field = material.find((candidate) => candidate.name === name);
    return field?.found === true ? holds(condition, comparable(field)) : 'unknown';
  });
  if (answers.includes('no')) return 'no';
  return answers.includes('unknown') ? 'unknown' : 'yes';
}

/** An amount in text is compared as the number that it is. */
function comparable(field: MaterialField): JsonValue {
  return field.as === 'amount' ? amountOf(field.value) : field.value;
}

function holds(condition: Condition, value: JsonValue): ConditionAnswer {
  switch (condition.op) {
    case 'is':
      return answer(value === condition.value);
    case 'isNot':
      return answer(value !== condition.value);
    case 'oneOf':
      return answer(condition.values.some((allowed) => allowed === value));
    case 'noneOf':
      return answer(!condition.values.some((refused) => refused === value));
    case 'atLeast':
      return compared(value, (number) => number >= condition.value);
    case 'atMost':
      return compared(value, (number) => number <= condition.value);
    case 'above':
      return compared(value, (number) => number > condition.value);
    case 'below':
      return compared(value, (number) => number < condition.value);
    default:
      return unreachable(condition);
  }
}

function compared(value: JsonValue, test: (number: number) => boolean): ConditionAnswer {
  return typeof value === 'number' ? answer(test(value)) : 'unknown';
}

function answer(yes: boolean): ConditionAnswer {
  return yes ? 'yes' : 'no';
}
