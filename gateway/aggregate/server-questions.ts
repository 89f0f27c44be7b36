import type { JsonValue } from '../../core/json';
import { memberSpan, spanAt, withValueAt } from '../wire/raw-json';

const TOKEN = ['params', '_meta', 'progressToken'];

type Id = string | number;

interface Question {
  readonly server: string;
  /** As the server wrote them. */
  readonly idText: string;
  readonly tokenText: string | undefined;
}

/** A text for one server. */
export interface ForServer {
  readonly server: string;
  readonly text: string;
}

/**
 * What servers have asked the client. Two servers count alike, so the client sees ids and progress tokens of our own in
 * the place of theirs, of the same type, and each server its own again in what comes back.
 */
export class ServerQuestions {
  private readonly open = new Map<Id, Question>();
  private last = 0;

  /** The question as the client is to see it. */
  ask(server: string, text: string): string {
    const id = memberSpan(text, 'id');
    const token = spanAt(text, TOKEN);
    const idText = id === undefined ? 'null' : text.slice(id.start, id.end);
    const tokenText = token && text.slice(token.start, token.end);
    this.last += 1;
    this.open.set(ownOf(idText, this.last), { server, idText, tokenText });
    const asked = withValueAt(text, ['id'], JSON.stringify(ownOf(idText, this.last)));
    return tokenText === undefined ? asked : withValueAt(asked, TOKEN, JSON.stringify(ownOf(tokenText, this.last)));
  }

  /** The client's answer as its server is to see it; undefined where nobody waits for it. */
  answer(id: Id, text: string): ForServer | undefined {
    const question = this.open.get(id);
    this.open.delete(id);
    return question && { server: question.server, text: withValueAt(text, ['id'], question.idText) };
  }

  /** The client's progress on a question; undefined where there is no such one. */
  progress(token: Id, text: string): ForServer | undefined {
    for (const [id, { server, tokenText }] of this.open) {
      if (tokenText === undefined || ownOf(tokenText, numberOf(id)) !== token) continue;
      return { server, text: withValueAt(text, ['params', 'progressToken'], tokenText) };
    }
    return undefined;
  }

  /** A server's notice that it takes a question back, as the client is to see it; undefined where it has none such. */
  withdraw(server: string, requestId: JsonValue | undefined, text: string): string | undefined {
    for (const [id, question] of this.open) {
      if (question.server !== server || JSON.parse(question.idText) !== requestId) continue;
      this.open.delete(id);
      return withValueAt(text, ['params', 'requestId'], JSON.stringify(id));
    }
    return undefined;
  }

  /** Nobody waits for the answers any more. */
  forget(server: string): void {
    for (const [id, question] of this.open) if (question.server === server) this.open.delete(id);
  }
}

const PREFIX = 'q-';

/** An id of our own, of the type that the server's has. */
function ownOf(original: string, number: number): Id {
  return original.startsWith('"') ? `${PREFIX}${number}` : number;
}

function numberOf(id: Id): number {
  return typeof id === 'number' ? id : Number(id.slice(PREFIX.length));
}
