import { findOperation, type OperationMatch } from '../ledger/find-operation';
import type { Store } from '../ledger/transaction';
import { CliFailure } from './failure';
import { safe } from './text';

/** The operation that an id means; a failure that lists the candidates where it means several. */
export async function oneOperation(store: Store, id: string): Promise<OperationMatch> {
  const found = await findOperation(store.db, id);
  switch (found.kind) {
    case 'one':
      return found.match;
    case 'none':
      throw new CliFailure(
        'notFound',
        `No request or operation has the id ${safe(id)}. Nothing was changed.`,
        'List what is open with "holdpoint requests"; give the short id, the operation id, or at least 3 characters of one.',
      );
    case 'several': {
      const list = found.matches.map(
        (match) =>
          `  ${match.shortId ?? '        '}  ${match.operationId}  ${match.state}  ${safe(match.server)} / ${safe(match.tool)}`,
      );
      throw new CliFailure(
        'refused',
        `${safe(id)} fits several; nothing was changed. Give more characters:\n${list.join('\n')}`,
      );
    }
  }
}
