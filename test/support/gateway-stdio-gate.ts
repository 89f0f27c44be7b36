import { withoutForeignApproval } from '../../gateway/answers/foreign-approval';
import type { ClientMessage, ClientSession, Gate, GateAnswer, IncomingCall } from '../../gateway/ports';

export interface TestGate extends Gate {
  /** What was judged so far. */
  readonly judged: IncomingCall[];
  readonly sessions: ClientSession[];
  /** Set by a test: what is said of the next calls. */
  say: (call: IncomingCall) => GateAnswer | Promise<GateAnswer>;
  show: (text: string, session: ClientSession) => string | Promise<string>;
}

/** A gate that lets everything pass until it is told otherwise. */
export function testGate(): TestGate {
  const gate: TestGate = {
    judged: [],
    sessions: [],
    say: () => ({ kind: 'pass' }),
    show: (text) => text,
    async judge(call) {
      gate.judged.push(call);
      return gate.say(call);
    },
    showAnswer: (text) => withoutForeignApproval(text),
    async showList(session, text) {
      gate.sessions.push(session);
      return gate.show(text, session);
    },
  };
  return gate;
}

/** The name of the tool that a message calls. */
export function toolOf(message: ClientMessage): unknown {
  return message.params['name'];
}
